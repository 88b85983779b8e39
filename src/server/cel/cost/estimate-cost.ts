/**
 * What an expression may cost at most on any value that its schema allows, in the units in which it is charged when it
 * runs. As in kube-apiserver: loops cost their body as often as the longest list has elements, `||` costs both sides, and
 * a length that nothing bounds is without end.
 *
 * Lengths come from where a value was read: `self.spec.items` is as long as its schema says. The way there is followed
 * through loops (`@items`, `@keys`, `@values`) and variables; what was made on the way has the length that it was made
 * with. Pure; one walk over the tree.
 */
import { dottedName, type Expression, type LoopMacro } from '../syntax/syntax.ts';
import { type CelType, dyn } from '../values/types.ts';
import { callCost, type Given } from './call-cost.ts';
import { either, exactly, ONE, product, type Size, UNKNOWN } from './size.ts';

/** The most that stands at a path, the name of a variable first; undefined if nothing is known of it. */
export type LengthAt = (path: readonly string[]) => number | undefined;

/** Types as they were found when the expression was compiled. */
export type TypeOf = (expression: Expression) => CelType | undefined;

type Of<Kind extends Expression['kind']> = Extract<Expression, { kind: Kind }>;
type Path = readonly string[];
/** Of a list or map that was made: what its keys and values may be. */
type Entry = { readonly kind: 'list' | 'map'; readonly key: Size; readonly value: Size };
type Variable = {
  readonly name: string;
  readonly path: Path;
  readonly size: Size | undefined;
  readonly entry: Entry | undefined;
  readonly outer: Variable | undefined;
};

const LIST_COST = 10;
const MAP_COST = 30;
const STRUCT_COST = 40;
const NOWHERE: Path = [];
const NOTHING: Size = { min: 0, max: 0 };

/** Besides the body: to begin, for each turn, and to end. */
const loopCosts: Readonly<Record<LoopMacro, readonly [begin: number, turn: number, end: number]>> = {
  all: [0, 3, 1],
  exists: [0, 4, 1],
  existsOne: [0, 2, 2],
  map: [LIST_COST, 12, 1],
  filter: [LIST_COST, 13, 1],
  transformList: [LIST_COST, 12, 1],
  transformMap: [MAP_COST, 3, 1],
  transformMapEntry: [MAP_COST, 2, 1],
  sortBy: [2 * LIST_COST, 12, 4],
};
/** A loop that keeps nothing of an element still looks at what it has. */
const SKIPPED_COST = 1;

export function estimateCost(expression: Expression, typeOf: TypeOf, lengthAt: LengthAt): number {
  return new Estimate(typeOf, lengthAt).cost(expression, undefined);
}

class Estimate {
  readonly #typeOf: TypeOf;
  readonly #lengthAt: LengthAt;
  readonly #paths = new Map<Expression, Path>();
  readonly #sizes = new Map<Expression, Size>();
  readonly #entries = new Map<Expression, Entry>();

  constructor(typeOf: TypeOf, lengthAt: LengthAt) {
    this.#typeOf = typeOf;
    this.#lengthAt = lengthAt;
  }

  cost(e: Expression, scope: Variable | undefined): number {
    switch (e.kind) {
      case 'literal':
        return 0;
      case 'name':
        this.#paths.set(e, find(e.name, scope)?.path ?? [e.name]);
        return 1;
      case 'select':
        return this.#select(e, scope);
      case 'index':
        return this.#index(e, scope);
      case 'call':
        return this.#call(e, scope);
      case 'list':
        return this.#list(e, scope);
      case 'map':
        return this.#map(e, scope);
      case 'struct':
        return STRUCT_COST + sum(e.fields.map(({ value }) => this.cost(value, scope)));
      case 'and':
      case 'or':
        return sum(e.operands.map((operand) => this.cost(operand, scope)));
      case 'choose':
        return this.#choose(e, scope);
      case 'loop':
        return this.#loop(e, scope);
      case 'bind':
        return this.#bind(e, scope);
      case 'optionalMap':
        return this.#optionalMap(e, scope);
    }
  }

