import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../test/support/growth.ts';
import { checkTxn } from '../../test/support/store/txn-rules.ts';
import { isStoreError } from './errors.ts';
import type { Op } from './kv.ts';
import { keyChangedTwice } from './txn-overlaps.ts';

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const put: fc.Arbitrary<Op> = key.map((one) => ({ kind: 'put', key: one, value: new Uint8Array(0) }));
const remove: fc.Arbitrary<Op> = fc.oneof(
  key.map((one): Op => ({ kind: 'delete', range: { key: one } })),
  key.map((start): Op => ({ kind: 'delete', range: { start } })),
  fc
    .tuple(key, key)
    .filter(([start, end]) => start < end)
    .map(([start, end]): Op => ({ kind: 'delete', range: { start, end } })),
);
const ops = fc.letrec<{ list: Op[]; op: Op; txn: Op }>((tie) => ({
  list: fc.array(tie('op'), { maxLength: 4, depthIdentifier: 'ops' }),
  op: fc.oneof({ depthSize: 'small', depthIdentifier: 'ops' }, put, remove, tie('txn')),
  txn: fc
    .record({ then: tie('list'), else: tie('list') })
    .map((txn): Op => ({ kind: 'txn', txn: txn as { then: Op[]; else: Op[] } })),
})).list;

const isRefused = (list: readonly Op[]) => {
  try {
    checkTxn({ then: list });
    return false;
  } catch (err) {
    if (!isStoreError(err, 'InvalidArgument')) throw err;
    return true;
  }
};

describe('keyChangedTwice()', () => {
  it('finds what a comparison of everything with everything finds', () => {
    fc.assert(
      fc.property(ops, (list) => {
        expect(keyChangedTwice(list) !== undefined).toBe(isRefused(list));
      }),
      { numRuns: 2000 },
    );
  });

  /** Puts and deletes by the thousand, as deep as the limits on operations allow it to be wide. */
  const bushy = (count: number): Op[] => {
    let leaves = Array.from({ length: count }, (_, i): Op => {
      const name = String(i).padStart(7, '0');
      return i % 2 === 0
        ? { kind: 'put', key: `p${name}`, value: new Uint8Array(0) }
        : { kind: 'delete', range: { start: `d${name}`, end: `d${name}x` } };
    });
    while (leaves.length > 8) {
      const level: Op[] = [];
      for (let i = 0; i < leaves.length; i += 8)
        level.push({ kind: 'txn', txn: { then: leaves.slice(i, i + 4), else: leaves.slice(i + 4, i + 8) } });
      leaves = level;
    }
    return leaves;
  };

  it('takes time with their number, never with puts times deletes', async () => {
    const run = (list: readonly Op[]) => expect(keyChangedTwice(list)).toBeUndefined();
    await expectLinear('overlaps of a wide tree', { make: bushy, run, from: 4000, limit: 32_000, rounds: 3 });
    const chained = (count: number): Op[] => {
      let list = bushy(count);
      for (let i = 0; i < 100; i++) list = [{ kind: 'txn', txn: { then: list } }];
      return list;
    };
    await expectLinear('overlaps below a long chain', { make: chained, run, from: 4000, limit: 32_000, rounds: 3 });
  });
});
