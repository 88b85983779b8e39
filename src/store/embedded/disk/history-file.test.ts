import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { beginRun } from './history-file.ts';

let folder = '';
let file = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'longwatch-history-'));
  file = join(folder, 'HISTORY');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('what a run has shown is part of the history of those after it', () => {
  const first = beginRun(file, 7n, 1, true);
  const second = beginRun(file, 7n, 40, true);
  const third = beginRun(file, 7n, 90, false);
  expect([first.includes(first.name, 1_000), third.includes(third.name, 1_000)]).toEqual([true, true]);
  expect([second.includes(first.name, 40), third.includes(first.name, 40), third.includes(second.name, 90)]).toEqual([
    true,
    true,
    true,
  ]);
});

it('what was shown beyond the beginning of the next run is lost, also when the numbers come again', () => {
  const first = beginRun(file, 7n, 1, true); // shows up to 60
  const copy = join(folder, 'copy');
  cpSync(file, copy); // at 50
  const other = beginRun(file, 7n, 60, true);
  rmSync(file);
  cpSync(copy, file); // put back
  const back = beginRun(file, 7n, 50, true);
  const later = beginRun(file, 7n, 500, true);
  for (const history of [back, later]) {
    expect([history.includes(first.name, 50), history.includes(first.name, 51)]).toEqual([true, false]);
    expect(history.includes(other.name, 50)).toBe(false);
  }
});

it.each([
  ['another store', () => beginRun(file, 8n, 9, true)],
  [
    'a damaged file',
    () => {
      writeFileSync(file, readFileSync(file, 'utf8').replace(/run (.)/, 'run x$1'));
      return beginRun(file, 7n, 9, true);
    },
  ],
  [
    'a torn file',
    () => {
      writeFileSync(file, readFileSync(file, 'utf8').slice(0, 30));
      return beginRun(file, 7n, 9, true);
    },
  ],
  [
    'a file that is not there',
    () => {
      rmSync(file);
      return beginRun(file, 7n, 9, true);
    },
  ],
])('%s is another history', (_what, begin) => {
  const before = beginRun(file, 7n, 1, true);
  expect(begin().includes(before.name, 1)).toBe(false);
});

it('names that nobody gave are none', () => {
  const history = beginRun(file, 7n, 1, true);
  for (const name of ['', '.', 'x', history.name.split('.')[0]!, `${history.name}.x`, '__proto__.constructor'])
    expect([name, history.includes(name, 1)]).toEqual([name, name.startsWith(history.name)]);
});

it('a folder that cannot be written costs the memory of this run, not the run', () => {
  const history = beginRun(join(folder, 'gone', 'HISTORY'), 7n, 5, true);
  expect(history.includes(history.name, 6)).toBe(true);
});

it('the runs that are kept are bounded', () => {
  const first = beginRun(file, 7n, 1, false);
  let last = first;
  for (let run = 0; run < 1_001; run++) last = beginRun(file, 7n, 1, false);
  expect([last.includes(first.name, 1), readFileSync(file, 'utf8').split('\n').length]).toEqual([false, 1_002]);
});
