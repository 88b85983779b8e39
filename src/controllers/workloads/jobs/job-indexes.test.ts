import { expect, it } from 'vitest';
import { commonIndexes, freeIndexes, indexesText } from './job-indexes.ts';

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

it('an index is not lost between two that are done, nor given twice', () => {
  expect(freeIndexes(4, '1,3', [], 9)).toEqual([0, 2]);
  expect(freeIndexes(3, '0-2', [], 9)).toEqual([]);
  expect(freeIndexes(3, '5-9', [], 9)).toEqual([0, 1, 2]);
});

it('as many as a Job may have are a few ranges', () => {
  const most = 2 ** 31 - 1;
  expect(freeIndexes(most, `0-99,200-${most - 1}`, [], 3)).toEqual([100, 101, 102]);
  expect(indexesText([most - 1], `0-${most - 2}`)).toBe(`0-${most - 1}`);
});

it.each<[one: string, other: string, common: number]>([
  ['', '0-3', 0],
  ['0,2-4', '0-2', 2],
  ['1-9', '0-3,5,8-20', 6],
])('%j and %j have %i in common', (one, other, common) => {
  expect([commonIndexes(one, other), commonIndexes(other, one)]).toEqual([common, common]);
});
