/**
 * The words that rules of custom kinds may use beyond CEL itself: what the reference server's library has for lists,
 * strings, sets, amounts, URLs and addresses.
 *
 * One environment per process, made when the first rule is compiled and never changed after. What is not here does not
 * compile, so a rule never passes because a function was missing. Every function costs time in proportion to its
 * operands at most (sorting: and its logarithm); `matches` goes to our own engine, which cannot be kept busy.
 */
import { Environment } from '@marcbachmann/cel-js/evaluator';
import { parseQuantity, Quantity } from '../../../api/index.ts';
import { compilePattern } from '../pattern.ts';
import { registerNetwork } from './network-library.ts';
import { sameValues } from './values.ts';

const LIMIT_NODES = 5000;
const LIMIT_DEPTH = 100;

let shared: Environment | undefined;

export function libraryEnvironment(): Environment {
  shared ??= makeEnvironment();
  return shared;
}

type Ordered = bigint | number | string | boolean | Date;

/** The sets of the library are functions of a name, which has to be a value to stand before a dot. */
class SetsNamespace {}

function makeEnvironment(): Environment {
  const environment = new Environment({
    enableOptionalTypes: true,
    homogeneousAggregateLiterals: false,
    limits: { maxAstNodes: LIMIT_NODES, maxDepth: LIMIT_DEPTH },
  });
  registerLists(environment);
  registerStrings(environment);
  registerSets(environment);
  registerQuantities(environment);
  registerNetwork(environment);
  environment.registerFunction('hasField(dyn, string): bool', (owner: unknown, field: string) =>
    owner instanceof Map ? owner.has(field) : Object.hasOwn(owner as object, field),
  );
  environment.registerOperator('int == double', (a: bigint, b: number) => Number(a) === b);
  return environment;
}

function registerLists(environment: Environment): void {
  const by = (a: Ordered, b: Ordered) => (a < b ? -1 : a > b ? 1 : 0);
  environment
    .registerFunction('list.isSorted(): bool', (list: Ordered[]) =>
      list.every((v, i) => i === 0 || by(list[i - 1]!, v) <= 0),
    )
    .registerFunction('list<int>.sum(): int', (list: bigint[]) => list.reduce((sum, value) => sum + value, 0n))
    .registerFunction('list<double>.sum(): double', (list: number[]) => list.reduce((sum, value) => sum + value, 0))
    .registerFunction('list<A>.min(): A', (list: Ordered[]) =>
      notEmpty(list, 'min').reduce((a, b) => (by(b, a) < 0 ? b : a)),
    )
    .registerFunction('list<A>.max(): A', (list: Ordered[]) =>
      notEmpty(list, 'max').reduce((a, b) => (by(b, a) > 0 ? b : a)),
    )
    .registerFunction('list<A>.indexOf(A): int', (list: unknown[], value: unknown) =>
      BigInt(list.findIndex((one) => sameValues(one, value))),
    )
    .registerFunction('list<A>.lastIndexOf(A): int', (list: unknown[], value: unknown) =>
      BigInt(list.findLastIndex((one) => sameValues(one, value))),
    )
    .registerFunction('list<A>.distinct(): list<A>', (list: unknown[]) => distinct(list))
    .registerFunction('list<A>.reverse(): list<A>', (list: unknown[]) => [...list].reverse())
    .registerFunction('list<A>.sort(): list<A>', (list: Ordered[]) => [...list].sort(by))
    .registerFunction('list<A>.slice(int, int): list<A>', (list: unknown[], from: bigint, to: bigint) => {
      if (from < 0n || to < from || to > BigInt(list.length)) throw new Error('slice: index out of range');
      return list.slice(Number(from), Number(to));
    });
}

function registerStrings(environment: Environment): void {
  environment
    .registerFunction('string.matchesPattern(string): bool', (text: string, pattern: string) =>
      compilePattern(pattern)(text),
    )
    .registerFunction('string.replace(string, string): string', (text: string, old: string, next: string) =>
      text.replaceAll(old, () => next),
    )
    .registerFunction(
      'string.replace(string, string, int): string',
      (text: string, old: string, next: string, times: bigint) => replaceSome(text, old, next, Number(times)),
    )
    .registerFunction('string.charAt(int): string', (text: string, at: bigint) => {
      const characters = [...text];
      if (at < 0n || at > BigInt(characters.length)) throw new Error(`index out of range: ${at}`);
      return characters[Number(at)] ?? '';
    })
    .registerFunction('string.reverse(): string', (text: string) => [...text].reverse().join(''))
    .registerFunction('string.format(list): string', (text: string, values: unknown[]) => format(text, values));
}

