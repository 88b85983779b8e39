import { expect, it, vi } from 'vitest';
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
  ['0 0 *,5 * 1', '2026-03-02T00:00:00Z', '2026-03-09T00:00'], // a star among others is a star
  ['0 0 1-7 * */2', '2026-03-01T00:00:00Z', '2026-03-02T00:00'],
  ['*-7/30 +5,, * * *', '2026-03-01T05:10:00Z', '2026-03-01T05:30'], // the server takes such, too
  ['0 0 *-7 * 1', '2026-03-02T00:00:00Z', '2026-03-09T00:00'],
  ['0 9 * * *', '2026-07-01T00:00:00Z', '2026-07-01T07:00', 'Europe/Berlin'],
  ['30 0 * 4 *', '2026-01-01T00:00:00Z', '2026-03-31T13:30', 'Australia/Lord_Howe'],
  ['30 0 29 3 *', '2026-03-28T00:00:00Z', '2026-03-28T23:30', 'Europe/Berlin'], // the clocks change at 1:00 UTC
  ['30 23 25 10 *', '2026-10-25T00:00:00Z', '2026-10-25T22:30', 'Europe/Berlin'],
  ['0 9 * * *', '2026-01-01T00:00:00Z', '2026-01-01T08:00', 'Europe/Berlin'],
  ['15 0 * * *', '2026-01-01T00:00:00Z', '2026-01-01T18:45', 'Asia/Kolkata'],
])('%s after %s is due at %s %s', (schedule, after, next, zone) =>
  expect(shown(new CronSchedule(schedule, zone).next(at(after)))).toBe(next),
);

it.each([
  '',
  '* * * *',
  '60 * * * *',
  '* * 0 * *',
  '*/0 * * * *',
  '5-1 * * * *',
  'x * * * *',
  '@never',
  '@every',
  '@every soon',
  '@every 1..5s',
])('%j is no schedule', (text) => expect(() => new CronSchedule(text)).toThrow(RangeError));

it.each([
  ['@every 0s', 1000],
  ['@every 20ms', 1000],
  ['@every 1500ms', 1000],
  ['@every 90s', 90_000],
  ['@every 1h30m', 5_400_000],
])('%s comes after %i ms: never sooner than a second, and in whole ones', (schedule, ms) =>
  expect(new CronSchedule(schedule).next(at('2026-03-01T10:00:00Z'))).toBe(at('2026-03-01T10:00:00Z') + ms),
);

it('months and days in which it cannot come are not looked through', () => {
  const looks = vi.spyOn(Intl.DateTimeFormat.prototype, 'formatToParts');
  try {
    expect(new CronSchedule('0 0 30 2 *', 'Europe/Berlin').next(at('2026-01-01T00:00:00Z'))).toBeUndefined();
    expect(looks.mock.calls.length).toBeLessThan(8 * 366);
  } finally {
    looks.mockRestore();
  }
});
