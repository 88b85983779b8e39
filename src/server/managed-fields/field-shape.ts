/**
 * How ownership cuts a value of a schema into fields: as one leaf, as members, as keyed elements, as a set.
 *
 * A list without a list type and a map said to be atomic are one leaf each. Where the schema knows nothing but keeps
 * everything, objects have members and lists are one leaf.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { jsonText } from '../../api/json-text.ts';
import { isObject, ownValue } from '../codec/json-objects.ts';
import type { Schema } from '../schema/schema.ts';
import { valueStep } from './field-set.ts';

export type Shape = 'leaf' | 'members' | 'keyed' | 'set';

export function shapeOf(schema: Schema): Shape {
  if (schema.type === 'array') {
    if (schema.listType === 'map' && schema.listMapKeys?.length) return 'keyed';
    return schema.listType === 'set' ? 'set' : 'leaf';
  }
  if (schema.type !== 'object' && !(schema.type === 'any' && schema.preserveUnknownFields)) return 'leaf';
  if (schema.mapType === 'atomic') return 'leaf';
  if (schema.properties || schema.preserveUnknownFields) return 'members';
  return schema.additional !== undefined && schema.additional !== true ? 'members' : 'leaf';
}

const free: Schema = { type: 'any', preserveUnknownFields: true };

/** The schema of a member; undefined if it has none. */
export function memberSchema(schema: Schema, key: string): Schema | undefined {
  const known = schema.properties?.get(key) ?? (schema.additional === true ? undefined : schema.additional);
  return known ?? (schema.preserveUnknownFields ? free : undefined);
}

const requiredKeys = new WeakMap<Schema, ReadonlySet<string>>();

/** Whether the type of an object asks for this member. */
export function isRequired(schema: Schema, key: string): boolean {
  if (!schema.required?.length) return false;
  let keys = requiredKeys.get(schema);
  if (!keys) {
    keys = new Set(schema.required);
    requiredKeys.set(schema, keys);
  }
  return keys.has(key);
}

/** The step of a list element; undefined for one that lacks a key, or is no value of a set. */
export function elementStep(item: JsonValue, schema: Schema): string | undefined {
  if (schema.listType === 'set') return typeof item === 'object' ? undefined : valueStep(item);
  if (!isObject(item)) return undefined;
  let keys = '';
  for (const name of sortedKeysOf(schema.listMapKeys!)) {
    const value = ownValue(item, name) ?? schema.items?.properties?.get(name)?.default;
    if (value === undefined || typeof value === 'object') return undefined;
    keys += `${keys === '' ? '' : ','}${JSON.stringify(name)}:${jsonText(value)}`;
  }
  return `k:{${keys}}`;
}

const sortedKeys = new WeakMap<readonly string[], readonly string[]>();

function sortedKeysOf(names: readonly string[]): readonly string[] {
  let sorted = sortedKeys.get(names);
  if (!sorted) {
    sorted = [...names].sort();
    sortedKeys.set(names, sorted);
  }
  return sorted;
}

/** The elements of a list by step; undefined if they cannot be told apart, and the list counts as one leaf. */
export function elementsOf(list: readonly JsonValue[], schema: Schema): ReadonlyMap<string, JsonValue> | undefined {
  const elements = new Map<string, JsonValue>();
  for (const item of list) {
    const step = elementStep(item, schema);
    if (step === undefined || elements.has(step)) return undefined;
    elements.set(step, item);
  }
  return elements;
}

/** An object or a list without anything in it; absent counts too. */
export function isEmptyValue(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value !== 'object') return false;
  for (const _ in value) return false;
  return true;
}

export function objectOrEmpty(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}