function registerSets(environment: Environment): void {
  const contains = (all: unknown[], some: unknown[]) => {
    const known = new Set(all.map(keyOf));
    return some.every((value) => known.has(keyOf(value)));
  };
  environment
    .registerType('SetsNamespace', SetsNamespace)
    .registerConstant('sets', 'SetsNamespace', new SetsNamespace())
    .registerFunction('SetsNamespace.contains(list, list): bool', (_: unknown, a: unknown[], b: unknown[]) =>
      contains(a, b),
    )
    .registerFunction(
      'SetsNamespace.equivalent(list, list): bool',
      (_: unknown, a: unknown[], b: unknown[]) => contains(a, b) && contains(b, a),
    )
    .registerFunction('SetsNamespace.intersects(list, list): bool', (_: unknown, a: unknown[], b: unknown[]) => {
      const known = new Set(a.map(keyOf));
      return b.some((value) => known.has(keyOf(value)));
    });
}

function registerQuantities(environment: Environment): void {
  environment
    .registerType('Quantity', Quantity)
    .registerFunction('quantity(string): Quantity', (text: string) => parseQuantity(text))
    .registerFunction('isQuantity(string): bool', (text: string) => succeeds(() => parseQuantity(text)))
    .registerFunction('Quantity.sign(): int', (value: Quantity) => BigInt(value.sign))
    .registerFunction('Quantity.isGreaterThan(Quantity): bool', (a: Quantity, b: Quantity) => a.compare(b) > 0)
    .registerFunction('Quantity.isLessThan(Quantity): bool', (a: Quantity, b: Quantity) => a.compare(b) < 0)
    .registerFunction('Quantity.compareTo(Quantity): int', (a: Quantity, b: Quantity) =>
      BigInt(Math.sign(a.compare(b))),
    )
    .registerFunction('Quantity.add(Quantity): Quantity', (a: Quantity, b: Quantity) => a.add(b))
    .registerFunction('Quantity.sub(Quantity): Quantity', (a: Quantity, b: Quantity) => a.subtract(b))
    .registerFunction('Quantity.isInteger(): bool', (value: Quantity) => isWhole(value))
    .registerFunction('Quantity.asInteger(): int', (value: Quantity) => {
      if (!isWhole(value)) throw new Error('cannot convert value to integer');
      return value.toBigInt();
    })
    .registerFunction(
      'Quantity.asApproximateFloat(): double',
      (value: Quantity) => Number(value.unscaled) * 10 ** value.scale,
    )
    .registerOperator('Quantity == Quantity', (a: Quantity, b: Quantity) => a.compare(b) === 0);
}

function isWhole(value: Quantity): boolean {
  return value.compare(new Quantity(value.toBigInt(), 0, value.format)) === 0;
}

function notEmpty<T>(list: T[], name: string): T[] {
  if (list.length === 0) throw new Error(`${name} called on empty list`);
  return list;
}

function distinct(list: readonly unknown[]): unknown[] {
  const seen = new Set<string>();
  return list.filter((value) => {
    const key = keyOf(value);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** Equal values have equal keys. */
function keyOf(value: unknown): string {
  return JSON.stringify(value, (_name, one: unknown) => {
    if (typeof one === 'bigint') return `int ${one}`;
    return one instanceof Map ? [...one].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)) : one;
  });
}

function replaceSome(text: string, old: string, next: string, times: number): string {
  if (times < 0) return text.replaceAll(old, () => next);
  const parts = text.split(old);
  const done = Math.min(times, parts.length - 1);
  return (
    parts.slice(0, done + 1).join(next) +
    parts
      .slice(done + 1)
      .map((part) => old + part)
      .join('')
  );
}

/** `%s`, `%d`, `%f`, `%b`, `%x`, `%X`, `%o`, `%%`. */
function format(text: string, values: readonly unknown[]): string {
  let at = 0;
  return text.replace(/%(?:\.(\d+))?([a-zA-Z%])/g, (_whole, digits: string | undefined, verb: string) => {
    if (verb === '%') return '%';
    if (at >= values.length) throw new Error('index out of range');
    const value = values[at++] as bigint | number | string;
    switch (verb) {
      case 's':
        return String(value);
      case 'd':
        return String(value);
      case 'f':
        return Number(value).toFixed(digits === undefined ? 6 : Number(digits));
      case 'b':
        return typeof value === 'boolean' ? (value ? '1' : '0') : BigInt(value).toString(2);
      case 'o':
        return BigInt(value).toString(8);
      case 'x':
      case 'X': {
        const hex = typeof value === 'string' ? Buffer.from(value).toString('hex') : BigInt(value).toString(16);
        return verb === 'x' ? hex : hex.toUpperCase();
      }
      default:
        throw new Error(`unrecognized formatting clause "${verb}"`);
    }
  });
}

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}
