import { expect, it } from 'vitest';
import { freeIndexes, indexesText } from './job-indexes.ts';

it.each<[done: number[], before: string | undefined, text: string]>([
  [[], undefined, ''],
  [[3], '', '3'],
  [[0, 1, 2], undefined, '0-2'],
  [[4, 3], '0', '0,3,4'],
  [[2], '0,1,5-7', '0-2,5-7'],
  [[Number.NaN, 1], '1', '1'],
])('%j beside %j is %j', (done, before, text) => expect(indexesText(done, before)).toBe(text));

it('the lowest indexes that are neither done nor running are given', () =>
  expect(freeIndexes(8, '0-2,4', [], 3)).toEqual([3, 5, 6]));
