/**
 * A transaction of etcd's in the words of the store, and its results back.
 *
 * Always true: there is one operation of the store for each of the request, and so one result. What the store does not
 * know is said otherwise: a range that can hold no key becomes a count of nothing at its revision, a comparison that is
 * decided already is left out or becomes one that never holds. Ranges are arranged as etcd does it (range-reader.ts).
 *
 * A transaction that only reads is not read inside the store, where nothing else could run meanwhile: its comparisons
 * are judged there, and its ranges read one by one at the revision at which that was.
 */
import { isStoreError } from '../../errors.ts';
import type { Compare, Op, OpResult, Revision, Store, Txn } from '../../kv.ts';
import { keyChangedTwice } from '../../txn-overlaps.ts';
import { checkSize, checkTxn } from '../messages/front-checks.ts';
import { refusals } from '../messages/front-error.ts';
import type { RangeRequest, RequestOp, TxnRequest, WireCompare } from '../messages/front-requests.ts';
import { arrange, type Call, NO_KEYS, NOTHING, optionsOf, rangeOf, readRange } from './range-reader.ts';

export type Ran = { readonly succeeded: boolean; readonly revision: Revision; readonly results: readonly OpResult[] };

/** `requestBytes`: how long the request was. */
export async function runTxn(store: Store, request: TxnRequest, requestBytes: number, call: Call): Promise<Ran> {
  checkTxn(request);
  const txn = toStoreTxn(request);
  for (const ops of [txn.then ?? [], txn.else ?? []])
    if (keyChangedTwice(ops) !== undefined) throw refusals.duplicateKey();
  const isLogged = ![...request.success, ...request.failure].every((op) => op.kind === 'range');
  if (isLogged) checkSize(requestBytes);
  const facts = factsOf(request);
  return facts.changes ? change(store, request, txn, facts) : readOnly(store, request, call);
}

/** The one operation of a request that changes something. */
export async function runChange(store: Store, op: RequestOp): Promise<{ revision: Revision; result: OpResult }> {
  const request = { compares: [], success: [op], failure: [] };
  const { revision, results } = await change(store, request, toStoreTxn(request), NO_FACTS);
  return { revision, result: results[0]! };
}

async function change(store: Store, request: TxnRequest, txn: Txn, { asksBelowZero }: Facts): Promise<Ran> {
  try {
    const { succeeded, revision, results } = await store.txn(asksBelowZero ? await withoutMinusOne(store, txn) : txn);
    const ops = succeeded ? request.success : request.failure;
    return { succeeded, revision, results: await arrangeAll(ops, results) };
  } catch (err) {
    // All else was judged before: what the store does not take is a revision below zero, which etcd calls compacted.
    if (asksBelowZero && isStoreError(err, 'InvalidArgument')) throw refusals.compacted();
    throw err;
  }
}

type Facts = { readonly changes: boolean; readonly asksBelowZero: boolean };
const NO_FACTS: Facts = { changes: false, asksBelowZero: false };

function factsOf({ success, failure }: TxnRequest): Facts {
  let { changes, asksBelowZero } = NO_FACTS;
  for (const ops of [success, failure])
    for (const op of ops) {
      const inner = op.kind === 'txn' ? factsOf(op.txn) : NO_FACTS;
      changes ||= op.kind === 'put' || op.kind === 'delete' || inner.changes;
      asksBelowZero ||= (op.kind === 'range' && op.revision < 0) || inner.asksBelowZero;
    }
  return { changes, asksBelowZero };
}

/** Within a transaction -1 is readable as long as nothing was compacted: it is where etcd's mark begins. */
async function withoutMinusOne(store: Store, txn: Txn): Promise<Txn> {
  const { compaction } = await store.status();
  if (compaction && compaction.revision > 0) return txn;
  const replace = (inner: Txn): Txn => ({
    ...inner,
    then: (inner.then ?? []).map(op),
    else: (inner.else ?? []).map(op),
  });
  const op = (one: Op): Op => {
    if (one.kind === 'txn') return { ...one, txn: replace(one.txn) };
    return one.kind === 'range' && one.options?.revision === -1
      ? { ...one, options: { ...one.options, revision: 0 } }
      : one;
  };
  return replace(txn);
}

// ---- transactions that only read

const MAX_ATTEMPTS = 10;

async function readOnly(store: Store, request: TxnRequest, call: Call): Promise<Ran> {
  for (let attempt = 1; ; attempt++) {
    const isSimple = request.compares.length === 0 && !request.success.some((op) => op.kind === 'txn');
    const judged: Ran = isSimple
      ? { succeeded: true, revision: await store.revision(call), results: [] }
      : await store.txn(withoutReads(request), call);
    try {
      const results = await readAll(store, request, judged, judged.revision, call);
      return { ...judged, results };
    } catch (err) {
      // The revision was compacted while it was read, though it was the newest when that began.
      const isOvertaken = isStoreError(err, 'Compacted') && (err.compactRevision ?? 0) > judged.revision;
      if (!isOvertaken || attempt === MAX_ATTEMPTS) throw err;
      call.memory.set(0);
    }
  }
}

