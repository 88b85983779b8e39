/** What a transaction refuses. A refusal changes nothing, even where an earlier operation would have. */
import { describe, expect, it } from 'vitest';
import type { StoreErrorCode } from '../../src/store/errors.ts';
import type { Key, Op, Txn } from '../../src/store/kv.ts';
import { expectRefusal, fingerprint, type Open, put, putOp } from '../support/store/store-under-test.ts';

type Case = [what: string, code: StoreErrorCode, txn: (p: Key) => Txn];

const many = (count: number, p: Key) => Array.from({ length: count }, (_, i) => putOp(`${p}${i}`));
const big = (key: Key, mebibytes: number): Op => ({ kind: 'put', key, value: new Uint8Array(mebibytes * 1024 * 1024) });

const cases: Case[] = [
  ['an empty key in a put', 'InvalidArgument', (p) => ({ then: [putOp(`${p}a`), putOp('')] })],
  ['an empty key in a delete', 'InvalidArgument', () => ({ then: [{ kind: 'delete', range: { key: '' } }] })],
  ['an empty key in a read', 'InvalidArgument', (p) => ({ then: [putOp(p), { kind: 'range', range: { key: '' } }] })],
  [
    'an empty key in a compare',
    'InvalidArgument',
    (p) => ({ compare: [{ range: { key: '' }, target: 'version', is: '=', than: 0 }], then: [putOp(p)] }),
  ],
  ['a key with a character above U+00FF', 'InvalidArgument', (p) => ({ then: [putOp(`${p}a`), putOp(`${p}☃`)] })],
  ['an empty interval', 'InvalidArgument', (p) => ({ then: [{ kind: 'delete', range: { start: `${p}b`, end: p } }] })],
  ['more than 128 operations', 'InvalidArgument', (p) => ({ then: many(129, p) })],
  [
    'more than 128 operations in the other branch',
    'InvalidArgument',
    (p) => ({ then: [putOp(p)], else: many(129, p) }),
  ],
  ['the same key put twice', 'InvalidArgument', (p) => ({ then: [putOp(`${p}a`), putOp(`${p}b`), putOp(`${p}a`)] })],
  [
    'the same key put twice in the other branch',
    'InvalidArgument',
    (p) => ({ then: [putOp(`${p}b`)], else: [putOp(`${p}a`), putOp(`${p}a`)] }),
  ],
  [
    'a key put and deleted',
    'InvalidArgument',
    (p) => ({ then: [putOp(`${p}a`), { kind: 'delete', range: { key: `${p}a` } }] }),
  ],
  [
    'a key deleted by a prefix and put',
    'InvalidArgument',
    (p) => ({ then: [{ kind: 'delete', range: { prefix: p } }, putOp(`${p}a`)] }),
  ],
  [
    'a key deleted by an interval and put',
    'InvalidArgument',
    (p) => ({ then: [{ kind: 'delete', range: { start: `${p}a`, end: `${p}c` } }, putOp(`${p}b`)] }),
  ],
  ['a value above 1.5 MiB', 'InvalidArgument', (p) => ({ then: [putOp(`${p}a`), big(`${p}b`, 1.6)] })],
  ['a value far above 1.5 MiB', 'InvalidArgument', (p) => ({ then: [putOp(`${p}a`), big(`${p}b`, 4)] })],
  ['values above 1.5 MiB together', 'InvalidArgument', (p) => ({ then: [big(`${p}a`, 0.9), big(`${p}b`, 0.9)] })],
  [
    'a lease that does not exist',
    'LeaseNotFound',
    (p) => ({ then: [putOp(`${p}a`), putOp(`${p}b`, 'x', 987654321n)] }),
  ],
];

export function describeRefusals(open: Open): void {
  describe('txn() refuses', () => {
    it.each(cases)('%s', async (_what, code, txn) => {
      await using t = await open();
      await put(t.store, `${t.prefix}there`, 'before');
      const before = await fingerprint(t);
      await expectRefusal(t.store.txn(txn(t.prefix)), code);
      expect(await fingerprint(t)).toEqual(before);
    });

    it('an unknown lease only in the branch that runs', async () => {
      await using t = await open();
      const otherwise = [putOp(`${t.prefix}b`, '', 987654321n)];
      expect((await t.store.txn({ then: [putOp(`${t.prefix}a`)], else: otherwise })).succeeded).toBe(true);
    });

    it('a read at a revision it cannot see, and the writes before it with it', async () => {
      await using t = await open();
      const first = await put(t.store, `${t.prefix}there`, 'before');
      const compacted = await put(t.store, `${t.prefix}there`, 'after');
      await t.store.compact(compacted);
      const before = await fingerprint(t);
      const readAt = (revision: number): Op => ({ kind: 'range', range: { prefix: t.prefix }, options: { revision } });
      await expectRefusal(t.store.txn({ then: [putOp(`${t.prefix}a`), readAt(first)] }), 'Compacted');
      await expectRefusal(t.store.txn({ then: [putOp(`${t.prefix}a`), readAt(compacted + 9)] }), 'FutureRevision');
      expect(await fingerprint(t)).toEqual(before);
    });

    it('two puts of one key in different branches are fine', async () => {
      await using t = await open();
      const op = putOp(`${t.prefix}a`);
      expect((await t.store.txn({ then: [op], else: [op] })).succeeded).toBe(true);
    });

    it('a delete beside a put that it does not cover is fine', async () => {
      await using t = await open();
      await put(t.store, `${t.prefix}b`);
      const range = { start: `${t.prefix}b`, end: `${t.prefix}c` };
      const { results } = await t.store.txn({
        then: [putOp(`${t.prefix}a`), { kind: 'delete', range }, putOp(`${t.prefix}c`)],
      });
      expect(results[1]).toEqual({ kind: 'delete', deleted: 1, prevKvs: [] });
    });
  });
}
