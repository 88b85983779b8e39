/**
 * Words by which a schema is no tree of fields any more: where one is used nothing else is asked of its structure. Each
 * but `$schema` is refused where it stands as well.
 */
import type { JsonObject, JsonValue } from '../../api/index.ts';
import { asObject } from './structural.ts';

const WORDS = ['id', '$schema', '$ref', 'patternProperties', 'dependencies', 'additionalItems', 'definitions'];

/** What is said of the first that is found, in the words of kube-apiserver. */
export function unsupportedIn(schema: JsonObject): string | undefined {
  const open = [schema];
  for (let node = open.pop(); node; node = open.pop()) {
    const why = unsupportedOf(node);
    if (why !== undefined) return why;
    open.push(...below(node).reverse());
  }
  return undefined;
}

function unsupportedOf(schema: JsonObject): string | undefined {
  for (const word of WORDS) {
    const value = schema[word];
    const isUsed = word === 'additionalItems' ? value !== undefined && value !== null : isFilled(value);
    if (isUsed) return `OpenAPIV3Schema '${word === '$schema' ? 'schema' : word}' is not supported`;
  }
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
  if (Array.isArray(schema.items)) return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  return undefined;
}

function isFilled(value: JsonValue | undefined): boolean {
  if (typeof value === 'string') return value !== '';
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

/** All schemas right below that say something of what is there. */
function below(schema: JsonObject): JsonObject[] {
  const lists = ['allOf', 'anyOf', 'oneOf'].map((word) => schema[word]);
  const values: (JsonValue | undefined)[] = [
    ...lists.flatMap((list) => (Array.isArray(list) ? list : [])),
    schema.not,
    schema.additionalProperties,
    schema.items,
    ...Object.values(asObject(schema.properties) ?? {}),
  ];
  return values.map(asObject).filter((value) => value !== undefined);
}
