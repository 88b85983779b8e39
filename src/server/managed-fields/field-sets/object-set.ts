/**
 * The fields that an object itself names: what an applier asks for, and so owns.
 *
 * Every leaf is in the set, every null, every list element, and every entry of a map; a struct, a map or a list on the
 * way is not, unless it is an empty struct or map. An object that does not fit its schema fails with a TypedError that names the path.
 */
import type { JsonObject, JsonValue } from '../../../api/json.ts';
import { cutText, jsonText } from '../../../api/json-text.ts';
import { isObject } from '../../codec/json/json-objects.ts';
import { planOf } from '../../codec/type-plan.ts';
import type { Schema } from '../../schema/schema.ts';
import { type FieldNode, type FieldSet, leaf, pathText } from './field-set.ts';
import { elementStep, isEmptyAs, memberSchema, shapeOfValue } from './field-shape.ts';

export class TypedError extends Error {
  override readonly name = 'TypedError';
}

const shownBytes = 4096;

export function setOfObject(object: JsonObject, schema: Schema): FieldSet {
  return membersOf(object, schema, []);
}

/**
 * `path`: the way to the value at hand, one list for the whole walk; put into words only for an error. Undefined where
 * nothing is named: an empty list of elements, unless it is itself an entry of a map.
 */
function nodeFor(value: JsonValue, schema: Schema, path: string[], isOwned: boolean): FieldNode | undefined {
  const shape = shapeOfValue(schema, value);
  if (shape === 'leaf') {
    checkLeaf(value, schema, path);
    return leaf;
  }
  if (value === null) return leaf;
  let children: FieldSet;
  if (shape === 'members') {
    if (!isObject(value)) throw expected('map', value, path);
    if (isEmptyAs(shape, value)) return leaf;
    children = membersOf(value, schema, path);
  } else {
    if (!Array.isArray(value)) throw expected('list', value, path);
    children = elementsOf(value, schema, path);
  }
  return isOwned || children.size > 0 ? { isOwned, children } : undefined;
}

function membersOf(object: JsonObject, schema: Schema, path: string[]): FieldSet {
  const members = new Map<string, FieldNode>();
  for (const key of Object.keys(object)) {
    const step = `f:${key}`;
    const member = memberSchema(schema, key);
    if (!member) throw new TypedError(`${pathText([...path, step])}: field not declared in schema`);
    const isMapEntry = !schema.properties?.has(key);
    path.push(step);
    const node = nodeFor(object[key]!, member, path, isMapEntry);
    if (node) members.set(step, node);
    path.pop();
  }
  return members;
}

function elementsOf(list: readonly JsonValue[], schema: Schema, path: string[]): FieldSet {
  const elements = new Map<string, FieldNode>();
  list.forEach((item, i) => {
    const step = elementStep(item, schema);
    if (step === undefined) throw new TypedError(`${pathText(path)}: element ${i}: ${missingKey(item, schema)}`);
    if (elements.has(step)) throw new TypedError(`${pathText(path)}: duplicate entries for key ${pathText([step])}`);
    path.push(step);
    elements.set(step, (schema.items && nodeFor(item, schema.items, path, true)) ?? leaf);
    path.pop();
  });
  return elements;
}

function missingKey(item: JsonValue, { listType, listMapKeys = [] }: Schema): string {
  if (listType === 'set') return 'sets may not contain lists or maps';
  if (item === null) return 'associative list with keys may not have a null element';
  if (!isObject(item)) return 'associative list with keys may not have non-map elements';
  const keys = listMapKeys.map((key) => JSON.stringify(key)).join(' ');
  return `associative list with keys has an element that omits all key fields [${keys}] (and doesn't have default values for any key fields)`;
}

/** A leaf that is a list or a map is owned as a whole; what is inside is held to its type all the same. */
function checkLeaf(value: JsonValue, schema: Schema, path: string[]): void {
  if (value === null) return;
  switch (planOf(schema).kind) {
    case 'string':
    case 'bytes':
    case 'time':
    case 'micro-time':
      if (typeof value !== 'string') throw expected('string', value, path);
      return;
    case 'integer':
    case 'number':
      if (typeof value !== 'number' && typeof value !== 'bigint') throw expected('numeric (int or float)', value, path);
      return;
    case 'boolean':
      if (typeof value !== 'boolean') throw expected('boolean', value, path);
      return;
    case 'list':
      if (!Array.isArray(value)) throw expected('list', value, path);
      checkItems(value, schema.items, path);
      return;
    case 'struct':
    case 'map':
      if (!isObject(value)) throw expected('map', value, path);
      if (schema.properties || (schema.additional && schema.additional !== true)) membersOf(value, schema, path);
  }
}

function checkItems(list: readonly JsonValue[], items: Schema | undefined, path: string[]): void {
  if (!items) return;
  for (let i = 0; i < list.length; i++) {
    path.push(`i:${i}`);
    nodeFor(list[i]!, items, path, true);
    path.pop();
  }
}

function expected(what: string, value: JsonValue, path: readonly string[]): TypedError {
  const shown = cutText(jsonText(value), shownBytes);
  return new TypedError(`${pathText(path)}: expected ${what}, got &value.valueUnstructured{Value:${shown}}`);
}
