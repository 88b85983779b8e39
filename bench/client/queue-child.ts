/** One phase of the benchmark of the work queue, in a process of its own: tells what the rounds came to, and ends. */
import { WorkQueue } from '../../src/controller/queue/work-queue.ts';
import { type Done, measure } from '../lib/measure.ts';
import { BACKLOG, type QueueJob } from './queue.ts';

const NAMESPACES = 50;

const { phase, cycles, rounds } = JSON.parse(process.argv[2]!) as QueueJob;
const all = { oneByOne, backlog, delayed, again };
const keys = Array.from({ length: BACKLOG }, (_, i) => `team-${i % NAMESPACES}/pod-${i}`);
await all[phase](keys, cycles); // code becomes warm
const perCpuSecond: number[] = [];
for (let round = 0; round < rounds; round++) {
  const { cpuMicrosPerOperation } = await measure(() => all[phase](keys, cycles));
  perCpuSecond.push(1e6 / cpuMicrosPerOperation);
}
process.send!(perCpuSecond);
process.disconnect();

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
