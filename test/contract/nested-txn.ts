/** Transactions within transactions, and puts that keep what a key has. */
import { describe, expect, it } from 'vitest';
import type { Compare, Key, Op, Txn } from '../../src/store/kv.ts';
import {
  expectRefusal,
  fingerprint,
  keysIn,
  type Open,
  plain,
  put,
  putOp,
  textOf,
} from '../support/store/store-under-test.ts';
import { nextBatch, plainEvent } from '../support/store/watching.ts';

const within = (txn: Txn): Op => ({ kind: 'txn', txn });
const read = (key: Key): Op => ({ kind: 'range', range: { key } });
const del = (key: Key): Op => ({ kind: 'delete', range: { key } });
const isThere = (key: Key): Compare => ({ range: { key }, target: 'version', is: '>', than: 0 });

/** Chains of transactions, one in the other. */
const chain = (depth: number, last: Op): Op => (depth === 0 ? last : within({ then: [chain(depth - 1, last)] }));

export function describeNestedTxns(open: Open): void {
  describe('txn() within txn()', () => {
    it('runs the branch that its own compares choose, in the revision of the whole', async () => {
      await using t = await open();
      const before = await put(t.store, `${t.prefix}a`, 'one');
      const { succeeded, revision, results } = await t.store.txn({
        then: [
          within({
            compare: [isThere(`${t.prefix}a`)],
            then: [putOp(`${t.prefix}yes`)],
            else: [putOp(`${t.prefix}no`)],
          }),
          within({
            compare: [isThere(`${t.prefix}b`)],
            then: [putOp(`${t.prefix}b-yes`)],
            else: [read(`${t.prefix}yes`)],
          }),
        ],
      });
      expect({ succeeded, revision }).toEqual({ succeeded: true, revision: before + 1 });
      expect(results).toMatchObject([
        { kind: 'txn', succeeded: true, results: [{ kind: 'put' }] },
        { kind: 'txn', succeeded: false, results: [{ kind: 'range', revision, count: 1 }] },
      ]);
      expect(await keysIn(t.store, { prefix: t.prefix })).toEqual([`${t.prefix}a`, `${t.prefix}yes`]);
    });

    it('judges all compares before the first operation', async () => {
      await using t = await open();
      const key = `${t.prefix}a`;
      const { results } = await t.store.txn({
        then: [within({ then: [putOp(key)] }), within({ compare: [isThere(key)], then: [], else: [read(key)] })],
      });
      expect(results).toMatchObject([{ succeeded: true }, { succeeded: false, results: [{ count: 1 }] }]);
    });

    it('a put and a delete after it, in two of them, are two events of one revision', async () => {
      await using t = await open();
      const key = `${t.prefix}a`;
      const before = await put(t.store, key, 'old');
      await using watch = t.store.watch({ key }, { fromRevision: before + 1, prevKv: true });
      await t.store.txn({ then: [within({ then: [putOp(key, 'new')] }), within({ then: [del(key)] })] });
      expect(await keysIn(t.store, { prefix: t.prefix })).toEqual([]);
      const { events } = await nextBatch(watch);
      expect(events.map(plainEvent)).toMatchObject([
        { type: 'put', kv: { value: 'new', modRevision: before + 1, version: 2 }, prevKv: { value: 'old' } },
        { type: 'delete', kv: { modRevision: before + 1 }, prevKv: { value: 'old' } },
      ]);
      await put(t.store, key, 'again');
      expect((await t.store.get(key)).kv).toMatchObject({ version: 1, createRevision: before + 2 });
    });

    it('takes 128 of them one in the other, and no more', async () => {
      await using t = await open();
      await t.store.txn({ then: [chain(127, putOp(`${t.prefix}deep`))] });
      expect(await keysIn(t.store, { prefix: t.prefix })).toEqual([`${t.prefix}deep`]);
      await expectRefusal(t.store.txn({ then: [chain(128, putOp(`${t.prefix}deeper`))] }), 'InvalidArgument');
    });

    const a = putOp;
    it.each<[what: string, ops: (p: Key) => Op[]]>([
      ['one key in two of them', (p) => [within({ then: [a(p)] }), within({ then: [a(p)] })]],
      ['one key in branches of two of them', (p) => [within({ then: [a(p)] }), within({ else: [a(p)] })]],
      ['one key in one and beside it', (p) => [a(p), within({ else: [a(p)] })]],
      ['a put in one, a delete beside it', (p) => [within({ then: [a(p)] }), del(p)]],
      ['a delete in one, a put beside it', (p) => [a(p), within({ then: [del(p)] })]],
      ['a delete in one, a put in one after it', (p) => [within({ else: [del(p)] }), within({ then: [a(p)] })]],
      ['a put far inside, a delete outside', (p) => [del(p), chain(20, a(p))]],
      [
        'more operations than are left',
        (p) => [within({ then: Array.from({ length: 128 }, (_, i) => a(`${p}${i}`)) })],
      ],
    ])('refuses %s', async (_what, ops) => {
      await using t = await open();
      const before = await fingerprint(t);
      await expectRefusal(t.store.txn({ then: ops(`${t.prefix}a`) }), 'InvalidArgument');
      await expectRefusal(t.store.txn({ then: [chain(3, within({ else: ops(`${t.prefix}a`) }))] }), 'InvalidArgument');
      expect(await fingerprint(t)).toEqual(before);
    });

    it.each<[what: string, ops: (p: Key) => Op[]]>([
      ['one key in both branches of one', (p) => [within({ then: [a(p)], else: [a(p)] })]],
      ['a put and a delete in the branches of one', (p) => [within({ then: [a(p)], else: [del(p)] })]],
      ['a delete in one after a put in one', (p) => [within({ then: [a(p)] }), within({ then: [del(p)] })]],
      ['deletes of one key everywhere', (p) => [del(p), within({ then: [del(p)], else: [del(p)] })]],
    ])('takes %s', async (_what, ops) => {
      await using t = await open();
      expect((await t.store.txn({ then: ops(`${t.prefix}a`) })).succeeded).toBe(true);
    });

    it('a refusal far inside changes nothing', async () => {
      await using t = await open();
      const before = await fingerprint(t);
      const then = [putOp(`${t.prefix}a`), chain(5, putOp(`${t.prefix}b`, '', 987654321n))];
      await expectRefusal(t.store.txn({ then }), 'LeaseNotFound');
      expect(await fingerprint(t)).toEqual(before);
    });
  });

  describe('a put that keeps what a key has', () => {
    const keepValue = (key: Key, lease = 0n): Op => ({ ...putOp(key, '', lease), ignoreValue: true }) as Op;
    const keepLease = (key: Key, value: string): Op => ({ ...putOp(key, value), ignoreLease: true }) as Op;

    it('keeps the value and takes the lease, or the other way round', async () => {
      await using t = await open();
      const key = `${t.prefix}a`;
      const { id } = await t.store.grantLease(3600);
      await put(t.store, key, 'kept');
      const { results } = await t.store.txn({ then: [keepValue(key, id)] });
      expect(results).toEqual([{ kind: 'put', prevKv: undefined }]);
      expect(plain((await t.store.get(key)).kv)).toMatchObject({ value: 'kept', lease: id, version: 2 });
      await t.store.txn({ then: [within({ then: [keepLease(key, 'new')] })] });
      expect(plain((await t.store.get(key)).kv)).toMatchObject({ value: 'new', lease: id, version: 3 });
      expect((await t.store.leaseInfo(id))?.keys).toEqual([key]);
      await t.store.txn({ then: [keepValue(key)] });
      expect(plain((await t.store.get(key)).kv)).toMatchObject({ value: 'new', lease: 0n, version: 4 });
      expect((await t.store.leaseInfo(id))?.keys).toEqual([]);
    });

    it('answers the pair before it, if asked for', async () => {
      await using t = await open();
      await put(t.store, `${t.prefix}a`, 'kept');
      const op = { ...keepValue(`${t.prefix}a`), prevKv: true } as Op;
      const [result] = (await t.store.txn({ then: [op] })).results;
      expect(result?.kind === 'put' && textOf(result.prevKv!.value)).toBe('kept');
    });

    it.each<[what: string, op: (key: Key) => Op]>([
      ['value', (key) => keepValue(key)],
      ['lease', (key) => keepLease(key, 'x')],
    ])('of a key that is not there: no %s to keep, and nothing happens', async (_what, op) => {
      await using t = await open();
      const before = await fingerprint(t);
      await expectRefusal(t.store.txn({ then: [putOp(`${t.prefix}a`), op(`${t.prefix}b`)] }), 'KeyNotFound');
      await expectRefusal(t.store.txn({ then: [within({ then: [op(`${t.prefix}b`)] })] }), 'KeyNotFound');
      expect(await fingerprint(t)).toEqual(before);
      expect((await t.store.txn({ then: [], else: [op(`${t.prefix}b`)] })).succeeded).toBe(true);
    });

    it('takes no value and no lease beside it', async () => {
      await using t = await open();
      await put(t.store, `${t.prefix}a`, 'x');
      const both = { ...putOp(`${t.prefix}a`, 'new'), ignoreValue: true } as Op;
      await expectRefusal(t.store.txn({ then: [both] }), 'InvalidArgument');
      const lease = { ...putOp(`${t.prefix}a`, 'new', 7n), ignoreLease: true } as Op;
      await expectRefusal(t.store.txn({ then: [lease] }), 'InvalidArgument');
    });
  });
}
