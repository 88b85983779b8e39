/**
 * Whether a schema, and every schema in it, is written as definitions may write them: words that are supported, values
 * that go together, lists and maps that say what they are. Whether it is structural besides is told by
 * structural-schema.ts. It yields between two schemas: whoever runs it may let others have their turn there.
 */

import { isGivenEmpty } from '../../api/given-empty.ts';
import {
  childPath,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type JsonValue,
  requiredValue,
  unsupportedValue,
} from '../../api/index.ts';
import { ownValue } from '../../api/json-objects.ts';
import { checkRuleText } from './rule-text.ts';
import { asObject } from './structural.ts';
import type { Validation } from './validation.ts';

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const LIST_TYPES = ['atomic', 'set', 'map'];
const MAP_TYPES = ['atomic', 'granular'];
/** Refused as soon as they hold anything; those of NEVER_SUPPORTED even if they do not. */
const NOT_SUPPORTED = ['id', 'patternProperties', 'definitions'];
const NEVER_SUPPORTED = ['additionalItems', 'dependencies', '$ref'];
/** Deeper than anybody means; keeps every walk within the stack. */
export const LIMIT_DEPTH = 200;

const [LIST_TYPE, MAP_TYPE] = ['x-kubernetes-list-type', 'x-kubernetes-map-type'];
const LIST_KEYS = 'x-kubernetes-list-map-keys';
const RULES = 'x-kubernetes-validations';

export function* checkSchemaForm(
  schema: JsonObject,
  path: string,
  validation: Validation,
): Generator<void, void, undefined> {
  const open: (readonly [schema: JsonObject, path: string, depth: number, place: Place])[] = [[schema, path, 0, {}]];
  for (let next = open.pop(); next; next = open.pop()) {
    const [node, at, depth, place] = next;
    validation.chargeSteps(1);
    if (depth > LIMIT_DEPTH) validation.push(invalidValue(at, '', `must not nest deeper than ${LIMIT_DEPTH}`));
    else {
      checkNode(node, at, place, validation);
      // The last to be put there is the first to be taken.
      for (const [child, name] of schemasIn(node).reverse())
        open.push([child, `${at}.${name}`, depth + 1, placeBelow(place, node, name, depth === 0)]);
    }
    yield;
  }
}

/** `inMeta`: within what every object has; `noDefaults`: why there are none here. */
type Place = { readonly inMeta?: boolean; readonly noDefaults?: string };

const META = ['metadata', 'kind', 'apiVersion'];

function placeBelow(place: Place, schema: JsonObject, name: string, isRoot: boolean): Place {
  if (name === 'additionalProperties' && place.inMeta)
    return { ...place, noDefaults: 'inside additionalProperties applying to object metadata' };
  const field = META.find((one) => name === `properties[${one}]`);
  if (field === undefined || !(isRoot || schema['x-kubernetes-embedded-resource'] === true)) return place;
  return { ...place, inMeta: true, ...(isRoot && { noDefaults: `in top-level ${field}` }) };
}

/** The schemas right below one, with their place in it. */
export function schemasIn(schema: JsonObject): [schema: JsonObject, name: string][] {
  const found: [JsonObject, string][] = [];
  const add = (value: JsonValue | undefined, name: string) => {
    const child = asObject(value);
    if (child) found.push([child, name]);
  };
  add(schema.additionalProperties, 'additionalProperties');
  const properties = asObject(schema.properties) ?? {};
  for (const name of Object.keys(properties)) found.push([asObject(properties[name]) ?? {}, `properties[${name}]`]);
  add(schema.not, 'not');
  for (const word of ['allOf', 'oneOf', 'anyOf']) {
    const list = schema[word];
    for (const [index, part] of Array.isArray(list) ? list.entries() : [])
      found.push([asObject(part) ?? {}, childPath(word, index)]);
  }
  add(schema.items, 'items');
  return found;
}

function checkNode(schema: JsonObject, path: string, place: Place, faults: Validation): void {
  checkWords(schema, path, faults);
  if (place.noDefaults !== undefined && schema.default !== undefined && schema.default !== null)
    faults.push(forbiddenValue(`${path}.default`, `must not be set ${place.noDefaults}`));
  if (place.inMeta && schema['x-kubernetes-embedded-resource'] === true)
    faults.push(forbiddenValue(`${path}.x-kubernetes-embedded-resource`, 'must not be used inside of resource meta'));
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    const at = `${path}.x-kubernetes-preserve-unknown-fields`;
    faults.push(invalidValue(at, false, 'must be true or undefined'));
  }
  checkMapType(schema, path, faults);
  checkListType(schema, path, faults);
  const rules = schema[RULES];
  for (const [index, rule] of Array.isArray(rules) ? rules.entries() : [])
    checkRuleText(asObject(rule) ?? {}, schema, `${path}.${RULES}[${index}]`, faults);
}

