/** Runs a schedule; what fails is told with its seed, its steps and its log, and with the fewest first steps that fail again. */
import { type Schedule, tellStep } from './fault-schedule.ts';

export type Run = (schedule: Schedule, log: string[]) => Promise<void>;

const LOG_LINES = 150;

export async function runOrExplain(run: Run, schedule: Schedule, replay: string): Promise<void> {
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
        `Replay it with ${replay}; ${again}`,
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
