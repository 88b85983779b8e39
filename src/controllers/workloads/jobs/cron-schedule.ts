/**
 * When a CronJob is due: `minute hour day-of-month month day-of-week`, with lists, ranges, steps and names, or `@hourly` and
 * its kind, in a time zone. Pure. Where both days are restricted either suffices, as in cron.
 *
 * Always true: the next time is later than the one asked about. Months, days and hours in which it cannot come are passed over
 * whole, and about eight years are looked at: a schedule that never comes (30 February) ends there.
 */
import { DurationError, parseGoDurationMs } from '../../../api/index.ts';

const MACROS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const FURTHEST_MS = 8 * 366 * DAY_MS;

type Field = { readonly values: ReadonlySet<number>; readonly isAny: boolean };

export class CronSchedule {
  readonly #fields: readonly [minute: Field, hour: Field, day: Field, month: Field, weekday: Field];
  readonly #everyMs: number | undefined;
  readonly #zone: Intl.DateTimeFormat | undefined;

  /** Throws RangeError for what is no schedule or no time zone. */
  constructor(text: string, timeZone?: string) {
    const [, every] = /^@every (\S+)$/.exec(text.trim()) ?? [];
    this.#everyMs = every === undefined ? undefined : everyMs(every);
    const parts = (MACROS[text.trim()] ?? (every === undefined ? text : '* * * * *')).trim().split(/\s+/);
    if (parts.length !== 5) throw new RangeError(`Cannot read schedule "${text}": it has not five fields`);
    const [minute, hour, day, month, weekday] = parts as [string, string, string, string, string];
    this.#fields = [
      parseField(minute, 0, 59),
      parseField(hour, 0, 23),
      parseField(day, 1, 31),
      parseField(month, 1, 12, MONTHS, 1),
      parseField(weekday, 0, 7, DAYS, 0),
    ];
    const options = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const;
    this.#zone =
      timeZone === undefined || timeZone === 'UTC' || timeZone === 'Etc/UTC'
        ? undefined
        : new Intl.DateTimeFormat('en-US', { ...options, timeZone, hourCycle: 'h23' });
  }

  /** The first time after this one; undefined if there is none. */
  next(afterMs: number): number | undefined {
    if (this.#everyMs !== undefined) return afterMs + this.#everyMs;
    let at = (Math.floor(afterMs / MINUTE_MS) + 1) * MINUTE_MS;
    const end = afterMs + FURTHEST_MS;
    while (at < end) {
      const stepMs = this.#stepFrom(this.#wall(at));
      if (stepMs === 0) return at;
      at += stepMs;
    }
    return undefined;
  }

  /**
   * How far it is at least to a time that may be one; 0: this is one. Clocks that change between here and there move the wall by
   * an hour at most, so a step ends that long before the end of what it passes over.
   */
  #stepFrom(wall: Date): number {
    const [minutes, hours, days, months, weekdays] = this.#fields;
    const [date, hour, minute] = [wall.getUTCDate(), wall.getUTCHours(), wall.getUTCMinutes()];
    const isDate = days.values.has(date);
    const isWeekday = weekdays.values.has(wall.getUTCDay());
    const isMonth = months.values.has(wall.getUTCMonth() + 1);
    const isDay = isMonth && (days.isAny || weekdays.isAny ? isDate && isWeekday : isDate || isWeekday);
    if (!isMonth && date < 27) return (27 - date) * DAY_MS; // a month has 28 days at least
    if (!isDay && hour < 23) return ((23 - hour) * 60 - minute) * MINUTE_MS;
    if (!isDay || !hours.values.has(hour)) return (60 - minute) * MINUTE_MS;
    return minutes.values.has(minute) ? 0 : MINUTE_MS;
  }

  /** What the clock on the wall says, as if it were UTC. */
  #wall(at: number): Date {
    if (!this.#zone) return new Date(at);
    const parts = Object.fromEntries(this.#zone.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    return new Date(Date.UTC(parts.year!, parts.month! - 1, parts.day!, parts.hour!, parts.minute!));
  }
}

/** In whole seconds and one at least, as kube-controller-manager takes it. */
function everyMs(text: string): number {
  try {
    return Math.max(1, Math.floor(parseGoDurationMs(text) / 1000)) * 1000;
  } catch (err) {
    if (!(err instanceof DurationError)) throw err;
    throw new RangeError(`Cannot read schedule "@every ${text}": ${err.message}`);
  }
}

function parseField(text: string, least: number, most: number, names: readonly string[] = [], first = 0): Field {
  const number = (part: string): number => {
    const named = names.indexOf(part.toLowerCase());
    const value = named >= 0 ? named + first : /^\+?\d+$/.test(part) ? Number(part) : Number.NaN;
    if (!(value >= least && value <= most))
      throw new RangeError(`Cannot read schedule: "${part}" is not from ${least} to ${most}`);
    return value;
  };
  const values = new Set<number>();
  for (const part of text.split(',').filter((one) => one !== '')) {
    const [range = '', stepText] = part.split('/');
    const step = stepText === undefined ? 1 : Number(stepText);
    if (!(Number.isInteger(step) && step > 0)) throw new RangeError(`Cannot read schedule: "${stepText}" is no step`);
    const [from = '', to] = range.split('-');
    const isAll = from === '*' || from === '?'; // whatever stands after it
    const begin = isAll ? least : number(from);
    const end = isAll ? most : to !== undefined ? number(to) : stepText !== undefined ? most : begin;
    if (end < begin) throw new RangeError(`Cannot read schedule: "${range}" ends before it begins`);
    for (let value = begin; value <= end; value += step) values.add(most === 7 && value === 7 ? 0 : value);
  }
  return { values, isAny: text.split(',').some((part) => /^[*?](-[^/]*)?(\/1)?$/.test(part)) };
}
