/**
 * From the tree of an expression to its type and to a function that runs it. Both at once: what the types do not allow is
 * noted as a fault, and the walk goes on to find the others. Every step charges what it costs in kube-apiserver,
 * and more where ours does more.
 */

import { typeNames } from '../library/conversions.ts';
import type { Functions } from '../library/overloads.ts';
import { dottedName, type Expression, ExpressionFault } from '../syntax/syntax.ts';
import type { StructType } from '../values/struct-types.ts';
import {
  bool,
  type CelType,
  dyn,
  isAssignable,
  joined,
  listOf,
  mapOf,
  open,
  optionalOf,
  plainType,
  typeName,
} from '../values/types.ts';
import { CelError, kindOf, type MapKey, mapKey, Optional, type Value } from '../values/values.ts';
import { compileCall, compileFallback } from './compile-call.ts';
import { compileLoop } from './compile-loop.ts';
import { compileStruct } from './compile-struct.ts';
import type { Environment } from './environment.ts';
import {
  type Compiled,
  type Compiling,
  type Frame,
  findName,
  PASSED_ERROR_COST,
  type Scope,
  type Step,
} from './scope.ts';

type Of<Kind extends Expression['kind']> = Extract<Expression, { kind: Kind }>;

const LIST_COST = 10;
const MAP_COST = 30;

export class Compiler implements Compiling {
  readonly faults: ExpressionFault[] = [];
  readonly used: Set<string> = new Set();
  readonly functions: Functions;
  readonly #environment: Environment;
  readonly #structs = new Map<string, StructType | undefined>();
  slots: number;
  /** What each part was found to be. */
  readonly types: Map<Expression, CelType> = new Map();

  constructor(variables: number, environment: Environment) {
    this.slots = variables;
    this.#environment = environment;
    this.functions = environment.functions;
  }

  compile(expression: Expression, scope: Scope | undefined, takesMixed = false): Compiled {
    const compiled = this.#compile(expression, scope, takesMixed);
    this.types.set(expression, compiled.type);
    return compiled;
  }

