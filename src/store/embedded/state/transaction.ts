/**
 * A transaction, judged and carried out on the head, all at once.
 *
 * First what the request alone tells (`checkTxn`), then what the state tells (`checkPuts`, `checkReads`), then the
 * operations, those of transactions within it included. After the first change nothing fails but the reading of a damaged
 * record, and then the changes are taken back: a transaction happens whole or not at all. The rules are etcd's; where etcd
 * overlooks an overlap (a put under a delete of an unbounded range) this refuses it like any other.
 */
import { StoreError } from '../../errors.ts';
import { type Bounds, boundsOf, checkKey } from '../../keys.ts';
import type { Compare, KeyRange, Op, OpResult, RangeOptions, RangeResult, Revision, Txn } from '../../kv.ts';
import { keyChangedTwice } from '../../txn-overlaps.ts';
import type { Change, Head, LiveKey } from './head.ts';
import type { Version } from './key-index.ts';
import type { Leases } from './leases.ts';

export type TxnLimits = { readonly maxOps: number; readonly maxRequestBytes: number };

/** What etcd allows. */
export const defaultTxnLimits: TxnLimits = { maxOps: 128, maxRequestBytes: 1.5 * 1024 * 1024 };

export type TxnContext = {
  readonly head: Head;
  readonly leases: Leases;
  /** A read of the past, or a refusal of it, for a range with a revision. */
  readonly readRange: (bounds: Bounds, options: RangeOptions) => RangeResult;
};

export type TxnOutcome = { readonly succeeded: boolean; readonly results: OpResult[]; readonly changes: Change[] };

export function checkTxn(txn: Txn, limits: TxnLimits): void {
  checkLists(txn, limits.maxOps);
  // As many as a transaction can have that holds no other. Each goes over all that is on its way to the disk.
  const maxIntervals = 3 * limits.maxOps;
  if (intervalsIn(txn) > maxIntervals) throw invalid(`more than ${maxIntervals} ranges of keys`);
  for (const ops of [txn.then ?? [], txn.else ?? []]) {
    const twice = keyChangedTwice(ops);
    if (twice !== undefined) throw invalid(`key ${JSON.stringify(twice)} is put twice, or both put and deleted`);
  }
  const bytes = bytesToPut(txn);
  if (bytes > limits.maxRequestBytes) throw invalid(`${bytes} bytes to put, the limit is ${limits.maxRequestBytes}`);
}

export function runTxn(txn: Txn, context: TxnContext): TxnOutcome {
  const looks = new Looks(context.head);
  const plan = judge(txn, context.head, looks);
  checkPuts(plan, context);
  checkReads(plan, context, looks);
  const changes: Change[] = [];
  context.head.begin();
  try {
    const results = runPlan(plan, context, changes);
    if (changes.length > 0) context.head.revision++;
    return { succeeded: plan.succeeded, results, changes };
  } catch (err) {
    takeBack(changes, context);
    throw err;
  }
}

/** Wherever a key has been moved to, and be it twice, it goes back to the lease that its version before has. */
function takeBack(changes: readonly Change[], { head, leases }: TxnContext): void {
  head.takeBack();
  for (const { key, version } of changes) leases.move(key, version.lease, head.latest(key)?.lease ?? 0n);
}

/** A transaction within another may have what the longest list of that one leaves. */
function checkLists({ compare = [], then = [], else: otherwise = [] }: Txn, maxOps: number): void {
  const longest = Math.max(compare.length, then.length, otherwise.length);
  if (longest > maxOps) throw invalid(`more than ${maxOps} operations or compares`);
  for (const { range } of compare) boundsOf(range);
  for (const ops of [then, otherwise])
    for (const op of ops) {
      if (op.kind === 'txn') checkLists(op.txn, maxOps - longest);
      else if (op.kind === 'put') checkPut(op);
      else boundsOf(op.range);
    }
}

