/** etcd's KV service: requests are read and judged, run on the store, and answered as etcd does. */
import { isStoreError } from '../../errors.ts';
import type { OpResult, Store } from '../../kv.ts';
import { checkKey, checkPut, checkRange, checkSize } from '../messages/front-checks.ts';
import { refusals } from '../messages/front-error.ts';
import {
  decodeCompactionRequest,
  decodeDeleteRequest,
  decodePutRequest,
  decodeRangeRequest,
  decodeTxnRequest,
  type PutRequest,
} from '../messages/front-requests.ts';
import { deleteResponse, putResponse, rangeResponse, response, txnResponse } from '../messages/front-responses.ts';
import type { LongMessage } from '../messages/long-message.ts';
import { type Call, readRange } from './range-reader.ts';
import { runChange, runTxn } from './txn-runner.ts';

export type Unary = (request: Uint8Array, call: Call) => Promise<Uint8Array | LongMessage>;

export function kvService(store: Store): Record<string, Unary> {
  return {
    'KV/Range': async (bytes, call) => {
      const request = decodeRangeRequest(bytes);
      checkRange(request);
      return rangeResponse(await readRange(store, request, call));
    },
    'KV/Put': async (bytes) => {
      const put = decodePutRequest(bytes);
      checkPut(put);
      checkSize(bytes.length);
      const { revision, result } = await runChange(store, put).catch((err: unknown) => leaseFirst(store, put, err));
      return putResponse(revision, result.kind === 'put' ? result.prevKv : undefined);
    },
    'KV/DeleteRange': async (bytes) => {
      const request = decodeDeleteRequest(bytes);
      checkKey(request.key);
      checkSize(bytes.length);
      const { revision, result } = await runChange(store, request);
      return deleteResponse(revision, result as OpResult & { kind: 'delete' });
    },
    'KV/Txn': async (bytes, call) => {
      const ran = await runTxn(store, decodeTxnRequest(bytes), bytes.length, call);
      return txnResponse(ran.revision, ran);
    },
    'KV/Compact': async (bytes, { signal }) => {
      const { revision, physical } = decodeCompactionRequest(bytes);
      if (revision < 0) throw refusals.compacted();
      await store.compact(revision, { physical, signal });
      return response(await store.revision({ signal }));
    },
  };
}

/** A put by itself is asked for its lease before it is asked for its key; the store does it the other way round. */
async function leaseFirst(store: Store, { lease }: PutRequest, err: unknown): Promise<never> {
  if (lease !== 0n && isStoreError(err, 'KeyNotFound') && !(await store.leaseInfo(lease))) throw refusals.noSuchLease();
  throw err;
}
