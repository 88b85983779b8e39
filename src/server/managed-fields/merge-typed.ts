/**
 * Lays an applied object over a live one: members are merged, keyed elements by their keys, sets are united, everything
 * else is taken from the applied side. Pure; what does not change is shared with the live object.
 *
 * Order of keyed elements and sets: applied elements keep the order in which they were applied, live ones stay where
 * they are between them.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { isObject, jsonEqual, ownValue, setKey } from '../codec/json-objects.ts';
import type { Schema } from '../schema/schema.ts';
import type { FieldSet } from './field-set.ts';
import { elementStep, elementsOf, memberSchema, shapeOf } from './field-shape.ts';

export function mergeTyped(live: JsonObject, applied: JsonObject, schema: Schema): JsonObject {
  const result: JsonObject = {};
  let isSame = true;
  for (const key of Object.keys(live)) setKey(result, key, live[key]!);
  for (const key of Object.keys(applied)) {
    const before = ownValue(live, key);
    const member = memberSchema(schema, key);
    const after = member ? mergeValue(before, applied[key]!, member) : applied[key]!;
    if (after === before) continue;
    isSame = false;
    setKey(result, key, after);
  }
  return isSame ? live : result;
}

function mergeValue(live: JsonValue | undefined, applied: JsonValue, schema: Schema): JsonValue {
  if (live === undefined) return applied;
  const shape = shapeOf(schema);
  if (shape === 'members' && isObject(live) && isObject(applied)) return mergeTyped(live, applied, schema);
  if ((shape === 'keyed' || shape === 'set') && Array.isArray(live) && Array.isArray(applied)) {
    const merged = mergeElements(live, applied, schema);
    if (merged) return jsonEqual(merged, live) ? live : merged;
  }
  return jsonEqual(live, applied) ? live : applied;
}

/** Undefined if the elements of a side cannot be told apart. */
function mergeElements(
  live: readonly JsonValue[],
  applied: readonly JsonValue[],
  schema: Schema,
): JsonValue[] | undefined {
  const old = elementsOf(live, schema);
  const now = elementsOf(applied, schema);
  if (!old || !now) return undefined;
  const mergeOne = (step: string, item: JsonValue): JsonValue => {
    const before = old.get(step);
    return isObject(before) && isObject(item) && schema.items ? mergeTyped(before, item, schema.items) : item;
  };
  const shared = [...now.keys()].filter((step) => old.has(step));
  const rest = [...now];
  const result: JsonValue[] = [];
  let nextShared = 0;
  let taken = 0;
  for (const [step, item] of old) {
    if (!now.has(step)) {
      result.push(item);
      continue;
    }
    if (step !== shared[nextShared]) continue; // applied in another order: its turn comes with the applied list
    while (taken < rest.length) {
      const [other, value] = rest[taken++]!;
      result.push(mergeOne(other, value));
      if (other === step) break;
    }
    nextShared++;
  }
  for (const [step, item] of rest.slice(taken)) result.push(mergeOne(step, item));
  return result;
}

/**
 * Takes out of an object what was owned before (`last`) and is owned by nobody now (`owned`), each with all below it.
 * A struct or list on the way goes too once nobody owns anything in it; an element or map entry goes only if it was
 * owned itself.
 */
export function removeUnowned(object: JsonObject, last: FieldSet, owned: FieldSet, schema: Schema): JsonObject {
  let result = object;
  for (const [step, node] of last) {
    const key = step.slice(2);
    const value = step.startsWith('f:') ? ownValue(object, key) : undefined;
    const member = memberSchema(schema, key);
    if (value === undefined || !member) continue;
    const others = owned.get(step);
    // An entry of a map is there for whoever owns the entry itself; a field of a type for whoever owns anything in it.
    if (schema.properties?.has(key) ? !others : node.isOwned && !others?.isOwned) {
      result = result === object ? { ...object } : result;
      delete result[key];
      continue;
    }
    const kept = removeBelow(value, node.children, others?.children ?? new Map(), member);
    if (kept === value) continue;
    result = result === object ? { ...object } : result;
    setKey(result, key, kept);
  }
  return result;
}

function removeBelow(value: JsonValue, last: FieldSet, owned: FieldSet, schema: Schema): JsonValue {
  if (last.size === 0) return value;
  if (isObject(value)) return shapeOf(schema) === 'members' ? removeUnowned(value, last, owned, schema) : value;
  if (!Array.isArray(value) || shapeOf(schema) === 'leaf') return value;
  let isSame = true;
  const result: JsonValue[] = [];
  for (const item of value) {
    const step = elementStep(item, schema);
    const node = step === undefined ? undefined : last.get(step);
    const others = step === undefined ? undefined : owned.get(step);
    if (node?.isOwned && !others?.isOwned) {
      isSame = false;
      continue;
    }
    const kept =
      node && isObject(item) && schema.items
        ? removeUnowned(item, node.children, others?.children ?? new Map(), schema.items)
        : item;
    if (kept !== item) isSame = false;
    result.push(kept);
  }
  return isSame ? value : result;
}

/** An object without some of its fields, whoever owns them. */
export function withoutFields(object: JsonObject, fields: FieldSet): JsonObject {
  const result = { ...object };
  for (const [step, node] of fields) {
    const key = step.slice(2);
    const value = ownValue(object, key);
    if (node.isOwned) delete result[key];
    else if (isObject(value)) setKey(result, key, withoutFields(value, node.children));
  }
  return result;
}
