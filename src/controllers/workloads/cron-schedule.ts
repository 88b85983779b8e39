/**
 * When a CronJob is due: `minute hour day-of-month month day-of-week`, with lists, ranges, steps and names, or `@hourly` and
 * its kind, in a time zone. Pure. Where both days are restricted either suffices, as in cron.
 *
 * Minutes are looked at one by one, no further than about eight years: a schedule that never comes (30 February) ends there.
 */
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
    const every = /^@every (\d+)(s|m|h)$/.exec(text.trim());
    this.#everyMs = every
      ? Number(every[1]) * { s: 1000, m: MINUTE_MS, h: 60 * MINUTE_MS }[every[2] as 's' | 'm' | 'h']
      : undefined;
    const parts = (MACROS[text.trim()] ?? (every ? '* * * * *' : text)).trim().split(/\s+/);
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
      const { isDay, isHour, isMinute, minute } = this.#judge(at);
      if (isDay && isHour && isMinute) return at;
      // Hours are whole in all zones but a few, which minutes find: never further than the end of this hour.
      if (!isDay || !isHour) at += (60 - minute) * MINUTE_MS;
      else at += MINUTE_MS;
    }
    return undefined;
  }

  #judge(at: number): { isDay: boolean; isHour: boolean; isMinute: boolean; minute: number } {
    const [minute, hour, day, month, weekday] = this.#fields;
    const time = this.#wall(at);
    const isDate = day.values.has(time.getUTCDate());
    const isWeekday = weekday.values.has(time.getUTCDay());
    const isEither = day.isAny || weekday.isAny ? isDate && isWeekday : isDate || isWeekday;
    return {
      isDay: isEither && month.values.has(time.getUTCMonth() + 1),
      isHour: hour.values.has(time.getUTCHours()),
      isMinute: minute.values.has(time.getUTCMinutes()),
      minute: time.getUTCMinutes(),
    };
  }

  /** What the clock on the wall says, as if it were UTC. */
  #wall(at: number): Date {
    if (!this.#zone) return new Date(at);
    const parts = Object.fromEntries(this.#zone.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    return new Date(Date.UTC(parts.year!, parts.month! - 1, parts.day!, parts.hour!, parts.minute!));
  }
}

function parseField(text: string, least: number, most: number, names: readonly string[] = [], first = 0): Field {
  const number = (part: string): number => {
    const named = names.indexOf(part.toLowerCase());
    const value = named >= 0 ? named + first : /^\d+$/.test(part) ? Number(part) : Number.NaN;
    if (!(value >= least && value <= most))
      throw new RangeError(`Cannot read schedule: "${part}" is not from ${least} to ${most}`);
    return value;
  };
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const [range = '', stepText] = part.split('/');
    const step = stepText === undefined ? 1 : Number(stepText);
    if (!(Number.isInteger(step) && step > 0)) throw new RangeError(`Cannot read schedule: "${stepText}" is no step`);
    const isAll = range === '*' || range === '?';
    const [from = '', to] = range.split('-');
    const begin = isAll ? least : number(from);
    const end = isAll ? most : to !== undefined ? number(to) : stepText !== undefined ? most : begin;
    if (end < begin) throw new RangeError(`Cannot read schedule: "${range}" ends before it begins`);
    for (let value = begin; value <= end; value += step) values.add(most === 7 && value === 7 ? 0 : value);
  }
  return { values, isAny: /^[*?](\/1)?$/.test(text) };
}