function checkPut({ key, value, lease, ignoreValue, ignoreLease }: Op & { kind: 'put' }): void {
  checkKey(key);
  if (ignoreValue && value.length > 0) throw invalid(`a value for ${JSON.stringify(key)}, which is to keep its own`);
  if (ignoreLease && lease) throw invalid(`a lease for ${JSON.stringify(key)}, which is to keep its own`);
}

function bytesToPut({ then = [], else: otherwise = [] }: Txn): number {
  let bytes = 0;
  for (const ops of [then, otherwise])
    for (const op of ops) {
      if (op.kind === 'put') bytes += op.key.length + op.value.length;
      else if (op.kind === 'txn') bytes += bytesToPut(op.txn);
    }
  return bytes;
}

function intervalsIn({ compare = [], then = [], else: otherwise = [] }: Txn): number {
  let intervals = compare.filter(({ range }) => !('key' in range)).length;
  for (const ops of [then, otherwise])
    for (const op of ops) {
      if (op.kind === 'txn') intervals += intervalsIn(op.txn);
      else if (op.kind !== 'put' && !('key' in op.range)) intervals++;
    }
  return intervals;
}

/** The branch that runs, and within it those of the transactions that it holds, by their place. */
type Plan = { readonly succeeded: boolean; readonly ops: readonly Op[]; readonly within: ReadonlyMap<number, Plan> };

const nothingWithin: ReadonlyMap<number, Plan> = new Map();

/** All compares come before all operations. */
function judge(txn: Txn, head: Head, looks: Looks): Plan {
  const succeeded = (txn.compare ?? []).every((compare) => {
    looks.at(compare.range, compare.target === 'value' ? READ : LOOK);
    return isTrue(compare, head);
  });
  const ops = (succeeded ? txn.then : txn.else) ?? [];
  const within = ops.some((op) => op.kind === 'txn') ? new Map<number, Plan>() : undefined;
  if (within) for (const [at, op] of ops.entries()) if (op.kind === 'txn') within.set(at, judge(op.txn, head, looks));
  return { succeeded, ops, within: within ?? nothingWithin };
}

/** As etcd up to 3.5 does it, all puts are looked at before all reads. */
function checkPuts({ ops, within }: Plan, context: TxnContext): void {
  for (const [at, op] of ops.entries()) {
    if (op.kind === 'txn') checkPuts(within.get(at)!, context);
    if (op.kind !== 'put') continue;
    if ((op.ignoreValue || op.ignoreLease) && !context.head.latest(op.key))
      throw new StoreError(
        'KeyNotFound',
        `Cannot keep value or lease of ${JSON.stringify(op.key)}: there is no such key`,
      );
    if (op.lease) context.leases.mustHave(op.lease);
  }
}

function checkReads({ ops, within }: Plan, context: TxnContext, looks: Looks): void {
  for (const [at, op] of ops.entries()) {
    if (op.kind === 'txn') checkReads(within.get(at)!, context, looks);
    if (op.kind !== 'range') continue;
    const { revision, limit, keysOnly, countOnly } = op.options ?? {};
    if (revision) context.readRange(nowhere, { revision, countOnly: true });
    // The past is looked through to its end, whatever the limit: that is how it is counted.
    if (revision || !countOnly) looks.at(op.range, keysOnly || countOnly ? LOOK : READ, revision ? undefined : limit);
  }
}

/** What it costs to see that a key is there, and to read its value. */
const LOOK = 1;
const READ = 10;
const MAX_LOOKS = 1_000_000;

/** How much compares and reads go over: nothing else can run meanwhile, so it has a limit. */
class Looks {
  readonly #head: Head;
  #left = MAX_LOOKS;

  constructor(head: Head) {
    this.#head = head;
  }

