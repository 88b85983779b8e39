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
  return walk(object, planOf(schema), putNulls) as T;
}

/** As it counts for ownership: what is left out is null, but an empty list that was sent is one. */
export function withNullsForAbsent<T extends JsonObject>(object: T, schema: Schema): T {
  return walk(object, planOf(schema), fillNulls) as T;
}

export function withoutNulls<T extends JsonObject>(object: T, schema: Schema): T {
  return walk(object, planOf(schema), takeNulls) as T;
}

/** The struct with its own nulls put in or taken out. */
type Change = (object: JsonObject, names: readonly string[]) => JsonObject;

function walk(value: JsonValue, plan: Plan, change: Change): JsonValue {
  const holders = holdersOf(plan);
  if (!holders) return value;
  if (Array.isArray(value)) return walkList(value, planOf(plan.element!), change);
  if (!isObject(value)) return value;
  let result = value;
  const visit = (key: string, below: Plan): void => {
    const kept = walk(value[key]!, below, change);
    if (kept === value[key]) return;
    if (result === value) result = { ...value };
    setKey(result, key, kept);
  };
  if (plan.kind === 'map') for (const key of Object.keys(value)) visit(key, planOf(plan.element!));
  else for (const [key, below] of holders) if (Object.hasOwn(value, key)) visit(key, below);
  return plan.nullWhenEmpty.length > 0 ? change(result, plan.nullWhenEmpty) : result;
}

function walkList(list: JsonValue[], element: Plan, change: Change): JsonValue[] {
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
const fillNulls: Change = (object, names) => nullIf(object, names, (value) => value === undefined);

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

function isEmpty(value: JsonValue | undefined): boolean {
  if (value === undefined) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.keys(value).length === 0;
}

type Holders = readonly (readonly [name: string, plan: Plan])[];

const known = new WeakMap<Plan, Holders | undefined>();

/**
 * The fields of a type below which there may be nulls; undefined: neither below it nor in it. A type that contains itself
 * counts by what else is in it.
 */
function holdersOf(plan: Plan): Holders | undefined {
  if (known.has(plan)) return known.get(plan);
  known.set(plan, undefined);
  const fields = [...plan.fields]
    .map(([name, field]) => [name, field.plan] as const)
    .filter(([, below]) => holdersOf(below) !== undefined);
  const isHolder =
    fields.length > 0 ||
    plan.nullWhenEmpty.length > 0 ||
    (plan.element !== undefined && holdersOf(planOf(plan.element)) !== undefined);
  const holders = isHolder ? fields : undefined;
  known.set(plan, holders);
  return holders;
}
