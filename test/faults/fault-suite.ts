/**
 * Fault schedules as tests: some lanes run one schedule after another, with a real server each or a world of its own for
 * every schedule. What fails is told with its seed, its steps and its log, and with the fewest first steps that fail again.
 *
 * How far a seed repeats what happened. The steps: always. In a simulated world, everything else as well: time, chance,
 * the order in which bytes arrive, and what the server is like all follow from the seed, and the client has no other
 * source of either (Node's turns of the event loop are the same for the same work; `simulated.test.ts` holds the logs
 * of two runs against each other). What a simulated world does not have: sockets, TLS, HTTP as bytes, the pool of
 * connections, files and threads. With a real server these are there, and the kernel and the threads of the store decide
 * what comes first: there a seed repeats the steps, and the clients' dice, and no more.
 */
import { describe, expect, it } from 'vitest';
import { randomFrom } from './crash-script.ts';
import { realGrounds } from './fault-grounds.ts';
import { runSchedule } from './fault-run.ts';
import { type Schedule, scheduleOf, tellStep } from './fault-schedule.ts';
import type { FaultServer } from './fault-servers.ts';
import { type SimGrounds, simGrounds } from './sim/sim-grounds.ts';

export type FaultSuite = {
  /** FAULT_SCHEDULES says another number. */
  readonly count: number;
  readonly lanes: number;
  readonly firstSeed?: number;
  readonly open: () => Promise<FaultServer>;
};

type Run = (schedule: Schedule, log: string[]) => Promise<void>;

const LIMIT_MS = 3_600_000;
const LOG_LINES = 150;

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
          await runOrExplain(run, scheduleOf(seed, server.abilities));
          ran++;
        }
        expect(ran).toBe(mine.length);
      },
      LIMIT_MS,
    );
  });
}

/** Part `part` of `parts`: each test file is a process of its own. */
export function simulatedSchedules({ count, part, parts }: { count: number; part: number; parts: number }): void {
  const seeds = seedsOf(count, 1).filter((_, i) => i % parts === part);
  it(
    `${seeds.length} schedules in simulated worlds`,
    async () => {
      let ran = 0;
      for (const seed of seeds) {
        await runOrExplain(simulate, scheduleOf(seed, { loses: true, isSetBack: true, isSimulated: true }));
        ran++;
      }
      expect(ran).toBe(seeds.length);
    },
    LIMIT_MS,
  );
}

export async function simulate(schedule: Schedule, log: string[]): Promise<void> {
  const random = randomFrom(schedule.seed);
  const grounds: SimGrounds = simGrounds(random);
  const chance = Math.random;
  Math.random = random; // for whoever is not given any
  try {
    await grounds.clock.drive(runSchedule(grounds, schedule, log));
  } finally {
    Math.random = chance;
  }
}

function seedsOf(count: number, firstSeed: number): number[] {
  const { FAULT_SEED: only, FAULT_SCHEDULES: wanted } = process.env;
  return only ? [Number(only)] : Array.from({ length: Number(wanted ?? count) }, (_, i) => firstSeed + i);
}

async function runOrExplain(run: Run, schedule: Schedule): Promise<void> {
  const log: string[] = [];
  try {
    await run(schedule, log);
  } catch (cause) {
    const { seed, steps } = schedule;
    const fewest = await fewestSteps(run, schedule);
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
async function fewestSteps(run: Run, { seed, steps }: Schedule): Promise<number | undefined> {
  for (let count = 1; count <= steps.length; count++)
    try {
      await run({ seed, steps: [...steps.slice(0, count), { do: 'quiet' }] }, []);
    } catch {
      return count;
    }
  return undefined;
}
