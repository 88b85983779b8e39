/**
 * Whether a schema is structural: every field has one type, said in one place, so that objects can be pruned and
 * defaulted by it. Combinations of schemas may only constrain what is declared outside of them. Pure; every violation
 * is told, with the path of the schema it is in.
 */
import {
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
  unsupportedValue,
} from '../../api/index.ts';
import { checkDefaults } from './default-values.ts';
import { compilePattern, PatternError } from './pattern.ts';
import { asObject } from './structural.ts';

const TYPES = ['object', 'array', 'string', 'integer', 'number', 'boolean'];
const NOT_SUPPORTED = ['definitions', 'dependencies', 'patternProperties', 'additionalItems', 'id', '$schema'];
/** What says where things are and how they look; a combination must not. */
const STRUCTURE = [
  'type',
  'description',
  'title',
  'default',
  'nullable',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
];
const EMPTY = 'must be empty to be structural';
/** Deeper than anybody means; keeps every walk within the stack. */
const LIMIT_DEPTH = 200;

type Place = 'root' | 'field' | 'items' | 'value';

export function checkStructural(schema: JsonObject, path: string): FieldError[] {
  const faults: FieldError[] = [];
  new StructuralWalk(faults).visit(schema, path, 'root', 0);
  if (faults.length === 0) faults.push(...checkDefaults(schema, path));
  return faults;
}

class StructuralWalk {
  readonly #faults: FieldError[];

  constructor(faults: FieldError[]) {
    this.#faults = faults;
  }

  visit(schema: JsonObject, path: string, place: Place, depth: number): void {
    if (depth > LIMIT_DEPTH) {
      this.#faults.push(invalidValue(path, '', `must not nest deeper than ${LIMIT_DEPTH}`));
      return;
    }
    this.#checkType(schema, path, place);
    this.#checkForbidden(schema, path, place);
    this.#checkExtensions(schema, path);
    if (place === 'root') this.#checkMetadata(schema, path);
    for (const [name, child] of Object.entries(asObject(schema.properties) ?? {}))
      this.visit(asObject(child) ?? {}, `${path}.properties[${name}]`, 'field', depth + 1);
    const additional = asObject(schema.additionalProperties);
    if (additional) this.visit(additional, `${path}.additionalProperties`, 'value', depth + 1);
    if (Array.isArray(schema.items))
      this.#faults.push(forbiddenValue(`${path}.items`, 'items must be a schema object and not an array'));
    else if (asObject(schema.items)) this.visit(asObject(schema.items)!, `${path}.items`, 'items', depth + 1);
    else if (schema.type === 'array') this.#faults.push(requiredValue(`${path}.items`, 'must be specified'));
    this.#combinations(schema, schema, path, depth);
  }

