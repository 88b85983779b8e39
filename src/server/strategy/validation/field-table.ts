/**
 * Rules as data: rows of a path and what holds there, and the one engine that runs them.
 *
 * A path is field names parted by dots; `[]` behind a name goes through the elements of a list, `{}` through the values
 * of a map: `spec.ports[].protocol`. Where something on the way is missing, a row says nothing; only `spec` is made if
 * a default needs it. Rows run in the order given, so that a later one may build on an earlier one. In a row of defaults
 * `?` at the end says that kube-apiserver keeps a pointer there: an empty text is then a value, and stays.
 */
import {
  childPath,
  duplicateValue,
  type FieldError,
  invalidValue,
  type JsonObject,
  type JsonValue,
  type KubeObject,
  keyPath,
  tooMany,
} from '../../../api/index.ts';
import { jsonText } from '../../../api/json-text.ts';
import { appendAll, mostFaults } from './append-all.ts';
import { fill, isObject, sameStruct, sortedEntries, valueAt } from './fields.ts';

/** What a field is if nobody set it, and for which owners of the field that holds. */
export type DefaultRow = readonly [path: string, value: JsonValue, when?: (owner: JsonObject) => boolean];

/** What is wrong with a value, undefined if it is absent; `owner` is the object around it. */
export type Check = (value: JsonValue | undefined, path: string, owner: JsonObject) => FieldError[];
export type CheckRow = readonly [path: string, ...checks: Check[]];

type Step = { readonly name: string; readonly each: '' | 'list' | 'map' };
type Visit = (owner: JsonObject, path: string) => void;

export function defaultsFrom(rows: readonly DefaultRow[]): (object: KubeObject) => void {
  const compiled = rows.map(([path, value, when]) => {
    const isPointer = path.endsWith('?');
    const { steps, field } = parsePath(isPointer ? path.slice(0, -1) : path);
    return { steps, field, one: { [field]: value }, isPointer, when };
  });
  return (object) => {
    for (const { steps, field, one, isPointer, when } of compiled) {
      if (steps[0]?.name === 'spec' && object.spec === undefined) object.spec = {};
      eachOwner(object as JsonObject, steps, 0, (owner) => {
        if (isPointer && owner[field] === '') return;
        if (!when || when(owner)) fill(owner, one);
      });
    }
  };
}

export function checksFrom(rows: readonly CheckRow[]): (object: KubeObject) => FieldError[] {
  const run = compileChecks(rows);
  return (object) => run(object as JsonObject, '');
}

/** The rows of a struct that stands in several places: paths are relative to it. Where it is absent nothing is wrong. */
export function struct(rows: readonly CheckRow[], ...wholes: readonly Check[]): Check {
  const run = compileChecks(rows);
  return (value, path, owner) => {
    if (!isObject(value)) return [];
    const errors = run(value, path);
    for (const whole of wholes) appendAll(errors, whole(value, path, owner));
    return errors;
  };
}

/** A struct that is always there: absent it is an empty one, and all that it requires is missing. */
export function always(check: Check): Check {
  return (value, path, owner) => check(isObject(value) ? value : {}, path, owner);
}

export type ListRules = {
  readonly atMost?: number;
  /** What must differ between two elements. */
  readonly key?: (element: JsonObject) => JsonValue;
};

/** The elements of a list; one that is too long is refused as a whole. A null element is an empty struct. */
export function listOf(check: Check, { atMost, key }: ListRules = {}): Check {
  return elementsAs({}, check, atMost, key as ((element: JsonValue) => JsonValue) | undefined);
}

/** The texts of a list, null as an empty one; `isSet` if none may be there twice. */
export function textsOf(check: Check, rules: { readonly atMost?: number; readonly isSet?: boolean } = {}): Check {
  return elementsAs('', check, rules.atMost, rules.isSet ? (text) => text : undefined);
}

