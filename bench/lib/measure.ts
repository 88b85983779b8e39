/**
 * How the benchmarks measure: so many operations in flight, rounds that take turns, and what they cost this process.
 *
 * Other work on the machine disturbs one round, seldom all: contenders therefore take turns in every round, in
 * changing order, and each keeps the figures of all its rounds. CPU time is that of this process alone; of a store
 * behind a socket it is the client's half.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** What a phase did; without latencies where single operations are too short to be timed. */
export type Done = { readonly operations: number; readonly latenciesMs: readonly number[] };

/** One round of one phase of one contender. */
export type Run = {
  readonly perSecond: number;
  readonly cpuMicrosPerOperation: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** How late a timer of 1 ms was, while the phase ran. */
  readonly loop: { readonly p99Ms: number; readonly maxMs: number };
};

export type FlightOptions = {
  readonly signal: AbortSignal;
  /** Begin no more operations after this time. */
  readonly limitMs?: number;
  /** Begin no more operations once this holds. */
  readonly until?: () => boolean;
};

const LOOP_RESOLUTION_MS = 1;
const REST_MS = 100;

/** Runs `work(0)` to `work(count - 1)`, always `width` of them at once. */
export async function inFlight(
  count: number,
  width: number,
  work: (i: number) => Promise<unknown>,
  { signal, limitMs = Number.POSITIVE_INFINITY, until = () => false }: FlightOptions,
): Promise<Done> {
  const latenciesMs: number[] = [];
  const deadline = performance.now() + limitMs;
  let next = 0;
  const lane = async () => {
    while (next < count && !until()) {
      const begin = performance.now();
      if (begin > deadline) break;
      signal.throwIfAborted();
      await work(next++);
      latenciesMs.push(performance.now() - begin);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, lane));
  return { operations: latenciesMs.length, latenciesMs };
}

/** Runs a phase after a pause in which garbage and the writes of others come to rest. */
export async function measure(phase: () => Promise<Done>): Promise<Run> {
  globalThis.gc?.();
  await sleep(REST_MS);
  const delay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  delay.enable();
  await nextTurn();
  const cpuBefore = process.cpuUsage();
  const begin = performance.now();
  const { operations, latenciesMs } = await phase();
  const seconds = (performance.now() - begin) / 1000;
  const cpu = process.cpuUsage(cpuBefore);
  // The last stretch counts only once the timer has fired after it.
  await sleep(2 * LOOP_RESOLUTION_MS);
  delay.disable();
  const sorted = [...latenciesMs].sort((a, b) => a - b);
  const lateMs = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - LOOP_RESOLUTION_MS);
  return {
    perSecond: operations / seconds,
    cpuMicrosPerOperation: (cpu.user + cpu.system) / operations,
    p50Ms: percentile(sorted, 50),
    p99Ms: percentile(sorted, 99),
    maxMs: sorted[sorted.length - 1] ?? Number.NaN,
    loop: { p99Ms: lateMs(delay.percentile(99)), maxMs: delay.count > 0 ? lateMs(delay.max) : 0 },
  };
}

/**
 * Every contender once per round, the order turned round each time. On a machine that is busy elsewhere there are
 * fewer rounds: none but the first begins after `limitMs`.
 */
export async function interleave<Name extends string, Result>(
  rounds: number,
  names: readonly Name[],
  once: (name: Name, round: number) => Promise<Result>,
  limitMs: number = Number.POSITIVE_INFINITY,
): Promise<Record<Name, Result[]>> {
  const deadline = performance.now() + limitMs;
  const results = Object.fromEntries(names.map((name) => [name, [] as Result[]])) as Record<Name, Result[]>;
  for (let round = 0; round < rounds && (round === 0 || performance.now() < deadline); round++)
    for (const name of round % 2 === 0 ? names : [...names].reverse()) results[name].push(await once(name, round));
  return results;
}

/** NaN if there is nothing to choose from. */
export function percentile(sorted: readonly number[], percent: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}

/** Of an even number of values, the middle between the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}
