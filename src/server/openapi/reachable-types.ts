/** The types a document needs: those it names, and all that these lead to. */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import type { Resource } from '../registry/resource.ts';
import { builtInTypes } from '../schema/built-in-types.ts';
import { customTypes, type SchemaChange } from './custom-types.ts';
import { described } from './descriptions.ts';

/**
 * Types by name, in the order of their names; `$ref` holds bare names. `change`: what becomes of schemas of custom kinds
 * before the fields that every object has come in.
 */
export function reachableTypes(
  roots: Iterable<string>,
  resources: Iterable<Resource>,
  change: SchemaChange = (schema) => schema,
): Map<string, JsonObject> {
  const ofCustomKinds = [...resources].filter(({ isCustom }) => isCustom);
  const custom = new Map(ofCustomKinds.flatMap((resource) => customTypes(resource, change)));
  const found = new Map<string, JsonObject>();
  const queue = [...roots];
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (found.has(name)) continue;
    const own = custom.get(name);
    const type = own ?? builtInTypes().openApi(name);
    if (!type) continue;
    found.set(name, own ?? described(name, type));
    collectReferences(type, queue);
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function collectReferences(schema: JsonObject, into: string[]): void {
  if (typeof schema.$ref === 'string') into.push(schema.$ref);
  if (isObject(schema.items)) collectReferences(schema.items, into);
  if (isObject(schema.additionalProperties)) collectReferences(schema.additionalProperties, into);
  if (!isObject(schema.properties)) return;
  for (const type of Object.values(schema.properties)) if (isObject(type)) collectReferences(type, into);
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
