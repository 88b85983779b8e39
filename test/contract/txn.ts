/** Transactions: branches, the order of operations, what they answer, and what they refuse. */
import { describe, expect, it } from 'vitest';
import type { Compare, Op, OpResult } from '../../src/store/kv.ts';
import {
  bytes,
  fingerprint,
  keysIn,
  type Open,
  plain,
  put,
  putOp,
  remove,
  textOf,
} from '../support/store/store-under-test.ts';

export function describeTxns(open: Open): void {
  describe('txn()', () => {
    it('runs `then` when all compares hold, and `else` when one does not', async () => {
      await using t = await open();
      const key = `${t.prefix}a`;
      await put(t.store, key, 'one');
      const isOne: Compare = { range: { key }, target: 'value', is: '=', than: bytes('one') };
      const isThere: Compare = { range: { key }, target: 'version', is: '>', than: 0 };
      const branches = { then: [putOp(`${t.prefix}then`)], else: [putOp(`${t.prefix}else`)] };
      const ran = async (compare: Compare[]) => {
        const { succeeded, results } = await t.store.txn({ compare, ...branches });
        expect(results).toEqual([{ kind: 'put', prevKv: undefined }]);
        const keys = await keysIn(t.store, { prefix: t.prefix });
        await remove(t.store, { start: `${t.prefix}b`, end: `${t.prefix}z` });
        return { succeeded, keys: keys.slice(1).map((name) => name.slice(t.prefix.length)) };
      };
      expect(await ran([])).toEqual({ succeeded: true, keys: ['then'] });
      expect(await ran([isOne, isThere])).toEqual({ succeeded: true, keys: ['then'] });
      expect(await ran([isThere, { ...isOne, is: '!=' }])).toEqual({ succeeded: false, keys: ['else'] });
      expect(await ran([{ ...isThere, is: '=' }, isOne])).toEqual({ succeeded: false, keys: ['else'] });
    });

    it('without the branch that would run, it answers and changes nothing', async () => {
      await using t = await open();
      const before = await fingerprint(t);
      const revision = await t.store.revision();
      const compare: Compare[] = [{ range: { key: `${t.prefix}a` }, target: 'version', is: '=', than: 1 }];
      const txn = { compare, then: [putOp(`${t.prefix}a`)] };
      expect(await t.store.txn(txn)).toEqual({ succeeded: false, revision, results: [] });
      expect(await fingerprint(t)).toEqual(before);
    });

    it('compares see the state before the transaction', async () => {
      await using t = await open();
      const key = `${t.prefix}a`;
      const compare: Compare[] = [{ range: { key }, target: 'version', is: '=', than: 0 }];
      const { succeeded } = await t.store.txn({ compare, then: [putOp(key)], else: [] });
      expect(succeeded).toBe(true);
      expect((await t.store.txn({ compare, then: [putOp(key)] })).succeeded).toBe(false);
    });

    it('a read sees the writes before it in the same transaction, and not those after it', async () => {
      await using t = await open();
      const before = await put(t.store, `${t.prefix}gone`, 'x');
      const read: Op = { kind: 'range', range: { prefix: t.prefix } };
      const { revision, results } = await t.store.txn({
        then: [
          read,
          putOp(`${t.prefix}a`, 'one'),
          read,
          { kind: 'delete', range: { key: `${t.prefix}gone` } },
          read,
          putOp(`${t.prefix}b`, 'two'),
        ],
      });
      const seen = (i: number) => {
        const result = results[i];
        return result?.kind === 'range' && [result.revision, ...result.kvs.map((kv) => kv.key.slice(t.prefix.length))];
      };
      expect(revision).toBe(before + 1);
      expect(seen(0)).toEqual([before, 'gone']);
      expect(seen(2)).toEqual([revision, 'a', 'gone']);
      expect(seen(4)).toEqual([revision, 'a']);
      const inside = results[2]?.kind === 'range' ? results[2].kvs[0] : undefined;
      expect(inside).toMatchObject({ createRevision: revision, modRevision: revision, version: 1 });
      expect(textOf(inside!.value)).toBe('one');
      expect(await keysIn(t.store, { prefix: t.prefix })).toEqual([`${t.prefix}a`, `${t.prefix}b`]);
    });

    it('a read inside takes the options of a read outside', async () => {
      await using t = await open();
      const { revision } = await t.store.txn({ then: ['a', 'b', 'c'].map((key) => putOp(t.prefix + key, 'old')) });
      await remove(t.store, { key: `${t.prefix}a` });
      const range = { prefix: t.prefix };
      const options = [{ limit: 1 }, { keysOnly: true }, { countOnly: true }, { revision, limit: 2 }, { revision }];
      const { results } = await t.store.txn({ then: options.map((each) => ({ kind: 'range', range, options: each })) });
      const outside = await Promise.all(options.map((each) => t.store.range(range, each)));
      const shown = (result: Omit<Extract<OpResult, { kind: 'range' }>, 'kind'>) => ({
        ...result,
        kvs: result.kvs.map(plain),
      });
      expect(results.map((result) => result.kind === 'range' && shown(result))).toEqual(
        outside.map((result) => ({ kind: 'range', ...shown(result) })),
      );
    });

    it('put answers the pair before it, if asked for', async () => {
      await using t = await open();
      const op: Op = { kind: 'put', key: `${t.prefix}a`, value: bytes('new'), prevKv: true };
      expect((await t.store.txn({ then: [op] })).results).toEqual([{ kind: 'put', prevKv: undefined }]);
      const before = plain((await t.store.get(`${t.prefix}a`)).kv);
      const [result] = (await t.store.txn({ then: [op] })).results;
      expect(result?.kind === 'put' && plain(result.prevKv)).toEqual(before);
      expect((await t.store.txn({ then: [{ ...op, prevKv: false }] })).results).toEqual([
        { kind: 'put', prevKv: undefined },
      ]);
    });

    it('delete answers how many keys it deleted, and their pairs in order if asked for', async () => {
      await using t = await open();
      await t.store.txn({ then: ['b', 'a', 'c', 'd'].map((key) => putOp(t.prefix + key, key)) });
      const before = (await t.store.range({ start: t.prefix, end: `${t.prefix}c` })).kvs.map(plain);
      const range = { start: t.prefix, end: `${t.prefix}c` };
      const { revision, results } = await t.store.txn({
        then: [
          { kind: 'delete', range, prevKv: true },
          { kind: 'delete', range, prevKv: true },
          { kind: 'delete', range: { key: `${t.prefix}d` } },
        ],
      });
      expect(results.map((result) => result.kind === 'delete' && [result.deleted, result.prevKvs.map(plain)])).toEqual([
        [2, before],
        [0, []],
        [1, []],
      ]);
      expect(await keysIn(t.store, { prefix: t.prefix })).toEqual([`${t.prefix}c`]);
      expect(await t.store.revision()).toBe(revision);
    });

    it.each<[what: string, range: (p: string) => Extract<Op, { kind: 'delete' }>['range'], left: string[]]>([
      ['one key', (p) => ({ key: `${p}b` }), ['a', 'ba', 'c']],
      ['a prefix', (p) => ({ prefix: `${p}b` }), ['a', 'c']],
      ['an interval', (p) => ({ start: `${p}a`, end: `${p}ba` }), ['ba', 'c']],
      ['all from a key on', (p) => ({ start: `${p}ba` }), ['a', 'b']],
    ])('delete of %s is one revision', async (_what, range, left) => {
      await using t = await open();
      const { revision } = await t.store.txn({ then: ['a', 'b', 'ba', 'c'].map((key) => putOp(t.prefix + key)) });
      expect(await remove(t.store, range(t.prefix))).toBe(revision + 1);
      expect(await keysIn(t.store, { prefix: t.prefix })).toEqual(left.map((key) => t.prefix + key));
      expect(await keysIn(t.store, { prefix: t.prefix })).not.toHaveLength(4);
    });

    it('takes 128 operations in a branch', async () => {
      await using t = await open();
      const ops = (branch: string) => Array.from({ length: 128 }, (_, i) => putOp(`${t.prefix}${branch}${i}`));
      const { results } = await t.store.txn({ then: ops('then'), else: ops('else') });
      expect(results).toHaveLength(128);
      expect((await t.store.range({ prefix: t.prefix })).count).toBe(128);
    });
  });
}
