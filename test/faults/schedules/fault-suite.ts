/**
 * Fault schedules as tests on real servers: some lanes run one schedule after another, with a server each. A seed repeats
 * the steps, and the clients' dice; what comes first is for the kernel and the threads of the store to say. Where the seed
 * decides that as well, see `sim/schedules-process.ts`.
 */
import { describe, expect, it } from 'vitest';
import { randomFrom } from '../../support/random.ts';
import { type Run, runOrExplain } from './fault-explain.ts';
import { runSchedule } from './fault-run.ts';
import { scheduleOf } from './fault-schedule.ts';
import type { FaultServer } from './fault-servers.ts';
import { realGrounds } from './real-grounds.ts';

export type FaultSuite = {
  /** FAULT_SCHEDULES says another number. */
  readonly count: number;
  readonly lanes: number;
  readonly firstSeed?: number;
  readonly open: () => Promise<FaultServer>;
};

const LIMIT_MS = 3_600_000;

export function faultSchedules(where: string, { count, lanes, firstSeed = 1, open }: FaultSuite): void {
  const seeds = seedsOf(count, firstSeed);
  const total = seeds.length;
  describe.concurrent(`informers under fault schedules ${where}`, () => {
    it.each(Array.from({ length: Math.min(lanes, total) }, (_, lane) => lane))(
      `${total} schedules, lane %i`,
      async (lane) => {
        const mine = seeds.filter((_, i) => i % lanes === lane);
        let ran = 0;
        await using server = await open();
        const run: Run = async (schedule, log) =>
          runSchedule(await realGrounds(server, randomFrom(schedule.seed)), schedule, log);
        for (const seed of mine) {
          await runOrExplain(run, scheduleOf(seed, server.abilities), `FAULT_SEED=${seed}`);
          ran++;
        }
        expect(ran).toBe(mine.length);
      },
      LIMIT_MS,
    );
  });
}

function seedsOf(count: number, firstSeed: number): number[] {
  const { FAULT_SEED: only, FAULT_SCHEDULES: wanted } = process.env;
  return only ? [Number(only)] : Array.from({ length: Number(wanted ?? count) }, (_, i) => firstSeed + i);
}
