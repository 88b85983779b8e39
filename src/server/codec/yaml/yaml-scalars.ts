/**
 * What a plain word of YAML stands for, as the Go library reads it that Kubernetes uses: YAML 1.1 booleans (`yes`, `on`) and
 * octals (`0644`), integers of 64 bits kept exactly, times and anything else as text. There are no numbers to the base 60.
 *
 * Undefined where an explicit tag asks for what the text is not.
 */
import { exactInteger, fromBigInt, isInt64 } from '../scalars/int64.ts';

type Scalar = string | number | bigint | boolean | null;

const words: ReadonlyMap<string, Scalar> = new Map<string, Scalar>([
  ...['', '~', 'null', 'Null', 'NULL'].map((word): [string, Scalar] => [word, null]),
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((word): [string, Scalar] => [
    word,
    true,
  ]),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((word): [string, Scalar] => [
    word,
    false,
  ]),
  ...['.nan', '.NaN', '.NAN'].map((word): [string, Scalar] => [word, Number.NaN]),
  ...['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'].map((word): [string, Scalar] => [
    word,
    Number.POSITIVE_INFINITY,
  ]),
  ...['-.inf', '-.Inf', '-.INF'].map((word): [string, Scalar] => [word, Number.NEGATIVE_INFINITY]),
]);
const longestWord = 5;

const decimal = /^[-+]?(?:0|[1-9][0-9]*)$/;
const octal = /^0[oO]?[0-7]+$/;
const otherBase = /^0(?:[xX][0-9a-fA-F]+|[bB][01]+)$/;
const float = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
/** 64 binary digits, a sign and a prefix; no other integer is longer. */
const longestInteger = 80;

/** A scalar without quotes and without a tag. */
export function plainScalar(text: string): Scalar {
  if (text.length <= longestWord) {
    const word = words.get(text);
    if (word !== undefined) return word;
  }
  const first = text.charCodeAt(0);
  const isDigit = first >= 0x30 && first <= 0x39;
  if (!isDigit && first !== 0x2d && first !== 0x2b && first !== 0x2e) return text; // none of - + .
  return numberOf(text.includes('_') && first !== 0x2e ? text.replaceAll('_', '') : text) ?? text;
}

function numberOf(text: string): number | bigint | undefined {
  if (decimal.test(text)) return exactInteger(text[0] === '+' ? text.slice(1) : text);
  const isNegative = text[0] === '-';
  const digits = isNegative || text[0] === '+' ? text.slice(1) : text;
  if (digits.length <= longestInteger && (octal.test(digits) || otherBase.test(digits))) {
    const magnitude = BigInt(octal.test(digits) ? `0o${digits.replace(/^0[oO]?/, '')}` : digits);
    const value = isNegative ? -magnitude : magnitude;
    if (isInt64(value)) return fromBigInt(value);
    if (value < 2n ** 64n && !isNegative) return Number(value);
  }
  if (!float.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** A scalar with a tag of its own, e.g. `int` for `!!int`; a tag nobody knows leaves the text. */
export function taggedScalar(tag: string, text: string): Scalar | undefined {
  switch (tag) {
    case 'binary':
      return Buffer.from(text, 'base64').toString('utf8');
    case 'null':
      return plainScalar(text) === null ? null : undefined;
    case 'bool': {
      const value = plainScalar(text);
      return typeof value === 'boolean' ? value : undefined;
    }
    case 'int': {
      const value = plainScalar(text);
      return typeof value === 'bigint' || Number.isInteger(value) ? value : undefined;
    }
    case 'float': {
      const value = plainScalar(text);
      return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined;
    }
    default:
      return text;
  }
}
