/** What both ways of checking an object (`check-object.ts`, `clean-object.ts`) decide in the same way. */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import type { Schema } from '../schema/schema.ts';
import { setKey } from './json/json-objects.ts';

/** What Go has in a variable nobody wrote to; `schema` is that of the field. */
export function isZero(value: JsonValue, schema: Schema): boolean {
  if (typeof value !== 'object') return value === '' || value === 0 || value === false;
  if (value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  if (schema.properties || isRaw(schema)) return false; // a pointer to an empty struct is a value
  for (const _ in value) return false;
  return true;
}

/** JSON of any shape that Go keeps as it is: rules of the kind say what it must be. */
export function isRaw({ name }: Schema): boolean {
  return name?.endsWith('.RawExtension') === true || name?.endsWith('.FieldsV1') === true;
}

/** Go sorts map keys by UTF-8 bytes; by UTF-16 units only characters beyond the basic plane sort differently. */
export function isBefore(a: string, b: string): boolean {
  return a < b;
}

/** A copy of the first members. */
export function firstOf(value: JsonObject, keys: readonly string[], count: number): JsonObject {
  const copy: JsonObject = {};
  for (let i = 0; i < count; i++) setKey(copy, keys[i]!, value[keys[i]!]!);
  return copy;
}

const API_EXTENSIONS = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1';
export const SCHEMA_PROPS: string = `${API_EXTENSIONS}.JSONSchemaProps`;
const SCHEMA_UNION = `${SCHEMA_PROPS}Or`;

/** A field that may hold a schema of a custom kind, or a list of them, or something else. */
export function isSchemaUnion({ name }: Schema): boolean {
  return name?.startsWith(SCHEMA_UNION) === true;
}

/** One that may hold a schema, or whether there is anything. */
export function isSchemaOrBoolean({ name }: Schema): boolean {
  return name === `${SCHEMA_UNION}Bool`;
}
