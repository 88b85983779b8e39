/**
 * One client at one job, in a process of its own, which tells what it cost and ends. Time, CPU and memory are those of
 * this process from the moment the client is loaded and configured.
 *
 * A sustained stream is measured after a first part in which code becomes warm: between the first event seen after
 * `warmUp` and the last.
 */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Job, SlowResult, StreamResult, SyncResult } from '../client-jobs.ts';
import { bareJobs } from './client-bare.ts';
import { clientNodeJobs } from './client-client-node.ts';
import { longwatchJobs } from './client-longwatch.ts';

export type Jobs = {
  /** Resolves when everything is in the local copy; the result says how many objects there are. */
  readonly sync?: (job: Job) => Promise<number>;
  /** Calls `seen` with the version of each event, or of the newest every now and then, and what tells that of the local copy. */
  readonly watch?: (job: Job, seen: Seen) => Promise<void>;
  readonly informer?: (job: Job, seen: Seen) => Promise<void>;
  readonly slow?: (job: Job, probe: SlowProbe) => Promise<void>;
};

type Seen = (version: number, stored?: () => number) => void;

export type SlowProbe = {
  /** An object has come to the local copy; the annotation says when it was sent. */
  readonly stored: (sentAt: number, version: number) => void;
  readonly handled: () => void | Promise<void>;
};

const makers = { longwatch: longwatchJobs, 'client-node': clientNodeJobs, bare: bareJobs } as const;

const job = JSON.parse(process.argv[2]!) as Job;
const jobs = await makers[job.client](job);
const result = await measured();
process.once('disconnect', () => process.exit(0));
process.send!(result);

async function measured(): Promise<SyncResult | StreamResult | SlowResult> {
  globalThis.gc?.();
  switch (job.kind) {
    case 'sync':
      return measureSync();
    case 'watch':
    case 'informer':
      return measureStream(jobs[job.kind]!);
    case 'slow':
      return measureSlow();
  }
}

async function measureSync(): Promise<SyncResult> {
  const baseBytes = process.memoryUsage.rss();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const cpu = process.cpuUsage();
  const begin = performance.now();
  const objects = await jobs.sync!(job);
  const seconds = (performance.now() - begin) / 1000;
  const cpuSeconds = cpuSecondsSince(cpu);
  const peakBytes = process.resourceUsage().maxRSS * 1024;
  if (objects !== job.pods) throw new Error(`Cannot compare: ${objects} objects came instead of ${job.pods}`);
  await sleep(5); // a timer that is late has to fire to be seen
  const longestDelayMs = delay.max / 1e6;
  globalThis.gc?.();
  const { heapUsed: heapBytes } = process.memoryUsage();
  return { seconds, cpuSeconds, baseBytes, peakBytes, heapBytes, longestDelayMs };
}

function measureStream(run: NonNullable<Jobs['watch']>): Promise<StreamResult> {
  return new Promise((resolve, reject) => {
    const last = job.pods + job.events;
    let first = 0;
    let begin = 0;
    let cpu = process.cpuUsage();
    // What is stored before the handler sees it was paid for before: it must not be counted as measured. It is asked for until
    // then only: to ask costs something, and the other client is not asked.
    const seen: Seen = (version, stored) => {
      if (first === 0) {
        const begun = stored ? stored() : version;
        if (begun <= job.pods + job.warmUp) return;
        first = begun;
        begin = performance.now();
        cpu = process.cpuUsage();
      } else if (version === last) {
        const events = last - first;
        const seconds = (performance.now() - begin) / 1000;
        const peakBytes = process.resourceUsage().maxRSS * 1024;
        resolve({ perSecond: events / seconds, perCpuSecond: events / cpuSecondsSince(cpu), peakBytes });
      }
    };
    run(job, seen).catch(reject);
  });
}

/** How old an object is when it comes to the local copy, while a handler takes 1 ms for each event. */
async function measureSlow(): Promise<SlowResult> {
  const last = job.pods + job.events;
  const lagsMs: number[] = [];
  let handled = 0;
  let done = () => {};
  const all = new Promise<void>((resolve) => {
    done = resolve;
  });
  const running = jobs.slow!(job, {
    stored: (sentAt, version) => {
      lagsMs.push(Date.now() - sentAt);
      if (version === last) done();
    },
    handled: () => {
      handled++;
      if (job.handler === 'waits') return sleep(1) as Promise<void>;
      const until = performance.now() + 1;
      while (performance.now() < until);
      return undefined;
    },
  });
  await Promise.race([all, running.then(() => all)]);
  return { lagsMs, handled, peakBytes: process.resourceUsage().maxRSS * 1024 };
}

function cpuSecondsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}
