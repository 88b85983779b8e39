/**
 * How ownership cuts a value of a schema into fields: as one leaf, as members, as keyed elements, as a set.
 *
 * A list without a list type and a map said to be atomic are one leaf each. Where the schema knows nothing but keeps
 * everything, the value says what it is: an object has members, all else is one leaf. Null is what the other side of a
 * comparison is, and an object where there is none.
 */
import type { JsonObject, JsonValue } from '../../../api/json.ts';
import { jsonText } from '../../../api/json-text.ts';
import { isObject, ownValue } from '../../codec/json/json-objects.ts';
import type { Schema } from '../../schema/schema.ts';
import { valueStep } from './field-set.ts';

export type Shape = 'leaf' | 'members' | 'keyed' | 'set';

/** The shape of a value; `shapeOf` its schema, unless it is free. */
export function shapeOfValue(schema: Schema, value: JsonValue | undefined): Shape {
  if (!isFree(schema)) return shapeOf(schema);
  return value === null || isObject(value) ? 'members' : 'leaf';
}

/** Any value may stand here, and change its type. */
export function isFree(schema: Schema): boolean {
  return schema.type === 'any' && schema.preserveUnknownFields === true;
}

/** Of a free schema: objects. */
export function shapeOf(schema: Schema): Shape {
  if (schema.type === 'array') {
    if (schema.listType === 'map' && schema.listMapKeys?.length) return 'keyed';
    return schema.listType === 'set' ? 'set' : 'leaf';
  }
  if (schema.type !== 'object' && !(schema.type === 'any' && schema.preserveUnknownFields)) return 'leaf';
  if (schema.mapType === 'atomic' || schema.name === rawExtension) return 'leaf';
  if (schema.properties || schema.preserveUnknownFields) return 'members';
  return schema.additional !== undefined && schema.additional !== true ? 'members' : 'leaf';
}

/** Any object, of which only who put it there knows what it is. */
const rawExtension = 'io.k8s.apimachinery.pkg.runtime.RawExtension';

const free: Schema = { type: 'any', preserveUnknownFields: true };

/** The schema of a member; undefined if it has none. */
export function memberSchema(schema: Schema, key: string): Schema | undefined {
  const known = schema.properties?.get(key) ?? (schema.additional === true ? undefined : schema.additional);
  return known ?? (schema.preserveUnknownFields ? free : undefined);
}

/** The step of a list element, by the keys that it has; undefined for one that has none of them, or is no value of a set. */
export function elementStep(item: JsonValue, schema: Schema): string | undefined {
  if (schema.listType === 'set') return typeof item === 'object' ? undefined : valueStep(item);
  if (!isObject(item)) return undefined;
  let keys = '';
  for (const name of sortedKeysOf(schema.listMapKeys!)) {
    const value = ownValue(item, name) ?? schema.items?.properties?.get(name)?.default;
    if (value === undefined) continue;
    if (typeof value === 'object') return undefined;
    keys += `${keys === '' ? '' : ','}${JSON.stringify(name)}:${jsonText(value)}`;
  }
  return keys === '' ? undefined : `k:{${keys}}`;
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

/** An element of a keyed list lacks all keys, or one of a set is no value: the list has no fields that could be owned. */
export class KeylessElementError extends Error {
  override readonly name = 'KeylessElementError';
  constructor() {
    super('Cannot tell the elements of a list apart: one lacks its keys');
  }
}

/** The elements of a list by step, those of one step together: a list may have been stored with duplicates. */
export function elementsOf(list: readonly JsonValue[], schema: Schema): Map<string, readonly JsonValue[]> {
  const elements = new Map<string, JsonValue[]>();
  for (const item of list) {
    const step = elementStep(item, schema);
    if (step === undefined) throw new KeylessElementError();
    const same = elements.get(step);
    if (same) same.push(item);
    else elements.set(step, [item]);
  }
  return elements;
}

/** Nothing in it, for one who looks for what has this shape; absent counts too. */
export function isEmptyAs(shape: Shape, value: JsonValue | undefined): boolean {
  if (shape === 'members') {
    if (isObject(value)) for (const key in value) if (Object.hasOwn(value, key)) return false;
    return true;
  }
  return !Array.isArray(value) || value.length === 0;
}

export function objectOrEmpty(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

export function listOrEmpty(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}