  #select(e: Of<'select'>, scope: Variable | undefined): number {
    const cost = this.cost(e.of, scope);
    if (e.how === 'has') return cost;
    if (e.how === 'optional') return cost + 1;
    const { kind } = this.#type(e.of);
    this.#paths.set(e, [...this.#pathOf(e.of), e.field]);
    return kind === 'map' || kind === 'object' ? cost + 1 : cost;
  }

  #index(e: Of<'index'>, scope: Variable | undefined): number {
    const cost = this.cost(e.of, scope) + this.cost(e.key, scope) + 1;
    const { kind } = this.#type(e.of);
    if (e.isOptional || (kind !== 'list' && kind !== 'map')) return cost;
    this.#paths.set(e, [...this.#pathOf(e.of), kind === 'list' ? '@items' : '@values']);
    const value = this.#entryOf(e.of, scope)?.value;
    if (value) this.#sizes.set(e, value);
    return cost;
  }

  #call(e: Of<'call'>, scope: Variable | undefined): number {
    // A space of functions, such as `sets`, was never compiled as a value.
    const isMember = e.target !== undefined && this.#typeOf(e.target) !== undefined;
    const name = e.target && !isMember ? `${dottedName(e.target)}.${e.name}` : e.name;
    const args = sum(e.args.map((arg) => this.cost(arg, scope)));
    const target = isMember ? this.cost(e.target!, scope) : 0;
    if (name === 'dyn' && e.args[0]) {
      this.#copy(e, e.args[0], scope);
      return args + 1;
    }
    const given = e.args.map((arg) => this.#given(arg, scope));
    const { cost, size } = callCost(name, isMember ? this.#given(e.target!, scope) : undefined, given);
    if (size) this.#sizes.set(e, size);
    if (name === '_+_' && size) this.#join(e, e.args[0]!, e.args[1]!, scope);
    return target + args + cost;
  }

  #list(e: Of<'list'>, scope: Variable | undefined): number {
    const costs = e.items.map((item) => this.cost(item, scope));
    const sizes = e.items.map((item) => this.#sizeOf(item, scope) ?? UNKNOWN);
    this.#entries.set(e, { kind: 'list', key: ONE, value: rangeOf(sizes) });
    return LIST_COST + sum(costs);
  }

  #map(e: Of<'map'>, scope: Variable | undefined): number {
    const costs = e.entries.map(({ key, value }) => this.cost(key, scope) + this.cost(value, scope));
    const keys = e.entries.map(({ key }) => this.#sizeOf(key, scope) ?? UNKNOWN);
    const values = e.entries.map(({ value }) => this.#sizeOf(value, scope) ?? UNKNOWN);
    this.#entries.set(e, { kind: 'map', key: rangeOf(keys), value: rangeOf(values) });
    return MAP_COST + sum(costs);
  }

  #choose(e: Of<'choose'>, scope: Variable | undefined): number {
    const condition = this.cost(e.condition, scope);
    const [yes, no] = [this.cost(e.yes, scope), this.cost(e.no, scope)];
    this.#sizes.set(e, either(this.#sizeOf(e.yes, scope) ?? UNKNOWN, this.#sizeOf(e.no, scope) ?? UNKNOWN));
    this.#join(e, e.yes, e.no, scope);
    return condition + Math.max(yes, no);
  }

  #loop(e: Of<'loop'>, scope: Variable | undefined): number {
    const range = this.cost(e.range, scope);
    const inner = this.#turnScope(e, scope);
    const filter = e.filter ? this.cost(e.filter, inner) : undefined;
    const body = this.cost(e.body, inner);
    const [begin, turn, end] = loopCosts[e.macro];
    // What is tested costs in every turn, what is kept only if the test holds; then the dearer way counts.
    const kept = filter === undefined ? turn + body : filter + Math.max(turn + body, SKIPPED_COST);
    const count = this.#sizeOf(e.range, scope) ?? UNKNOWN;
    this.#noteResult(e, inner, count);
    return range + begin + end + product(count.max, kept);
  }

  #turnScope({ range, names }: Of<'loop'>, scope: Variable | undefined): Variable {
    const entry = this.#entryOf(range, scope);
    const path = this.#pathOf(range);
    const isList = (entry?.kind ?? this.#type(range).kind) === 'list';
    const variable = (name: string, step: string, size: Size | undefined, outer: Variable | undefined): Variable => ({
      name,
      path: [...path, step],
      size,
      entry: undefined,
      outer,
    });
    if (names.length === 1) {
      const [step, size] = isList ? ['@items', entry?.value] : ['@keys', entry?.key];
      return variable(names[0]!, step as string, size as Size | undefined, scope);
    }
    const first = variable(names[0]!, isList ? '@indices' : '@keys', entry?.key, scope);
    return variable(names[1]!, isList ? '@items' : '@values', entry?.value, first);
  }

  #noteResult(e: Of<'loop'>, inner: Variable, count: Size): void {
    const isVerdict = e.macro === 'all' || e.macro === 'exists' || e.macro === 'existsOne';
    this.#sizes.set(e, isVerdict ? ONE : count);
    if (isVerdict || e.macro === 'transformMap' || e.macro === 'transformMapEntry') return;
    // Sorting, like a filter, keeps the elements themselves.
    const isElement = e.macro === 'filter' || e.macro === 'sortBy';
    const value = isElement ? this.#variableSize(inner) : this.#sizeOf(e.body, inner);
    this.#entries.set(e, { kind: 'list', key: ONE, value: either(NOTHING, value ?? UNKNOWN) });
  }

  #bind(e: Of<'bind'>, scope: Variable | undefined): number {
    const value = this.cost(e.value, scope);
    const inner: Variable = {
      name: e.name,
      path: this.#pathOf(e.value),
      size: this.#sizeOf(e.value, scope),
      entry: this.#entryOf(e.value, scope),
      outer: scope,
    };
    const body = this.cost(e.body, inner);
    this.#copy(e, e.body, inner);
    return LIST_COST + value + body;
  }

  /** Asked whether it is there, and if so bound to a name; unless it is flat the result is made an optional again. */
  #optionalMap(e: Of<'optionalMap'>, scope: Variable | undefined): number {
    const of = this.cost(e.of, scope);
    const inner: Variable = { name: e.name, path: NOWHERE, size: undefined, entry: undefined, outer: scope };
    const body = this.cost(e.body, inner);
    return of + 1 + LIST_COST + of + 1 + body + (e.isFlat ? 0 : 1);
  }

  #type(e: Expression): CelType {
    return this.#typeOf(e) ?? dyn;
  }

  #pathOf(e: Expression): Path {
    return this.#paths.get(e) ?? NOWHERE;
  }

  #given(e: Expression, scope: Variable | undefined): Given {
    const type = this.#type(e);
    const size = this.#sizeOf(e, scope) ?? UNKNOWN;
    if (type.kind !== 'list') return { type, size };
    const path = this.#pathOf(e);
    const most = path.length > 0 ? this.#lengthAt([...path, '@items']) : undefined;
    return { type, size, element: { type: type.of, size: most === undefined ? UNKNOWN : { min: 0, max: most } } };
  }

  #sizeOf(e: Expression, scope: Variable | undefined): Size | undefined {
    const known = this.#sizes.get(e) ?? literalSize(e);
    if (known) return known;
    return (
      this.#sizeAt(this.#pathOf(e)) ??
      scalarSize(this.#type(e)) ??
      (e.kind === 'name' ? find(e.name, scope)?.size : undefined)
    );
  }

  #variableSize({ path, size }: Variable): Size | undefined {
    return this.#sizeAt(path) ?? size;
  }

  #sizeAt(path: Path): Size | undefined {
    const most = path.length > 0 ? this.#lengthAt(path) : undefined;
    return most === undefined ? undefined : { min: 0, max: most };
  }

  #entryOf(e: Expression, scope: Variable | undefined): Entry | undefined {
    return this.#entries.get(e) ?? (e.kind === 'name' ? find(e.name, scope)?.entry : undefined);
  }

  #copy(to: Expression, from: Expression, scope: Variable | undefined): void {
    const [size, entry] = [this.#sizeOf(from, scope), this.#entryOf(from, scope)];
    if (size) this.#sizes.set(to, size);
    if (entry) this.#entries.set(to, entry);
  }

  /** What is known of the entries of both. */
  #join(to: Expression, a: Expression, b: Expression, scope: Variable | undefined): void {
    const [one, other] = [this.#entryOf(a, scope), this.#entryOf(b, scope)];
    if (!one || !other) return;
    this.#entries.set(to, { ...one, key: either(one.key, other.key), value: either(one.value, other.value) });
  }
}

function find(name: string, scope: Variable | undefined): Variable | undefined {
  for (let one = scope; one; one = one.outer) if (one.name === name) return one;
  return undefined;
}

function sum(costs: readonly number[]): number {
  return costs.reduce((total, cost) => total + cost, 0);
}

function rangeOf(sizes: readonly Size[]): Size {
  return sizes.length === 0 ? NOTHING : sizes.reduce(either);
}

function literalSize(e: Expression): Size | undefined {
  if (e.kind === 'list') return exactly(e.items.length);
  if (e.kind === 'map') return exactly(e.entries.length);
  if (e.kind !== 'literal') return undefined;
  if (typeof e.value === 'string') return exactly([...e.value].length);
  return e.value instanceof Uint8Array ? exactly(e.value.length) : ONE;
}

const SCALARS: ReadonlySet<string> = new Set(['bool', 'double', 'duration', 'int', 'timestamp', 'uint']);

function scalarSize(type: CelType): Size | undefined {
  if (type.kind === 'optional') return scalarSize(type.of);
  return SCALARS.has(type.kind) ? ONE : undefined;
}
