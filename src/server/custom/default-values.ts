/**
 * Whether the defaults that a schema declares are themselves what it allows: of the right type, within bounds, and
 * without fields that pruning would take away.
 */
import { isDeepStrictEqual } from 'node:util';
import { type FieldError, invalidValue, type JsonObject, type JsonValue } from '../../api/index.ts';
import { compileSchema } from './schema-checks.ts';
import { setDefaults } from './set-defaults.ts';
import { asObject, readStructural } from './structural.ts';

/** The schema is known to be structural. */
export function checkDefaults(schema: JsonObject, path: string): FieldError[] {
  const faults = schema.default === undefined ? [] : faultsOf(schema, schema.default, `${path}.default`);
  for (const [name, child] of Object.entries(asObject(schema.properties) ?? {}))
    faults.push(...checkDefaults(asObject(child) ?? {}, `${path}.properties[${name}]`));
  const [additional, items] = [asObject(schema.additionalProperties), asObject(schema.items)];
  if (additional) faults.push(...checkDefaults(additional, `${path}.additionalProperties`));
  if (items) faults.push(...checkDefaults(items, `${path}.items`));
  return faults;
}

function faultsOf(schema: JsonObject, value: JsonValue, path: string): FieldError[] {
  const known = prune(value, schema);
  if (!isDeepStrictEqual(known, value)) return [invalidValue(path, value, 'must not have unknown fields')];
  const filled = structuredClone(value);
  setDefaults(filled, readStructural(schema));
  const faults: FieldError[] = [];
  compileSchema(schema)(filled, undefined, path, faults);
  return faults;
}

function prune(value: JsonValue, schema: JsonObject): JsonValue {
  if (Array.isArray(value)) {
    const items = asObject(schema.items);
    return items ? value.map((item) => prune(item, items)) : value;
  }
  const object = asObject(value);
  if (!object || schema['x-kubernetes-embedded-resource'] === true) return value;
  const properties = asObject(schema.properties) ?? {};
  const additional = schema.additionalProperties === true ? {} : asObject(schema.additionalProperties);
  const kept: JsonObject = {};
  for (const [name, member] of Object.entries(object)) {
    const child = asObject(properties[name]) ?? additional;
    if (child) kept[name] = Object.keys(child).length === 0 ? member : prune(member!, child);
    else if (schema['x-kubernetes-preserve-unknown-fields'] === true) kept[name] = member;
  }
  return kept;
}
