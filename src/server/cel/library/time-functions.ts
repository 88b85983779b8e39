/** The parts of times, in UTC or in a time zone, and of spans. */
import type { Budget } from '../values/budget.ts';
import { CelError, type Duration, floorDivide, type Timestamp } from '../values/values.ts';
import type { Functions } from './overloads.ts';

/** A date whose UTC parts are those of the time where it is asked about. */
type PartOf = (local: Date) => number;

const PARTS: readonly [name: string, part: PartOf][] = [
  ['getFullYear', (local) => local.getUTCFullYear()],
  ['getMonth', (local) => local.getUTCMonth()],
  ['getDate', (local) => local.getUTCDate()],
  ['getDayOfMonth', (local) => local.getUTCDate() - 1],
  ['getDayOfWeek', (local) => local.getUTCDay()],
  ['getDayOfYear', (local) => Math.floor((local.getTime() - Date.UTC(local.getUTCFullYear(), 0)) / 86_400_000)],
  ['getHours', (local) => local.getUTCHours()],
  ['getMinutes', (local) => local.getUTCMinutes()],
  ['getSeconds', (local) => local.getUTCSeconds()],
  ['getMilliseconds', (local) => local.getUTCMilliseconds()],
];

/** Reading a clock somewhere, and learning of a zone, in units: some microseconds, and a tenth of a millisecond. */
const ZONE_COST = 100;
const NEW_ZONE_COST = 5000;
const LIMIT_ZONES = 50;
const zones = new Map<string, Intl.DateTimeFormat>();

export function declareTimes(functions: Functions): void {
  for (const [name, part] of PARTS) {
    functions
      .declare(`timestamp.${name}(): int`, 1, ({ ms }: Timestamp) => BigInt(part(new Date(ms))))
      .declare(`timestamp.${name}(string): int`, ZONE_COST, ({ ms }: Timestamp, zone: string, budget: Budget) =>
        BigInt(part(new Date(ms + offsetMs(ms, zone, budget)))),
      );
  }
  const spans: [name: string, unit: bigint][] = [
    ['getHours', 3_600_000_000_000n],
    ['getMinutes', 60_000_000_000n],
    ['getSeconds', 1_000_000_000n],
    ['getMilliseconds', 1_000_000n],
  ];
  for (const [name, unit] of spans)
    functions.declare(`duration.${name}(): int`, 1, ({ nanos }: Duration) => nanos / unit);
}

function offsetMs(ms: number, zone: string, budget: Budget): number {
  const fixed = /^([+-])?(\d{1,2}):(\d{2})$/.exec(zone);
  if (fixed) return (fixed[1] === '-' ? -1 : 1) * (Number(fixed[2]) * 60 + Number(fixed[3])) * 60_000;
  if (zone === 'UTC' || zone === '') return 0;
  const parts = new Map(
    formatOf(zone, budget)
      .formatToParts(ms)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const part = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? 0;
  const local = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  return local - Number(floorDivide(BigInt(ms), 1000n)) * 1000;
}

function formatOf(zone: string, budget: Budget): Intl.DateTimeFormat {
  let found = zones.get(zone);
  if (!found) {
    budget.charge(NEW_ZONE_COST);
    try {
      found = new Intl.DateTimeFormat('en-US', {
        timeZone: zone,
        hourCycle: 'h23',
        year: 'numeric',
        month: 'numeric',
        day: 'numeric',
        hour: 'numeric',
        minute: 'numeric',
        second: 'numeric',
      });
    } catch {
      throw new CelError(`unknown time zone ${zone}`);
    }
    if (zones.size >= LIMIT_ZONES) zones.clear();
    zones.set(zone, found);
  }
  return found;
}