/** `empty` is what null stands for; no two elements may have the same key. */
function elementsAs(
  empty: JsonValue,
  check: Check,
  atMost = Number.POSITIVE_INFINITY,
  key?: (element: JsonValue) => JsonValue,
): Check {
  return (value, path, owner) => {
    if (!Array.isArray(value)) return [];
    if (value.length > atMost) return [tooMany(path, value.length, atMost)];
    const errors: FieldError[] = [];
    const seen = new Set<string>();
    for (const [index, element] of value.entries()) {
      const at = childPath(path, index);
      appendAll(errors, check(element ?? empty, at, owner));
      if (errors.length > mostFaults) break;
      if (key === undefined) continue;
      const id = key(element ?? empty);
      const text = typeof id === 'string' ? id : jsonText(id);
      if (seen.has(text)) errors.push(duplicateValue(at, id));
      seen.add(text);
    }
    return errors;
  };
}

function compileChecks(rows: readonly CheckRow[]): (owner: JsonObject, path: string) => FieldError[] {
  const compiled = rows.map(([path, ...checks]) => ({ ...parsePath(path), checks }));
  return (object, base) => {
    const errors: FieldError[] = [];
    for (const { steps, field, isEach, checks } of compiled) {
      walk(object, steps, 0, base, (owner, path) => {
        const at = childPath(path, field);
        for (const [value, place] of isEach ? elementsOf(owner[field], at) : [[owner[field], at] as const]) {
          const found = errors.length;
          for (const check of checks) {
            appendAll(errors, check(value ?? undefined, place, owner));
            if (errors.length > found) break; // one reason is enough for one value
          }
        }
      });
    }
    return errors;
  };
}

/** Refuses a change of these paths, which have no lists in them. */
export function immutableFields(paths: readonly string[]): (object: KubeObject, old: KubeObject) => FieldError[] {
  return (object, old) =>
    paths.flatMap((path) => {
      const value = valueAt(object as JsonObject, path);
      return sameStruct(value, valueAt(old as JsonObject, path)) ? [] : [immutable(path, value)];
    });
}

export function immutable(path: string, value: unknown): FieldError {
  return invalidValue(path, value ?? null, 'field is immutable');
}

function parsePath(path: string): { steps: Step[]; field: string; isEach: boolean } {
  const steps = path.split('.').map((part): Step => {
    if (part.endsWith('[]')) return { name: part.slice(0, -2), each: 'list' };
    return part.endsWith('{}') ? { name: part.slice(0, -2), each: 'map' } : { name: part, each: '' };
  });
  const last = steps.pop()!;
  return { steps, field: last.name, isEach: last.each !== '' };
}

function walk(owner: JsonObject, steps: readonly Step[], index: number, path: string, visit: Visit): void {
  const step = steps[index];
  if (!step) {
    visit(owner, path);
    return;
  }
  const value = owner[step.name];
  const at = childPath(path, step.name);
  if (step.each === '') {
    if (isObject(value)) walk(value, steps, index + 1, at, visit);
    return;
  }
  for (const [element, place] of elementsOf(value, at)) {
    if (isObject(element)) walk(element, steps, index + 1, place, visit);
  }
}

/** The same in any order and without paths: for defaults, which every write sets. */
function eachOwner(owner: JsonObject, steps: readonly Step[], index: number, visit: (owner: JsonObject) => void): void {
  const step = steps[index];
  if (!step) {
    visit(owner);
    return;
  }
  const value = owner[step.name];
  if (step.each === '') {
    if (isObject(value)) eachOwner(value, steps, index + 1, visit);
    return;
  }
  const elements = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
  for (const element of elements) if (isObject(element)) eachOwner(element, steps, index + 1, visit);
}

function elementsOf(value: JsonValue | undefined, path: string): (readonly [JsonValue | undefined, string])[] {
  if (Array.isArray(value)) return value.map((element, index) => [element, childPath(path, index)]);
  return isObject(value) ? sortedEntries(value).map(([key, element]) => [element, keyPath(path, key)]) : [];
}
