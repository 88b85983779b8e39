/** From one type to another, and the types themselves as values. */
import { DurationError, parseGoDuration } from '../../../api/index.ts';
import { traversal } from '../values/budget.ts';
import { CelError, Duration, isInt, isUint, kindOf, Timestamp, TypeValue, Uint, type Value } from '../values/values.ts';
import { checkedInt, checkedUint } from './operators.ts';
import type { Functions } from './overloads.ts';
import { withoutStack } from './without-stack.ts';

/** Names that stand for types. */
export const typeNames: ReadonlyMap<string, TypeValue> = new Map(
  [
    ['bool', 'bool'],
    ['bytes', 'bytes'],
    ['double', 'double'],
    ['int', 'int'],
    ['list', 'list'],
    ['map', 'map'],
    ['null_type', 'null'],
    ['string', 'string'],
    ['type', 'type'],
    ['uint', 'uint'],
    ['google.protobuf.Timestamp', 'timestamp'],
    ['google.protobuf.Duration', 'duration'],
  ].map(([name, kind]) => [name!, new TypeValue(kind!)]),
);

const TRUE = ['1', 't', 'true', 'TRUE', 'True'];
const FALSE = ['0', 'f', 'false', 'FALSE', 'False'];
const LIMIT_NUMBER_CHARACTERS = 400;
const same = (value: Value) => value;
const length = (text: { length: number }) => Math.max(1, traversal(text.length));
/** Times and spans are read part by part, which takes as long as twenty steps of anything else. */
const PARTS = 20;
const reading = (text: string) => PARTS + length(text);

export function declareConversions(functions: Functions): void {
  for (const type of ['bool', 'bytes', 'double', 'duration', 'int', 'string', 'timestamp', 'uint'])
    functions.declare(`${type}(${type}): ${type}`, 1, same);
  functions
    .declare('dyn(A): dyn', 1, same)
    .declare('type(A): type', 1, (value: Value) => new TypeValue(kindOf(value)))
    .declare('bool(string): bool', 1, toBool)
    .declare('bytes(string): bytes', length, (text: string) => new TextEncoder().encode(text))
    .declare('double(int): double', 1, Number)
    .declare('double(uint): double', 1, (value: Uint) => Number(value.value))
    .declare('double(string): double', length, toDouble)
    .declare('int(uint): int', 1, (value: Uint) => checkedInt(value.value))
    .declare('int(double): int', 1, (value: number) => checkedInt(truncated(value)))
    .declare('int(string): int', length, (text: string) => toWhole(text, 'int'))
    .declare('int(timestamp): int', 1, (value: Timestamp) => value.nanos / 1_000_000_000n)
    .declare('int(duration): int', 1, (value: Duration) => value.nanos)
    .declare('uint(int): uint', 1, checkedUint)
    .declare('uint(double): uint', 1, (value: number) => checkedUint(truncated(value)))
    .declare('uint(string): uint', length, (text: string) => new Uint(toWhole(text, 'uint')))
    .declare('string(bool): string', 1, String)
    .declare('string(int): string', 1, String)
    .declare('string(uint): string', 1, (value: Uint) => String(value.value))
    .declare('string(double): string', 1, doubleText)
    .declare('string(bytes): string', length, toText)
    .declare('string(timestamp): string', PARTS, timestampText)
    .declare('string(duration): string', PARTS, durationText)
    .declare('timestamp(string): timestamp', reading, toTimestamp)
    .declare('timestamp(int): timestamp', 1, (seconds: bigint) => new Timestamp(seconds * 1_000_000_000n))
    .declare('duration(string): duration', reading, toDuration)
    .declare('duration(int): duration', 1, (nanos: bigint) => new Duration(nanos));
}

function toBool(text: string): boolean {
  if (TRUE.includes(text)) return true;
  if (FALSE.includes(text)) return false;
  throw new CelError("type conversion error from 'string' to 'bool'");
}

function toDouble(text: string): number {
  const named = /^([+-]?)(?:inf(?:inity)?|(nan))$/i.exec(text);
  if (named) return named[2] ? Number.NaN : named[1] === '-' ? -Infinity : Infinity;
  if (text.length > LIMIT_NUMBER_CHARACTERS || !/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(text))
    throw new CelError("type conversion error from 'string' to 'double'");
  return Number(text);
}

/** What is too large for its type is no number of that type. */
function toWhole(text: string, type: 'int' | 'uint'): bigint {
  const wrong = () => new CelError(`type conversion error from 'string' to '${type}'`);
  if (text.length > 30 || !(type === 'int' ? /^[+-]?\d+$/ : /^\d+$/).test(text)) throw wrong();
  const value = BigInt(text.replace('+', ''));
  if (!(type === 'int' ? isInt(value) : isUint(value))) throw wrong();
  return value;
}

function truncated(value: number): bigint {
  if (!Number.isFinite(value)) throw new CelError('integer overflow');
  return BigInt(Math.trunc(value));
}

function toText(bytes: Uint8Array): string {
  try {
    return withoutStack(() => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw new CelError('invalid UTF-8 in bytes, cannot convert to string');
  }
}

export function doubleText(value: number): string {
  return value === Infinity ? '+Inf' : value === -Infinity ? '-Inf' : String(value);
}

export function timestampText({ nanos, ms }: Timestamp): string {
  let fraction = String(((nanos % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n).padStart(9, '0');
  while (fraction.endsWith('0')) fraction = fraction.slice(0, -1);
  return `${new Date(ms).toISOString().slice(0, 19)}${fraction === '' ? '' : `.${fraction}`}Z`;
}

export function durationText({ nanos }: Duration): string {
  const size = nanos < 0n ? -nanos : nanos;
  let fraction = String(size % 1_000_000_000n).padStart(9, '0');
  while (fraction.endsWith('0')) fraction = fraction.slice(0, -1);
  return `${nanos < 0n ? '-' : ''}${size / 1_000_000_000n}${fraction === '' ? '' : `.${fraction}`}s`;
}

const TIMESTAMP = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/i;

/** RFC 3339, to the nanosecond. */
export function toTimestamp(text: string): Timestamp {
  const match = TIMESTAMP.exec(text);
  const ms = match ? Date.parse(`${match[1]}T${match[2]}${match[4]!.toUpperCase()}`) : Number.NaN;
  if (Number.isNaN(ms)) throw new CelError("type conversion error from 'string' to 'google.protobuf.Timestamp'");
  return new Timestamp(BigInt(ms) * 1_000_000n + BigInt((match![3] ?? '').padEnd(9, '0')));
}

export function toDuration(text: string): Duration {
  try {
    return new Duration(withoutStack(() => parseGoDuration(text)));
  } catch (err) {
    if (err instanceof DurationError)
      throw new CelError("type conversion error from 'string' to 'google.protobuf.Duration'");
    throw err;
  }
}
