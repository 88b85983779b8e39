/**
 * The first half of the simulated fault schedules (the other is in `simulated-more.test.ts`, so that they share two cores),
 * and that a seed repeats its run to the last event. `FAULT_SEED=n` runs that one alone, `FAULT_SCHEDULES=n` that many.
 */
import { expect, it, vi } from 'vitest';
import { scheduleOf } from './fault-schedule.ts';
import { simulate, simulatedSchedules } from './fault-suite.ts';

vi.mock('undici', () => import('./sim/sim-undici.ts'));
process.removeAllListeners('warning'); // that functions of the user's misbehave is what they are told to

it.each([1, 2, 3, 4, 5])('seed %i is the same run again, to the last event', async (seed) => {
  const schedule = scheduleOf(seed, { loses: true, isSetBack: true, isSimulated: true });
  const [first, second]: [string[], string[]] = [[], []];
  await simulate(schedule, first);
  await simulate(schedule, second);
  expect(first.length).toBeGreaterThan(5);
  expect(second).toEqual(first);
});

simulatedSchedules({ count: 120, part: 0, parts: 2 });
