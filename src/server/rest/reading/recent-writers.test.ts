import { expect, it } from 'vitest';
import { RecentWriters } from './recent-writers.ts';

it('tells who made each of the last revisions, and nothing of those before', () => {
  const writers = new RecentWriters();
  for (let revision = 1; revision <= 12_000; revision++) writers.note(revision, `user-${revision % 3}`);
  writers.note(1500, 'late'); // its answer came after those of later revisions: there is no room for it any more
  expect(writers.of(12_000)).toBe('user-0');
  expect(writers.of(2001)).toBe('user-0');
  expect(writers.of(2000)).toBeUndefined();
  expect(writers.of(1500)).toBeUndefined();
  expect(writers.of(11_500)).toBe('user-1');
  expect(writers.of(12_001)).toBeUndefined();
});
