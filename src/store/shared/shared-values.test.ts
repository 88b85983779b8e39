import { expect, it } from 'vitest';
import { sharedPlaces } from './shared-values.ts';

it.each([
  ['one short value', 300, 1, 1024],
  ['one of some kilobytes', 5000, 1, 5000],
  ['a few', 300, 5, 3 * 1024],
  ['many', 300, 10_000, 3_200_000],
  ['a large one', 1_000_000, 1, 1_000_000],
  ['empty ones', 0, 100, 0],
])('the places of %s take little more memory than they have', (_claim, bytes, count, mostBytes) => {
  const place = sharedPlaces();
  const places = Array.from({ length: count }, (_, i) => place(bytes).fill(i));
  const pieces = new Set(places.map(({ buffer }) => buffer));
  let held = 0;
  for (const piece of pieces) held += piece.byteLength;
  expect(held).toBeLessThanOrEqual(mostBytes);
  expect(pieces.size).toBeLessThanOrEqual(1 + count / 20 + 1);
  expect(places.every((one, i) => one.length === bytes && one.every((byte) => byte === (i & 255)))).toBe(true);
  expect([...pieces].every((piece) => piece instanceof SharedArrayBuffer)).toBe(true);
});
