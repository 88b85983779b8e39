/**
 * What can be done with lists, maps, sets (which are lists) and optionals. An element costs at least one unit, and
 * whatever is compared is charged for in depth.
 */
import type { Budget } from '../values/budget.ts';
import {
  CelError,
  compareValues,
  Duration,
  identityOf,
  kindOf,
  Optional,
  sameParts,
  Uint,
  type Value,
} from '../values/values.ts';
import { checkedInt, checkedUint } from './operators.ts';
import type { Functions } from './overloads.ts';

type List = readonly Value[];

const elements = (list: List) => Math.max(1, list.length);
const copied = (list: List) => 1 + list.length;
const both = (a: List, b: List) => 1 + a.length + b.length;

export function declareLists(functions: Functions): void {
  functions
    .declare('size(list<A>): int', 1, (list: List) => BigInt(list.length))
    .declare('list<A>.size(): int', 1, (list: List) => BigInt(list.length))
    .declare('size(map<A, B>): int', 1, (map: ReadonlyMap<Value, Value>) => BigInt(map.size))
    .declare('map<A, B>.size(): int', 1, (map: ReadonlyMap<Value, Value>) => BigInt(map.size))
    .declare('list<A>.isSorted(): bool', elements, isSorted)
    .declare('list<A>.min(): A', elements, (list: List, budget: Budget) => extreme(list, 'min', -1, budget))
    .declare('list<A>.max(): A', elements, (list: List, budget: Budget) => extreme(list, 'max', 1, budget))
    .declare('list<int>.sum(): int', elements, sum)
    .declare('list<uint>.sum(): uint', elements, sum)
    .declare('list<double>.sum(): double', elements, sum)
    .declare('list<duration>.sum(): duration', elements, sum)
    .declare('list<A>.indexOf(A): int', elements, (list: List, value: Value, budget: Budget) =>
      BigInt(list.findIndex((one) => sameParts(one, value, budget))),
    )
    .declare('list<A>.lastIndexOf(A): int', elements, (list: List, value: Value, budget: Budget) =>
      BigInt(list.findLastIndex((one) => sameParts(one, value, budget))),
    )
    .declare('list<A>.distinct(): list<A>', (list) => 2 * copied(list), distinct)
    .declare('list<A>.reverse(): list<A>', copied, (list: List) => [...list].reverse())
    .declare('list<A>.sort(): list<A>', copied, (list: List, budget: Budget) =>
      [...list].sort((a, b) => order(a, b, budget)),
    )
    .declare('list<A>.slice(int, int): list<A>', copied, slice)
    .declare('list<list<A>>.flatten(): list<A>', copied, (list: List, budget: Budget) => flatten(list, 1, budget))
    .declare('list<A>.flatten(int): list<dyn>', copied, (list: List, depth: bigint, budget: Budget) => {
      if (depth < 0n) throw new CelError('level must be non-negative');
      return flatten(list, Number(depth), budget);
    })
    .declare('list<A>.first(): optional<A>', 1, (list: List) => optionalOf(list.at(0)))
    .declare('list<A>.last(): optional<A>', 1, (list: List) => optionalOf(list.at(-1)))
    .declare('lists::range(int): list<int>', undefined, range);
  declareSets(functions);
  declareOptionals(functions);
}

function declareSets(functions: Functions): void {
  functions
    .declare('sets::contains(list<A>, list<A>): bool', both, contains)
    .declare(
      'sets::equivalent(list<A>, list<A>): bool',
      both,
      (a: List, b: List, budget: Budget) => contains(a, b, budget) && contains(b, a, budget),
    )
    .declare('sets::intersects(list<A>, list<A>): bool', both, (a: List, b: List, budget: Budget) => {
      const known = identities(a, budget);
      return b.some((value) => known.has(identityOf(value, budget)));
    });
}

