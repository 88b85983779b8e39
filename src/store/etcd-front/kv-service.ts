/**
 * etcd's KV service, said in the words of the store.
 *
 * What the store does not know is made of what it knows: an order or a filter by reading all of the range and sorting
 * here; a put that keeps the old value or lease by reading it and putting under the condition that it is still the same,
 * again until it is; a range that can hold no key by answering for the store. Refused as not served: a transaction
 * within a transaction, and such a put within one. Limits on operations and bytes are etcd's.
 */
import type { Compare, KeyValue, Op, OpResult, RangeOptions, RangeResult, Store } from '../kv.ts';
import { refusals } from './front-error.ts';
import {
  decodeCompactionRequest,
  decodeDeleteRequest,
  decodePutRequest,
  decodeRangeRequest,
  decodeTxnRequest,
  type PutRequest,
  type RangeRequest,
  type RequestOp,
  type TxnRequest,
  type WireCompare,
} from './front-requests.ts';
import { response, writeDeleteResult, writeOpResults, writePutResult, writeRangeResult } from './front-responses.ts';

const MAX_OPS = 128;
const MAX_REQUEST_BYTES = 1.5 * 1024 * 1024;

export type Unary = (request: Uint8Array, signal: AbortSignal) => Promise<Uint8Array>;

export function kvService(store: Store): Record<string, Unary> {
  return {
    'KV/Range': async (bytes, signal) => {
      const request = decodeRangeRequest(bytes);
      const { range } = request;
      const found =
        range === 'none'
          ? { ...NOTHING, revision: await store.revision({ signal }) }
          : await store.range(range, { ...optionsOf(request), signal });
      return response(found.revision, (writer) => writeRangeResult(writer, arrange(found, request)), sizeOf(found.kvs));
    },
    'KV/Put': async (bytes, signal) => {
      const put = decodePutRequest(bytes);
      const { revision, results } =
        put.ignoreValue || put.ignoreLease
          ? await putKeeping(store, put, signal)
          : await run(store, { compares: [], success: [put], failure: [] });
      const [result] = results;
      return response(revision, (writer) => writePutResult(writer, result?.kind === 'put' ? result.prevKv : undefined));
    },
    'KV/DeleteRange': async (bytes) => {
      const request = decodeDeleteRequest(bytes);
      const { revision, results } = await run(store, { compares: [], success: [request], failure: [] });
      const result = results[0] as OpResult & { kind: 'delete' };
      return response(revision, (writer) => writeDeleteResult(writer, result.deleted, result.prevKvs));
    },
    'KV/Txn': async (bytes) => {
      if (bytes.length > MAX_REQUEST_BYTES) throw refusals.tooLarge();
      const { succeeded, revision, results } = await run(store, decodeTxnRequest(bytes));
      return response(revision, (writer) => {
        if (succeeded) writer.bool(2, true);
        writeOpResults(writer, results, revision);
      });
    },
    'KV/Compact': async (bytes, signal) => {
      const { revision, physical } = decodeCompactionRequest(bytes);
      if (revision < 0) throw refusals.compacted();
      await store.compact(revision, { physical, signal });
      return response(await store.revision({ signal }));
    },
  };
}

const NOTHING: Omit<RangeResult, 'revision'> = { kvs: [], count: 0, more: false };
/** Sorted or filtered, a range is read whole: only then it is known what is first. */
const isArranged = (request: RangeRequest) =>
  request.order !== 'none' || request.minMod + request.maxMod + request.minCreate + request.maxCreate > 0;

function optionsOf(request: RangeRequest): RangeOptions {
  const { limit, revision, keysOnly, countOnly } = request;
  return {
    ...(revision > 0 && { revision }),
    ...(limit > 0 && !isArranged(request) && { limit: request.target === 'key' ? limit : limit + 1 }),
    // Values are needed to sort by them.
    ...(keysOnly && request.target !== 'value' && { keysOnly }),
    ...(countOnly && { countOnly }),
  };
}

/** What is left of a range once it is filtered, sorted and cut, in the order in which etcd does these. */
function arrange(found: RangeResult, request: RangeRequest): RangeResult {
  if (request.countOnly) return { ...found, kvs: [], more: false };
  const { minMod, maxMod, minCreate, maxCreate, order, target, limit } = request;
  let kvs = found.kvs.filter(
    ({ modRevision, createRevision }) =>
      (minMod === 0 || modRevision >= minMod) &&
      (maxMod === 0 || modRevision <= maxMod) &&
      (minCreate === 0 || createRevision >= minCreate) &&
      (maxCreate === 0 || createRevision <= maxCreate),
  );
  if (target !== 'key' || order === 'descend') {
    const compare = target === 'value' ? byValue : byField(target);
    kvs = kvs.sort(order === 'descend' ? (a, b) => compare(b, a) : compare);
  }
  const isCut = limit > 0 && kvs.length > limit;
  if (isCut) kvs = kvs.slice(0, limit);
  if (request.keysOnly) kvs = kvs.map((kv) => ({ ...kv, value: new Uint8Array(0) }));
  return { ...found, kvs, more: isCut || found.more };
}

