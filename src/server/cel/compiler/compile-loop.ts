/**
 * The loops: `all`, `exists`, `exists_one`, `map`, `filter`, and those with two variables. Each turn is charged as
 * kube-apiserver charges it, and so is each element that is kept; a budget that is spent ends the loop in the middle.
 */

import type { Expression, LoopMacro } from '../syntax/syntax.ts';
import { bool, type CelType, dyn, int, isAssignable, listOf, mapOf, typeName } from '../values/types.ts';
import { CelError, compareValues, type MapKey, mapKey, type Value } from '../values/values.ts';
import { type Compiled, type Compiling, type Frame, PASSED_ERROR_COST, type Scope, type Step } from './scope.ts';

type Loop = Extract<Expression, { kind: 'loop' }>;

/** What a turn costs besides its body: looking at what has been gathered so far, and whether to go on. */
const TURN_COST: Readonly<Record<LoopMacro, number>> = {
  all: 3,
  exists: 4,
  existsOne: 1,
  map: 1,
  filter: 1,
  transformList: 1,
  transformMap: 1,
  transformMapEntry: 1,
  sortBy: 1,
};
/** One more list of one element, and the two put together. */
const KEPT_COST = 11;

export function compileLoop(compiler: Compiling, loop: Loop, scope: Scope | undefined): Compiled {
  const { macro, names, at } = loop;
  const range = compiler.compile(loop.range, scope);
  const types = elementTypes(range.type);
  if (!types) {
    const shown = typeName(range.type);
    const why = `expression of type '${shown}' cannot be range of a comprehension (must be list, map, or dynamic)`;
    return compiler.fault(loop.range.at, why);
  }
  const isPair = names.length === 2;
  const outer = isPair ? compiler.declare(names[0]!, types.key, scope) : scope;
  const inner = compiler.declare(names.at(-1)!, isPair ? types.value : types.single, outer);
  const filter = loop.filter && compiler.compile(loop.filter, inner);
  const body = compiler.compile(loop.body, inner);
  const isTest = macro === 'all' || macro === 'exists' || macro === 'existsOne' || macro === 'filter';
  for (const tested of [filter, isTest ? body : undefined]) {
    if (!tested || isAssignable(bool, tested.type, new Map())) continue;
    return compiler.fault(at, `found no matching overload for '_&&_' applied to '(bool, ${typeName(tested.type)})'`);
  }
  const turns = new Turns(range.run, isPair ? outer!.slot : undefined, inner.slot, TURN_COST[macro]);
  return { type: resultType(macro, types, body.type), run: runner(macro, turns, filter?.run, body.run) };
}

type ElementTypes = { readonly key: CelType; readonly value: CelType; readonly single: CelType };

function elementTypes(range: CelType): ElementTypes | undefined {
  if (range.kind === 'dyn') return { key: dyn, value: dyn, single: dyn };
  if (range.kind === 'list') return { key: int, value: range.of, single: range.of };
  return range.kind === 'map' ? { key: range.key, value: range.of, single: range.key } : undefined;
}

function resultType(macro: LoopMacro, { key, single }: ElementTypes, body: CelType): CelType {
  switch (macro) {
    case 'map':
    case 'transformList':
      return listOf(body);
    case 'filter':
      return listOf(single);
    case 'transformMap':
      return mapOf(key, body);
    case 'transformMapEntry':
      return body.kind === 'map' ? body : mapOf(dyn, dyn);
    case 'sortBy':
      return listOf(single);
    default:
      return bool;
  }
}

/** Goes through a list or a map, element by element. */
class Turns {
  readonly #range: Step;
  /** Where the first of two variables stands. */
  readonly #keySlot: number | undefined;
  readonly slot: number;
  readonly #cost: number;

  constructor(range: Step, keySlot: number | undefined, slot: number, cost: number) {
    this.#range = range;
    this.#keySlot = keySlot;
    this.slot = slot;
    this.#cost = cost;
  }