function declareOptionals(functions: Functions): void {
  functions
    .declare('optional::of(A): optional<A>', 1, (value: Value) => new Optional(value))
    .declare('optional::none(): optional<A>', 1, () => Optional.none)
    .declare('optional::ofNonZeroValue(A): optional<A>', 1, (value: Value) =>
      isZero(value) ? Optional.none : new Optional(value),
    )
    .declare('optional<A>.hasValue(): bool', 1, (optional: Optional) => optional.hasValue)
    .declare('optional<A>.value(): A', 1, (optional: Optional) => {
      if (!optional.hasValue) throw new CelError('optional.none() dereference');
      return optional.value;
    });
}

function order(a: Value, b: Value, budget: Budget): number {
  const found = compareValues(a, b, budget);
  if (found === undefined) throw new CelError('no such overload');
  return found;
}

function isSorted(list: List, budget: Budget): boolean {
  for (let i = 1; i < list.length; i++) if (order(list[i - 1], list[i], budget) > 0) return false;
  return true;
}

function extreme(list: List, name: string, side: 1 | -1, budget: Budget): Value {
  if (list.length === 0) throw new CelError(`${name} called on empty list`);
  return list.reduce((best, one) => (order(one, best, budget) * side > 0 ? one : best));
}

function sum(list: List): Value {
  const kind = list.length === 0 ? 'int' : kindOf(list[0]);
  if (list.some((one) => kindOf(one) !== kind)) throw new CelError('no such overload');
  switch (kind) {
    case 'int':
      return (list as bigint[]).reduce((total, one) => checkedInt(total + one), 0n);
    case 'uint':
      return (list as Uint[]).reduce((total, one) => checkedUint(total.value + one.value), new Uint(0n));
    case 'double':
      return (list as number[]).reduce((total, one) => total + one, 0);
    case 'duration':
      return (list as Duration[]).reduce((total, one) => new Duration(total.nanos + one.nanos), new Duration(0n));
    default:
      throw new CelError('no such overload');
  }
}

function slice(list: List, from: bigint, to: bigint): List {
  if (from < 0n || to < 0n) throw new CelError(`cannot slice(${from}, ${to}), negative indexes not supported`);
  if (from > to)
    throw new CelError(`cannot slice(${from}, ${to}), start index must be less than or equal to end index`);
  if (to > BigInt(list.length)) throw new CelError(`cannot slice(${from}, ${to}), list is length ${list.length}`);
  return list.slice(Number(from), Number(to));
}

function flatten(list: List, depth: number, budget: Budget): List {
  const flat: Value[] = [];
  for (const one of list) {
    budget.charge(1);
    if (!Array.isArray(one)) flat.push(one);
    else
      for (const inner of depth > 1 ? flatten(one, depth - 1, budget) : one) {
        budget.charge(1);
        flat.push(inner);
      }
  }
  return flat;
}

function range(count: bigint, budget: Budget): List {
  if (count < 0n) return [];
  budget.charge(1 + Number(count));
  return Array.from({ length: Number(count) }, (_, i) => BigInt(i));
}

function optionalOf(value: Value): Optional {
  return value === undefined ? Optional.none : new Optional(value);
}

function distinct(list: List, budget: Budget): List {
  const seen = new Set<string>();
  return list.filter((value) => {
    const id = identityOf(value, budget);
    if (seen.has(id)) return false;
    seen.add(id);
    return true;
  });
}

function identities(list: List, budget: Budget): ReadonlySet<string> {
  return new Set(list.map((value) => identityOf(value, budget)));
}

function contains(all: List, some: List, budget: Budget): boolean {
  const known = identities(all, budget);
  return some.every((value) => known.has(identityOf(value, budget)));
}

function isZero(value: Value): boolean {
  if (value === null || value === false || value === '' || value === 0n || value === 0) return true;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof Duration) return value.nanos === 0n;
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length === 0;
  return value instanceof Map && value.size === 0;
}
