/** Walks the schemas that one schema holds. Pure: what is handed in stays as it is. */
import type { JsonObject, JsonValue } from '../../api/json.ts';

/** A schema with every type it holds, itself first, replaced by what `change` makes of it. */
export function mapSchema(schema: JsonObject, change: (schema: JsonObject) => JsonObject): JsonObject {
  const changed = { ...change(schema) };
  const { properties, items, additionalProperties } = changed;
  if (isObject(properties))
    changed.properties = Object.fromEntries(
      Object.entries(properties).map(([name, type]) => [name, isObject(type) ? mapSchema(type, change) : type]),
    );
  if (isObject(items)) changed.items = mapSchema(items, change);
  if (isObject(additionalProperties)) changed.additionalProperties = mapSchema(additionalProperties, change);
  return changed;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
