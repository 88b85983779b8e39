/**
 * The nulls that kube-apiserver writes: an empty list whose type has no omitempty, a time that is no pointer. Rules
 * never see them: they are put in when an object is complete, and taken out when it is read to be changed.
 *
 * Pure; what does not change is shared. Types that can hold no such field are not walked.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import type { Schema } from '../schema/schema.ts';
import { isObject, setKey } from './json/json-objects.ts';
import { type Plan, planOf } from './type-plan.ts';

/** As it is written. */
export function withNulls<T extends JsonObject>(object: T, schema: Schema): T {
  return walk(object, holderOf(planOf(schema)), putNulls) as T;
}

/** As it counts for ownership: what is left out is null, but an empty list that was sent is one. */
export function withNullsForAbsent<T extends JsonObject>(object: T, schema: Schema): T {
  return walk(object, holderOf(planOf(schema)), fillNulls) as T;
}

export function withoutNulls<T extends JsonObject>(object: T, schema: Schema): T {
  return walk(object, holderOf(planOf(schema)), takeNulls) as T;
}

/** The struct with its own nulls put in or taken out. */
type Change = (object: JsonObject, names: readonly string[]) => JsonObject;

/** A type that may hold such nulls, or have them below. */
type Holder = {
  /** Of a struct, those of its fields that do. */
  readonly fields: readonly { readonly name: string; readonly holder: Holder }[];
  /** Of a map or a list. */
  readonly element: Holder | undefined;
  readonly isMap: boolean;
  /** Which of its own fields are null when they are empty. */
  readonly names: readonly string[];
};

function walk(value: JsonValue, holder: Holder | undefined, change: Change): JsonValue {
  if (!holder) return value;
  if (Array.isArray(value)) return walkList(value, holder.element, change);
  if (!isObject(value)) return value;
  let result = value;
  const { fields, element, isMap, names } = holder;
  if (isMap)
    for (const key of Object.keys(value)) {
      const kept = walk(value[key]!, element, change);
      if (kept !== value[key]) result = replaced(value, result, key, kept);
    }
  for (const { name, holder: below } of fields) {
    if (!Object.hasOwn(value, name)) continue;
    const kept = walk(value[name]!, below, change);
    if (kept !== value[name]) result = replaced(value, result, name, kept);
  }
  return names.length > 0 ? change(result, names) : result;
}

/** `result` is a copy of `value` from the first difference on. */
function replaced(value: JsonObject, result: JsonObject, key: string, kept: JsonValue): JsonObject {
  const copy = result === value ? { ...value } : result;
  setKey(copy, key, kept);
  return copy;
}

function walkList(list: JsonValue[], element: Holder | undefined, change: Change): JsonValue[] {
  let result = list;
  for (let i = 0; i < list.length; i++) {
    const kept = walk(list[i]!, element, change);
    if (kept === list[i]) continue;
    if (result === list) result = list.slice();
    result[i] = kept;
  }
  return result;
}

const putNulls: Change = (object, names) => nullIf(object, names, isEmpty);
const fillNulls: Change = (object, names) => nullIf(object, names, isAbsent);

function nullIf(object: JsonObject, names: readonly string[], isNull: (value?: JsonValue) => boolean): JsonObject {
  let result = object;
  for (const name of names) {
    if (!isNull(object[name])) continue;
    if (result === object) result = { ...object };
    result[name] = null;
  }
  return result;
}

const takeNulls: Change = (object, names) => {
  let result = object;
  for (const name of names) {
    if (object[name] !== null) continue;
    if (result === object) result = { ...object };
    delete result[name];
  }
  return result;
};

function isAbsent(value: JsonValue | undefined): boolean {
  return value === undefined;
}

function isEmpty(value: JsonValue | undefined): boolean {
  if (value === undefined) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.keys(value).length === 0;
}

const known = new WeakMap<Plan, Holder | undefined>();

/** Undefined: there are none in it nor below. A type that contains itself counts by what else is in it. */
function holderOf(plan: Plan): Holder | undefined {
  if (known.has(plan)) return known.get(plan);
  known.set(plan, undefined);
  const fields = [...plan.fields].flatMap(([name, { plan: below }]) => {
    const holder = holderOf(below);
    return holder ? [{ name, holder }] : [];
  });
  const element = plan.element && holderOf(planOf(plan.element));
  const names = plan.nullWhenEmpty;
  const isHolder = fields.length > 0 || names.length > 0 || element !== undefined;
  const holder = isHolder ? { fields, element, isMap: plan.kind === 'map', names } : undefined;
  known.set(plan, holder);
  return holder;
}
