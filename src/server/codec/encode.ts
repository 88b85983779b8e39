/**
 * Objects to the bytes that are sent: JSON with Go's escapes and Go's order of fields, indented JSON, YAML.
 *
 * Built-in kinds begin with kind, apiVersion and metadata, and metadata has its own order; maps inside are expected in
 * order already (`checkObject` leaves them so). Custom resources have all keys sorted. Every JSON document ends in one
 * line feed. The object is not changed.
 */
import { DUMP_SCHEMA, defineScalarTag, dump, type ScalarTagDefinition } from 'js-yaml';
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { jsonText } from '../../api/json-text.ts';
import { isObject, setKey } from './json/json-objects.ts';

export type EncodeOptions = {
  /** A custom resource: all keys sorted. */
  readonly isCustom?: boolean;
  readonly isPretty?: boolean;
};

const topOrder = ['kind', 'apiVersion', 'metadata', 'spec', 'status'];
const metadataOrder = [
  'name',
  'generateName',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'managedFields',
];
const managedFieldsOrder = ['manager', 'operation', 'apiVersion', 'time', 'fieldsType', 'fieldsV1', 'subresource'];
const escapes: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

const escaped = Object.keys(escapes);

/** The JSON of an object and a line feed. */
export function encodeObject(object: JsonObject, { isCustom = false, isPretty = false }: EncodeOptions = {}): Buffer {
  const ordered = isCustom ? sortKeys(object) : inOrder(object);
  return Buffer.from(`${goJson(ordered, isPretty ? 2 : 0)}\n`);
}

/** JSON text as Go's encoder writes it, in the order the value has. */
export function goJson(value: JsonValue, indent = 0): string {
  return goEscaped(jsonText(value, indent));
}

/** JSON text with Go's escapes. */
export function goEscaped(text: string): string {
  return needsEscape(text) ? text.replace(/[<>&\u2028\u2029]/g, (char) => escapes[char]!) : text;
}

/** One search per character is twenty times as fast as one pattern for all. */
function needsEscape(text: string): boolean {
  for (const char of escaped) if (text.includes(char)) return true;
  return false;
}

const intName = 'tag:yaml.org,2002:int';
const plainInt = DUMP_SCHEMA.tags.find(({ tagName }) => tagName === intName) as ScalarTagDefinition;
/** js-yaml knows no bigint: here it is written as the integer it is. */
const dumpSchema = DUMP_SCHEMA.withTags(
  defineScalarTag(intName, {
    ...plainInt,
    identify: (value) => typeof value === 'bigint' || plainInt.identify(value),
    represent: String,
  }),
);

/** YAML with sorted keys, as kube-apiserver writes it. */
export function encodeYaml(object: JsonObject): Buffer {
  const text = dump(sortKeys(object), { schema: dumpSchema, noRefs: true, lineWidth: -1 });
  return Buffer.from(text);
}

/** The object with its fields, and those of its metadata, in the order of the wire. */
function inOrder(object: JsonObject): JsonObject {
  const { metadata } = object;
  const ordered = reorder(object, topOrder);
  if (isObject(metadata)) ordered.metadata = reorder(metadata, metadataOrder);
  const managed = ordered.metadata as JsonObject | undefined;
  const entries = managed?.managedFields;
  if (managed && Array.isArray(entries))
    managed.managedFields = entries.map((entry) => (isObject(entry) ? reorder(entry, managedFieldsOrder) : entry));
  return ordered;
}

function reorder(object: JsonObject, order: readonly string[]): JsonObject {
  const result: JsonObject = {};
  for (const key of order) {
    const value = object[key];
    if (value !== undefined) result[key] = value;
  }
  for (const key of Object.keys(object)) if (!Object.hasOwn(result, key)) setKey(result, key, object[key]!);
  return result;
}

/** All keys sorted, all the way down. */
export function sortKeys(value: JsonObject): JsonObject {
  return sorted(value) as JsonObject;
}

function sorted(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const result: JsonObject = {};
  for (const key of Object.keys(value).sort()) {
    const child = value[key];
    if (child !== undefined) setKey(result, key, sorted(child));
  }
  return result;
}
