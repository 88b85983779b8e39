/** The second half of the simulated fault schedules: see `simulated.test.ts`. */
import { expect, it } from 'vitest';
import { runSchedules } from './sim/run-schedules.ts';

it('1000 more schedules in simulated worlds', async () => {
  expect(await runSchedules(1001, 1000)).toMatch(/^1000 schedules, 0 failed, .*\n$/);
}, 900_000);
