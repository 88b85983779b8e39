/**
 * Objects made from the schemas of the built-in kinds: a small value of a type, and where in a type lists, maps and texts
 * are, so that each of them can be made large. Types may be recursive; the walk ends at `MOST_DEPTH`.
 */
import type { JsonObject, JsonValue } from '../../src/api/index.ts';
import { Registry } from '../../src/server/registry/registry.ts';
import type { Resource } from '../../src/server/registry/resource.ts';
import type { Schema } from '../../src/server/schema/schema.ts';

const MOST_DEPTH = 9;

/** Everything built in. */
export function allResources(): readonly Resource[] {
  return [...new Registry().all()];
}

/** Where objects of a resource are, in this namespace if they are in one. */
export function collectionPath({ group, version, plural, isNamespaced }: Resource, namespace: string): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return isNamespaced ? `${root}/namespaces/${namespace}/${plural}` : `${root}/${plural}`;
}

/** A small value of a type: what is required, and nothing else. `i` makes it differ from others. */
export function sampleOf(schema: Schema, i: number, depth = 0): JsonValue {
  const [first] = schema.enum ?? [];
  if (first !== undefined) return first;
  switch (schema.type) {
    case 'string':
      return textSample(schema.format, i);
    case 'integer':
    case 'number':
      return i + 1;
    case 'boolean':
      return i % 2 === 0;
    case 'array':
      return [];
    case 'any':
      return schema.intOrString ? i + 1 : {};
    case 'object': {
      const object: JsonObject = {};
      if (depth > MOST_DEPTH) return object;
      for (const name of schema.required ?? []) {
        const field = schema.properties?.get(name);
        if (field) object[name] = sampleOf(field, i, depth + 1);
      }
      for (const name of ['name', 'key']) {
        const field = schema.properties?.get(name);
        if (field?.type === 'string' && depth > 0) object[name] = `n${i}`;
      }
      return object;
    }
  }
}

function textSample(format: string | undefined, i: number): string {
  switch (format) {
    case 'date-time':
    case 'micro-time':
      return '2024-01-01T00:00:00Z';
    case 'byte':
      return 'QUFB';
    case 'quantity':
      return `${i + 1}Mi`;
    case 'duration':
      return `${i + 1}s`;
    default:
      return `t${i}`;
  }
}

export type Growable = {
  /** Names of fields; `*` steps into the first element of a list or the first value of a map. */
  readonly path: readonly string[];
  readonly kind: 'list' | 'map' | 'text';
  /** The named type it is in and its name there. */
  readonly field: string;
  readonly schema: Schema;
};

/** Every place of a type that can be made large, once for each named type it is in. */
export function growablesIn(root: Schema): readonly Growable[] {
  const found: Growable[] = [];
  const seen = new Set<string>();
  const visit = (schema: Schema, path: readonly string[], field: string): void => {
    if (path.length > MOST_DEPTH) return;
    const kind = kindOf(schema);
    if (kind && path.length > 0) {
      if (seen.has(`${field} ${kind}`)) return;
      seen.add(`${field} ${kind}`);
      found.push({ path, kind, field, schema });
    }
    if (schema.items) visit(schema.items, [...path, '*'], `${field}[]`);
    else if (schema.additional && schema.additional !== true) visit(schema.additional, [...path, '*'], `${field}{}`);
    for (const [name, inner] of schema.properties ?? [])
      visit(inner, [...path, name], `${schema.name ?? path.join('.')} ${name}`);
  };
  visit(root, [], '');
  return found;
}

function kindOf({ type, items, additional, properties, enum: values }: Schema): Growable['kind'] | undefined {
  if (type === 'array' && items) return 'list';
  if (type === 'object' && additional && !properties) return 'map';
  return type === 'string' && !values ? 'text' : undefined;
}

/** An object of the type with this one place made so large: so many elements, or so many characters. */
export function grown(root: Schema, { path, kind, schema }: Growable, size: number): JsonObject {
  const large: JsonValue =
    kind === 'text'
      ? 'a-'.repeat(size / 2)
      : kind === 'list'
        ? Array.from({ length: size }, (_, i) => sampleOf(schema.items!, i))
        : Object.fromEntries(
            Array.from({ length: size }, (_, i) => [
              `k${i}`,
              schema.additional === true ? 'v' : sampleOf(schema.additional!, i),
            ]),
          );
  return put(root, path, large, 0) as JsonObject;
}

function put(schema: Schema, [name, ...rest]: readonly string[], value: JsonValue, depth: number): JsonValue {
  if (name === undefined) return value;
  if (name === '*') {
    const inner = schema.items ?? (schema.additional as Schema);
    const element = put(inner, rest, value, depth + 1);
    return schema.items ? [element] : { k: element };
  }
  const object = { ...(sampleOf(schema, 0, depth) as JsonObject) };
  object[name] = put(schema.properties!.get(name)!, rest, value, depth + 1);
  return object;
}
