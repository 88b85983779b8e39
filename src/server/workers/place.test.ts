import { expect, it } from 'vitest';
import { ALONE, nameOn, partOf } from './place.ts';

it.each([
  [600, 1, 600],
  [600, 8, 75],
  [5, 2, 3],
  [1, 4, 1],
  [0, 4, 0], // no limit stays none
])('of a limit of %d, one of %d threads has %d', (limit, sharedBy, part) => {
  expect(partOf(limit, { ...ALONE, sharedBy })).toBe(part);
});

it('names of the owner are as they were, and no two threads give the same', () => {
  expect([nameOn(0, 'pods-1'), nameOn(1, 'pods-1'), nameOn(2, 'pods-1')]).toEqual(['pods-1', 'pods-1-w1', 'pods-1-w2']);
});
