/** What a store refuses before it looks at its state: nothing happens then, whichever branch would have run. */
import { StoreError } from '../../../src/store/errors.ts';
import { type Bounds, boundsOf, checkKey, isInBounds } from '../../../src/store/keys.ts';
import type { Op, Txn } from '../../../src/store/kv.ts';

const maxOps = 128;
const maxRequestBytes = 1.5 * 1024 * 1024;

export function checkTxn(txn: Txn): void {
  checkOps(txn, maxOps);
  for (const ops of [txn.then ?? [], txn.else ?? []]) changesOf(ops);
  const bytes = bytesOf(txn);
  if (bytes > maxRequestBytes)
    throw new StoreError('InvalidArgument', `Cannot run a transaction of ${bytes} bytes: ${maxRequestBytes} at most`);
}

/** What is within a transaction has what its longest list leaves. */
function checkOps({ compare = [], then = [], else: otherwise = [] }: Txn, most: number): void {
  const longest = Math.max(compare.length, then.length, otherwise.length);
  if (longest > most)
    throw new StoreError('InvalidArgument', `Cannot run a transaction of more than ${most} operations`);
  for (const { range } of compare) boundsOf(range);
  for (const op of [...then, ...otherwise]) {
    if (op.kind === 'txn') checkOps(op.txn, most - longest);
    else if (op.kind === 'put') checkPut(op);
    else boundsOf(op.range);
  }
}

function checkPut(op: Extract<Op, { kind: 'put' }>): void {
  checkKey(op.key);
  if ((op.ignoreValue && op.value.length > 0) || (op.ignoreLease && op.lease))
    throw new StoreError('InvalidArgument', `Cannot keep and change ${JSON.stringify(op.key)} at once`);
}

type Changes = { puts: string[]; deletes: Bounds[] };

/** Everything that a list may change, held against itself in the order of etcd: deletes, then transactions, then puts. */
function changesOf(ops: readonly Op[]): Changes {
  const all: Changes = { puts: [], deletes: [] };
  for (const op of ops) if (op.kind === 'delete') all.deletes.push(boundsOf(op.range));
  for (const op of ops) {
    if (op.kind !== 'txn') continue;
    const branches = [changesOf(op.txn.then ?? []), changesOf(op.txn.else ?? [])];
    for (const { puts } of branches) for (const key of puts) checkFree(key, all);
    for (const { puts, deletes } of branches) {
      all.puts.push(...puts);
      all.deletes.push(...deletes);
    }
  }
  for (const op of ops) {
    if (op.kind !== 'put') continue;
    checkFree(op.key, all);
    all.puts.push(op.key);
  }
  return all;
}

function checkFree(key: string, { puts, deletes }: Changes): void {
  if (puts.includes(key) || deletes.some((bounds) => isInBounds(key, bounds)))
    throw new StoreError('InvalidArgument', `Cannot change ${JSON.stringify(key)} twice in one transaction`);
}

function bytesOf({ then = [], else: otherwise = [] }: Txn): number {
  const bytes = (op: Op) =>
    op.kind === 'txn' ? bytesOf(op.txn) : op.kind === 'put' ? op.key.length + op.value.length : 0;
  return [...then, ...otherwise].reduce((sum, op) => sum + bytes(op), 0);
}
