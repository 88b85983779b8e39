/**
 * Spans of time as people read them (`5m30s`, `3d`), and as Go writes them (`1h0m0.5s`).
 *
 * Pure. Go durations are whole nanoseconds in a bigint, within 64 bits. Parsing fails with a DurationError in Go's
 * words.
 */
import { quote } from './field-error.ts';

export class DurationError extends Error {
  override readonly name = 'DurationError';
}

/** The age column of tables: one or two units, the second only while it matters and is not zero. */
export function humanDuration(spanMs: number): string {
  const seconds = Math.trunc(spanMs / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return twoUnits(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return twoUnits(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (days < 8) return twoUnits(days, 'd', hours % 24, 'h');
  if (days < 730) return `${days}d`;
  const years = Math.trunc(days / 365);
  return years < 8 ? twoUnits(years, 'y', days % 365, 'd') : `${years}y`;
}

/** How long ago an RFC 3339 time was. */
export function humanAge(time: string | null | undefined, nowMs: number): string {
  if (!time) return '<unknown>';
  const at = Date.parse(time);
  return Number.isNaN(at) ? '<invalid>' : humanDuration(nowMs - at);
}

const unitNanos: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['\u00b5s', 1_000n], // the micro sign
  ['\u03bcs', 1_000n], // the Greek letter
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
]);
const largestNanos = 2n ** 63n;
const limitCharacters = 256;

/** Nanoseconds of `1h15m30.5s`, `-1.5h`, `0`. */
export function parseGoDuration(text: string): bigint {
  const wrong = (what: string) => new DurationError(`time: ${what} duration ${quote(text)}`);
  const isNegative = text.startsWith('-');
  let rest = /^[-+]/.test(text) ? text.slice(1) : text;
  if (rest === '0') return 0n;
  if (rest === '' || text.length > limitCharacters) throw wrong('invalid');
  let total = 0n;
  while (rest !== '') {
    const match = /^(\d*)(?:\.(\d*))?([^.\d]*)/.exec(rest)!;
    const [whole, integer = '', fraction = '', unit = ''] = match;
    if (integer === '' && fraction === '') throw wrong('invalid');
    if (unit === '') throw wrong('missing unit in');
    const nanos = unitNanos.get(unit);
    if (nanos === undefined) throw wrong(`unknown unit ${quote(unit)} in`);
    total += BigInt(integer || '0') * nanos + (BigInt(fraction || '0') * nanos) / 10n ** BigInt(fraction.length);
    rest = rest.slice(whole.length);
  }
  if (isNegative ? total > largestNanos : total >= largestNanos) throw wrong('invalid');
  return isNegative ? -total : total;
}

/** The same in milliseconds, as a number with a fraction. */
export function parseGoDurationMs(text: string): number {
  return Number(parseGoDuration(text)) / 1e6;
}

/** `1h0m0.5s`, `300ms`, `0s`. */
export function formatGoDuration(nanos: bigint): string {
  if (nanos === 0n) return '0s';
  const sign = nanos < 0n ? '-' : '';
  const span = nanos < 0n ? -nanos : nanos;
  if (span < 1_000n) return `${sign}${span}ns`;
  if (span < 1_000_000n) return `${sign}${decimal(span, 1_000n)}\u00b5s`;
  if (span < 1_000_000_000n) return `${sign}${decimal(span, 1_000_000n)}ms`;
  const minute = 60_000_000_000n;
  const seconds = `${decimal(span % minute, 1_000_000_000n)}s`;
  const minutes = span / minute;
  if (minutes === 0n) return `${sign}${seconds}`;
  if (minutes < 60n) return `${sign}${minutes}m${seconds}`;
  return `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

function decimal(value: bigint, unit: bigint): string {
  const digits = String(unit).length - 1;
  const fraction = String(value % unit)
    .padStart(digits, '0')
    .replace(/0+$/, '');
  return fraction === '' ? `${value / unit}` : `${value / unit}.${fraction}`;
}

function twoUnits(first: number, firstUnit: string, second: number, secondUnit: string): string {
  return second === 0 ? `${first}${firstUnit}` : `${first}${firstUnit}${second}${secondUnit}`;
}
