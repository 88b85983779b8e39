/**
 * What one update costs when it comes alone: fifty a second, one after the other, on a server that has nothing else to do,
 * beside the same update at 32 in flight. Bare Node, which only reads the body and answers, tells how much of that is the
 * machine's: whoever has slept finds its caches taken by others. And what the disk's part of a commit costs without a store.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Done, interleave, median } from '../../lib/measure.ts';
import {
  phaseRow,
  type ServerBenchmark,
  type ServerContext,
  type ServerRow,
  valueRow,
} from '../../lib/server-report.ts';
import { Contest, type Work } from '../load/server-contest.ts';
import { GROUPS, newPod, podName, preparePods } from '../load/server-data.ts';
import { type ContestantName, contestants } from '../load/server-pair.ts';
import { makeUpdate } from '../load/server-updates.ts';
import { commitFloor } from './commit-floor.ts';

export const serverLoneUpdates: ServerBenchmark = { name: 'lone-updates', run };

const PODS_THERE = 1000;
const WIDTH = 32;
const WARM = 6000;
const PER_SECOND = 50;
/** What comes alone may cost so much of what comes in a crowd. */
const ALONE = 1.5;

async function run(context: ServerContext): Promise<ServerRow[]> {
  const { isQuick, signal, say } = context;
  const data = await preparePods(context, PODS_THERE, GROUPS);
  await using contest = await Contest.open(context, data, WIDTH);
  const { pair, pools } = contest;
  const change = await makeUpdate(context, data, GROUPS);
  const update: Work = {
    server: (client, i) => change(client, i % PODS_THERE),
    bare: (client) => client.must('PUT', '/object', newPod(podName(0))),
  };
  await contest.warm(WARM, WIDTH, update);

  const rounds = isQuick ? 2 : 4;
  const count = isQuick ? 100 : 200;
  const ways = {
    crowded: (name: ContestantName) => pools[name].run(isQuick ? 1000 : 3000, WIDTH, update[name], { signal }),
    alone: (name: ContestantName) => paced(count, signal, (i) => update[name](pools[name].first, i)),
    // Being measured wakes a process as well.
    idle: () => paced(count, signal, async () => {}),
  };
  const measured = (what: keyof typeof ways) => {
    say(`updates: ${what}`);
    const once = (name: ContestantName) => pair[name].process.measure(`${what} ${name}`, () => ways[what](name));
    return interleave(rounds, contestants, once);
  };
  const [crowded, alone, idle] = [await measured('crowded'), await measured('alone'), await measured('idle')];
  const micros = (of: typeof alone, name: ContestantName) => of[name].map((one) => one.cpuMicrosPerOperation);
  const lone = (name: ContestantName) => {
    const rest = median(micros(idle, name));
    return micros(alone, name).map((one) => one - rest);
  };
  const over = (name: ContestantName) => lone(name).map((one, i) => one / micros(crowded, name)[i]!);
  const floors: { crowded: number[]; alone: number[] } = { crowded: [], alone: [] };
  for (let round = 0; round < rounds; round++) {
    floors.crowded.push(await commitFloor(count, 0, signal));
    floors.alone.push(await commitFloor(count, 1000 / PER_SECOND, signal));
  }
  return [
    phaseRow('update pod, 32 in flight: CPU', 'µs', crowded, (phase) => phase.cpuMicrosPerOperation),
    valueRow('update pod, alone, 50 a second: CPU', 'µs', lone('server'), { bare: lone('bare'), phases: alone }),
    valueRow('pages of one commit written and flushed, one after the other: CPU', 'µs', floors.crowded),
    valueRow('the same, 50 a second: CPU', 'µs', floors.alone),
    valueRow('alone over 32 in flight', 'times', over('server'), { bare: over('bare'), target: { value: ALONE } }),
  ];
}

async function paced(count: number, signal: AbortSignal, work: (i: number) => Promise<unknown>): Promise<Done> {
  const latenciesMs: number[] = [];
  const began = performance.now();
  for (let i = 0; i < count; i++) {
    await sleep(Math.max(0, began + (i * 1000) / PER_SECOND - performance.now()), undefined, { signal });
    const begin = performance.now();
    await work(i);
    latenciesMs.push(performance.now() - begin);
  }
  return { operations: count, latenciesMs };
}
