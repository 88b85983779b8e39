import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cutText, jsonText } from './json-text.ts';

it('jsonText() is JSON.stringify for whatever that can write', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(3), (value, indent) => {
      expect(jsonText(value, indent)).toBe(JSON.stringify(value, undefined, indent));
    }),
  );
});

it('jsonText() writes a bigint as the integer it is, and all around it as JSON.stringify does', () => {
  const exact = 9007199254740993n;
  const value = { a: [exact, { b: -exact, c: undefined, d: null }], e: [], f: {}, g: [undefined], 'h"': 'x<' };
  const plain = JSON.parse(JSON.stringify(value, (_key, one) => (typeof one === 'bigint' ? `#${one}#` : one)));
  for (const indent of [0, 1, 2]) {
    const expected = JSON.stringify(plain, undefined, indent).replace(/"#(-?\d+)#"/g, '$1');
    expect(jsonText(value, indent)).toBe(expected);
  }
});

it('cutText() keeps what is short enough, and of the rest a whole beginning that is', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'é', '€', '😀'), maxLength: 60 });
  fc.assert(
    fc.property(text, fc.integer({ min: 10, max: 100 }), (whole, limit) => {
      const cut = cutText(whole, limit);
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(limit);
      if (Buffer.byteLength(whole) <= limit) expect(cut).toBe(whole);
      else expect([whole.startsWith(cut.slice(0, -3)), cut.endsWith('...')]).toEqual([true, true]);
      expect(Buffer.from(cut).toString()).toBe(cut); // no half of a pair
    }),
  );
});
