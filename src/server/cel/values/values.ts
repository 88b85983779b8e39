/**
 * What expressions work with. Each kind of CEL is one kind of JavaScript, so a value tells its own type:
 *
 *   null, bool, string   as they are          int        bigint        list       Array
 *   double               number               uint       Uint          map        Map, keys as `mapKey` makes them
 *   bytes                Uint8Array           times      Timestamp, Duration (in nanoseconds)
 *
 * Objects with declared fields are Maps too, so no expression ever reaches a prototype. Values are never changed once
 * made. What fails is a CelError, which is thrown and is not an Error: it may be thrown and passed over a thousand times
 * in one expression, and a stack for each would cost more than all the rest.
 */
import type { Budget } from './budget.ts';
import { traversal } from './budget.ts';

export type Value = unknown;
export type MapKey = string | bigint | boolean;

export class CelError {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

export class Timestamp {
  /** Since 1970. */
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    if (nanos < EARLIEST || nanos > LATEST) throw new CelError('timestamp overflow');
    this.nanos = nanos;
  }

  get ms(): number {
    return Number(floorDivide(this.nanos, 1_000_000n));
  }
}

export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    if (!isInt(nanos)) throw new CelError('duration overflow');
    this.nanos = nanos;
  }
}

export class Optional {
  readonly value: Value;

  constructor(value: Value) {
    this.value = value;
  }

  /** With nothing in it. */
  static readonly none: Optional = new Optional(undefined);

  get hasValue(): boolean {
    return this.value !== undefined;
  }
}

/** A type as a value: what `type(x)` gives. */
export class TypeValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A kind that only its own functions know. */
export abstract class Opaque {
  abstract readonly typeName: string;
  abstract same(other: Opaque): boolean;
}

const EARLIEST = -62_135_596_800_000_000_000n;
const LATEST = 253_402_300_799_999_999_999n;

export function isInt(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value;
}

export function isUint(value: bigint): boolean {
  return BigInt.asUintN(64, value) === value;
}

/** The name of its type. */
export function kindOf(value: Value): string {
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'bigint':
      return 'int';
    case 'number':
      return 'double';
    case 'boolean':
      return 'bool';
  }
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  if (value instanceof Map) return 'map';
  if (value instanceof Uint) return 'uint';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof Timestamp) return 'timestamp';
  if (value instanceof Duration) return 'duration';
  if (value instanceof Optional) return 'optional';
  if (value instanceof TypeValue) return 'type';
  if (value instanceof Opaque) return value.typeName;
  throw new Error(`Cannot tell the type of a value of an expression: "${typeof value}"`);
}

/** The key under which a map keeps it: numbers that are equal are one key. Undefined if it cannot be one. */
export function mapKey(value: Value): MapKey | undefined {
  if (typeof value === 'string' || typeof value === 'bigint' || typeof value === 'boolean') return value;
  if (value instanceof Uint) return value.value;
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : undefined;
}

function numeric(value: Value): bigint | number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  return value instanceof Uint ? value.value : undefined;
}

/** By value, whatever kinds they are. */
function isEqualNumber(a: bigint | number, b: bigint | number): boolean {
  // biome-ignore lint/suspicious/noDoubleEquals: only so does an int equal the double of the same value
  return a == b;
}

/** Deep equality of whole operands; charges for everything that is compared, before it is. Numbers of all kinds compare by value. */
export function sameValues(a: Value, b: Value, budget: Budget): boolean {
  if (typeof a === 'string' && typeof b === 'string') {
    budget.charge(Math.max(1, traversal(Math.min(a.length, b.length))));
    return a === b;
  }
  budget.charge(1);
  return sameParts(a, b, budget);
}

/** What an element costs, and a character; a list or a map costs more, since it has to be entered. */
const ELEMENT = 0.2;
const CHARACTER = 0.1;
const CONTAINER = 0.7;
/** Of a map: it has to be found. */
const ENTRY = 4;

/** The same for parts of them: what is not compared in depth costs nothing. */
export function sameParts(a: Value, b: Value, budget: Budget): boolean {
  const [left, right] = [numeric(a), numeric(b)];
  if (left !== undefined || right !== undefined)
    return left !== undefined && right !== undefined && isEqualNumber(left, right);
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    if (typeof a === 'string' && typeof b === 'string' && a.length === b.length) budget.charge(CHARACTER * a.length);
    return a === b;
  }
  budget.charge(CONTAINER);
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) {
      budget.charge(ELEMENT);
      if (!sameParts(a[i], b[i], budget)) return false;
    }
    return true;
  }
  if (a instanceof Map) {
    if (!(b instanceof Map) || a.size !== b.size) return false;
    for (const [key, value] of a) {
      budget.charge(ENTRY);
      if (!b.has(key) || !sameParts(value, b.get(key), budget)) return false;
    }
    return true;
  }
  if (a instanceof Uint8Array) {
    if (!(b instanceof Uint8Array) || a.length !== b.length) return false;
    budget.charge(traversal(a.length));
    return Buffer.compare(a, b) === 0;
  }
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos;
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name;
  if (a instanceof Opaque) return b instanceof Opaque && a.typeName === b.typeName && a.same(b);
  if (!(a instanceof Optional && b instanceof Optional)) return false;
  if (!a.hasValue || !b.hasValue) return a.hasValue === b.hasValue;
  return sameParts(a.value, b.value, budget);
}

/** Negative, 0 or positive; undefined where there is no order. Charges as `sameValues` does. */
export function compareValues(a: Value, b: Value, budget: Budget): number | undefined {
  const [left, right] = [numeric(a), numeric(b)];
  if (left !== undefined && right !== undefined) {
    budget.charge(1);
    return left < right ? -1 : left > right ? 1 : isEqualNumber(left, right) ? 0 : undefined;
  }
  if (typeof a === 'string' && typeof b === 'string') {
    budget.charge(Math.max(1, traversal(Math.min(a.length, b.length))));
    return a < b ? -1 : a > b ? 1 : 0;
  }
  budget.charge(1);
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    budget.charge(traversal(Math.min(a.length, b.length)));
    return Buffer.compare(a, b);
  }
  if ((a instanceof Timestamp && b instanceof Timestamp) || (a instanceof Duration && b instanceof Duration))
    return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0;
  return undefined;
}

/** A text that equal values share, for sets of them: ints and doubles of one value are equal. Charges for its length. */
export function identityOf(value: Value, budget: Budget): string {
  const text = identityText(value);
  budget.charge(2 + traversal(text.length));
  return text;
}

function identityText(value: Value): string {
  const number = numeric(value);
  if (number !== undefined)
    return `${typeof number === 'number' && Number.isInteger(number) ? BigInt(number) : number}`;
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(identityText).join()}]`;
  if (value instanceof Map)
    return `{${[...value]
      .map(([key, one]) => `${identityText(key)}:${identityText(one)}`)
      .sort()
      .join()}}`;
  if (value instanceof Uint8Array) return `b${Buffer.from(value).toString('base64')}`;
  if (value instanceof Timestamp || value instanceof Duration) return `${kindOf(value)} ${value.nanos}`;
  if (value instanceof Optional) return `optional ${value.hasValue ? identityText(value.value) : ''}`;
  if (value instanceof TypeValue) return `type ${value.name}`;
  return value instanceof Opaque ? `${value.typeName} ${value}` : String(value);
}

export function floorDivide(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a % b < 0n ? quotient - 1n : quotient;
}
