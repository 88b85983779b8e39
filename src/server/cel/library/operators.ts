/** The operators of CEL. Whole numbers stay within 64 bits, or it is an error. */
import { type Budget, traversal } from '../values/budget.ts';
import {
  CelError,
  compareValues,
  Duration,
  isInt,
  isUint,
  mapKey,
  sameParts,
  sameValues,
  Timestamp,
  Uint,
  type Value,
} from '../values/values.ts';
import type { Functions } from './overloads.ts';

const ORDERED = ['bool', 'int', 'uint', 'double', 'string', 'bytes', 'timestamp', 'duration'];
const NUMBERS = ['int', 'uint', 'double'];

export function declareOperators(functions: Functions): void {
  functions
    .declare('!_(bool): bool', 1, (a: boolean) => !a)
    .declare('-_(int): int', 1, (a: bigint) => checkedInt(-a))
    .declare('-_(double): double', 1, (a: number) => -a)
    .declare('_==_(A, A): bool', undefined, sameValues)
    .declare('_!=_(A, A): bool', undefined, (a, b, budget) => !sameValues(a, b, budget))
    .declare('@in(A, list<A>): bool', (_, list) => list.length, isInList)
    .declare('@in(A, map<A, B>): bool', 1, (key: Value, map: ReadonlyMap<Value, Value>) => map.has(mapKey(key)));
  declareOrder(functions);
  declareArithmetic(functions);
  declareSums(functions);
}

function isInList(value: Value, list: readonly Value[], budget: Budget): boolean {
  for (const one of list) if (sameParts(value, one, budget)) return true;
  return false;
}

function declareOrder(functions: Functions): void {
  const pairs = ORDERED.map((type) => [type, type]);
  for (const a of NUMBERS) for (const b of NUMBERS) if (a !== b) pairs.push([a, b]);
  const relations: [sign: string, holds: (order: number) => boolean][] = [
    ['<', (order) => order < 0],
    ['<=', (order) => order <= 0],
    ['>', (order) => order > 0],
    ['>=', (order) => order >= 0],
  ];
  for (const [sign, holds] of relations)
    for (const [a, b] of pairs)
      functions.declare(`_${sign}_(${a}, ${b}): bool`, undefined, (left: Value, right: Value, budget: Budget) => {
        const order = compareValues(left, right, budget);
        return order !== undefined && holds(order);
      });
}

function declareArithmetic(functions: Functions): void {
  const whole: [sign: string, run: (a: bigint, b: bigint) => bigint][] = [
    ['+', (a, b) => a + b],
    ['-', (a, b) => a - b],
    ['*', (a, b) => a * b],
    ['/', (a, b) => divide(a, b)],
    ['%', (a, b) => remainder(a, b)],
  ];
  for (const [sign, run] of whole) {
    functions
      .declare(`_${sign}_(int, int): int`, 1, (a: bigint, b: bigint) => checkedInt(run(a, b)))
      .declare(`_${sign}_(uint, uint): uint`, 1, (a: Uint, b: Uint) => checkedUint(run(a.value, b.value)));
  }
  functions
    .declare('_+_(double, double): double', 1, (a: number, b: number) => a + b)
    .declare('_-_(double, double): double', 1, (a: number, b: number) => a - b)
    .declare('_*_(double, double): double', 1, (a: number, b: number) => a * b)
    .declare('_/_(double, double): double', 1, (a: number, b: number) => a / b);
}

function declareSums(functions: Functions): void {
  const both = (a: { length: number }, b: { length: number }) => traversal(a.length + b.length);
  functions
    .declare('_+_(string, string): string', both, (a: string, b: string) => a + b)
    .declare('_+_(bytes, bytes): bytes', both, (a: Uint8Array, b: Uint8Array) => Buffer.concat([a, b]))
    // All elements are copied and kept, so each costs a whole unit.
    .declare(
      '_+_(list<A>, list<A>): list<A>',
      (a, b) => 1 + a.length + b.length,
      (a: Value[], b: Value[]) => a.concat(b),
    )
    .declare('_+_(duration, duration): duration', 1, (a: Duration, b: Duration) => new Duration(a.nanos + b.nanos))
    .declare('_-_(duration, duration): duration', 1, (a: Duration, b: Duration) => new Duration(a.nanos - b.nanos))
    .declare('_+_(timestamp, duration): timestamp', 1, (a: Timestamp, b: Duration) => new Timestamp(a.nanos + b.nanos))
    .declare('_+_(duration, timestamp): timestamp', 1, (a: Duration, b: Timestamp) => new Timestamp(a.nanos + b.nanos))
    .declare('_-_(timestamp, duration): timestamp', 1, (a: Timestamp, b: Duration) => new Timestamp(a.nanos - b.nanos))
    .declare('_-_(timestamp, timestamp): duration', 1, (a: Timestamp, b: Timestamp) => new Duration(a.nanos - b.nanos));
}

export function checkedInt(value: bigint): bigint {
  if (!isInt(value)) throw new CelError('integer overflow');
  return value;
}

export function checkedUint(value: bigint): Uint {
  if (!isUint(value)) throw new CelError('unsigned integer overflow');
  return new Uint(value);
}

function divide(a: bigint, b: bigint): bigint {
  if (b === 0n) throw new CelError('division by zero');
  return a / b;
}

function remainder(a: bigint, b: bigint): bigint {
  if (b === 0n) throw new CelError('modulus by zero');
  return a % b;
}
