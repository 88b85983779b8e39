/** Values that have surprised programs, and bytes that were good until somebody changed a few of them. */
import type { JsonValue } from '../../src/api/index.ts';
import type { Dice } from './dice.ts';

const TEXTS = [
  ...[
    '',
    ' ',
    'a',
    'A',
    '0',
    '-',
    '.',
    '..',
    '/',
    '*',
    '%',
    '%2f',
    '\u0000',
    '\ud800',
    '\u2028',
    '😀',
    'é',
    '\n',
    '\t"\\',
  ],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'null', 'true', 'NaN', 'undefined', '$ref', '$patch'],
  ...[
    'a'.repeat(63),
    'a'.repeat(64),
    'a'.repeat(253),
    'a'.repeat(254),
    'a.b/c',
    'a/b/c',
    'a=b',
    'a in (b)',
    '!a',
    '1h',
    '1Mi',
  ],
  ...[
    '2024-01-01T00:00:00Z',
    '9999-99-99T99:99:99Z',
    '10.0.0.1',
    '::1',
    '1e999',
    '-1',
    '18446744073709551616',
    '0x1',
    '1_0',
  ],
  ...[
    'default',
    'kube-system',
    'fuzz',
    'metadata.name',
    'v1',
    'apps/v1',
    'ConfigMap',
    'All',
    'Strict',
    'Foreground',
    'merge',
  ],
];
const NUMBERS = [0, 1, -1, 80, 65535, 65536, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 2 ** 63, 1e308, -0, 0.1, 1e-7, 1e21];

export function oddText(dice: Dice): string {
  const text = dice.pick(TEXTS);
  return dice.chance(0.1) ? text + dice.pick(TEXTS) : text;
}

export function oddValue(dice: Dice): JsonValue {
  return dice.weighted<() => JsonValue>([
    [4, () => oddText(dice)],
    [3, () => dice.pick(NUMBERS)],
    [2, () => null],
    [1, () => dice.chance(0.5)],
    [1, () => []],
    [1, () => ({})],
    [1, () => [oddText(dice), null, {}]],
    [1, () => ({ [oddText(dice)]: oddText(dice) })],
    [1, () => nested(dice.below(60))],
  ])();
}

function nested(depth: number): JsonValue {
  let value: JsonValue = 1;
  for (let i = 0; i < depth; i++) value = i % 2 ? [value] : { a: value };
  return value;
}

/** A few bytes changed, doubled, left out or cut off. */
export function damaged(dice: Dice, bytes: Buffer): Buffer {
  let result: Buffer = Buffer.from(bytes);
  for (let changes = 1 + dice.below(3); changes > 0; changes--) {
    const at = dice.below(result.length + 1);
    const length = dice.below(12);
    const [before, after] = [result.subarray(0, at), result.subarray(at)];
    result = dice.weighted<() => Buffer>([
      [3, () => Buffer.concat([before, Buffer.from([dice.below(256)]), after.subarray(1)])],
      [2, () => Buffer.concat([before, after.subarray(length)])],
      [2, () => Buffer.concat([before, after.subarray(0, length), after])],
      [2, () => Buffer.concat([before, Buffer.from(oddText(dice)), after])],
      [1, () => before],
    ])();
  }
  return result;
}
