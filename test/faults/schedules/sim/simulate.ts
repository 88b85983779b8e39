/**
 * One fault schedule in a simulated world. Time, chance and the date follow from the seed for as long as it runs: whoever
 * is not given a clock or dice finds the world's under the usual names. So only one world can run at a time.
 */
import { randomFrom } from '../../../support/random.ts';
import { runSchedule } from '../fault-run.ts';
import type { Schedule } from '../fault-schedule.ts';
import { simGrounds } from './sim-grounds.ts';

/** The last line of the log is what all wake-ups of the run come to. */
export async function simulate(schedule: Schedule, log: string[]): Promise<void> {
  const random = randomFrom(schedule.seed);
  const grounds = simGrounds(random, schedule.seed);
  const { random: chance } = Math;
  const { now } = Date;
  Math.random = random;
  Date.now = grounds.wallNow;
  try {
    await grounds.clock.drive(runSchedule(grounds, schedule, log));
  } finally {
    Math.random = chance;
    Date.now = now;
    log.push(grounds.clock.tell());
  }
}