  #checkType(schema: JsonObject, path: string, place: Place): void {
    const { type } = schema;
    const isIntOrString = schema['x-kubernetes-int-or-string'] === true;
    if (typeof type === 'string' && type !== '') {
      if (place === 'root' && type !== 'object')
        this.#faults.push(invalidValue(`${path}.type`, type, 'must be object at the root'));
      if (isIntOrString)
        this.#faults.push(invalidValue(`${path}.type`, type, 'must be empty if x-kubernetes-int-or-string is true'));
      else if (!TYPES.includes(type)) this.#faults.push(unsupportedValue(`${path}.type`, type, TYPES));
      return;
    }
    if (place === 'root') this.#faults.push(requiredValue(`${path}.type`, 'must not be empty at the root'));
    else if (!isIntOrString && schema['x-kubernetes-preserve-unknown-fields'] !== true) {
      const where = place === 'items' ? 'array items' : 'object fields';
      this.#faults.push(requiredValue(`${path}.type`, `must not be empty for specified ${where}`));
    }
  }

  #checkForbidden(schema: JsonObject, path: string, place: Place): void {
    const forbid = (field: string, why: string) => this.#faults.push(forbiddenValue(`${path}.${field}`, why));
    if (schema.uniqueItems === true)
      forbid('uniqueItems', 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic');
    if (schema.additionalProperties === false)
      forbid('additionalProperties', 'additionalProperties cannot be set to false');
    if (schema.additionalProperties !== undefined && schema.properties !== undefined)
      forbid('additionalProperties', 'additionalProperties and properties are mutual exclusive');
    if (schema.additionalProperties !== undefined && place === 'root')
      forbid('additionalProperties', 'additionalProperties cannot be used at the root');
    if (schema.$ref !== undefined) forbid('$ref', '$ref is not supported');
    for (const field of NOT_SUPPORTED) if (schema[field] !== undefined) forbid(field, `${field} is not supported`);
    if (place === 'root' && schema.nullable === true) forbid('nullable', 'nullable cannot be true at the root');
    checkPattern(schema, path, this.#faults);
  }

  #checkExtensions(schema: JsonObject, path: string): void {
    const listType = schema['x-kubernetes-list-type'];
    const keys = schema['x-kubernetes-list-map-keys'];
    const at = (field: string) => `${path}.x-kubernetes-${field}`;
    if (listType !== undefined && !['atomic', 'set', 'map'].includes(listType as string))
      this.#faults.push(unsupportedValue(at('list-type'), listType, ['atomic', 'set', 'map']));
    if (listType !== undefined && schema.type !== 'array')
      this.#faults.push(
        invalidValue(`${path}.type`, schema.type ?? '', 'must be array if x-kubernetes-list-type is specified'),
      );
    if (listType === 'map') this.#checkMapKeys(schema, path);
    else if (keys !== undefined)
      this.#faults.push(
        invalidValue(at('list-type'), listType ?? null, 'must be map if x-kubernetes-list-map-keys is non-empty'),
      );
    const mapType = schema['x-kubernetes-map-type'];
    if (mapType !== undefined && !['granular', 'atomic'].includes(mapType as string))
      this.#faults.push(unsupportedValue(at('map-type'), mapType, ['granular', 'atomic']));
    if (schema['x-kubernetes-embedded-resource'] === true) {
      if (schema.type !== 'object')
        this.#faults.push(
          invalidValue(`${path}.type`, schema.type ?? '', 'must be object if x-kubernetes-embedded-resource is true'),
        );
      if (schema['x-kubernetes-preserve-unknown-fields'] !== true && !asObject(schema.properties))
        this.#faults.push(
          requiredValue(
            `${path}.properties`,
            'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
          ),
        );
    }
    if (schema['x-kubernetes-preserve-unknown-fields'] === false)
      this.#faults.push(invalidValue(at('preserve-unknown-fields'), false, 'must be true or undefined'));
  }

  #checkMapKeys(schema: JsonObject, path: string): void {
    const keys = schema['x-kubernetes-list-map-keys'];
    const at = `${path}.x-kubernetes-list-map-keys`;
    if (!Array.isArray(keys) || keys.length === 0) {
      this.#faults.push(requiredValue(at, 'must not be empty if x-kubernetes-list-type is map'));
      return;
    }
    const items = asObject(schema.items) ?? {};
    const properties = asObject(items.properties) ?? {};
    const required = new Set(Array.isArray(items.required) ? items.required : []);
    for (const [index, key] of (keys as string[]).entries()) {
      const field = asObject(properties[key]);
      if (!field)
        this.#faults.push(invalidValue(`${at}[${index}]`, key, 'entries must all be names of item properties'));
      else if (!required.has(key) && field.default === undefined)
        this.#faults.push(
          requiredValue(
            `${path}.items.properties[${key}].default`,
            'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
          ),
        );
    }
  }

  /** Of the metadata only the name may be restricted. */
  #checkMetadata(schema: JsonObject, path: string): void {
    const metadata = asObject(asObject(schema.properties)?.metadata);
    for (const name of Object.keys(asObject(metadata?.properties) ?? {})) {
      if (name === 'name' || name === 'generateName') continue;
      this.#faults.push(
        forbiddenValue(
          `${path}.properties[metadata]`,
          'must not specify anything other than name and generateName, but metadata is implicitly specified',
        ),
      );
      return;
    }
  }

  #combinations(schema: JsonObject, declared: JsonObject, path: string, depth: number): void {
    for (const word of ['allOf', 'anyOf', 'oneOf']) {
      const parts = schema[word];
      if (!Array.isArray(parts)) continue;
      for (const [index, part] of parts.entries())
        this.#constraint(asObject(part) ?? {}, declared, `${path}.${word}[${index}]`, depth + 1);
    }
    const not = asObject(schema.not);
    if (not) this.#constraint(not, declared, `${path}.not`, depth + 1);
  }

  /** A part of a combination: it says nothing of structure, and names only what `declared` names. */
  #constraint(part: JsonObject, declared: JsonObject, path: string, depth: number): void {
    if (depth > LIMIT_DEPTH) return;
    const isIntOrString = declared['x-kubernetes-int-or-string'] === true; // there each part may name one of the two
    for (const field of STRUCTURE) {
      if (part[field] === undefined || part[field] === '' || (field === 'type' && isIntOrString)) continue;
      this.#faults.push(forbiddenValue(`${path}.${field}`, EMPTY));
    }
    if (part.additionalProperties !== undefined)
      this.#faults.push(forbiddenValue(`${path}.additionalProperties`, EMPTY));
    checkPattern(part, path, this.#faults);
    const keepsUnknown = declared['x-kubernetes-preserve-unknown-fields'] === true;
    const properties = asObject(declared.properties) ?? {};
    for (const [name, child] of Object.entries(asObject(part.properties) ?? {})) {
      const outside = asObject(properties[name]) ?? asObject(declared.additionalProperties);
      const here = `${path}.properties[${name}]`;
      if (outside) this.#constraint(asObject(child) ?? {}, outside, here, depth + 1);
      else if (!keepsUnknown) {
        const outer = here.replace(/\.(?:allOf|anyOf|oneOf)\[\d+\]|\.not/g, '');
        this.#faults.push(requiredValue(outer, `because it is defined in ${here}`));
      }
    }
    const items = asObject(part.items);
    if (items) this.#constraint(items, asObject(declared.items) ?? {}, `${path}.items`, depth + 1);
    this.#combinations(part, declared, path, depth);
  }
}

function checkPattern({ pattern }: JsonObject, path: string, faults: FieldError[]): void {
  if (typeof pattern !== 'string' || pattern === '') return;
  try {
    compilePattern(pattern);
  } catch (err) {
    if (!(err instanceof PatternError)) throw err;
    faults.push(
      invalidValue(`${path}.pattern`, pattern, `must be a valid regular expression, but isn't: ${err.message}`),
    );
  }
}
