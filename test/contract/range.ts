/** Reads: one key, ranges of keys, now and at older revisions. */
import { describe, expect, it } from 'vitest';
import type { Key, KeyRange } from '../../src/store/kv.ts';
import {
  expectRefusal,
  keysIn,
  type Open,
  plain,
  put,
  putOp,
  remove,
  textOf,
} from '../support/store/store-under-test.ts';

export function describeRanges(open: Open): void {
  describe('get() and range()', () => {
    it('get() of a key that is not there answers no pair, and the revision', async () => {
      await using t = await open();
      const revision = await put(t.store, `${t.prefix}a`);
      expect(await t.store.get(`${t.prefix}absent`)).toEqual({ revision, kv: undefined });
    });

    it('range() of nothing answers nothing, and the revision', async () => {
      await using t = await open();
      const revision = await put(t.store, `${t.prefix}a`);
      expect(await t.store.range({ prefix: `${t.prefix}x` })).toEqual({ revision, kvs: [], count: 0, more: false });
    });

    it('get() and range() at a revision are a snapshot of it, through updates, deletes and new lives', async () => {
      await using t = await open();
      const key = `${t.prefix}a`;
      const first = await put(t.store, key, 'one');
      await put(t.store, `${t.prefix}b`, 'other');
      const second = await put(t.store, key, 'two');
      const deleted = await remove(t.store, { key });
      const again = await put(t.store, key, 'three');
      const valueAt = async (revision: number) => {
        const { kv } = await t.store.get(key, { revision });
        const { kvs } = await t.store.range({ prefix: key }, { revision });
        expect(kvs.map(plain)).toEqual(kv ? [plain(kv)] : []);
        return kv && `${textOf(kv.value)} ${kv.createRevision} ${kv.modRevision} ${kv.version}`;
      };
      expect(await valueAt(first - 1)).toBeUndefined();
      expect(await valueAt(first)).toBe(`one ${first} ${first} 1`);
      expect(await valueAt(second - 1)).toBe(`one ${first} ${first} 1`);
      expect(await valueAt(second)).toBe(`two ${first} ${second} 2`);
      expect(await valueAt(deleted)).toBeUndefined();
      expect(await valueAt(again)).toBe(`three ${again} ${again} 1`);
    });

    it('a read at an old revision tells the revision the store is at now', async () => {
      await using t = await open();
      const old = await put(t.store, `${t.prefix}a`);
      const now = await put(t.store, `${t.prefix}b`);
      expect((await t.store.get(`${t.prefix}a`, { revision: old })).revision).toBe(now);
      expect((await t.store.range({ prefix: t.prefix }, { revision: old })).revision).toBe(now);
    });

    it('a read above the revision of the store is refused with FutureRevision', async () => {
      await using t = await open();
      const revision = (await put(t.store, `${t.prefix}a`)) + 1;
      await expectRefusal(t.store.get(`${t.prefix}a`, { revision }), 'FutureRevision');
      await expectRefusal(t.store.range({ prefix: t.prefix }, { revision: revision + 1000 }), 'FutureRevision');
      const then = [{ kind: 'range', range: { prefix: t.prefix }, options: { revision } }] as const;
      await expectRefusal(t.store.txn({ then }), 'FutureRevision');
    });

    it.each<[claim: string, range: (p: Key) => KeyRange, want: string[]]>([
      ['a single key is that key alone', (p) => ({ key: `${p}b` }), ['b']],
      [
        'a prefix takes the key that equals it and all longer ones',
        (p) => ({ prefix: `${p}b` }),
        ['b', 'b\0', 'ba', 'b\xff'],
      ],
      ['a prefix ending in 0xff stops where it must', (p) => ({ prefix: `${p}b\xff` }), ['b\xff']],
      [
        'an interval takes its start and leaves its end',
        (p) => ({ start: `${p}b`, end: `${p}c` }),
        ['b', 'b\0', 'ba', 'b\xff'],
      ],
      ['an interval need not start at a key', (p) => ({ start: `${p}aa`, end: `${p}b\x01` }), ['b', 'b\0']],
      ['the interval from a key to its successor is that key', (p) => ({ start: `${p}b`, end: `${p}b\0` }), ['b']],
      ['an interval without end takes all from there', (p) => ({ start: `${p}b\xff` }), ['b\xff', 'c', '\xff']],
      ['an interval without end may start past the last key', (p) => ({ start: `${p}\xff\0` }), []],
    ])('range() %s', async (_claim, range, want) => {
      await using t = await open();
      await t.store.txn({ then: ['c', 'ba', 'a', '\xff', 'b\xff', 'b', 'b\0'].map((key) => putOp(t.prefix + key)) });
      expect(await keysIn(t.store, range(t.prefix))).toEqual(want.map((key) => t.prefix + key));
    });

    it('range() sorts every byte of a key as an unsigned number', async () => {
      await using t = await open();
      const keys = Array.from({ length: 256 }, (_, byte) => t.prefix + String.fromCharCode(byte));
      const shuffled = keys.map((_, i) => keys[(i * 149) % 256]!);
      for (const half of [shuffled.slice(0, 128), shuffled.slice(128)])
        await t.store.txn({ then: half.map((key) => putOp(key)) });
      expect(await keysIn(t.store, { prefix: t.prefix })).toEqual(keys);
      for (const key of [keys[0]!, keys[128]!, keys[255]!]) expect((await t.store.get(key)).kv?.key).toBe(key);
    });

    it('range() counts all keys whatever the limit, and says whether it cut some off', async () => {
      await using t = await open();
      const keys = ['a', 'b', 'c', 'd'].map((key) => t.prefix + key);
      await t.store.txn({ then: keys.map((key) => putOp(key)) });
      const cut = async (limit: number) => {
        const { kvs, count, more } = await t.store.range({ prefix: t.prefix }, { limit });
        expect(kvs.map((kv) => kv.key)).toEqual(keys.slice(0, limit));
        return { count, more };
      };
      expect(await cut(1)).toEqual({ count: 4, more: true });
      expect(await cut(3)).toEqual({ count: 4, more: true });
      expect(await cut(4)).toEqual({ count: 4, more: false });
      expect(await cut(9)).toEqual({ count: 4, more: false });
    });

    it('range() with keysOnly leaves out the values and nothing else', async () => {
      await using t = await open();
      const { id } = await t.store.grantLease(3600);
      await put(t.store, `${t.prefix}a`, 'one', id);
      await put(t.store, `${t.prefix}a`, 'two', id);
      const whole = await t.store.range({ prefix: t.prefix });
      const keys = await t.store.range({ prefix: t.prefix }, { keysOnly: true });
      expect(keys.kvs.map(plain)).toEqual(whole.kvs.map((kv) => ({ ...plain(kv), value: '' })));
      expect({ ...keys, kvs: [] }).toEqual({ ...whole, kvs: [] });
    });

    it('range() with countOnly answers the number of keys and no pairs', async () => {
      await using t = await open();
      await t.store.txn({ then: ['a', 'b', 'c'].map((key) => putOp(t.prefix + key)) });
      const revision = await remove(t.store, { key: `${t.prefix}b` });
      const range = { prefix: t.prefix };
      expect(await t.store.range(range, { countOnly: true })).toEqual({ revision, kvs: [], count: 2, more: false });
      expect((await t.store.range(range, { countOnly: true, revision: revision - 1 })).count).toBe(3);
    });

    it('range() counts and cuts as of the revision asked for', async () => {
      await using t = await open();
      const { revision } = await t.store.txn({ then: ['a', 'c', 'e'].map((key) => putOp(t.prefix + key)) });
      await put(t.store, `${t.prefix}b`);
      await remove(t.store, { start: `${t.prefix}c`, end: `${t.prefix}z` });
      const { kvs, count, more } = await t.store.range({ prefix: t.prefix }, { revision, limit: 2 });
      expect({ keys: kvs.map((kv) => kv.key), count, more }).toEqual({
        keys: [`${t.prefix}a`, `${t.prefix}c`],
        count: 3,
        more: true,
      });
    });

    it('range() page by page at one revision is one snapshot, whatever is written in between', async () => {
      await using t = await open();
      const keys = Array.from({ length: 50 }, (_, i) => t.prefix + String(i).padStart(2, '0'));
      const { revision } = await t.store.txn({ then: keys.map((key) => putOp(key, 'old')) });
      const found: string[] = [];
      for (let start = t.prefix, more = true; more; ) {
        const page = await t.store.range({ start, end: `${t.prefix}\xff` }, { revision, limit: 7 });
        found.push(...page.kvs.map((kv) => `${kv.key} ${textOf(kv.value)}`));
        expect(page.count).toBe(keys.filter((key) => key >= start).length);
        start = `${page.kvs.at(-1)?.key}\0`;
        more = page.more;
        await put(t.store, keys[found.length] ?? `${t.prefix}x`, 'new');
        await remove(t.store, { key: keys[found.length + 1] ?? `${t.prefix}x` });
      }
      expect(found).toEqual(keys.map((key) => `${key} old`));
    });

    it('values may be empty, hold any byte, and be a megabyte long', async () => {
      await using t = await open();
      const big = new Uint8Array(1024 * 1024).map((_, i) => (i * 31) % 251);
      const every = new Uint8Array(256).map((_, i) => i);
      await put(t.store, `${t.prefix}empty`);
      await t.store.txn({ then: [{ kind: 'put', key: `${t.prefix}big`, value: big }] });
      await t.store.txn({ then: [{ kind: 'put', key: `${t.prefix}every`, value: every }] });
      const { kvs } = await t.store.range({ prefix: t.prefix });
      const [first, second, third] = kvs.map((kv) => kv.value);
      expect(Buffer.compare(first!, big)).toBe(0);
      expect(second).toHaveLength(0);
      expect(Buffer.compare(third!, every)).toBe(0);
      const { kv } = await t.store.get(`${t.prefix}big`);
      expect(Buffer.compare(kv!.value, big)).toBe(0);
    });

    it('keys may be long', async () => {
      await using t = await open();
      const keys = [1000, 4000].map((length) => t.prefix + 'k'.repeat(length));
      for (const key of keys) await put(t.store, key, key);
      expect(await keysIn(t.store, { prefix: `${t.prefix}kk` })).toEqual(keys);
      const long = keys[1]!;
      expect((await t.store.get(long)).kv?.value).toHaveLength(long.length);
      await remove(t.store, { key: long });
      expect(await keysIn(t.store, { prefix: t.prefix })).toEqual(keys.slice(0, 1));
    });

    it.each<[what: string, range: KeyRange]>([
      ['an empty key', { key: '' }],
      ['a key with a character above U+00FF', { key: 'snow☃' }],
      ['a prefix with a character above U+00FF', { prefix: 'snow☃' }],
      ['an interval with a character above U+00FF', { start: 'a', end: '☃' }],
      ['an empty interval', { start: 'b', end: 'b' }],
      ['an interval that ends before it starts', { start: 'b', end: 'a' }],
    ])('range() refuses %s', async (_what, range) => {
      await using t = await open();
      const refused = async () => t.store.range(range);
      await expectRefusal(refused(), 'InvalidArgument');
      const watched = async () => t.store.watch(range).next();
      await expectRefusal(watched(), 'InvalidArgument');
    });

    it('a value read at an old revision is not touched by later puts', async () => {
      await using t = await open();
      const revision = await put(t.store, `${t.prefix}a`, 'one');
      const { kv } = await t.store.get(`${t.prefix}a`);
      await put(t.store, `${t.prefix}a`, 'two');
      expect(textOf(kv!.value)).toBe('one');
      expect(textOf((await t.store.get(`${t.prefix}a`, { revision })).kv!.value)).toBe('one');
    });
  });
}
