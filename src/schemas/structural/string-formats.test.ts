import { expect, it } from 'vitest';
import { formatCheck } from './string-formats.ts';

it.each([
  ['1h30m', true],
  ['1h 30 minutes', true],
  ['5ms', true],
  ['5 min', true],
  ['2 weeks 3d', true],
  ['1.5 SECONDS', true],
  ['', false],
  ['5', false],
  ['5mi', false],
  ['5m  3s', false],
  ['5 minutesabcdefgh', false],
  ['m5', false],
])('%j is a duration: %s', (text, is) => expect(formatCheck('duration')!(text)).toBe(is));
