/** Compares: every target with every operator, on keys that are there, keys that are not, and ranges of keys. */
import { describe, expect, it } from 'vitest';
import type { Compare, KeyRange, Store } from '../../src/store/kv.ts';
import { bytes, type Open, put, putOp, remove } from '../support/store/store-under-test.ts';

type Operator = Compare['is'];
type Fact = Compare extends infer One ? (One extends Compare ? Omit<One, 'range' | 'is'> : never) : never;

async function operatorsThatHold(store: Store, range: KeyRange, fact: Fact): Promise<Operator[]> {
  const holding: Operator[] = [];
  for (const is of ['=', '!=', '<', '>'] as const)
    if ((await store.txn({ compare: [{ range, is, ...fact } as Compare] })).succeeded) holding.push(is);
  return holding;
}

const below: Operator[] = ['!=', '<'];
const equal: Operator[] = ['='];
const above: Operator[] = ['!=', '>'];

export function describeCompares(open: Open): void {
  describe('compare', () => {
    it.each(['createRevision', 'modRevision', 'version'] as const)('orders %s as a number', async (target) => {
      await using t = await open();
      const key = `${t.prefix}a`;
      for (let i = 0; i < 3; i++) await put(t.store, key);
      const { kv } = await t.store.get(key);
      const held = (than: number) => operatorsThatHold(t.store, { key }, { target, than });
      expect(await held(kv![target] + 1)).toEqual(below);
      expect(await held(kv![target])).toEqual(equal);
      expect(await held(kv![target] - 1)).toEqual(above);
      expect(await held(0)).toEqual(above);
    });

    it.each(['createRevision', 'modRevision', 'version'] as const)(
      'takes 0 as the %s of a missing key',
      async (target) => {
        await using t = await open();
        const key = `${t.prefix}a`;
        const held = (than: number) => operatorsThatHold(t.store, { key }, { target, than });
        expect(await held(0)).toEqual(equal);
        expect(await held(1)).toEqual(below);
        await put(t.store, key);
        await remove(t.store, { key });
        expect(await held(0)).toEqual(equal);
      },
    );

    it('orders leases as numbers, of a missing key and of a key without one as 0', async () => {
      await using t = await open();
      const { id } = await t.store.grantLease(3600);
      const held = (key: string, than: bigint) =>
        operatorsThatHold(t.store, { key: t.prefix + key }, { target: 'lease', than });
      await put(t.store, `${t.prefix}with`, '', id);
      await put(t.store, `${t.prefix}without`);
      expect(await held('with', id)).toEqual(equal);
      expect(await held('with', id - 1n)).toEqual(above);
      expect(await held('with', id + 1n)).toEqual(below);
      expect(await held('without', 0n)).toEqual(equal);
      expect(await held('without', id)).toEqual(below);
      expect(await held('missing', 0n)).toEqual(equal);
    });

    it('tells leases apart that differ only in the last of 63 bits', async () => {
      await using t = await open();
      const id = 2n ** 62n + BigInt(await t.store.revision()) * 2n;
      await t.store.grantLease(3600, { id });
      await put(t.store, `${t.prefix}a`, '', id);
      expect((await t.store.get(`${t.prefix}a`)).kv?.lease).toBe(id);
      const held = (than: bigint) => operatorsThatHold(t.store, { key: `${t.prefix}a` }, { target: 'lease', than });
      expect(await held(id)).toEqual(equal);
      expect(await held(id + 1n)).toEqual(below);
      expect(await held(id - 1n)).toEqual(above);
    });

    it('orders values bytewise, a shorter one before its continuation', async () => {
      await using t = await open();
      const key = `${t.prefix}a`;
      await put(t.store, key, 'm\x80');
      const held = (than: string) => operatorsThatHold(t.store, { key }, { target: 'value', than: bytes(than) });
      expect(await held('m\x80')).toEqual(equal);
      expect(await held('m\x7f')).toEqual(above);
      expect(await held('m\x81')).toEqual(below);
      expect(await held('m')).toEqual(above);
      expect(await held('m\x80\0')).toEqual(below);
      expect(await held('')).toEqual(above);
    });

    it('an empty value is a value, but the value of a missing key satisfies nothing', async () => {
      await using t = await open();
      await put(t.store, `${t.prefix}empty`);
      const held = (key: string, than: string) =>
        operatorsThatHold(t.store, { key: t.prefix + key }, { target: 'value', than: bytes(than) });
      expect(await held('empty', '')).toEqual(equal);
      expect(await held('empty', 'x')).toEqual(below);
      expect(await held('missing', '')).toEqual([]);
      expect(await held('missing', 'x')).toEqual([]);
    });

    it('on a range holds only if every key there satisfies it', async () => {
      await using t = await open();
      await t.store.txn({ then: ['a', 'b', 'c'].map((key) => putOp(t.prefix + key, key)) });
      await put(t.store, `${t.prefix}b`, 'b');
      const held = (range: KeyRange, fact: Fact) => operatorsThatHold(t.store, range, fact);
      const all = { prefix: t.prefix };
      expect(await held(all, { target: 'version', than: 1 })).toEqual([]);
      expect(await held(all, { target: 'version', than: 0 })).toEqual(above);
      expect(await held(all, { target: 'version', than: 3 })).toEqual(below);
      expect(await held(all, { target: 'lease', than: 0n })).toEqual(equal);
      expect(await held(all, { target: 'value', than: bytes('d') })).toEqual(below);
      expect(await held(all, { target: 'value', than: bytes('b') })).toEqual([]);
      const ac = { start: `${t.prefix}b\0`, end: `${t.prefix}z` };
      expect(await held(ac, { target: 'version', than: 1 })).toEqual(equal);
      expect(await held({ start: `${t.prefix}b` }, { target: 'value', than: bytes('a') })).toEqual(above);
    });

    it('on a range without keys is taken of zeros, and never holds of a value', async () => {
      await using t = await open();
      for (const range of [{ prefix: t.prefix }, { start: t.prefix, end: `${t.prefix}x` }, { start: t.prefix }]) {
        const held = (fact: Fact) => operatorsThatHold(t.store, range, fact);
        for (const target of ['version', 'modRevision', 'createRevision'] as const) {
          expect(await held({ target, than: 0 })).toEqual(equal);
          expect(await held({ target, than: 5 })).toEqual(below);
        }
        expect(await held({ target: 'lease', than: 0n })).toEqual(equal);
        expect(await held({ target: 'value', than: bytes('') })).toEqual([]);
        expect(await held({ target: 'value', than: bytes('x') })).toEqual([]);
      }
    });

    it('all must hold: one that does not decides', async () => {
      await using t = await open();
      const modRevision = await put(t.store, `${t.prefix}a`);
      const holds: Compare = { range: { key: `${t.prefix}a` }, target: 'modRevision', is: '=', than: modRevision };
      const fails: Compare = { ...holds, is: '!=' };
      const decide = async (...compare: Compare[]) => (await t.store.txn({ compare })).succeeded;
      expect(await decide(holds, holds)).toBe(true);
      expect(await decide(holds, fails)).toBe(false);
      expect(await decide(fails, holds)).toBe(false);
    });
  });
}
