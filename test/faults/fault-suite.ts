/**
 * Fault schedules as tests: some lanes, each with a server of its own, run one schedule after another. What fails is told
 * with its seed, its steps and its log, and with the fewest first steps that fail again.
 */
import { describe, expect, it } from 'vitest';
import { runSchedule } from './fault-run.ts';
import { type Schedule, scheduleOf, tellStep } from './fault-schedule.ts';
import type { FaultServer } from './fault-servers.ts';

export type FaultSuite = {
  /** FAULT_SCHEDULES says another number. */
  readonly count: number;
  readonly lanes: number;
  readonly firstSeed?: number;
  readonly open: () => Promise<FaultServer>;
};

const LIMIT_MS = 600_000;
const LOG_LINES = 150;

export function faultSchedules(where: string, { count, lanes, firstSeed = 1, open }: FaultSuite): void {
  const { FAULT_SEED: only, FAULT_SCHEDULES: wanted } = process.env;
  const total = only ? 1 : Number(wanted ?? count);
  const seeds = Array.from({ length: total }, (_, i) => (only ? Number(only) : firstSeed + i));
  describe.concurrent(`informers under fault schedules ${where}`, () => {
    it.each(Array.from({ length: Math.min(lanes, total) }, (_, lane) => lane))(
      `${total} schedules, lane %i`,
      async (lane) => {
        const mine = seeds.filter((_, i) => i % lanes === lane);
        let ran = 0;
        await using server = await open();
        for (const seed of mine) {
          await runOrExplain(server, scheduleOf(seed, server.abilities), open);
          ran++;
        }
        expect(ran).toBe(mine.length);
      },
      LIMIT_MS,
    );
  });
}

async function runOrExplain(server: FaultServer, schedule: Schedule, open: () => Promise<FaultServer>): Promise<void> {
  const log: string[] = [];
  try {
    await runSchedule(server, schedule, log);
  } catch (cause) {
    const { seed, steps } = schedule;
    const fewest = await fewestSteps(schedule, open);
    const again = fewest === undefined ? 'it did not fail a second time' : `the first ${fewest} steps fail again`;
    throw new Error(
      [
        `Schedule ${seed} failed: ${(cause as Error).message}`,
        `Replay it with FAULT_SEED=${seed}; ${again}`,
        ...steps.map((step, i) => `  step ${i + 1}: ${tellStep(step)}`),
        ...(log.length > LOG_LINES ? ['...'] : []),
        ...log.slice(-LOG_LINES),
      ].join('\n'),
      { cause },
    );
  }
}

/** How many of the first steps, with a quiet moment after them, are enough to fail. */
async function fewestSteps({ seed, steps }: Schedule, open: () => Promise<FaultServer>): Promise<number | undefined> {
  await using server = await open();
  for (let count = 1; count <= steps.length; count++)
    try {
      await runSchedule(server, { seed, steps: [...steps.slice(0, count), { do: 'quiet' }] }, []);
    } catch {
      return count;
    }
  return undefined;
}
