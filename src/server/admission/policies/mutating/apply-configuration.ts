/**
 * A mutation of type ApplyConfiguration: what the expression gives is laid over the object as server-side apply would,
 * without anybody owning it. What can only be replaced as a whole may not be in it, since whoever names a part of that
 * would take away the rest.
 */
import type { JsonObject, JsonValue } from '../../../../api/index.ts';
import type { Value } from '../../../cel/values/values.ts';
import { isObject } from '../../../codec/json/json-objects.ts';
import { mergeTyped, setOfObject, shapeOfValue, TypedError } from '../../../managed-fields/index.ts';
import type { Schema } from '../../../schema/schema.ts';
import { MutationError } from './mutation-error.ts';
import { misplacedNames, valueToJson } from './value-to-json.ts';

export function applyConfiguration(object: JsonObject, configuration: Value, schema: Schema): JsonObject {
  const misplaced = misplacedNames(configuration, 'Object');
  if (misplaced.length > 0) throw new MutationError(`type mismatch: ${misplaced.join('\n')}`);
  const { apiVersion, kind } = object;
  const body = { ...(valueToJson(configuration) as JsonObject), apiVersion: apiVersion!, kind: kind! };
  try {
    setOfObject(body, schema);
  } catch (err) {
    if (!(err instanceof TypedError)) throw err;
    throw new MutationError(`error applying patch: failed to convert patch object to typed object: ${err.message}`);
  }
  const atomics = atomicsIn(body, schema, '');
  if (atomics.length > 0) {
    const what = `may not mutate atomic arrays, maps or structs: ${atomics.join(', ')}`;
    throw new MutationError(`error applying patch: invalid ApplyConfiguration: ${what}`);
  }
  return mergeTyped(object, body, schema);
}

/** Where it has something that is one whole. */
function atomicsIn(value: JsonValue, schema: Schema, path: string): string[] {
  const isLeaf = shapeOfValue(schema, value) === 'leaf';
  if (Array.isArray(value)) {
    const below = schema.items ? value.flatMap((item, i) => atomicsIn(item, schema.items!, `${path}[${i}]`)) : [];
    return isLeaf ? [path, ...below] : below;
  }
  if (!isObject(value)) return [];
  const found = isLeaf ? [path] : [];
  for (const [name, member] of Object.entries(value)) {
    const known = schema.properties?.get(name);
    if (known) for (const one of atomicsIn(member!, known, `${path}.${name}`)) found.push(one);
  }
  return found;
}
