/**
 * Spans of time as people read them (`5m30s`, `3d`), and as Go writes them (`1h0m0.5s`).
 *
 * Pure. Go durations are whole nanoseconds in a bigint, within 64 bits. Parsing fails with a DurationError in Go's
 * words.
 */
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
/** No number below 2^63 has more; longer ones are not even converted. */
const mostDigits = 19;

/**
 * Nanoseconds of `1h15m30.5s`, `-1.5h`, `0`. One pass over the text, whatever is in it. Fractions are rounded as Go
 * rounds them, by way of a float.
 */
export function parseGoDuration(text: string): bigint {
  const wrong = (what: string) => new DurationError(`time: ${what} duration ${quoteAsTime(text)}`);
  const isNegative = text.startsWith('-');
  let at = isNegative || text.startsWith('+') ? 1 : 0;
  if (text.length === at + 1 && text[at] === '0') return 0n;
  if (at === text.length) throw wrong('invalid');
  let total = 0n;
  while (at < text.length) {
    const wholeEnd = endOfDigits(text, at);
    const hasPoint = text[wholeEnd] === '.';
    const fractionEnd = hasPoint ? endOfDigits(text, wholeEnd + 1) : wholeEnd;
    const hasDigits = wholeEnd > at || fractionEnd > wholeEnd + 1;
    const amount = hasDigits ? wholeNumber(text, at, wholeEnd) : undefined;
    if (amount === undefined) throw wrong('invalid');
    const end = endOfUnit(text, fractionEnd);
    if (end === fractionEnd) throw wrong('missing unit in');
    const nanos = unitNanos.get(text.slice(fractionEnd, end));
    if (nanos === undefined) throw wrong(`unknown unit ${quoteAsTime(text.slice(fractionEnd, end))} in`);
    total += amount * nanos;
    if (hasPoint) total += fractionOf(text, wholeEnd + 1, fractionEnd, nanos);
    if (total > largestNanos) throw wrong('invalid');
    at = end;
  }
  if (!isNegative && total === largestNanos) throw wrong('invalid');
  return isNegative ? -total : total;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function endOfDigits(text: string, from: number): number {
  let at = from;
  while (at < text.length && isDigit(text.charCodeAt(at))) at++;
  return at;
}

function endOfUnit(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== '.' && !isDigit(text.charCodeAt(at))) at++;
  return at;
}

function endOfZeros(text: string, from: number, end: number): number {
  let at = from;
  while (at < end && text[at] === '0') at++;
  return at;
}

/** Undefined past 2^63. */
function wholeNumber(text: string, from: number, end: number): bigint | undefined {
  const first = endOfZeros(text, from, end);
  if (end - first > mostDigits) return undefined;
  const amount = BigInt(text.slice(first, end) || '0');
  return amount > largestNanos ? undefined : amount;
}

/** Digits beyond what 63 bits hold add nothing. */
function fractionOf(text: string, from: number, end: number, nanos: bigint): bigint {
  const first = endOfZeros(text, from, end);
  let last = Math.min(end, first + mostDigits);
  let digits = BigInt(text.slice(first, last) || '0');
  if (digits > largestNanos) digits = BigInt(text.slice(first, --last));
  let scale = 1;
  for (let i = from; i < last && scale !== Number.POSITIVE_INFINITY; i++) scale *= 10;
  return BigInt(Math.trunc(Number(digits) * (Number(nanos) / scale)));
}

/** As Go's package `time` quotes: beyond ASCII it shows bytes. */
function quoteAsTime(text: string): string {
  const escaped = text.replace(/["\\]|[^ -\x7f]/gu, (char) => {
    if (char === '"' || char === '\\') return `\\${char}`;
    const code = char.codePointAt(0)!;
    if (code < 0x20) return `\\x${code.toString(16).padStart(2, '0')}`;
    const isHalf = code >= 0xd800 && code <= 0xdfff; // of a pair: no character of any encoding
    return encodeURIComponent(isHalf ? '\ufffd' : char)
      .replaceAll('%', '\\x')
      .toLowerCase();
  });
  return `"${escaped}"`;
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
  let fraction = String(value % unit).padStart(digits, '0');
  while (fraction.endsWith('0')) fraction = fraction.slice(0, -1);
  return fraction === '' ? `${value / unit}` : `${value / unit}.${fraction}`;
}

function twoUnits(first: number, firstUnit: string, second: number, secondUnit: string): string {
  return second === 0 ? `${first}${firstUnit}` : `${first}${firstUnit}${second}${secondUnit}`;
}
