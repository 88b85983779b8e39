import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compareVersions, isBehind } from './versions.ts';

it('versions of any length are compared as the numbers they are', () => {
  const number = fc.bigInt({ min: 0n, max: 2n ** 200n });
  fc.assert(
    fc.property(number, number, (a, b) => {
      expect(compareVersions(`${a}`, `${b}`)).toBe(a === b ? 0 : a < b ? -1 : 1);
      expect(isBehind(`${a}`, `${b}`)).toBe(a < b);
    }),
  );
  expect(compareVersions('9', '10')).toBe(-1);
  expect(compareVersions('18446744073709551617', '18446744073709551616')).toBe(1);
});

it.each(['', 'abc', '007', '-1', '1.5', ' 1', '1e3'])(
  '%j is no version: it is equal to itself, and else undefined',
  (odd) => {
    expect(compareVersions(odd, odd)).toBe(0);
    expect(compareVersions(odd, '8')).toBeUndefined();
    expect(compareVersions('8', odd)).toBeUndefined();
    expect([isBehind(odd, '8'), isBehind('8', odd)]).toEqual([false, false]);
  },
);
