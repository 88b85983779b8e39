/**
 * The wire between the benchmarks and the processes they measure: one order at a time, one answer to each.
 *
 * A measured process counts its own CPU time, memory and delays of its event loop, between `begin` and `end`, so that
 * nothing of the load generator is in the figures. Asked for a profile, it samples itself over the same stretch; figures
 * taken meanwhile are not to be quoted.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AnswerTrace, traceAnswers } from './answer-trace.ts';

export type Order =
  | { readonly kind: 'begin'; readonly profileTo?: string }
  | { readonly kind: 'end' }
  | { readonly kind: 'memory' }
  /** From now on, answers to paths that end so are traced; and what came of it. */
  | { readonly kind: 'trace'; readonly mark: string }
  | { readonly kind: 'traced' }
  /** What the bare server is to send. */
  | { readonly kind: 'load'; readonly listFile: string; readonly objectFile: string; readonly frames: number }
  | { readonly kind: 'stop' };

export type Usage = {
  /** User and system time of all threads. */
  readonly cpuMicros: number;
  /** Of the thread that had the most of it; undefined where the system does not tell. */
  readonly busiestMicros: number | undefined;
  readonly loop: { readonly p99Ms: number; readonly maxMs: number };
};

export type Memory = {
  readonly rssBytes: number;
  /** Without the pages of files that are mapped: 0 where the system does not tell. */
  readonly ownBytes: number;
  readonly heapBytes: number;
  readonly bufferBytes: number;
};

/** The first message of a measured process. */
export type Ready = { readonly port: number; readonly plainTlsPort?: number };

const LOOP_RESOLUTION_MS = 1;
const SAMPLING_MICROS = 500;

/** Answers orders until told to stop, or until the parent is gone; `others` answers those that are not for all. */
export function obey(others: (order: Order) => void | Promise<void>): void {
  let meter: Meter | undefined;
  let trace: (() => AnswerTrace) | undefined;
  const answerTo = async (order: Order): Promise<unknown> => {
    switch (order.kind) {
      case 'begin':
        meter = await startMeter(order.profileTo);
        return {};
      case 'end':
        return meter!();
      case 'memory':
        return memory();
      case 'trace':
        trace = traceAnswers(order.mark);
        return {};
      case 'traced':
        return trace!();
      default:
        await others(order);
        return {};
    }
  };
  process.on('message', (order: Order) => {
    answerTo(order).then(
      (answer) => process.send!(answer),
      (err: unknown) => {
        console.error(err);
        process.exit(1);
      },
    );
  });
  process.on('disconnect', () => process.exit(1)); // nobody is left to stop us
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => {}); // the parent decides
}

type Meter = () => Promise<Usage>;

/**
 * Garbage is not collected by hand here: that throws away compiled code that rests on shapes without an object at that moment,
 * and the first requests of every phase would pay for compiling it again.
 */
async function startMeter(profileTo: string | undefined): Promise<Meter> {
  const session = profileTo === undefined ? undefined : new Session();
  if (session) {
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: SAMPLING_MICROS });
    await session.post('Profiler.start');
  }
  const delay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  delay.enable();
  const threadsBefore = threadMicros();
  const before = process.cpuUsage();
  return async () => {
    const { user, system } = process.cpuUsage(before);
    const busiestMicros = busiestSince(threadsBefore);
    if (session) {
      const { profile } = await session.post('Profiler.stop');
      session.disconnect();
      writeFileSync(profileTo!, JSON.stringify(profile));
    }
    await sleep(2 * LOOP_RESOLUTION_MS); // the last stretch counts only once the timer has fired after it
    delay.disable();
    const lateMs = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - LOOP_RESOLUTION_MS);
    const loop = { p99Ms: lateMs(delay.percentile(99)), maxMs: delay.count > 0 ? lateMs(delay.max) : 0 };
    return { cpuMicros: user + system, busiestMicros, loop };
  };
}

const THREADS = '/proc/self/task';

/** CPU of each thread so far, by its number. */
function threadMicros(): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  try {
    for (const thread of readdirSync(THREADS)) {
      const [nanoseconds] = readFileSync(`${THREADS}/${thread}/schedstat`, 'utf8').split(' ');
      found.set(thread, Number(nanoseconds) / 1000);
    }
  } catch {
    // Not on Linux, or a thread has gone meanwhile: it was none that works all the time.
  }
  return found;
}

function busiestSince(before: ReadonlyMap<string, number>): number | undefined {
  const spent = [...threadMicros()].map(([thread, micros]) => micros - (before.get(thread) ?? 0));
  return spent.length > 0 ? Math.max(...spent) : undefined;
}

async function memory(): Promise<Memory> {
  // Buffers are given back beside the collection; only the next one knows.
  for (let i = 0; i < 3; i++) {
    globalThis.gc?.();
    await sleep(50);
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rssBytes: rss, ownBytes: ownBytes(), heapBytes: heapUsed, bufferBytes: external };
}

function ownBytes(): number {
  try {
    return Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
