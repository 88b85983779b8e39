/**
 * JSON Schema, as libraries of schemas give it, to what a CustomResourceDefinition takes: one type at every place, bounds
 * as in OpenAPI 3.0, nothing referred to. What means the same is said the other way; what has no such form is refused
 * with its place, for a schema that forgets a rule would let through what its author refused.
 */
import { ConfigError } from '../errors.ts';
import type { StructuralSchema } from '../objects/structural-schema.ts';

type Json = { readonly [word: string]: unknown };
type Mutable = { -readonly [K in keyof StructuralSchema]: StructuralSchema[K] };

/** Taken over as they are. */
const KEPT = [
  ...['description', 'title', 'format', 'default', 'nullable', 'pattern', 'multipleOf', 'minLength', 'maxLength'],
  ...['minItems', 'maxItems', 'minProperties', 'maxProperties', 'required', 'uniqueItems'],
];
/** They say nothing of values, or what a server does anyway: it drops what is not described, and names are text. */
const SILENT = new Set([
  ...[
    '$schema',
    '$id',
    '$comment',
    '$defs',
    'definitions',
    'examples',
    'example',
    'deprecated',
    'readOnly',
    'writeOnly',
  ],
  ...['contentEncoding', '$anchor', 'id'],
]);
const HANDLED = new Set([
  ...['type', 'const', 'enum', 'properties', 'additionalProperties', 'patternProperties', 'items', 'allOf', 'anyOf'],
  ...['oneOf', 'not', '$ref', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'propertyNames'],
]);
/** Patterns that every name has. */
const ANY_NAME = new Set(['', '.*', '^.*$', '^(.*)$']);
const NO_NAMES = 'it has rules for the names of its fields; write them as a rule in CEL';
const LIMIT_DEPTH = 64;

export function fromJsonSchema(schema: unknown, place = 'spec'): StructuralSchema {
  return new Conversion(asJson(schema, place)).convert(schema, place, 0);
}

class Conversion {
  readonly #root: Json;
  /** What is being followed: a schema within itself has no end. */
  readonly #following = new Set<string>();

  constructor(root: Json) {
    this.#root = root;
  }

  convert(given: unknown, place: string, depth: number): StructuralSchema {
    if (depth > LIMIT_DEPTH) throw refused(place, `it is deeper than ${LIMIT_DEPTH} levels`);
    if (given === true) return { 'x-kubernetes-preserve-unknown-fields': true };
    const schema = asJson(given, place);
    const { $ref } = schema;
    if (typeof $ref === 'string') return this.#follow($ref, schema, place, depth);
    const alternatives = (schema.anyOf ?? schema.oneOf) as unknown[] | undefined;
    if (alternatives) return this.#alternatives(schema, alternatives, place, depth);
    const known = this.#plain(schema, place, depth);
    if (known.type === undefined && known['x-kubernetes-int-or-string'] === undefined && !known.enum)
      known['x-kubernetes-preserve-unknown-fields'] = true;
    return known;
  }

