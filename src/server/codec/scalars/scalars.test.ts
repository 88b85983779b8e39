import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../../test/support/growth.ts';
import { normalBase64 } from './base64.ts';
import { normalMicroTime, normalTime } from './go-time.ts';

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

describe('a scalar is read in time in proportion to its length', () => {
  it.each<[what: string, read: (text: string) => unknown, make: (size: number) => string]>([
    ['base64', normalBase64, (size) => 'QUJD'.repeat(size)],
    ['base64 with padding', normalBase64, (size) => `${'QUJD'.repeat(size)}QQ==`],
    ['base64 in lines', normalBase64, (size) => 'QUJD\r\n'.repeat(size)],
    ['base64 with a fault at its end', normalBase64, (size) => `${'QUJD'.repeat(size)}!`],
    ['base64 with padding everywhere', normalBase64, (size) => 'QQ=='.repeat(size)],
    ['base64 with a line end everywhere', normalBase64, (size) => `QQ=${'\n'.repeat(size)}`],
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
