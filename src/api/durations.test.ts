import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatGoDuration, humanAge, humanDuration, parseGoDuration, parseGoDurationMs } from './durations.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

describe('humanDuration()', () => {
  it.each<[spanMs: number, want: string]>([
    [-2 * second, '<invalid>'],
    [-1999, '0s'],
    [-1, '0s'],
    [0, '0s'],
    [119_999, '119s'],
    [2 * minute, '2m'],
    [2 * minute + 1 * second, '2m1s'],
    [10 * minute - 1, '9m59s'],
    [10 * minute + 5 * second, '10m'],
    [180 * minute - 1, '179m'],
    [3 * hour, '3h'],
    [3 * hour + minute, '3h1m'],
    [8 * hour + minute, '8h'],
    [48 * hour - 1, '47h'],
    [48 * hour, '2d'],
    [49 * hour, '2d1h'],
    [8 * day + hour, '8d'],
    [730 * day - 1, '729d'],
    [730 * day, '2y'],
    [731 * day, '2y1d'],
    [2920 * day - 1, '7y364d'],
    [2920 * day + day, '8y'],
  ])('%d ms: %s', (spanMs, want) => expect(humanDuration(spanMs)).toBe(want));

  it('is unknown for no time, and invalid for what is none', () => {
    expect(humanAge(undefined, 0)).toBe('<unknown>');
    expect(humanAge('yesterday', 0)).toBe('<invalid>');
    expect(humanAge('1970-01-01T00:00:00Z', 5 * second)).toBe('5s');
  });
});

describe('Go durations', () => {
  it.each<[text: string, nanos: bigint, shown: string]>([
    ['0', 0n, '0s'],
    ['0s', 0n, '0s'],
    ['1ns', 1n, '1ns'],
    ['1.5us', 1_500n, '1.5µs'],
    ['300ms', 300_000_000n, '300ms'],
    ['1.5h', 5_400_000_000_000n, '1h30m0s'],
    ['1h15m30.5s', 4_530_500_000_000n, '1h15m30.5s'],
    ['-2m', -120_000_000_000n, '-2m0s'],
    ['+5s', 5_000_000_000n, '5s'],
    ['.5s', 500_000_000n, '500ms'],
  ])('%s', (text, nanos, shown) => {
    expect(parseGoDuration(text)).toBe(nanos);
    expect(formatGoDuration(nanos)).toBe(shown);
  });

  it.each([
    ['', 'time: invalid duration ""'],
    ['x', 'time: invalid duration "x"'],
    ['.s', 'time: invalid duration ".s"'],
    ['5', 'time: missing unit in duration "5"'],
    ['5x', 'time: unknown unit "x" in duration "5x"'],
    ['1s-2s', 'time: unknown unit "s-" in duration "1s-2s"'],
    ['9999999h', 'time: invalid duration "9999999h"'],
  ])('refuses %j', (text, message) => expect(() => parseGoDuration(text)).toThrow(message));

  it('come back from their text', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }), (nanos) => {
        expect(parseGoDuration(formatGoDuration(nanos))).toBe(nanos);
      }),
    );
    expect(parseGoDurationMs('1.5s')).toBe(1500);
  });
});