  /** Until `turn` says true. It is told the index or key. */
  run(frame: Frame, turn: (key: MapKey) => boolean): void {
    const range = this.#range(frame);
    const { slots, budget } = frame;
    const isPair = this.#keySlot !== undefined;
    const go = (key: MapKey, single: Value): boolean => {
      budget.charge(this.#cost);
      if (isPair) slots[this.#keySlot!] = key;
      slots[this.slot] = single;
      return turn(key);
    };
    if (Array.isArray(range)) {
      for (let i = 0; i < range.length; i++) if (go(BigInt(i), range[i])) return;
    } else if (range instanceof Map) {
      for (const [key, value] of range) if (go(key, isPair ? value : key)) return;
    } else throw new CelError('no such overload');
  }
}

function runner(macro: LoopMacro, turns: Turns, filter: Step | undefined, body: Step): Step {
  switch (macro) {
    case 'all':
      return (frame) => decide(frame, turns, body, false);
    case 'exists':
      return (frame) => decide(frame, turns, body, true);
    case 'existsOne':
      return (frame) => {
        let count = 0;
        turns.run(frame, () => {
          if (truth(body(frame))) count++;
          return false;
        });
        return count === 1;
      };
    case 'filter':
      return (frame) => {
        const kept: Value[] = [];
        turns.run(frame, () => {
          const element = frame.slots[turns.slot];
          if (!truth(body(frame))) return false;
          frame.budget.charge(KEPT_COST + 1);
          kept.push(element);
          return false;
        });
        return kept;
      };
    case 'transformMap':
      return (frame) => {
        const made = new Map<MapKey, Value>();
        turns.run(frame, (key) => {
          if (filter && !truth(filter(frame))) return false;
          frame.budget.charge(KEPT_COST);
          made.set(mapKey(key)!, body(frame));
          return false;
        });
        return made;
      };
    case 'transformMapEntry':
      return (frame) => {
        const made = new Map<MapKey, Value>();
        turns.run(frame, () => {
          if (filter && !truth(filter(frame))) return false;
          frame.budget.charge(KEPT_COST);
          const entries = body(frame);
          if (!(entries instanceof Map)) throw new CelError('no such overload');
          for (const [key, value] of entries as ReadonlyMap<MapKey, Value>) {
            if (made.has(key)) throw new CelError(`insert failed: key ${key} already exists`);
            frame.budget.charge(1);
            made.set(key, value);
          }
          return false;
        });
        return made;
      };
    case 'sortBy':
      return (frame) => sortedBy(frame, turns, body);
    default:
      return (frame) => {
        const made: Value[] = [];
        turns.run(frame, () => {
          if (filter && !truth(filter(frame))) return false;
          frame.budget.charge(KEPT_COST);
          made.push(body(frame));
          return false;
        });
        return made;
      };
  }
}

/** Elements in the order of what the body makes of each. */
function sortedBy(frame: Frame, turns: Turns, body: Step): Value[] {
  const pairs: { readonly key: Value; readonly element: Value }[] = [];
  turns.run(frame, () => {
    const element = frame.slots[turns.slot];
    frame.budget.charge(KEPT_COST);
    pairs.push({ key: body(frame), element });
    return false;
  });
  pairs.sort((a, b) => {
    const order = compareValues(a.key, b.key, frame.budget);
    if (order === undefined) throw new CelError('no such overload');
    return order;
  });
  return pairs.map(({ element }) => element);
}

/** `all` and `exists`: one element decides, and errors count only if none does. */
function decide(frame: Frame, turns: Turns, body: Step, decides: boolean): boolean {
  let failed: CelError | undefined;
  let isDecided = false;
  turns.run(frame, () => {
    try {
      isDecided = truth(body(frame)) === decides;
    } catch (err) {
      if (!(err instanceof CelError)) throw err;
      frame.budget.charge(PASSED_ERROR_COST);
      failed ??= err;
    }
    return isDecided;
  });
  if (!isDecided && failed) throw failed;
  return isDecided === decides;
}

function truth(value: Value): boolean {
  if (typeof value !== 'boolean') throw new CelError('no such overload');
  return value;
}
