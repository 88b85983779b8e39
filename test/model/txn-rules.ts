/** What a store refuses before it looks at its state: nothing happens then, whichever branch would have run. */
import { StoreError } from '../../src/store/errors.ts';
import { type Bounds, boundsOf, checkKey, isInBounds } from '../../src/store/keys.ts';
import type { Op, Txn } from '../../src/store/kv.ts';

const maxOps = 128;
const maxRequestBytes = 1.5 * 1024 * 1024;

export function checkTxn({ compare = [], then = [], else: otherwise = [] }: Txn): void {
  if (Math.max(compare.length, then.length, otherwise.length) > maxOps)
    throw new StoreError('InvalidArgument', `Cannot run a transaction of more than ${maxOps} operations`);
  for (const { range } of compare) boundsOf(range);
  checkBranch(then);
  checkBranch(otherwise);
  const bytes = [...then, ...otherwise].reduce((sum, op) => sum + bytesOf(op), 0);
  if (bytes > maxRequestBytes)
    throw new StoreError('InvalidArgument', `Cannot run a transaction of ${bytes} bytes: ${maxRequestBytes} at most`);
}

function checkBranch(ops: readonly Op[]): void {
  const deletes: Bounds[] = ops.flatMap((op) => (op.kind === 'delete' ? [boundsOf(op.range)] : []));
  const puts = new Set<string>();
  for (const op of ops) {
    if (op.kind === 'range') boundsOf(op.range);
    if (op.kind !== 'put') continue;
    checkKey(op.key);
    if (puts.has(op.key) || deletes.some((bounds) => isInBounds(op.key, bounds)))
      throw new StoreError('InvalidArgument', `Cannot change ${JSON.stringify(op.key)} twice in one transaction`);
    puts.add(op.key);
  }
}

function bytesOf(op: Op): number {
  return op.kind === 'put' ? op.key.length + op.value.length : 0;
}
