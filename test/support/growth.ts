/**
 * How fast work grows with its input: the same work is done at n, 2n and 4n, and what counts is by how much its CPU time
 * grows with each doubling. Linear work grows by 2, quadratic by 4; `MOST_GROWTH` stands between them.
 *
 * It counts CPU time of this process and takes the best of several rounds, so a loaded machine does not change the
 * answer. It holds for work in this process only, and for work that takes at least a few milliseconds at the first size:
 * below that the clock and the compiler's warming up are all one sees, and sizes are doubled until it does.
 */
import { expect } from 'vitest';

/** More than this for a doubling is not linear. */
export const MOST_GROWTH = 2.5;
const LEAST_CPU_MS = 6;
const DOUBLINGS = 2;
const ROUNDS = 4;

export type GrowthOptions<Input> = {
  /** Makes an input of this size. What it takes does not count. */
  readonly make: (size: number) => Input;
  readonly run: (input: Input) => unknown;
  /** The first size to try. */
  readonly from: number;
  /** Sizes beyond this are never tried: what takes no time up to here is fast enough. */
  readonly limit: number;
  readonly rounds?: number;
  /** CPU time of this process so far, in milliseconds. Tests of this file bring one that counts steps. */
  readonly cpuClock?: () => number;
};

export type Growth = {
  readonly sizes: readonly number[];
  readonly cpuMs: readonly number[];
  /** By how much the time grows when the size doubles. */
  readonly factor: number;
};

export async function growthOf<Input>(options: GrowthOptions<Input>): Promise<Growth> {
  const { from, limit, rounds = ROUNDS } = options;
  await cpuMsOf(options, from, 1); // whatever is loaded or compiled by the first call
  let first = from;
  let firstMs = await cpuMsOf(options, first, rounds);
  while (firstMs < LEAST_CPU_MS && first * 2 ** (DOUBLINGS + 1) <= limit) {
    first *= 2;
    firstMs = await cpuMsOf(options, first, rounds);
  }
  const sizes = [first];
  const cpuMs = [firstMs];
  for (let doubling = 1; doubling <= DOUBLINGS && first * 2 ** doubling <= limit; doubling++) {
    sizes.push(first * 2 ** doubling);
    cpuMs.push(await cpuMsOf(options, sizes.at(-1)!, rounds));
    // Whatever grows like this will not be linear; larger sizes only take long.
    if (cpuMs.at(-1)! > 30 * Math.max(firstMs, LEAST_CPU_MS)) break;
  }
  return { sizes, cpuMs, factor: factorOf(cpuMs) };
}

/**
 * Fails with the measured figures when the work grows faster than its input. Measures again before it says so, and keeps
 * the best of each size: a collection of garbage at the wrong moment passes, work that grows too fast does so every time.
 */
export async function expectLinear<Input>(what: string, options: GrowthOptions<Input>): Promise<void> {
  let growth = await growthOf(options);
  for (let again = 0; again < 5 && growth.factor > MOST_GROWTH; again++) growth = await bestOf(growth, options);
  const figures = growth.sizes.map((size, i) => `${size}: ${growth.cpuMs[i]!.toFixed(1)} ms`).join(', ');
  expect(growth.factor, `${what} grows faster than its input (${figures})`).toBeLessThanOrEqual(MOST_GROWTH);
}

async function bestOf<Input>({ sizes, cpuMs }: Growth, options: GrowthOptions<Input>): Promise<Growth> {
  const best: number[] = [];
  for (const [index, size] of sizes.entries())
    best.push(Math.min(cpuMs[index]!, await cpuMsOf(options, size, options.rounds ?? ROUNDS)));
  return { sizes, cpuMs: best, factor: factorOf(best) };
}

/**
 * The least of all doublings: work that grows too fast does so at each of them, while one step alone is where the data
 * no longer fits a cache. Under the least time the clock decides, not the work: it counts as that.
 */
export function factorOf(cpuMs: readonly number[]): number {
  if (cpuMs.length < 2) return 1;
  return Math.min(...cpuMs.slice(1).map((ms, i) => ms / Math.max(cpuMs[i]!, LEAST_CPU_MS)));
}

async function cpuMsOf<Input>(options: GrowthOptions<Input>, size: number, rounds: number): Promise<number> {
  const { make, run, cpuClock = processCpuMs } = options;
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const input = make(size);
    const before = cpuClock();
    await run(input);
    best = Math.min(best, cpuClock() - before);
    if (best > 2_000) break;
  }
  return best;
}

function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
