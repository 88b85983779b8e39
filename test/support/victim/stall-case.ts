/**
 * What is played, and what it is held to.
 *
 * A case is data: a name, the entry points it covers, the largest size that can be sent, and how to make a request of a
 * size. It is played at its limit; if that is not fast, at a half and a quarter of it, too. It breaks the budget when
 * CPU time grows by more than `MOST_GROWTH` with a doubling of the size, when `/livez` waits longer than `MOST_HELD_MS`,
 * when memory grows by more than `MOST_TIMES_INPUT` of what was sent, when the answer is a 504, or when the process
 * says that it met a fault of its own.
 *
 * Measured again before it is said: a compiler that warms up or a collection of garbage is no fault of the input. The
 * time that `/livez` may wait is stretched by as much as a loop of known cost is slower here and now.
 */
import { factorOf, MOST_GROWTH } from '../growth.ts';
import { slowness } from './calibration.ts';
import type { Cost, Ready, Victim } from './victim.ts';

export const MOST_HELD_MS = 200;
/** Objects of a parsed text take many times its length; 40 is a good deal more than any format needs. */
const MOST_TIMES_INPUT = 40;
/** What a process may grow by whatever is sent: young objects that are not collected yet. */
const FREE_BYTES = 96 * 1024 * 1024;
/** At the limit this is nothing, however it grows below: so little time is mostly the compiler's and the collector's. */
const FAST_CPU_MS = 100;
/** The same for each of many that are played in one go. */
const FAST_IN_GROUP_CPU_MS = 30;
const ROUNDS = 3;

/** What one play sent, and what came back. */
export type Played = { readonly sentBytes: number; readonly statuses: readonly number[] };

export type StallCase<T> = {
  readonly name: string;
  /** `query:timeout`, `header:accept`, `body:application/yaml`, `patch:apply`, `grpc:KV/Txn`, ... */
  readonly covers: readonly string[];
  /** The largest size there is. */
  readonly limit: number;
  /** What is there before and not measured. */
  readonly before?: (target: T, size: number, name: string) => Promise<unknown>;
  readonly play: (target: T, size: number, name: string) => Promise<Played>;
  readonly after?: (target: T, size: number, name: string) => Promise<unknown>;
};

export type Verdict = { readonly faults: readonly string[]; readonly figures: string };

export async function judge<R extends Ready, T>(
  victim: Victim<R>,
  target: () => T,
  one: StallCase<T>,
): Promise<Verdict> {
  const best = new Map<number, Measured>();
  const sizes = [one.limit, Math.ceil(one.limit / 2), Math.ceil(one.limit / 4)];
  for (let round = 1; ; round++) {
    for (const size of sizes) {
      const known = best.get(size);
      const found = await playOnce(victim, target, one, size);
      best.set(size, known ? better(known, found) : found);
      if (found.cost.isCutOff || (size === one.limit && found.cost.cpuMs < FAST_CPU_MS)) break;
    }
    const faults = [...faultsOf(sizes.map((size) => best.get(size))), ...victim.takeFaults()];
    const isHopeless = [...best.values()].some(({ cost }) => cost.isCutOff);
    if (faults.length === 0 || round === ROUNDS || isHopeless) return { faults, figures: figuresOf(best) };
  }
}

/** Whether these cost next to nothing at their limits, played one after the other and measured as one. */
export async function areFast<R extends Ready, T>(
  victim: Victim<R>,
  target: () => T,
  cases: readonly StallCase<T>[],
): Promise<boolean> {
  const cost = await victim.measure(async () => {
    for (const one of cases) await one.play(target(), one.limit, nextName());
  });
  const isCheap = cost.cpuMs < FAST_IN_GROUP_CPU_MS * cases.length && cost.heldMs < MOST_HELD_MS / 2;
  return isCheap && !cost.isCutOff && cost.grownBytes < FREE_BYTES && victim.takeFaults().length === 0;
}

type Measured = Played & { readonly cost: Cost };

let plays = 0;

function nextName(): string {
  return `stall-${++plays}`;
}

async function playOnce<R extends Ready, T>(
  victim: Victim<R>,
  target: () => T,
  one: StallCase<T>,
  size: number,
): Promise<Measured> {
  const name = nextName();
  await one.before?.(target(), size, name);
  let played: Played = { sentBytes: size, statuses: [] };
  const cost = await victim.measure(async () => {
    played = await one.play(target(), size, name);
  });
  await one.after?.(target(), size, name);
  return { ...played, cost };
}

function better(a: Measured, b: Measured): Measured {
  return {
    sentBytes: b.sentBytes,
    statuses: [...a.statuses, ...b.statuses],
    cost: {
      cpuMs: Math.min(a.cost.cpuMs, b.cost.cpuMs),
      heldMs: Math.min(a.cost.heldMs, b.cost.heldMs),
      grownBytes: Math.min(a.cost.grownBytes, b.cost.grownBytes),
      isCutOff: a.cost.isCutOff || b.cost.isCutOff,
    },
  };
}

/** Largest first; what was not played is undefined. */
function faultsOf([whole, half, quarter]: readonly (Measured | undefined)[]): string[] {
  const faults: string[] = [];
  const { cost, sentBytes, statuses } = whole!;
  if (cost.isCutOff) faults.push(`was given up after ${cost.cpuMs.toFixed(0)} ms of CPU time`);
  if (cost.heldMs > MOST_HELD_MS && cost.heldMs > MOST_HELD_MS * slowness())
    faults.push(`holds /livez for ${cost.heldMs.toFixed(0)} ms`);
  if (!cost.isCutOff && half && quarter && cost.cpuMs >= FAST_CPU_MS) {
    const factor = factorOf([quarter, half, whole!].map((one) => one.cost.cpuMs));
    if (factor > MOST_GROWTH) faults.push(`grows by ${factor.toFixed(1)} with every doubling`);
  }
  const mayGrow = FREE_BYTES + MOST_TIMES_INPUT * sentBytes;
  if (cost.grownBytes > mayGrow) faults.push(`grows by ${mebibytes(cost.grownBytes)} (${mebibytes(mayGrow)} allowed)`);
  if (statuses.includes(504)) faults.push('is not answered in time');
  return faults;
}

function figuresOf(best: ReadonlyMap<number, Measured>): string {
  return [...best]
    .map(([size, { cost, sentBytes, statuses }]) => {
      const { cpuMs, heldMs, grownBytes } = cost;
      const sent = `${size} (${sentBytes} bytes)`;
      return `${sent}: ${[...new Set(statuses)].join('/')} cpu ${cpuMs.toFixed(0)} ms, held ${heldMs.toFixed(0)} ms, +${mebibytes(grownBytes)}`;
    })
    .join('; ');
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(0)} MiB`;
}