  #compile(expression: Expression, scope: Scope | undefined, takesMixed: boolean): Compiled {
    switch (expression.kind) {
      case 'literal':
        return constant(expression.value);
      case 'name':
        return this.#name(expression, scope);
      case 'select':
        return this.#select(expression, scope);
      case 'index':
        return this.#index(expression, scope);
      case 'list':
        return this.#list(expression, scope, takesMixed);
      case 'map':
        return this.#map(expression, scope);
      case 'struct':
        return compileStruct(this, expression, scope);
      case 'and':
      case 'or':
        return this.#logical(expression, scope);
      case 'choose':
        return this.#choose(expression, scope);
      case 'call':
        return compileFallback(this, expression, scope) ?? compileCall(this, expression, scope);
      case 'loop':
        return compileLoop(this, expression, scope);
      case 'bind':
        return this.#bind(expression, scope);
      case 'optionalMap':
        return this.#optionalMap(expression, scope);
    }
  }

  fault(at: number, why: string): Compiled {
    this.faults.push(new ExpressionFault(at, why));
    return { type: dyn, run: () => null };
  }

  declare(name: string, type: CelType, outer: Scope | undefined): Scope {
    return { name, type, slot: this.slots++, outer };
  }

  /** The same name is the same type in all of one expression. */
  structType(name: string): StructType | undefined {
    if (!this.#structs.has(name)) this.#structs.set(name, this.#environment.structType?.(name));
    return this.#structs.get(name);
  }

  #name({ name, at }: Of<'name'>, scope: Scope | undefined): Compiled {
    const variable = findName(name, scope);
    if (variable) return this.#variable(variable);
    const type = typeNames.get(name);
    return type ? constant(type) : this.fault(at, `undeclared reference to '${name}' (in container '')`);
  }

  #variable({ name, slot, type }: Scope): Compiled {
    this.used.add(name);
    return {
      type,
      run: ({ slots, budget }) => {
        budget.charge(1);
        const value = slots[slot];
        if (value === undefined) throw new CelError(`no such attribute(s): ${name}`);
        return value;
      },
    };
  }

  #select(expression: Of<'select'>, scope: Scope | undefined): Compiled {
    const { field, how, at } = expression;
    const dotted = dottedName(expression);
    const variable = dotted === undefined ? undefined : findName(dotted, scope);
    if (variable) return this.#variable(variable);
    const named = dotted !== undefined && !findName(dotted.split('.')[0]!, scope) ? typeNames.get(dotted) : undefined;
    if (named) return constant(named);
    const of = this.compile(expression.of, scope);
    if (expression.of.kind === 'name') this.used.add(`${expression.of.name}.${field}`);
    const isChained = of.type.kind === 'optional';
    const found = fieldType(of.type.kind === 'optional' ? of.type.of : of.type, field);
    if (typeof found === 'string') return this.fault(at, found);
    const read = reader(of.run, field);
    if (how === 'has') return { type: bool, run: (frame) => read(frame) !== undefined };
    if (how === 'get' && !isChained) return { type: found, run: required(read, field) };
    return { type: optionalOf(found), run: (frame) => optionalFrom(read(frame)) };
  }

  #index({ of, key, isOptional, at }: Of<'index'>, scope: Scope | undefined): Compiled {
    const [owner, index] = [this.compile(of, scope), this.compile(key, scope)];
    const isChained = owner.type.kind === 'optional';
    const type = elementType(owner.type.kind === 'optional' ? owner.type.of : owner.type, index.type);
    if (!type) {
      const types = `(${typeName(owner.type)}, ${typeName(index.type)})`;
      return this.fault(at, `found no matching overload for '_[_]' applied to '${types}'`);
    }
    const read = (frame: Frame) => {
      const value = opened(owner.run(frame));
      const wanted = index.run(frame);
      frame.budget.charge(1);
      return { found: elementOf(value, wanted), wanted, isList: Array.isArray(value) };
    };
    if (isOptional || isChained) return { type: optionalOf(type), run: (frame) => optionalFrom(read(frame).found) };
    return {
      type,
      run: (frame) => {
        const { found, wanted, isList } = read(frame);
        if (found !== undefined) return found;
        throw new CelError(`${isList ? 'index out of bounds' : 'no such key'}: ${String(mapKey(wanted))}`);
      },
    };
  }

  #list({ items, optional }: Of<'list'>, scope: Scope | undefined, takesMixed: boolean): Compiled {
    const parts = items.map((item) => this.compile(item, scope));
    const types = parts.map(({ type }, i) => (optional.has(i) ? this.#inner(type, items[i]!.at) : type));
    const type = takesMixed ? dyn : this.#common(types, (i) => items[i]!.at);
    return {
      type: listOf(type),
      run: (frame) => {
        frame.budget.charge(LIST_COST);
        const list: Value[] = [];
        for (let i = 0; i < parts.length; i++) {
          const value = parts[i]!.run(frame);
          if (!optional.has(i)) list.push(value);
          else if (value instanceof Optional && value.hasValue) list.push(value.value);
        }
        return list;
      },
    };
  }

  #map({ entries, at }: Of<'map'>, scope: Scope | undefined): Compiled {
    const keys = entries.map(({ key }) => this.compile(key, scope));
    const values = entries.map(({ value }) => this.compile(value, scope));
    const keyType = this.#common(
      keys.map(({ type }) => type),
      (i) => entries[i]!.key.at,
    );
    if (!['dyn', 'string', 'int', 'uint', 'bool'].includes(keyType.kind))
      return this.fault(at, `unsupported key type: ${typeName(keyType)}`);
    const types = values.map(({ type }, i) =>
      entries[i]!.isOptional ? this.#inner(type, entries[i]!.value.at) : type,
    );
    const valueType = this.#common(types, (i) => entries[i]!.value.at);
    return {
      type: mapOf(keyType, valueType),
      run: (frame) => {
        frame.budget.charge(MAP_COST);
        const map = new Map<MapKey, Value>();
        for (let i = 0; i < entries.length; i++) {
          const key = mapKey(keys[i]!.run(frame));
          const value = values[i]!.run(frame);
          if (key === undefined) throw new CelError('unsupported key type');
          if (map.has(key)) throw new CelError(`Failed with repeated key: ${key}`);
          if (!entries[i]!.isOptional) map.set(key, value);
          else if (value instanceof Optional && value.hasValue) map.set(key, value.value);
        }
        return map;
      },
    };
  }

  /** What is in an optional that stands for an element, there or not. */
  #inner(type: CelType, at: number): CelType {
    if (type.kind === 'optional') return type.of;
    if (type.kind !== 'dyn') this.fault(at, `expected type 'optional_type(dyn)' but found '${typeName(type)}'`);
    return dyn;
  }

  /** Literals hold one type. */
  #common(types: readonly CelType[], at: (index: number) => number): CelType {
    let common = types[0] ?? open;
    for (const [index, type] of types.entries()) {
      const both = joined(common, type);
      if (!both) this.fault(at(index), `expected type '${typeName(common)}' but found '${typeName(type)}'`);
      else common = both;
    }
    return common;
  }

  /** An error on one side does not count if the other side decides. */
  #logical({ kind, operands, at }: Of<'and' | 'or'>, scope: Scope | undefined): Compiled {
    const parts = operands.map((operand) => this.compile(operand, scope));
    for (const { type } of parts) {
      if (isAssignable(bool, type, new Map())) continue;
      const shown = parts.slice(0, 2).map((part) => typeName(part.type));
      return this.fault(
        at,
        `found no matching overload for '_${kind === 'and' ? '&&' : '||'}_' applied to '(${shown.join(', ')})'`,
      );
    }
    const steps = parts.map(({ run }) => run);
    const decides = kind === 'or';
    return {
      type: bool,
      run: (frame) => {
        let failed: CelError | undefined;
        for (let i = 0; i < steps.length; i++) {
          try {
            const value = steps[i]!(frame);
            if (value === decides) return value;
            if (value !== !decides) failed ??= new CelError('no such overload');
          } catch (err) {
            if (!(err instanceof CelError)) throw err;
            frame.budget.charge(PASSED_ERROR_COST);
            failed ??= err;
          }
        }
        if (failed) throw failed;
        return !decides;
      },
    };
  }

  #choose({ condition, yes, no, at }: Of<'choose'>, scope: Scope | undefined): Compiled {
    const [test, first, second] = [this.compile(condition, scope), this.compile(yes, scope), this.compile(no, scope)];
    const type = joined(first.type, second.type);
    if (!type || !isAssignable(bool, test.type, new Map())) {
      const types = [test, first, second].map((part) => typeName(part.type)).join(', ');
      return this.fault(at, `found no matching overload for '_?_:_' applied to '(${types})'`);
    }
    const [ask, whenTrue, whenFalse] = [test.run, first.run, second.run];
    return {
      type,
      run: (frame) => {
        const answer = ask(frame);
        if (typeof answer !== 'boolean') throw new CelError('no such overload');
        return answer ? whenTrue(frame) : whenFalse(frame);
      },
    };
  }

  #bind({ name, value, body }: Of<'bind'>, scope: Scope | undefined): Compiled {
    const bound = this.compile(value, scope);
    const inner = this.declare(name, bound.type, scope);
    const result = this.compile(body, inner);
    return {
      type: result.type,
      run: (frame) => {
        frame.budget.charge(1);
        frame.slots[inner.slot] = bound.run(frame);
        return result.run(frame);
      },
    };
  }

  #optionalMap({ of, name, body, isFlat, at }: Of<'optionalMap'>, scope: Scope | undefined): Compiled {
    const optional = this.compile(of, scope);
    if (optional.type.kind !== 'optional' && optional.type.kind !== 'dyn')
      return this.fault(at, `expected type 'optional_type(dyn)' but found '${typeName(optional.type)}'`);
    const inner = this.declare(name, optional.type.kind === 'optional' ? optional.type.of : dyn, scope);
    const result = this.compile(body, inner);
    return {
      type: isFlat ? result.type : optionalOf(result.type),
      run: (frame) => {
        frame.budget.charge(1);
        const value = optional.run(frame);
        if (!(value instanceof Optional)) throw new CelError('no such overload');
        if (!value.hasValue) return Optional.none;
        frame.slots[inner.slot] = value.value;
        const made = result.run(frame);
        return isFlat ? made : new Optional(made);
      },
    };
  }
}

