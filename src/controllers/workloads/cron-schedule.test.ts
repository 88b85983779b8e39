import { expect, it } from 'vitest';
import { CronSchedule } from './cron-schedule.ts';

const at = (text: string) => Date.parse(text);
const shown = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString().slice(0, 16));

it.each<[schedule: string, after: string, next: string | undefined, zone?: string]>([
  ['* * * * *', '2026-03-01T10:00:30Z', '2026-03-01T10:01'],
  ['*/15 * * * *', '2026-03-01T10:00:00Z', '2026-03-01T10:15'],
  ['0 0 * * *', '2026-12-31T10:00:00Z', '2027-01-01T00:00'],
  ['@hourly', '2026-03-01T10:00:00Z', '2026-03-01T11:00'],
  ['@every 90s', '2026-03-01T10:00:00Z', '2026-03-01T10:01'],
  ['30 4 1,15 * 5', '2026-03-02T00:00:00Z', '2026-03-06T04:30'],
  ['0 12 * jan-mar mon-fri/2', '2026-01-03T00:00:00Z', '2026-01-05T12:00'],
  ['0 0 29 2 *', '2026-01-01T00:00:00Z', '2028-02-29T00:00'],
  ['0 0 * * 7', '2026-03-02T00:00:00Z', '2026-03-08T00:00'],
  ['0 0 30 2 *', '2026-01-01T00:00:00Z', undefined],
  ['0 9 * * *', '2026-07-01T00:00:00Z', '2026-07-01T07:00', 'Europe/Berlin'],
  ['0 9 * * *', '2026-01-01T00:00:00Z', '2026-01-01T08:00', 'Europe/Berlin'],
  ['15 0 * * *', '2026-01-01T00:00:00Z', '2026-01-01T18:45', 'Asia/Kolkata'],
])('%s after %s is due at %s %s', (schedule, after, next, zone) =>
  expect(shown(new CronSchedule(schedule, zone).next(at(after)))).toBe(next),
);

it.each(['', '* * * *', '60 * * * *', '* * 0 * *', '*/0 * * * *', '5-1 * * * *', 'x * * * *', '@never'])(
  '%j is no schedule',
  (text) => expect(() => new CronSchedule(text)).toThrow(RangeError),
);
