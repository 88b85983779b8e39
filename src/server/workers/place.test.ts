import { expect, it } from 'vitest';
import { nameOn } from './place.ts';

it('names of the owner are as they were, and no two threads give the same', () => {
  expect([nameOn(0, 'pods-1'), nameOn(1, 'pods-1'), nameOn(2, 'pods-1')]).toEqual(['pods-1', 'pods-1-w1', 'pods-1-w2']);
});