function constant(value: Value): Compiled {
  const kind = kindOf(value);
  return { type: plainType(kind as Parameters<typeof plainType>[0]), run: () => value };
}

/** The type of a field, or why there is none. */
function fieldType(of: CelType, field: string): CelType | string {
  switch (of.kind) {
    case 'dyn':
      return dyn;
    case 'object':
      return of.fields.get(field) ?? `undefined field '${field}'`;
    case 'map':
      return of.of;
    default:
      return `type '${typeName(of)}' does not support field selection`;
  }
}

function elementType(of: CelType, key: CelType): CelType | undefined {
  if (of.kind === 'dyn') return dyn;
  if (of.kind === 'list') return key.kind === 'int' || key.kind === 'dyn' ? of.of : undefined;
  return of.kind === 'map' && isAssignable(of.key, key, new Map()) ? of.of : undefined;
}

/** Reads a field; undefined if it is not there. */
function reader(of: Step, field: string): Step {
  return (frame) => {
    const owner = opened(of(frame));
    frame.budget.charge(1);
    if (owner instanceof Map) return owner.get(field);
    if (Array.isArray(owner)) throw new CelError("unsupported index type 'string' in list");
    return undefined; // what has no fields has not that one
  };
}

function required(read: Step, field: string): Step {
  return (frame) => {
    const value = read(frame);
    if (value === undefined) throw new CelError(`no such key: ${field}`);
    return value;
  };
}

/** What is in an optional, undefined if nothing; anything else as it is. */
function opened(value: Value): Value {
  return value instanceof Optional ? value.value : value;
}

function optionalFrom(value: Value): Optional {
  return value === undefined ? Optional.none : new Optional(value);
}

function elementOf(owner: Value, key: Value): Value {
  const index = mapKey(key);
  if (Array.isArray(owner)) {
    if (typeof index !== 'bigint') throw new CelError(`unsupported index type '${kindOf(key)}' in list`);
    return index >= 0n && index < BigInt(owner.length) ? owner[Number(index)] : undefined;
  }
  return owner instanceof Map && index !== undefined ? owner.get(index) : undefined;
}