  at(range: KeyRange, each: number, limit?: number): void {
    const keys = 'key' in range ? 1 : this.#head.count(range);
    this.#left -= Math.min(keys, limit || keys) * each;
    if (this.#left < 0)
      throw invalid(
        `its compares and reads go over more than ${MAX_LOOKS / READ} values or ${MAX_LOOKS} keys; read outside of it`,
      );
  }
}

/** A range for those who want to know whether a revision can be read, and nothing else. */
const nowhere: Bounds = { start: '', end: '\0' };

function isTrue(compare: Compare, head: Head): boolean {
  const live = head.keys(compare.range);
  if (live.length === 0) return compare.target !== 'value' && holds(compare.is, 0, Number(compare.than));
  return live.every((key) => isTrueOf(compare, key, head));
}

function isTrueOf(compare: Compare, key: LiveKey, head: Head): boolean {
  switch (compare.target) {
    case 'value':
      return holds(compare.is, Buffer.compare(head.read(key).value, compare.than), 0);
    case 'lease':
      return holds(compare.is, key.version.lease, compare.than);
    default:
      return holds(compare.is, key.version[compare.target], compare.than);
  }
}

function holds<T extends number | bigint>(is: Compare['is'], left: T, right: T): boolean {
  switch (is) {
    case '=':
      return left === right;
    case '!=':
      return left !== right;
    case '<':
      return left < right;
    case '>':
      return left > right;
  }
}

function runPlan(plan: Plan, context: TxnContext, changes: Change[]): OpResult[] {
  return plan.ops.map((op, at): OpResult => {
    if (op.kind !== 'txn') return runOp(op, context, changes);
    const within = plan.within.get(at)!;
    return { kind: 'txn', succeeded: within.succeeded, results: runPlan(within, context, changes) };
  });
}

function runOp(op: Exclude<Op, { kind: 'txn' }>, context: TxnContext, changes: Change[]): OpResult {
  switch (op.kind) {
    case 'put':
      return runPut(op, context, changes);
    case 'delete':
      return runDelete(op, context, changes);
    case 'range':
      return { kind: 'range', ...runRange(op, context, changes) };
  }
}

function runPut(op: Op & { kind: 'put' }, { head, leases }: TxnContext, changes: Change[]): OpResult {
  const before = head.latest(op.key);
  const read = op.prevKv || op.ignoreValue;
  const prevKv = read && before ? head.read({ key: op.key, version: before }) : undefined;
  const modRevision = head.revision + 1;
  const version: Version = {
    modRevision,
    sub: changes.length,
    createRevision: before?.createRevision ?? modRevision,
    version: (before?.version ?? 0) + 1,
    lease: op.ignoreLease ? (before?.lease ?? 0n) : (op.lease ?? 0n),
  };
  leases.move(op.key, before?.lease ?? 0n, version.lease);
  changes.push(head.change(op.key, version, op.ignoreValue ? prevKv?.value : op.value));
  return { kind: 'put', prevKv: op.prevKv ? prevKv : undefined };
}

function runDelete(op: Op & { kind: 'delete' }, { head, leases }: TxnContext, changes: Change[]): OpResult {
  const doomed = head.keys(op.range);
  const prevKvs = op.prevKv ? doomed.map((key) => head.read(key)) : [];
  for (const { key, version } of doomed) {
    leases.move(key, version.lease, 0n);
    changes.push(head.change(key, tombstone(head.revision + 1, changes.length)));
  }
  return { kind: 'delete', deleted: doomed.length, prevKvs };
}

export function tombstone(modRevision: Revision, sub: number): Version {
  return { modRevision, sub, createRevision: 0, version: 0, lease: 0n };
}

function runRange(
  op: Op & { kind: 'range' },
  { head, readRange }: TxnContext,
  changes: readonly Change[],
): RangeResult {
  const { revision, limit = 0, keysOnly = false, countOnly = false } = op.options ?? {};
  const now = head.revision + (changes.length > 0 ? 1 : 0);
  if (revision) return { ...readRange(boundsOf(op.range), op.options ?? {}), revision: now };
  const count = head.count(op.range);
  if (countOnly) return { revision: now, kvs: [], count, more: false };
  const keys = head.keys(op.range, limit > 0 ? limit : undefined);
  return { revision: now, kvs: keys.map((key) => head.read(key, keysOnly)), count, more: keys.length < count };
}

function invalid(what: string): StoreError {
  return new StoreError('InvalidArgument', `Cannot run transaction: ${what}`);
}
