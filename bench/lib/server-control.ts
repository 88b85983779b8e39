/**
 * The wire between the benchmarks and the processes they measure: one order at a time, one answer to each.
 *
 * A measured process counts its own CPU time, memory and delays of its event loop, between `begin` and `end`, so that
 * nothing of the load generator is in the figures. Asked for a profile, it samples itself over the same stretch; figures
 * taken meanwhile are not to be quoted.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

export type Order =
  | { readonly kind: 'begin'; readonly profileTo?: string }
  | { readonly kind: 'end' }
  | { readonly kind: 'memory' }
  /** What the bare server is to send. */
  | { readonly kind: 'load'; readonly listFile: string; readonly objectFile: string; readonly frames: number }
  | { readonly kind: 'stop' };

export type Usage = {
  /** User and system time of all threads. */
  readonly cpuMicros: number;
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
  const answerTo = async (order: Order): Promise<unknown> => {
    switch (order.kind) {
      case 'begin':
        meter = await startMeter(order.profileTo);
        return {};
      case 'end':
        return meter!();
      case 'memory':
        return memory();
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

async function startMeter(profileTo: string | undefined): Promise<Meter> {
  globalThis.gc?.();
  const session = profileTo === undefined ? undefined : new Session();
  if (session) {
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: SAMPLING_MICROS });
    await session.post('Profiler.start');
  }
  const delay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  delay.enable();
  const before = process.cpuUsage();
  return async () => {
    const { user, system } = process.cpuUsage(before);
    if (session) {
      const { profile } = await session.post('Profiler.stop');
      session.disconnect();
      writeFileSync(profileTo!, JSON.stringify(profile));
    }
    await sleep(2 * LOOP_RESOLUTION_MS); // the last stretch counts only once the timer has fired after it
    delay.disable();
    const lateMs = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - LOOP_RESOLUTION_MS);
    const loop = { p99Ms: lateMs(delay.percentile(99)), maxMs: delay.count > 0 ? lateMs(delay.max) : 0 };
    return { cpuMicros: user + system, loop };
  };
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
