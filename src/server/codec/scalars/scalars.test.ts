import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../../test/support/growth.ts';
import { goDuration } from '../protobuf/protobuf-special.ts';
import { canonicalQuantity } from '../quantity.ts';
import { normalBase64 } from './base64.ts';
import { normalMicroTime, normalTime } from './go-time.ts';

describe('canonicalQuantity()', () => {
  it.each([
    ['0.5', '500m'],
    ['1024Mi', '1Gi'],
    ['1e3', '1e3'],
    ['1000m', '1'],
    ['2048Mi', '2Gi'],
    ['0.25', '250m'],
    ['1000', '1k'],
    ['1.5Gi', '1536Mi'],
    ['100Ki', '100Ki'],
    ['1Ki', '1Ki'],
    ['512', '512'],
    ['0.5Ki', '512'],
    ['0', '0'],
    ['0Gi', '0'],
    ['-1500m', '-1500m'],
    ['1E3', '1e3'],
    ['12E', '12E'],
    ['.5', '500m'],
    ['+1', '1'],
    ['0.0000000001', '1n'],
    ['100m', '100m'],
    ['001', '1'],
    ['381437.5Ki', '390592k'],
  ])('%s becomes %s', (text, want) => expect(canonicalQuantity(text)).toBe(want));

  it.each(['lots', '', '1.2.3', '1Kib', 'm', '1 Gi', '--1', '.'])('refuses %j', (text) => {
    expect(() => canonicalQuantity(text)).toThrow('quantities must match the regular expression');
  });

  it('leaves what it made as it is', () => {
    const suffix = fc.constantFrom('', 'm', 'k', 'M', 'Ki', 'Mi', 'Gi', 'e2', 'e-4');
    fc.assert(
      fc.property(fc.integer({ min: -1e6, max: 1e6 }), fc.nat(999), suffix, (whole, fraction, end) => {
        const once = canonicalQuantity(`${whole}.${fraction}${end}`);
        expect(canonicalQuantity(once)).toBe(once);
      }),
    );
  });
});

describe('times', () => {
  it.each([
    ['2024-01-01T00:00:00Z', '2024-01-01T00:00:00Z'],
    ['2024-01-01T02:00:00+02:00', '2024-01-01T00:00:00Z'],
    ['2024-01-01T00:00:00.9Z', '2024-01-01T00:00:00Z'],
  ])('normalTime(%s) is %s', (text, want) => expect(normalTime(text)).toBe(want));

  it('normalMicroTime() wants six decimals and answers UTC', () => {
    expect(normalMicroTime('2024-01-01T02:00:00.500000+02:00')).toBe('2024-01-01T00:00:00.500000Z');
    expect(() => normalMicroTime('2024-01-01T00:00:00Z')).toThrow(
      'parsing time "2024-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
    );
  });

  it.each([
    ['yesterday', 'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"'],
    ['2024-13-01T00:00:00Z', 'parsing time "2024-13-01T00:00:00Z": month out of range'],
    ['2023-02-29T00:00:00Z', 'parsing time "2023-02-29T00:00:00Z": day out of range'],
  ])('normalTime() refuses %s', (text, message) => expect(() => normalTime(text)).toThrow(message));
});

describe('normalBase64()', () => {
  it.each([
    ['AAEC', 'AAEC'],
    ['eA==', 'eA=='],
    ['eB==', 'eA=='],
    ['AA\nEC', 'AAEC'],
  ])('takes %j', (text, want) => expect(normalBase64(text)).toBe(want));

  it.each([
    ['*not base64*', 0],
    ['%%%', 0],
    ['AAE', 0],
    ['AA=C', 3],
  ])('refuses %j at byte %i', (text, at) => {
    expect(() => normalBase64(text)).toThrow(`illegal base64 data at input byte ${at}`);
  });
});

it.each([
  [0, '0s'],
  [1_500_000_000, '1.5s'],
  [3_600_000_000_000, '1h0m0s'],
  [2_000_000, '2ms'],
  [-90_000_000_000, '-1m30s'],
])('goDuration(%i) is %s', (nanos, want) => expect(goDuration(nanos)).toBe(want));

describe('a scalar is read in time in proportion to its length', () => {
  it.each<[what: string, read: (text: string) => unknown, make: (size: number) => string]>([
    ['base64', normalBase64, (size) => 'QUJD'.repeat(size)],
    ['base64 with padding', normalBase64, (size) => `${'QUJD'.repeat(size)}QQ==`],
    ['base64 in lines', normalBase64, (size) => 'QUJD\r\n'.repeat(size)],
    ['base64 with a fault at its end', normalBase64, (size) => `${'QUJD'.repeat(size)}!`],
    ['base64 with padding everywhere', normalBase64, (size) => 'QQ=='.repeat(size)],
    ['base64 with a line end everywhere', normalBase64, (size) => `QQ=${'\n'.repeat(size)}`],
    ['a quantity of digits', canonicalQuantity, (size) => '1'.repeat(size)],
    ['a quantity of a fraction', canonicalQuantity, (size) => `1.${'0'.repeat(size)}`],
    ['a quantity of two fractions', canonicalQuantity, (size) => `${'1'.repeat(size)}.${'1'.repeat(size)}.`],
    ['a quantity with an exponent', canonicalQuantity, (size) => `1e${'1'.repeat(size)}`],
    ['a time with a fraction', normalTime, (size) => `2020-01-01T00:00:00.${'1'.repeat(size)}Z`],
    ['a time with a fraction and no zone', normalTime, (size) => `2020-01-01T00:00:00.${'1'.repeat(size)}`],
    ['a precise time with a fraction', normalMicroTime, (size) => `2020-01-01T00:00:00.${'1'.repeat(size)}Z`],
  ])('%s', async (_what, read, make) => {
    const run = (text: string) => {
      try {
        read(text);
      } catch (err) {
        expect((err as Error).message.length).toBeLessThan(2_000);
      }
    };
    await expectLinear('reading it', { make, run, from: 16_000, limit: 64_000 });
  });
});
