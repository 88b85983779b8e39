import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OrderedMap } from './ordered-map.ts';

type Step = { readonly kind: 'set' | 'delete'; readonly key: string };

/** What it should be: a plain sorted list. */
class SortedArray {
  readonly items: [key: string, value: number][] = [];

  set(key: string, value: number): void {
    this.delete(key);
    this.items.push([key, value]);
    this.items.sort(([a], [b]) => (a < b ? -1 : 1));
  }

  delete(key: string): boolean {
    const at = this.items.findIndex(([known]) => known === key);
    if (at >= 0) this.items.splice(at, 1);
    return at >= 0;
  }

  values(prefix: string, start: string): number[] {
    return this.items.filter(([key]) => key.startsWith(prefix) && key >= start).map(([, value]) => value);
  }
}

const text = fc.string({ unit: fc.constantFrom('a', 'b', 'b/', '/', '-', '.', '\0', 'é', '\u{1f600}'), maxLength: 4 });
const steps = fc.array(fc.record<Step>({ kind: fc.constantFrom('set', 'set', 'delete'), key: text }), {
  maxLength: 80,
});

describe('OrderedMap', () => {
  it('answers as a sorted list does, whatever is set and deleted', () => {
    fc.assert(
      fc.property(steps, text, text, (changes, prefix, start) => {
        const map = new OrderedMap<number>((value) => value + 1);
        const plain = new SortedArray();
        for (const [value, { kind, key }] of changes.entries()) {
          if (kind === 'set') {
            map.set(key, value);
            plain.set(key, value);
          } else expect(map.delete(key)).toBe(plain.delete(key));
        }
        expect(map.size).toBe(plain.items.length);
        expect(map.values()).toEqual(plain.values('', ''));
        expect(map.values(prefix)).toEqual(plain.values(prefix, prefix));
        expect(map.values(prefix, start)).toEqual(plain.values(prefix, start));
        expect(map.values(prefix, start, 3)).toEqual(plain.values(prefix, start).slice(0, 3));
        for (const limit of [undefined, 3]) {
          const values = plain.values(prefix, start).slice(0, limit);
          const weight = values.reduce((sum, value) => sum + value + 1, 0);
          expect(map.range(prefix, start, limit)).toEqual({ values, weight });
        }
        expect(map.count(prefix, start)).toBe(plain.values(prefix, start).length);
        expect(map.count(prefix)).toBe(plain.values(prefix, prefix).length);
        for (const [key, value] of plain.items) expect(map.get(key)).toBe(value);
      }),
      { numRuns: 300 },
    );
  });

  const orders: [name: string, order: (at: number, count: number) => number][] = [
    ['rising', (at) => at],
    ['falling', (at, count) => count - 1 - at],
    ['scattered', (at, count) => (at * 7919) % count],
  ];
  it.each(orders)('keeps thousands of keys in order when they come in %s order', (_name, order) => {
    const count = 5000;
    const keyOf = (number: number) => `ns-${Math.floor(number / 1000)}/n${String(number).padStart(5, '0')}`;
    const map = new OrderedMap<number>(Math.abs);
    const weightOf = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0);
    for (let at = 0; at < count; at++) map.set(keyOf(order(at, count)), order(at, count));
    const all = Array.from({ length: count }, (_, number) => number);
    expect(map.values()).toEqual(all);
    expect(map.range().weight).toBe(weightOf(all));
    expect(map.values('ns-2/')).toEqual(all.slice(2000, 3000));
    expect(map.values('ns-2/', 'ns-2/n02990\0')).toEqual(all.slice(2991, 3000));
    for (const number of all) if (number % 10 !== 3) expect(map.delete(keyOf(number))).toBe(true);
    expect(map.values()).toEqual(all.filter((number) => number % 10 === 3));
    expect(map.range().weight).toBe(weightOf(all.filter((number) => number % 10 === 3)));
    for (const number of all) map.set(keyOf(number), -number);
    expect(map.range().weight).toBe(weightOf(all));
    expect(map.range('ns-4/', 'ns-4/', 700).weight).toBe(weightOf(all.slice(4000, 4700)));
    expect(map.values('ns-4/')).toEqual(all.slice(4000).map((number) => -number));
  });

  it('gives what was listed to whoever asked: it does not change afterwards', () => {
    const map = new OrderedMap<number>();
    for (let number = 0; number < 10; number++) map.set(String(number), number);
    const { values } = map.range();
    map.set('3', -3);
    map.delete('5');
    expect(values).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('is empty after clear() and takes new keys', () => {
    const map = new OrderedMap<string>();
    map.set('b', '1');
    map.clear();
    expect([map.size, map.get('b'), map.values(), map.delete('b')]).toEqual([0, undefined, [], false]);
    map.set('a', '2');
    expect(map.values()).toEqual(['2']);
  });
});
