/**
 * Values in memory that all threads see: written once, before they are shown to anybody, and never again; read without a
 * copy.
 *
 * One piece of shared memory holds the values of one batch or one answer, side by side. Nobody counts who holds it: V8
 * does, across threads, and frees it when the last view of it is gone in the last of them. So it cannot be freed too
 * early, whichever thread dies; and since a piece holds only what came up at one time, what keeps one value keeps little
 * beside it.
 */
import type { Compare, KeyValue, Op, OpResult, Txn, TxnResult, WatchBatch } from '../kv.ts';

/** Batches that were shared already: the watches of all threads on one range get the very same batch. */
const shared = new WeakMap<WatchBatch, WatchBatch>();

export function shareBatch(batch: WatchBatch): WatchBatch {
  if (batch.events.length === 0) return batch;
  const known = shared.get(batch);
  if (known) return known;
  const memory = memoryFor(batch.events.flatMap(({ kv, prevKv }) => (prevKv ? [kv, prevKv] : [kv])));
  const events = batch.events.map(({ type, kv, prevKv }) => ({
    type,
    kv: memory(kv),
    prevKv: prevKv && memory(prevKv),
  }));
  const result = { revision: batch.revision, events };
  shared.set(batch, result);
  return result;
}

export function shareKvs(kvs: readonly KeyValue[]): readonly KeyValue[] {
  if (kvs.every(({ value }) => value.buffer instanceof SharedArrayBuffer || value.length === 0)) return kvs;
  return kvs.map(memoryFor(kvs));
}

const FIRST_SLAB_BYTES = 1024;
const MOST_SLAB_BYTES = 64 * 1024;

/**
 * Places in shared memory, side by side in pieces of their own, of which each is twice as long as the one before: nobody knows how
 * much there will be, and most reads are of one short value. A large one has a piece to itself.
 */
export function sharedPlaces(): (bytes: number) => Buffer {
  let slab = new SharedArrayBuffer(0);
  let used = 0;
  let nextBytes = FIRST_SLAB_BYTES;
  return (bytes) => {
    if (bytes > MOST_SLAB_BYTES / 8) return Buffer.from(new SharedArrayBuffer(bytes));
    if (used + bytes > slab.byteLength) {
      slab = new SharedArrayBuffer(Math.max(nextBytes, bytes));
      used = 0;
      nextBytes = Math.min(MOST_SLAB_BYTES, 2 * nextBytes);
    }
    used += bytes;
    return Buffer.from(slab, used - bytes, bytes);
  };
}

export function shareTxnResult(result: TxnResult): TxnResult {
  return result.results.length === 0 ? result : { ...result, results: result.results.map(shareOpResult) };
}

function shareOpResult(result: OpResult): OpResult {
  switch (result.kind) {
    case 'put':
      return { kind: 'put', prevKv: result.prevKv && shareKvs([result.prevKv])[0] };
    case 'delete':
      return { ...result, prevKvs: shareKvs(result.prevKvs) };
    case 'range':
      return { ...result, kvs: shareKvs(result.kvs) };
    case 'txn':
      return { ...result, results: result.results.map(shareOpResult) };
  }
}

/** Room for the values of all of these, and who puts them there, one after another. */
function memoryFor(kvs: readonly KeyValue[]): (kv: KeyValue) => KeyValue {
  let bytes = 0;
  for (const { value } of kvs) bytes += value.length;
  if (bytes === 0) return (kv) => ({ ...kv, value: EMPTY });
  const memory = new SharedArrayBuffer(bytes);
  let used = 0;
  return (kv) => {
    const value = new Uint8Array(memory, used, kv.value.length);
    value.set(kv.value);
    used += value.length;
    return { ...kv, value };
  };
}

const EMPTY = new Uint8Array();

/**
 * The transaction with its values in memory of their own, which is collected in `transfer` to go with it: a view alone
 * would take along all that it is a part of.
 */
export function ownValues(txn: Txn, transfer: ArrayBuffer[]): Txn {
  const own = (value: Uint8Array) => {
    const copy = new Uint8Array(value);
    transfer.push(copy.buffer);
    return copy;
  };
  const compare = (one: Compare): Compare =>
    one.target === 'value' && one.than instanceof Uint8Array ? { ...one, than: own(one.than) } : one;
  const op = (one: Op): Op => {
    if (one.kind === 'put') return one.value instanceof Uint8Array ? { ...one, value: own(one.value) } : one;
    if (one.kind === 'txn') return { ...one, txn: ownValues(one.txn, transfer) };
    if (one.kind !== 'range' || !one.options) return one;
    const { take: _take, claim: _claim, ...options } = one.options; // functions of this thread
    return { ...one, options };
  };
  return {
    ...(txn.compare && { compare: txn.compare.map(compare) }),
    ...(txn.then && { then: txn.then.map(op) }),
    ...(txn.else && { else: txn.else.map(op) }),
  };
}
