/**
 * The work queue of controllers: what a key costs from `add` over `get` to `done`. Nobody has to wait for anything; `get`
 * is awaited, as workers do. The keys belong to fifty namespaces, which take turns. Each phase has a process of its own:
 * in one that holds much else, that is what the garbage collector is paid for.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { ServerContext } from '../lib/server-report.ts';
import type { ClientBenchmark, ClientRow } from './client-report.ts';

export const queueBenchmark: ClientBenchmark = { name: 'queue', run };

export type QueueJob = {
  readonly phase: 'oneByOne' | 'backlog' | 'delayed' | 'again';
  readonly cycles: number;
  readonly rounds: number;
};

export const BACKLOG = 10_000;
const CYCLES_PER_SECOND = 1_000_000;

const phases: readonly (readonly [phase: QueueJob['phase'], what: string])[] = [
  ['oneByOne', 'add, get, done, one key at a time'],
  ['backlog', `add, get, done behind ${BACKLOG} keys`],
  ['delayed', `add, get, done while ${BACKLOG} keys are delayed`],
  ['again', 'add of a key that waits'],
];

async function run({ isQuick, say, signal }: ServerContext): Promise<ClientRow[]> {
  const cycles = isQuick ? 200_000 : 1_000_000;
  const rounds = isQuick ? 2 : 5;
  const rows: ClientRow[] = [];
  for (const [phase, what] of phases) {
    say(`queue: ${what}`);
    const perCpuSecond = await measured({ phase, cycles, rounds }, signal);
    const target = { target: { value: CYCLES_PER_SECOND } };
    rows.push({ what: `queue: ${what}`, unit: 'per CPU-s', better: 'higher', longwatch: perCpuSecond, ...target });
  }
  return rows;
}

async function measured(job: QueueJob, signal: AbortSignal): Promise<number[]> {
  const child = fork(new URL('./queue-child.ts', import.meta.url), [JSON.stringify(job)]);
  const abort = () => child.kill('SIGKILL');
  signal.addEventListener('abort', abort, { once: true });
  try {
    let result: number[] | undefined;
    child.on('message', (message: number[]) => {
      result = message;
    });
    await once(child, 'exit');
    if (!result) throw new Error(`Cannot measure the queue: it ended with ${child.exitCode ?? child.signalCode}`);
    return result;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
