import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import {
  DurationError,
  formatGoDuration,
  humanAge,
  humanDuration,
  parseGoDuration,
  parseGoDurationMs,
} from './durations.ts';

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
    ['1.s', 1_000_000_000n, '1s'],
    ['-9223372036854775808ns', -(2n ** 63n), '-2562047h47m16.854775808s'],
    ['9223372036854775807ns', 2n ** 63n - 1n, '2562047h47m16.854775807s'],
    [`${'0'.repeat(300)}1s`, 1_000_000_000n, '1s'],
    ['0.100000000000000000000h', 360_000_000_000n, '6m0s'], // more digits than 63 bits hold
    ['0.830103483285477580700h', 2_988_372_539_827n, '49m48.372539827s'],
    ['0.9223372036854775807h', 3_320_413_933_267n, '55m20.413933267s'],
    [`0.${'0'.repeat(400)}1h`, 0n, '0s'],
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
    ['-', 'time: invalid duration "-"'],
    ['1.s.', 'time: invalid duration "1.s."'],
    ['1s ', 'time: unknown unit "s " in duration "1s "'],
    ['9223372036854775808ns', 'time: invalid duration "9223372036854775808ns"'],
    ['9223372036854775809ns', 'time: invalid duration "9223372036854775809ns"'],
    ['9223372036.854775808s', 'time: invalid duration "9223372036.854775808s"'],
    ['1"\\s', 'time: unknown unit "\\"\\\\s" in duration "1\\"\\\\s"'],
    ['1\u00fc\t', 'time: unknown unit "\\xc3\\xbc\\x09" in duration "1\\xc3\\xbc\\x09"'],
    ['1\ud800', 'time: unknown unit "\\xef\\xbf\\xbd" in duration "1\\xef\\xbf\\xbd"'],
  ])('refuses %j', (text, message) => expect(() => parseGoDuration(text)).toThrow(message));

  it('come back from their text', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }), (nanos) => {
        expect(parseGoDuration(formatGoDuration(nanos))).toBe(nanos);
      }),
    );
    expect(parseGoDurationMs('1.5s')).toBe(1500);
  });

  it.each<[what: string, make: (size: number) => string]>([
    ['digits', (size) => '1'.repeat(size)],
    ['zeros', (size) => `${'0'.repeat(size)}1s`],
    ['a fraction', (size) => `0.${'3'.repeat(size)}s`],
    ['a unit', (size) => `1${'s'.repeat(size)}`],
    ['many parts', (size) => '1ns'.repeat(size / 3)],
    ['points', (size) => '.'.repeat(size)],
  ])('take time in proportion to their length: %s', (_what, make) =>
    expectLinear('a Go duration', {
      make,
      run: (text) => {
        try {
          parseGoDuration(text);
        } catch (err) {
          expect(err).toBeInstanceOf(DurationError);
        }
      },
      from: 4096,
      limit: 1024 * 1024,
    }),
  );
});