const byValue = (a: KeyValue, b: KeyValue) => Buffer.compare(a.value, b.value);
const byField = (field: 'key' | 'version' | 'createRevision' | 'modRevision') => (a: KeyValue, b: KeyValue) =>
  a[field] < b[field] ? -1 : a[field] > b[field] ? 1 : 0;

type Ran = { readonly succeeded: boolean; readonly revision: number; readonly results: readonly OpResult[] };

async function run(store: Store, request: TxnRequest): Promise<Ran> {
  check(request);
  // A compare of no keys that is false decides before the store is asked: then the failure branch is all there is.
  const isRefuted = request.compares.some((compare) => compare.range === 'none' && !holdsOfNothing(compare));
  const compare = request.compares.flatMap(({ range, test }): Compare[] =>
    range === 'none' ? [] : [{ ...test, range } as Compare],
  );
  const [then, otherwise] = [request.success.flatMap(toStoreOp), request.failure.flatMap(toStoreOp)];
  const { succeeded, revision, results } = await store.txn(
    isRefuted ? { then: otherwise } : { compare, then, else: otherwise },
  );
  const didSucceed = succeeded && !isRefuted;
  const ops = didSucceed ? request.success : request.failure;
  return { succeeded: didSucceed, revision, results: complete(ops, results, revision) };
}

/** Puts what is new beside what is to be kept, provided that it is still what was read. */
async function putKeeping(store: Store, put: PutRequest, signal: AbortSignal): Promise<Ran> {
  const { key } = put;
  for (;;) {
    const { kv } = await store.get(key, { signal });
    if (!kv) throw refusals.keyNotFound();
    const value = put.ignoreValue ? kv.value : put.value;
    const lease = put.ignoreLease ? kv.lease : put.lease;
    const unchanged: Compare = { range: { key }, is: '=', target: 'modRevision', than: kv.modRevision };
    const ran = await store.txn({ compare: [unchanged], then: toStoreOp({ ...put, value, lease }) });
    if (ran.succeeded) return ran;
  }
}

function toStoreOp(op: RequestOp): Op[] {
  if (op.kind === 'put') {
    const { key, value, lease, prevKv } = op;
    return [{ kind: 'put', key, value, prevKv, ...(lease !== 0n && { lease }) }];
  }
  if (op.range === 'none') return [];
  return op.kind === 'range'
    ? [{ kind: 'range', range: op.range, options: optionsOf(op) }]
    : [{ kind: 'delete', range: op.range, prevKv: op.prevKv }];
}

/** One result for each operation, those that the store was not asked for included. */
function complete(ops: readonly RequestOp[], results: readonly OpResult[], revision: number): OpResult[] {
  let next = 0;
  return ops.map((op): OpResult => {
    if (op.kind !== 'put' && op.range === 'none')
      return op.kind === 'range'
        ? { kind: 'range', revision, ...NOTHING }
        : { kind: 'delete', deleted: 0, prevKvs: [] };
    const result = results[next++]!;
    return op.kind === 'range' && result.kind === 'range' ? { kind: 'range', ...arrange(result, op) } : result;
  });
}

/** Where there is no key, all numbers are 0, and a condition on the value is false. */
function holdsOfNothing({ test }: WireCompare): boolean {
  if (test.target === 'value') return false;
  const than = BigInt(test.than);
  if (test.is === '=') return than === 0n;
  if (test.is === '!=') return than !== 0n;
  return test.is === '<' ? than > 0n : than < 0n;
}

function check({ compares, success, failure }: TxnRequest): void {
  if ([compares, success, failure].some((list) => list.length > MAX_OPS)) throw refusals.tooManyOps();
  for (const ops of [success, failure]) checkBranch(ops);
}

/** A key may be changed once in a branch. Deletes without an end are overlooked, as etcd does; the store may not. */
function checkBranch(ops: readonly RequestOp[]): void {
  const puts = new Set<string>();
  let bytes = 0;
  for (const op of ops) {
    if (op.kind !== 'put') continue;
    if (op.ignoreValue || op.ignoreLease) throw refusals.keepingInTxn();
    if (puts.has(op.key)) throw refusals.duplicateKey();
    puts.add(op.key);
    bytes += op.key.length + op.value.length;
  }
  if (bytes > MAX_REQUEST_BYTES) throw refusals.tooLarge();
  for (const op of ops) {
    if (op.kind !== 'delete' || op.range === 'none') continue;
    const { range } = op;
    for (const key of puts) if (holdsKey(range, key)) throw refusals.duplicateKey();
  }
}

function holdsKey(range: Exclude<(RequestOp & { kind: 'delete' })['range'], 'none'>, key: string): boolean {
  if ('key' in range) return range.key === key;
  if ('prefix' in range) return key.startsWith(range.prefix);
  return key >= range.start && (range.end === undefined || key < range.end);
}

function sizeOf(kvs: readonly KeyValue[]): number {
  let bytes = 128;
  for (const { key, value } of kvs) bytes += key.length + value.length + 48;
  return bytes;
}
