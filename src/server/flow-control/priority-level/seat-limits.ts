/**
 * How the seats of the server are divided: what each level has by right, and how levels that have none to spare borrow
 * from those that have.
 *
 * Pure. Always true: what a level has by right follows from the shares of all; a level never has less than it must keep,
 * nor more than it may borrow; what one borrows another did not need when it was last looked at.
 */
import { greatestOf } from '../../../api/index.ts';

/** Of one level, as it is configured. */
export type LevelShares = {
  readonly shares: number;
  readonly lendablePercent: number;
  /** Undefined: as much as there is. */
  readonly borrowingLimitPercent?: number | undefined;
  readonly isExempt: boolean;
  /** How many queues a flow may wait in; undefined: nobody waits here. */
  readonly handSize?: number | undefined;
};

export type LevelLimits = {
  readonly nominal: number;
  /** What is left when all that may be lent is. */
  readonly min: number;
  readonly max: number;
  /** Of one request; undefined: no limit of this level. */
  readonly maxSeats: number | undefined;
};

/** What a level has been asked for since the last look. */
export type LevelDemand = {
  readonly limits: LevelLimits;
  readonly isExempt: boolean;
  readonly highWatermark: number;
  readonly smoothed: number;
};

export type Allocation = {
  /** In the order asked; undefined: all stay as they are. */
  readonly seats: readonly number[] | undefined;
  readonly targets: readonly number[];
  /** What each target was multiplied by; 0 where there was nothing to share out. */
  readonly fairFraction: number;
};

export function levelLimits(total: number, levels: readonly LevelShares[]): LevelLimits[] {
  let sum = 0;
  for (const { shares } of levels) sum += shares;
  return levels.map(({ shares, lendablePercent, borrowingLimitPercent, isExempt, handSize }) => {
    const nominal = sum === 0 ? 0 : Math.ceil((total * shares) / sum);
    const lendable = round((nominal * lendablePercent) / 100);
    const mayBorrow =
      isExempt || borrowingLimitPercent === undefined ? total : round((nominal * borrowingLimitPercent) / 100);
    const maxSeats =
      handSize === undefined
        ? undefined
        : Math.max(1, Math.min(Math.ceil(MAX_SEATS_SHARE * nominal), Math.floor(nominal / handSize)));
    return { nominal, min: nominal - lendable, max: nominal + mayBorrow, maxSeats };
  });
}

/** Who has how many seats until the next look. */
export function allocateSeats(levels: readonly LevelDemand[]): Allocation {
  const ranges = levels.map(({ limits: { nominal, min, max }, isExempt, highWatermark, smoothed }) => {
    // Nobody makes an exempt request wait: what such levels use is only taken from what others can have.
    if (isExempt) return { isExempt, lo: Math.max(min, highWatermark), target: smoothed, hi: max, min };
    const lo = Math.max(min, Math.min(nominal, highWatermark));
    return { isExempt, lo, target: Math.max(lo, smoothed), hi: max, min };
  });
  const targets = ranges.map(({ target }) => target);
  const limited = ranges.filter(({ isExempt }) => !isExempt);
  const nominal = sumOf(levels.map(({ limits }) => limits.nominal));
  const left = nominal - sumOf(ranges.map(({ isExempt, lo }) => (isExempt ? lo : 0)));
  const least = sumOf(limited.map(({ min }) => min));
  const wanted = sumOf(limited.map(({ lo }) => lo));
  const all = (seatsOf: (range: (typeof ranges)[number]) => number, fairFraction: number): Allocation => ({
    seats: ranges.map((range) => (range.isExempt ? range.lo : round(seatsOf(range)))),
    targets,
    fairFraction,
  });
  if (left <= least) return all(({ min }) => min, 0);
  if (left <= wanted) return all(({ min, lo }) => min + round(((lo - min) * (left - least)) / (wanted - least)), 0);
  const fraction = fairFractionOf(limited, nominal);
  if (fraction === undefined) return { seats: undefined, targets, fairFraction: 0 };
  return all((range) => clamped(range, fraction), fraction);
}

type Range = { readonly lo: number; readonly hi: number; readonly target: number };

/** No request may take more than this part of its level. */
const MAX_SEATS_SHARE = 0.15;
/** A level that wants nothing still gets its part of what nobody wants. */
const LEAST_TARGET = 0.001;
const BISECTIONS = 100;

/** The sum grows with the fraction: halving finds it as closely as numbers are. */
function fairFractionOf(ranges: readonly Range[], sum: number): number | undefined {
  const sumAt = (fraction: number) => sumOf(ranges.map((range) => clamped(range, fraction)));
  let low = 0;
  let high = Math.max(0, greatestOf(ranges.map(({ hi, target }) => hi / Math.max(target, LEAST_TARGET))));
  if (sumAt(low) > sum || sumAt(high) < sum) return undefined;
  for (let i = 0; i < BISECTIONS; i++) {
    const middle = (low + high) / 2;
    if (sumAt(middle) < sum) low = middle;
    else high = middle;
  }
  return high;
}

function clamped({ lo, hi, target }: Range, fraction: number): number {
  return Math.min(hi, Math.max(lo, fraction * Math.max(target, LEAST_TARGET)));
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, n) => sum + n, 0);
}

/** Half away from zero, forgiving what adding fractions has lost; nothing here is negative. */
function round(n: number): number {
  return Math.floor(n + 0.5 + 1e-9);
}
