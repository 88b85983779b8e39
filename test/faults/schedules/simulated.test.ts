/**
 * The first half of the simulated fault schedules (the other is in `simulated-more.test.ts`, so that they share two cores),
 * and that a seed repeats its run to the last event. `npm run fault-schedules -- 1 --first n` runs one alone.
 */
import { expect, it } from 'vitest';
import { runSchedules } from './sim/run-schedules.ts';

const LIMIT_MS = 900_000;

it('a seed is the same run again, to the last wake-up, alone or after others', async () => {
  const together = await runSchedules(11, 5, '--trace');
  const seeds = together.split(/^(?=seed \d+$)/m).map((text) => text.replace(/^\d+ schedules, .*\n/m, ''));
  expect(seeds.length).toBe(5);
  for (const [i, trace] of seeds.entries()) {
    expect(trace.split('\n').length).toBeGreaterThan(10);
    expect(trace).toMatch(/\d+ wake-ups until \S+, trace [0-9a-f]+\n$/);
    if (i % 2 === 0)
      expect((await runSchedules(11 + i, 1, '--trace')).replace(/^\d+ schedules, .*\n/m, '')).toBe(trace);
  }
}, 120_000);

it(
  '1000 schedules in simulated worlds',
  async () => {
    expect(await runSchedules(1, 1000)).toMatch(/^1000 schedules, 0 failed, .*\n$/);
  },
  LIMIT_MS,
);
