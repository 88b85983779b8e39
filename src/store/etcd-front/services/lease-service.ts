/** etcd's Lease service. Times are told as etcd tells them: whole seconds, what is begun does not count. */
import { keyToBytes } from '../../keys.ts';
import type { Store } from '../../kv.ts';
import type { GrpcStream } from '../grpc-stream.ts';
import { refusals } from '../messages/front-error.ts';
import { response } from '../messages/front-responses.ts';
import { readFields } from '../messages/small-message.ts';
import type { Unary } from './kv-service.ts';

const MAX_TTL_SECONDS = 9_000_000_000n;

export function leaseService(store: Store): Record<string, Unary> {
  return {
    'Lease/LeaseGrant': async (bytes, { signal }) => {
      const { ttl, id } = readFields(bytes, { ttl: 1, id: 2 });
      if (ttl > MAX_TTL_SECONDS) throw refusals.tooLongLease();
      const lease = await store.grantLease(Math.max(Number(ttl), 0), { signal, ...(id !== 0n && { id }) });
      return response(await store.revision({ signal }), (w) => w.int64(2, lease.id).int(3, lease.ttlSeconds));
    },
    'Lease/LeaseRevoke': async (bytes, { signal }) => {
      await store.revokeLease(readFields(bytes, { id: 1 }).id, { signal });
      return response(await store.revision({ signal }));
    },
    'Lease/LeaseTimeToLive': async (bytes, { signal }) => {
      const { id, keys } = readFields(bytes, { id: 1, keys: 2 });
      const info = await store.leaseInfo(id, { signal, keys: keys !== 0n });
      return response(await store.revision({ signal }), (w) => {
        w.int64(2, id).int(3, info ? Math.floor(info.remainingSeconds) : -1);
        if (info) w.int(4, info.grantedTtlSeconds);
        if (keys !== 0n) for (const key of info?.keys ?? []) w.bytes(5, keyToBytes(key));
      });
    },
    'Lease/LeaseLeases': async (_bytes, { signal }) => {
      const ids = await store.leases({ signal });
      return response(await store.revision({ signal }), (w) => {
        for (const id of ids) w.message(2, (one) => one.int64(1, id));
      });
    },
  };
}

export async function serveKeepAlive(store: Store, stream: GrpcStream): Promise<void> {
  const { signal } = stream;
  for await (const message of stream.messages()) {
    const { id } = readFields(message, { id: 1 });
    const ttl = await store.keepLeaseAlive(id, { signal });
    const revision = await store.revision({ signal });
    await stream.send(() => [
      response(revision, (w) => {
        w.int64(2, id);
        if (ttl > 0) w.int(3, ttl);
      }),
    ]);
  }
}
