/**
 * A range as etcd reads it: orders, filters and limits in etcd's order of doing these, on a store that knows limits only.
 *
 * Sorted or filtered, a range is read whole and arranged here; an order with a number that etcd does not know is read
 * whole, too, and left as it is. A range that can hold no key is not read, but its revision must be readable all the
 * same. Long work yields; what is read counts against the memory of the call, and against what one answer may be.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KeyRange, KeyValue, RangeOptions, RangeResult, Revision, Store } from '../../kv.ts';
import type { MemoryShare } from '../memory-budget.ts';
import { refusals } from '../messages/front-error.ts';
import type { KeyAndEnd, RangeRequest } from '../messages/front-requests.ts';
import { PAIRS_PER_TURN } from '../messages/long-message.ts';

/** What an answer takes at most; etcd's own limit is what gRPC can say, four times this. */
export const MAX_ANSWER_BYTES: number = 512 * 1024 * 1024;
/** What a pair costs in memory beside its value. */
export const PAIR_BYTES = 200;
/** Ranges that can hold more are counted first. */
const FEW_KEYS = 1000;

export type Call = { readonly signal: AbortSignal; readonly memory: MemoryShare };

/** A key below all that clients use: for those who want to know of a revision, and nothing else. */
export const NO_KEYS: KeyRange = { key: '\0' };

/**
 * Without an end one key; with `"\0"` (or with nothing in it) every key from there on; undefined: no key at all.
 */
export function rangeOf({ key, end }: KeyAndEnd): KeyRange | undefined {
  if (end === undefined) return { key };
  if (end === '' || end === '\0') return { start: key };
  return end <= key ? undefined : { start: key, end };
}

/** `at`: the revision to read at unless the request says one. */
export async function readRange(
  store: Store,
  request: RangeRequest,
  call: Call,
  at: Revision = 0,
): Promise<RangeResult> {
  const { signal, memory } = call;
  const range = rangeOf(request);
  const options = { ...optionsOf(request), ...(request.revision <= 0 && at > 0 && { revision: at }) };
  if (!range) {
    const { revision } = await store.range(NO_KEYS, { ...options, countOnly: true, signal });
    return { revision, ...NOTHING };
  }
  if (!options.countOnly && !('key' in range)) await claimPairs(store, range, options, call);
  const found = await store.range(range, { ...options, claim: (bytes) => claim(memory, bytes), signal });
  return arrange(found, request);
}

export const NOTHING: Omit<RangeResult, 'revision'> = { kvs: [], count: 0, more: false };

/** The pairs are there before their values are: they are counted before they are made. */
async function claimPairs(store: Store, range: KeyRange, { limit = 0 }: RangeOptions, call: Call): Promise<void> {
  let pairs = limit;
  if (limit === 0 || limit > FEW_KEYS) {
    const { count } = await store.range(range, { countOnly: true, signal: call.signal });
    pairs = limit === 0 ? count : Math.min(limit, count);
  }
  claim(call.memory, pairs * PAIR_BYTES);
}

function claim(memory: MemoryShare, bytes: number): void {
  const wanted = memory.bytes + bytes;
  if (wanted > MAX_ANSWER_BYTES) throw refusals.answerTooLarge(wanted, MAX_ANSWER_BYTES);
  memory.add(bytes);
}

const SORT_BY_VALUE = 4;

/** How the store is asked for it. */
export function optionsOf(request: RangeRequest): RangeOptions {
  const { limit, revision, keysOnly, countOnly, target } = request;
  const isReadWhole = request.order !== 0 || hasFilters(request);
  return {
    ...(revision > 0 && { revision }),
    // One more to sort among, as etcd takes it; without sorting the store says itself whether there is more.
    ...(limit > 0 && !isReadWhole && { limit: target === 0 ? limit : limit + 1 }),
    ...(keysOnly && target !== SORT_BY_VALUE && { keysOnly }),
    ...(countOnly && { countOnly }),
  };
}