/** Comparisons and the transactions within, and nothing else. */
function withoutReads({ compares, success, failure }: TxnRequest): Txn {
  const inner = (ops: readonly RequestOp[]) =>
    ops.flatMap((op): Op[] => (op.kind === 'txn' ? [{ kind: 'txn', txn: withoutReads(op.txn) }] : []));
  return { compare: toStoreCompares(compares), then: inner(success), else: inner(failure) };
}

async function readAll(
  store: Store,
  { success, failure }: TxnRequest,
  judged: Pick<Ran, 'succeeded' | 'results'>,
  revision: Revision,
  call: Call,
): Promise<OpResult[]> {
  const results: OpResult[] = [];
  let inner = 0;
  for (const op of judged.succeeded ? success : failure) {
    if (op.kind === 'txn') {
      const one = judged.results[inner++] as OpResult & { kind: 'txn' };
      results.push({ ...one, results: await readAll(store, op.txn, one, revision, call) });
    } else if (op.kind === 'range') {
      await checkRevision(store, op);
      results.push({ kind: 'range', ...(await readRange(store, op, call, revision)), revision });
    }
  }
  return results;
}

/** Here, unlike in a read by itself, a revision below zero is one that is compacted. */
async function checkRevision(store: Store, { revision }: RangeRequest): Promise<void> {
  if (revision >= 0) return;
  const { compaction } = await store.status();
  if (revision < -1 || (compaction?.revision ?? 0) > 0) throw refusals.compacted();
}

// ---- requests to operations, results to answers

function toStoreTxn({ compares, success, failure }: TxnRequest): Txn {
  return { compare: toStoreCompares(compares), then: success.map(toStoreOp), else: failure.map(toStoreOp) };
}

const NOT_READ: Op = { kind: 'range', range: NO_KEYS, options: { countOnly: true } };

function toStoreOp(op: RequestOp): Op {
  switch (op.kind) {
    case 'put': {
      const { lease, ...put } = op;
      return { ...put, ...(lease !== 0n && { lease }) };
    }
    case 'delete': {
      const range = rangeOf(op);
      return range ? { kind: 'delete', range, prevKv: op.prevKv } : NOT_READ;
    }
    case 'range': {
      const range = rangeOf(op);
      const options = { ...optionsOf(op), ...(op.revision < 0 && { revision: op.revision }) };
      if (range) return { kind: 'range', range, options };
      return { kind: 'range', range: NO_KEYS, options: { ...options, countOnly: true } };
    }
    case 'txn':
      return { kind: 'txn', txn: toStoreTxn(op.txn) };
    case 'none':
      throw refusals.keyNotFound();
  }
}

async function arrangeAll(ops: readonly RequestOp[], results: readonly OpResult[]): Promise<OpResult[]> {
  const arranged: OpResult[] = [];
  for (const [at, op] of ops.entries()) arranged.push(await arrangeOne(op, results[at]!));
  return arranged;
}

async function arrangeOne(op: RequestOp, result: OpResult): Promise<OpResult> {
  if (op.kind === 'txn' && result.kind === 'txn') {
    const ops = result.succeeded ? op.txn.success : op.txn.failure;
    return { ...result, results: await arrangeAll(ops, result.results) };
  }
  if (result.kind !== 'range') return result;
  if (op.kind === 'delete') return { kind: 'delete', deleted: 0, prevKvs: [] };
  if (op.kind !== 'range') return result;
  if (!rangeOf(op)) return { kind: 'range', revision: result.revision, ...NOTHING };
  return { kind: 'range', ...(await arrange(result, op)) };
}

// ---- comparisons

const comparisons = ['=', '>', '<', '!='] as const;
const NEVER: Compare = { range: NO_KEYS, target: 'version', is: '<', than: 0 };

function toStoreCompares(compares: readonly WireCompare[]): Compare[] {
  return compares.flatMap((compare): Compare[] => {
    const found = toStoreCompare(compare);
    return typeof found === 'boolean' ? (found ? [] : [NEVER]) : [found];
  });
}

/** A comparison with a result that etcd does not know holds, one of what etcd does not know finds no difference. */
function toStoreCompare(compare: WireCompare): Compare | boolean {
  const is = comparisons[compare.result];
  const range = rangeOf(compare);
  if (compare.target === 'value') {
    if (!range) return false; // where there is no key, it has no value
    return is ? { range, is, target: 'value', than: compare.than } : { range, is: '>', target: 'version', than: 0 };
  }
  if (!is) return true;
  if (compare.target === 'unknown') return is === '=';
  if (!range) return holdsOfZero(is, compare.than);
  return compare.target === 'lease'
    ? { range, is, target: 'lease', than: compare.than }
    : { range, is, target: compare.target, than: compare.than };
}

function holdsOfZero(is: Compare['is'], than: number | bigint): boolean {
  const isZero = Number(than) === 0;
  if (is === '=') return isZero;
  if (is === '!=') return !isZero;
  return is === '<' ? than > 0 : than < 0;
}
