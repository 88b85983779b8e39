/**
 * A transaction, judged and carried out on the head, all at once.
 *
 * First what the request alone tells (`checkTxn`), then what the state tells (`checkBranch`), then the operations. After
 * the first change nothing fails but the reading of a damaged record, and then the changes are taken back: a transaction
 * happens whole or not at all. The rules are etcd's; where etcd overlooks an overlap (a put under a delete of an unbounded
 * range) this refuses it like any other.
 */
import { StoreError } from '../errors.ts';
import { type Bounds, boundsOf, checkKey, isInBounds } from '../keys.ts';
import type { Compare, Op, OpResult, RangeOptions, RangeResult, Revision, Txn } from '../kv.ts';
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
  let bytes = 0;
  for (const ops of [txn.then ?? [], txn.else ?? []]) {
    if (ops.length > limits.maxOps || (txn.compare?.length ?? 0) > limits.maxOps)
      throw invalid(`more than ${limits.maxOps} operations or compares`);
    for (const op of ops) bytes += op.kind === 'put' ? op.key.length + op.value.length : 0;
    checkOverlaps(ops);
  }
  for (const { range } of txn.compare ?? []) boundsOf(range);
  if (bytes > limits.maxRequestBytes) throw invalid(`${bytes} bytes to put, the limit is ${limits.maxRequestBytes}`);
}

export function runTxn(txn: Txn, context: TxnContext): TxnOutcome {
  const succeeded = (txn.compare ?? []).every((compare) => isTrue(compare, context.head));
  const ops = (succeeded ? txn.then : txn.else) ?? [];
  checkBranch(ops, context);
  const changes: Change[] = [];
  context.head.begin();
  try {
    const results = ops.map((op) => runOp(op, context, changes));
    if (changes.length > 0) context.head.revision++;
    return { succeeded, results, changes };
  } catch (err) {
    takeBack(changes, context);
    throw err;
  }
}

/** A transaction changes a key once at most, so what its newest version was before is what it is now. */
function takeBack(changes: readonly Change[], { head, leases }: TxnContext): void {
  head.takeBack();
  for (const { key, version } of changes) leases.move(key, version.lease, head.latest(key)?.lease ?? 0n);
}

function checkOverlaps(ops: readonly Op[]): void {
  const puts = new Set<string>();
  for (const op of ops) {
    if (op.kind !== 'put') continue;
    checkKey(op.key);
    if (puts.has(op.key)) throw invalid(`key ${JSON.stringify(op.key)} is put twice`);
    puts.add(op.key);
  }
  for (const op of ops) {
    if (op.kind === 'put') continue;
    const bounds = boundsOf(op.range);
    if (op.kind === 'range') continue;
    for (const key of puts)
      if (isInBounds(key, bounds)) throw invalid(`key ${JSON.stringify(key)} is both put and deleted`);
  }
}

function checkBranch(ops: readonly Op[], { leases, readRange }: TxnContext): void {
  for (const op of ops) {
    if (op.kind === 'put' && op.lease) leases.mustHave(op.lease);
    if (op.kind === 'range' && op.options?.revision)
      readRange(boundsOf(op.range), { revision: op.options.revision, countOnly: true });
  }
}

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

function runOp(op: Op, context: TxnContext, changes: Change[]): OpResult {
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
  const prevKv = op.prevKv && before ? head.read({ key: op.key, version: before }) : undefined;
  const modRevision = head.revision + 1;
  const version: Version = {
    modRevision,
    sub: changes.length,
    createRevision: before?.createRevision ?? modRevision,
    version: (before?.version ?? 0) + 1,
    lease: op.lease ?? 0n,
  };
  leases.move(op.key, before?.lease ?? 0n, version.lease);
  changes.push(head.change(op.key, version, op.value));
  return { kind: 'put', prevKv };
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