function hasFilters({ minMod, maxMod, minCreate, maxCreate }: RangeRequest): boolean {
  return minMod !== 0 || maxMod !== 0 || minCreate !== 0 || maxCreate !== 0;
}

const ORDERS = { none: 0, ascend: 1, descend: 2 };

/** What is left of a range once it is filtered, sorted and cut. */
export async function arrange(found: RangeResult, request: RangeRequest): Promise<RangeResult> {
  if (request.countOnly) return { ...found, kvs: [], more: false };
  const { order, target, limit } = request;
  let { kvs } = found;
  if (hasFilters(request)) kvs = await inTurns(kvs, (kv) => (isWanted(kv, request) ? kv : undefined));
  const isSorted = target !== 0 ? order >= ORDERS.none && order <= ORDERS.descend : order === ORDERS.descend;
  if (isSorted) {
    const compare = comparers[target]!;
    kvs = await sortInTurns(kvs, order === ORDERS.descend ? (a, b) => compare(b, a) : compare);
  }
  const isCut = limit > 0 && kvs.length > limit;
  if (isCut) kvs = kvs.slice(0, limit);
  if (request.keysOnly && target === SORT_BY_VALUE) kvs = await inTurns(kvs, (kv) => ({ ...kv, value: noValue }));
  return { ...found, kvs, more: isCut || found.more };
}

const noValue: Uint8Array = new Uint8Array(0);

function isWanted({ modRevision, createRevision }: KeyValue, request: RangeRequest): boolean {
  const { minMod, maxMod, minCreate, maxCreate } = request;
  return (
    (minMod === 0 || modRevision >= minMod) &&
    (maxMod === 0 || modRevision <= maxMod) &&
    (minCreate === 0 || createRevision >= minCreate) &&
    (maxCreate === 0 || createRevision <= maxCreate)
  );
}

type Comparer = (a: KeyValue, b: KeyValue) => number;

const byField =
  (field: 'key' | 'version' | 'createRevision' | 'modRevision'): Comparer =>
  (a, b) =>
    a[field] < b[field] ? -1 : a[field] > b[field] ? 1 : 0;

/** By the number of what to sort by. */
const comparers: readonly Comparer[] = [
  byField('key'),
  byField('version'),
  byField('createRevision'),
  byField('modRevision'),
  (a, b) => Buffer.compare(a.value, b.value),
];

async function inTurns(
  kvs: readonly KeyValue[],
  make: (kv: KeyValue) => KeyValue | undefined,
): Promise<readonly KeyValue[]> {
  const made: KeyValue[] = [];
  for (const [at, kv] of kvs.entries()) {
    if (at > 0 && at % PAIRS_PER_TURN === 0) await nextTurn();
    const one = make(kv);
    if (one) made.push(one);
  }
  return made;
}

/** A stable sort that lets others run in between: short runs first, then merged two by two. */
async function sortInTurns(kvs: readonly KeyValue[], compare: Comparer): Promise<readonly KeyValue[]> {
  let runs: KeyValue[][] = [];
  for (let from = 0; from < kvs.length; from += PAIRS_PER_TURN) {
    if (from > 0) await nextTurn();
    runs.push(kvs.slice(from, from + PAIRS_PER_TURN).sort(compare));
  }
  while (runs.length > 1) {
    const longer: KeyValue[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      const [left, right] = [runs[at]!, runs[at + 1]];
      longer.push(right ? await merge(left, right, compare) : left);
    }
    runs = longer;
  }
  return runs[0] ?? [];
}

async function merge(left: KeyValue[], right: KeyValue[], compare: Comparer): Promise<KeyValue[]> {
  const merged: KeyValue[] = [];
  for (let i = 0, j = 0; i < left.length || j < right.length; ) {
    if (merged.length % PAIRS_PER_TURN === 0) await nextTurn();
    const fromLeft = j === right.length || (i < left.length && compare(left[i]!, right[j]!) <= 0);
    merged.push(fromLeft ? left[i++]! : right[j++]!);
  }
  return merged;
}
