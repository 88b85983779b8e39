/**
 * The work queue of controllers, alone, in this process: what a key costs from `add` over `get` to `done`. Nobody has to
 * wait for anything; `get` is awaited, as workers do. The keys belong to fifty namespaces, which take turns.
 */
import { WorkQueue } from '../../src/controller/queue/work-queue.ts';
import { type Done, measure, type Run } from '../lib/measure.ts';
import type { ServerContext } from '../lib/server-report.ts';
import type { ClientBenchmark, ClientRow } from './client-report.ts';

export const queueBenchmark: ClientBenchmark = { name: 'queue', run };

const BACKLOG = 10_000;
const NAMESPACES = 50;
const CYCLES_PER_SECOND = 1_000_000;

async function run({ isQuick, say, signal }: ServerContext): Promise<ClientRow[]> {
  const cycles = isQuick ? 200_000 : 1_000_000;
  const rounds = isQuick ? 2 : 3;
  const keys = Array.from({ length: BACKLOG }, (_, i) => `team-${i % NAMESPACES}/pod-${i}`);
  const phases: Record<string, () => Promise<Done>> = {
    'add, get, done, one key at a time': () => oneByOne(keys, cycles),
    [`add, get, done behind ${BACKLOG} keys`]: () => backlog(keys, cycles),
    [`add, get, done while ${BACKLOG} keys are delayed`]: () => delayed(keys, cycles),
    'add of a key that waits': () => again(keys, cycles),
  };
  const rows: ClientRow[] = [];
  for (const [what, phase] of Object.entries(phases)) {
    say(`queue: ${what}`);
    await phase(); // code becomes warm
    const runs: Run[] = [];
    for (let round = 0; round < rounds; round++) {
      signal.throwIfAborted();
      runs.push(await measure(phase));
    }
    const perCpuSecond = runs.map(({ cpuMicrosPerOperation }) => 1e6 / cpuMicrosPerOperation);
    const target = { target: { value: CYCLES_PER_SECOND } };
    rows.push({ what: `queue: ${what}`, unit: 'per CPU-s', better: 'higher', longwatch: perCpuSecond, ...target });
  }
  return rows;
}

async function oneByOne(keys: readonly string[], cycles: number): Promise<Done> {
  const queue = new WorkQueue<string>();
  for (let i = 0; i < cycles; i++) {
    queue.add(keys[i % keys.length]!);
    queue.done((await queue.get())!.key);
  }
  return { operations: cycles, latenciesMs: [] };
}

async function backlog(keys: readonly string[], cycles: number): Promise<Done> {
  const queue = new WorkQueue<string>();
  for (const key of keys) queue.add(key);
  for (let i = 0; i < cycles; i++) {
    const { key } = (await queue.get())!;
    queue.done(key);
    queue.add(key);
  }
  return { operations: cycles, latenciesMs: [] };
}

async function delayed(keys: readonly string[], cycles: number): Promise<Done> {
  await using queue = new WorkQueue<string>();
  for (const [i, key] of keys.entries()) queue.addAfter(`late-${key}`, 3_600_000 + i);
  for (let i = 0; i < cycles; i++) {
    queue.add(keys[i % keys.length]!);
    queue.done((await queue.get())!.key);
  }
  return { operations: cycles, latenciesMs: [] };
}

async function again(keys: readonly string[], cycles: number): Promise<Done> {
  const queue = new WorkQueue<string>();
  for (const key of keys) queue.add(key);
  for (let i = 0; i < cycles; i++) queue.add(keys[i % keys.length]!);
  return { operations: cycles, latenciesMs: [] };
}