function checkWords(schema: JsonObject, path: string, faults: Validation): void {
  const forbid = (field: string, why: string) => faults.push(forbiddenValue(`${path}.${field}`, why));
  const { type } = schema;
  if (type === 'null') forbid('type', 'type cannot be set to null, use nullable as an alternative');
  if (typeof type === 'string' && type !== '' && !TYPES.includes(type))
    faults.push(unsupportedValue(`${path}.type`, type, TYPES));
  for (const field of NOT_SUPPORTED) if (!isNothing(schema[field])) forbid(field, `${field} is not supported`);
  for (const field of NEVER_SUPPORTED)
    if ((schema[field] !== undefined && schema[field] !== null) || isGivenEmpty(schema, field))
      forbid(field, `${field} is not supported`);
  if (schema.uniqueItems === true)
    forbid('uniqueItems', 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic');
  if (Array.isArray(schema.items)) forbid('items', 'items must be a schema object and not an array');
  const additional = schema.additionalProperties;
  if (additional === false) forbid('additionalProperties', 'additionalProperties cannot be set to false');
  if (!isNothing(schema.properties) && additional !== undefined && additional !== null && additional !== true)
    forbid('additionalProperties', 'additionalProperties and properties are mutual exclusive');
}

function checkMapType(schema: JsonObject, path: string, faults: Validation): void {
  const mapType = schema[MAP_TYPE];
  if (mapType === undefined || mapType === null) return;
  checkTypeIs(schema, 'object', MAP_TYPE, path, faults);
  if (!MAP_TYPES.includes(mapType as string)) faults.push(unsupportedValue(`${path}.${MAP_TYPE}`, mapType, MAP_TYPES));
}

function checkListType(schema: JsonObject, path: string, faults: Validation): void {
  const listType = schema[LIST_TYPE] ?? undefined;
  const keys = Array.isArray(schema[LIST_KEYS]) ? (schema[LIST_KEYS] as string[]) : [];
  if (listType !== undefined) {
    checkTypeIs(schema, 'array', LIST_TYPE, path, faults);
    if (listType === 'set' && schema.type === 'array') checkSetItems(asObject(schema.items), path, faults);
    if (!LIST_TYPES.includes(listType as string))
      faults.push(unsupportedValue(`${path}.${LIST_TYPE}`, listType, LIST_TYPES));
  }
  if (keys.length > 0 && listType !== 'map') {
    const why = `must be map if ${LIST_KEYS} is non-empty`;
    const at = `${path}.${LIST_TYPE}`;
    faults.push(listType === undefined ? requiredValue(at, why) : invalidValue(at, listType, why));
  }
  if (listType === 'map') checkMapKeys(schema, keys, path, faults);
  if ((listType === 'map' || listType === 'set') && asObject(schema.items)?.nullable === true)
    faults.push(
      forbiddenValue(`${path}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${listType}`),
    );
}

function checkTypeIs(schema: JsonObject, wanted: string, word: string, path: string, faults: Validation): void {
  if (schema.type === wanted) return;
  const why = `must be ${wanted} if ${word} is specified`;
  if (isNothing(schema.type)) faults.push(requiredValue(`${path}.type`, why));
  else faults.push(invalidValue(`${path}.type`, schema.type, why));
}

/** What is in a set is compared as a whole. */
function checkSetItems(items: JsonObject | undefined, path: string, faults: Validation): void {
  const why = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  const [list, map] = [items?.[LIST_TYPE] ?? undefined, items?.[MAP_TYPE] ?? undefined];
  if (items?.type === 'array' && list !== undefined && list !== 'atomic')
    faults.push(invalidValue(`${path}.items.${LIST_TYPE}`, list, why));
  if (items?.type === 'object' && map !== 'atomic')
    faults.push(invalidValue(`${path}.items.${MAP_TYPE}`, list ?? null, why));
}

function checkMapKeys(schema: JsonObject, keys: readonly string[], path: string, faults: Validation): void {
  const at = `${path}.${LIST_KEYS}`;
  if (keys.length === 0) faults.push(requiredValue(at, 'must not be empty if x-kubernetes-list-type is map'));
  const items = asObject(schema.items);
  if (schema.items === undefined)
    faults.push(requiredValue(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map'));
  if (!items) return;
  if (items.type !== 'object') {
    const why = "must be object if parent array's x-kubernetes-list-type is map";
    faults.push(invalidValue(`${path}.items.type`, items.type ?? '', why));
    return;
  }
  const properties = asObject(items.properties) ?? {};
  const required = new Set(Array.isArray(items.required) ? items.required : []);
  const seen = new Set<string>();
  let unnamed: FieldError | undefined; // shows all keys, the same for each
  for (const key of keys) {
    const field = asObject(ownValue(properties, key));
    if (!field) {
      unnamed ??= invalidValue(at, [...keys], 'entries must all be names of item properties');
      faults.push(unnamed);
    } else if (field.type === 'array' || field.type === 'object') {
      const why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      faults.push(invalidValue(`${path}.items.properties[${key}].type`, items.type, why));
    } else checkKey(field, required.has(key), `${path}.items.properties[${key}]`, faults);
    seen.add(key);
  }
  if (seen.size < keys.length) faults.push(invalidValue(at, [...keys], 'must not contain duplicate entries'));
}

function checkKey(field: JsonObject, isRequired: boolean, path: string, faults: Validation): void {
  if (!isRequired && field.default === undefined) {
    const why = `this property is in ${LIST_KEYS}, so it must have a default or be a required property`;
    faults.push(requiredValue(`${path}.default`, why));
  }
  if (field.nullable === true) {
    const why = `this property is in ${LIST_KEYS}, so it cannot be nullable`;
    faults.push(forbiddenValue(`${path}.nullable`, why));
  }
}

/** What Go has for a field that nobody set. */
export function isNothing(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === '' || value === false || value === 0) return true;
  if (typeof value !== 'object') return false;
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
}
