/**
 * Functions and operators: what they take, what they give, what they cost and what they do. Declared as text,
 * `string.replace(string, string): string`, once for the process; what is not declared does not compile.
 *
 * A function is charged before it runs. `run` is only called with values that are what its signature says, as far as
 * that can be seen without going through them.
 */
import type { Budget } from '../values/budget.ts';
import { type CelType, readType } from '../values/types.ts';
import { kindOf, type Value } from '../values/values.ts';

// biome-ignore lint/suspicious/noExplicitAny: arguments are what the signature says, which the compiler cannot read
type Arguments = any[];

export type Overload = {
  readonly params: readonly CelType[];
  readonly result: CelType;
  /** Whether values are what the parameters want, without looking into them. */
  readonly fits: (a: Value, b?: Value, c?: Value, d?: Value) => boolean;
  /** Charges, then does it. Arguments beyond those it takes are ignored. */
  readonly run: (budget: Budget, a: Value, b?: Value, c?: Value, d?: Value) => Value;
};

/** Undefined cost: the function charges for itself as it works. */
export type Cost = number | ((...args: Arguments) => number) | undefined;

export class Functions {
  readonly #overloads = new Map<string, Overload[]>();
  readonly #names = new Set<string>();
  readonly #others: Functions | undefined;

  /** `others`: what may be called as well. */
  constructor(others?: Functions) {
    this.#others = others;
  }

  /** `name(A, B): C`, `A.name(B): C` for what stands behind a value, `space::name(A): B`; operators are called `_+_`. */
  declare(signature: string, cost: Cost, run: (...args: Arguments) => Value): this {
    const { isMember, name, params, result } = readSignature(signature);
    const id = keyOf(name, isMember, params.length);
    const types = params.map(readType);
    const overload: Overload = {
      params: types,
      result: readType(result),
      fits: fitting(types),
      run: charged(types.length, cost, run),
    };
    const known = this.#overloads.get(id);
    if (known) known.push(overload);
    else this.#overloads.set(id, [overload]);
    this.#names.add(name);
    return this;
  }

  /** Those of that name and number of arguments, the target among them. */
  find(name: string, isMember: boolean, count: number): readonly Overload[] {
    return this.#overloads.get(keyOf(name, isMember, count)) ?? this.#others?.find(name, isMember, count) ?? [];
  }

  get names(): ReadonlySet<string> {
    return this.#names;
  }

  has(name: string): boolean {
    return this.#names.has(name) || this.#others?.has(name) === true;
  }
}

function keyOf(name: string, isMember: boolean, count: number): string {
  return `${isMember ? '.' : ''}${name} ${count}`;
}

function readSignature(signature: string) {
  const [, target, name, args, result] = /^(?:([\w<>, ]+?)\.(?=[\w]+\())?([^(]+)\(([^)]*)\): (.+)$/.exec(signature)!;
  const params = args === '' ? [] : splitTypes(args!);
  return {
    isMember: target !== undefined,
    name: name!.replace('::', '.'),
    params: target ? [target, ...params] : params,
    result: result!,
  };
}

/** At commas that are not inside angles. */
function splitTypes(text: string): string[] {
  const parts: string[] = [];
  let [depth, from] = [0, 0];
  for (let i = 0; i <= text.length; i++) {
    if (text[i] === '<') depth++;
    if (text[i] === '>') depth--;
    if (i < text.length && (text[i] !== ',' || depth > 0)) continue;
    parts.push(text.slice(from, i).trim());
    from = i + 1;
  }
  return parts;
}

/** Written out by the number of arguments: a call is the most frequent thing there is. */
function charged(count: number, cost: Cost, run: (...args: Arguments) => Value): Overload['run'] {
  const price = typeof cost === 'number' ? () => cost : (cost ?? (() => 0));
  switch (count) {
    case 0:
      return (budget) => {
        budget.charge(price());
        return run(budget);
      };
    case 1:
      return (budget, a) => {
        budget.charge(price(a));
        return run(a, budget);
      };
    case 2:
      return (budget, a, b) => {
        budget.charge(price(a, b));
        return run(a, b, budget);
      };
    case 3:
      return (budget, a, b, c) => {
        budget.charge(price(a, b, c));
        return run(a, b, c, budget);
      };
    default:
      return (budget, a, b, c, d) => {
        budget.charge(price(a, b, c, d));
        return run(a, b, c, d, budget);
      };
  }
}

function fitting(params: readonly CelType[]): Overload['fits'] {
  const tests = params.map(testOf);
  const [first = anything, second = anything] = tests;
  if (tests.length < 3) return (a, b) => first(a) && second(b);
  return (...values) => tests.every((test, i) => test(values[i]));
}

const anything = () => true;

function testOf(type: CelType): (value: Value) => boolean {
  switch (type.kind) {
    case 'dyn':
    case 'param':
      return anything;
    case 'string':
      return (value) => typeof value === 'string';
    case 'int':
      return (value) => typeof value === 'bigint';
    case 'bool':
      return (value) => typeof value === 'boolean';
    case 'list':
      return Array.isArray;
    case 'object':
      return (value) => value instanceof Map || value === null;
    default: {
      const name = type.kind === 'opaque' ? type.name : type.kind;
      return (value) => kindOf(value) === name;
    }
  }
}
