import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonValue } from '../../../api/json.ts';
import { leastBytes } from './json-size.ts';

it('leastBytes() is never more than the JSON has, and all of it where nothing is escaped', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const bytes = Buffer.byteLength(JSON.stringify(value));
      expect(leastBytes(value as JsonValue, Number.POSITIVE_INFINITY)).toBeLessThanOrEqual(bytes);
    }),
  );
  const plain = { a: ['x', 'yz', {}], b: { c: 1, d: [] } };
  expect(leastBytes(plain, 1000)).toBe(JSON.stringify(plain).length);
  expect(leastBytes({ a: undefined, b: 1 } as never, 1000)).toBe(7);
});

it('leastBytes() stops counting beyond its limit', () => {
  const list = Array.from({ length: 1000 }, () => 'text');
  expect(leastBytes([list, list], 100)).toBeGreaterThan(100);
  expect(leastBytes([list, list], 100)).toBeLessThan(120);
});
