import { expect, it } from 'vitest';
import { LIMIT, Series } from './series.ts';

it('a counter becomes a rate; one that has gone back began anew', () => {
  const series = new Series();
  for (const [at, count] of [
    [10, 5],
    [12, 9],
    [14, 1],
    [15, 4],
  ] as const)
    series.pushCount(at, count);
  expect(series.values).toEqual([null, 2, 0, 3]);
  expect([series.last, series.highest]).toEqual([3, 3]);
});

it('keeps the last points only', () => {
  const series = new Series();
  for (let at = 0; at < LIMIT + 5; at++) series.push(at, at);
  expect([series.times.length, series.times[0], series.last]).toEqual([LIMIT, 5, LIMIT + 4]);
});