  #plain(schema: Json, place: string, depth: number): Mutable {
    const result: Record<string, unknown> = {};
    for (const [word, value] of Object.entries(schema)) {
      if (value === undefined || SILENT.has(word) || HANDLED.has(word)) continue;
      if (!KEPT.includes(word) && !word.startsWith('x-kubernetes-')) throw refused(place, `it says "${word}"`);
      result[word] = value;
    }
    Object.assign(result, typeOf(schema, place), boundsOf(schema));
    if (schema.not !== undefined) throw refused(place, 'it says "not"');
    const { items } = schema;
    if (Array.isArray(items)) throw refused(place, 'it is a list with a type for each place');
    if (items !== undefined) result.items = this.convert(items, `${place}[]`, depth + 1);
    else if (result.type === 'array') result.items = { 'x-kubernetes-preserve-unknown-fields': true };
    this.#fields(schema, result, place, depth);
    if (Array.isArray(schema.allOf))
      for (const [index, part] of schema.allOf.entries())
        merge(result, this.convert(part, `${place}.allOf[${index}]`, depth + 1) as Json, place);
    return result as Mutable;
  }

  #fields(schema: Json, result: Record<string, unknown>, place: string, depth: number): void {
    const { properties, patternProperties } = schema;
    let { additionalProperties } = schema;
    if (patternProperties !== undefined) {
      const patterns = Object.entries(asJson(patternProperties, place));
      if (patterns.length !== 1 || !ANY_NAME.has(patterns[0]![0])) throw refused(place, NO_NAMES);
      additionalProperties = patterns[0]![1];
    }
    const { propertyNames } = schema;
    if (propertyNames !== undefined && Object.keys(asJson(propertyNames, place)).some((word) => word !== 'type'))
      throw refused(place, NO_NAMES);
    if (properties !== undefined) {
      const fields = Object.entries(asJson(properties, place));
      result.properties = Object.fromEntries(
        fields.map(([name, field]) => [name, this.convert(field, `${place}.${name}`, depth + 1)]),
      );
      if (additionalProperties) result['x-kubernetes-preserve-unknown-fields'] = true;
    } else if (additionalProperties) {
      const isAnything = additionalProperties === true || Object.keys(additionalProperties as object).length === 0;
      if (isAnything) result['x-kubernetes-preserve-unknown-fields'] = true;
      else result.additionalProperties = this.convert(additionalProperties, `${place}.*`, depth + 1);
    }
  }

  /** Null is a word of its own here; constants are an enumeration; an integer or a text is known to Kubernetes. */
  #alternatives(schema: Json, given: readonly unknown[], place: string, depth: number): StructuralSchema {
    const { anyOf: _, oneOf: __, ...around } = schema;
    const parts = given.map((part) => asJson(part, place));
    const others = parts.filter(({ type }) => type !== 'null');
    const nullable = others.length < parts.length ? { nullable: true } : {};
    const outer = this.#plain(around, place, depth);
    if (others.length === 1) return { ...this.convert(others[0], place, depth + 1), ...outer, ...nullable };
    const converted = others.map((part) => this.convert(part, place, depth + 1));
    const types = new Set(converted.map(({ type }) => type));
    if (types.size === 1 && converted.every((part) => part.enum)) {
      const { type } = converted[0]!;
      const values = converted.flatMap((part) => part.enum ?? []);
      return { ...outer, ...nullable, ...(type !== undefined && { type }), enum: [...new Set(values)] };
    }
    if (types.size === 2 && types.has('string') && types.has('integer'))
      return { ...outer, ...nullable, 'x-kubernetes-int-or-string': true };
    throw refused(place, 'it is one of several shapes; use one shape with optional fields, and a rule in CEL');
  }

  #follow(ref: string, { $ref: _, ...beside }: Json, place: string, depth: number): StructuralSchema {
    if (this.#following.has(ref)) throw refused(place, `it holds itself (${ref})`);
    const steps = ref.startsWith('#/') ? ref.slice(2).split('/') : undefined;
    let target: unknown = steps && this.#root;
    for (const step of steps ?? [])
      target = (target as Json | undefined)?.[step.replaceAll('~1', '/').replaceAll('~0', '~')];
    if (target === undefined) throw refused(place, `"${ref}" is not in it`);
    this.#following.add(ref);
    const found = this.convert(target, place, depth + 1);
    this.#following.delete(ref);
    return { ...found, ...this.#plain(beside, place, depth) };
  }
}

function typeOf(schema: Json, place: string): Partial<Mutable> {
  const values = schema.const !== undefined ? [schema.const] : (schema.enum as unknown[] | undefined);
  const given = Array.isArray(schema.type) ? (schema.type as string[]) : schema.type === undefined ? [] : [schema.type];
  const types = given.filter((type) => type !== 'null') as string[];
  const nullable = types.length < given.length ? { nullable: true } : {};
  const isIntOrString = types.length === 2 && types.includes('string') && types.includes('integer');
  if (isIntOrString) return { 'x-kubernetes-int-or-string': true, ...nullable };
  if (types.length > 1) throw refused(place, `it has several types (${types.join(', ')})`);
  const ofValues = new Set((values ?? []).filter((value) => value !== null).map(typeOfValue));
  if (types.length === 0 && ofValues.size > 1) throw refused(place, 'its values are of several types');
  const type = types[0] ?? [...ofValues][0];
  return { ...(type !== undefined && { type }), ...(values && { enum: values }), ...nullable };
}

function typeOfValue(value: unknown): string {
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** Exclusive bounds are numbers there and a word beside the bound here; the ends of safe integers say nothing. */
function boundsOf(schema: Json): Partial<Mutable> {
  const result: Partial<Mutable> = {};
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (typeof minimum === 'number' && minimum !== Number.MIN_SAFE_INTEGER) result.minimum = minimum;
  if (typeof maximum === 'number' && maximum !== Number.MAX_SAFE_INTEGER) result.maximum = maximum;
  if (typeof exclusiveMinimum === 'number' && exclusiveMinimum >= (result.minimum ?? Number.NEGATIVE_INFINITY))
    Object.assign(result, { minimum: exclusiveMinimum, exclusiveMinimum: true });
  if (typeof exclusiveMaximum === 'number' && exclusiveMaximum <= (result.maximum ?? Number.POSITIVE_INFINITY))
    Object.assign(result, { maximum: exclusiveMaximum, exclusiveMaximum: true });
  return result;
}

/** Of an intersection: fields of both; a word that both say must be the same. */
function merge(result: Record<string, unknown>, part: Json, place: string): void {
  for (const [word, value] of Object.entries(part)) {
    if (word === 'properties') result.properties = { ...(result.properties as object), ...(value as object) };
    else if (word === 'required')
      result.required = [...new Set([...((result.required as string[]) ?? []), ...(value as string[])])];
    else if (result[word] === undefined) result[word] = value;
    else if (JSON.stringify(result[word]) !== JSON.stringify(value))
      throw refused(place, `parts of its allOf do not agree on "${word}"`);
  }
}

function asJson(value: unknown, place: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refused(place, 'it is no schema');
  return value as Json;
}

function refused(place: string, why: string): ConfigError {
  return new ConfigError(`Cannot make a structural schema of ${place}: ${why}`);
}
