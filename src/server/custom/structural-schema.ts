/**
 * Whether a schema is structural: every field has one type, said in one place, so that objects can be pruned and
 * defaulted by it. Combinations of schemas may only constrain what is declared outside of them. Every violation is told,
 * with the path of the schema it is in. Large schemas are walked in stretches, with turns for others in between.
 */
import { forbiddenValue, invalidValue, type JsonObject, requiredValue, unsupportedValue } from '../../api/index.ts';
import { ownValue } from '../codec/json-objects.ts';
import { checkPatternSyntax, PatternError } from '../patterns/pattern.ts';
import { checkDefault } from './default-values.ts';
import { asObject, readStructural, type Structural } from './structural.ts';
import type { TurnKeeper } from './turn-keeper.ts';
import type { Validation } from './validation.ts';

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
  'x-kubernetes-validations',
];
const EMPTY = 'must be empty to be structural';
/** Deeper than anybody means; keeps every walk within the stack. */
const LIMIT_DEPTH = 200;

type Place = 'root' | 'field' | 'items' | 'value';

/** The schema as a tree, if it can be one. */
export async function checkStructural(
  schema: JsonObject,
  path: string,
  validation: Validation,
  turns: TurnKeeper,
): Promise<Structural | undefined> {
  const before = validation.length;
  await new StructuralWalk(validation, turns).run(schema, path);
  if (validation.length > before) return undefined;
  const root = readStructural(schema);
  await checkDefaults(root, path, validation, turns);
  return root;
}

/** The schema is known to be structural. */
async function checkDefaults(root: Structural, path: string, validation: Validation, turns: TurnKeeper): Promise<void> {
  const open: (readonly [node: Structural, path: string])[] = [[root, path]];
  while (open.length > 0) {
    const [node, at] = open.pop()!;
    checkDefault(node, at, validation);
    // The last to be put there is the first to be taken.
    if (node.items?.hasDefaults) open.push([node.items, `${at}.items`]);
    if (node.additional?.hasDefaults) open.push([node.additional, `${at}.additionalProperties`]);
    for (const [name, child] of [...node.properties].reverse())
      if (child.hasDefaults) open.push([child, `${at}.properties[${name}]`]);
    if (turns.isOver) await turns.next();
  }
}

class StructuralWalk {
  readonly #faults: Validation;
  readonly #turns: TurnKeeper;
  /** What is still to be looked at, the next one last. */
  readonly #open: (() => void)[] = [];

  constructor(faults: Validation, turns: TurnKeeper) {
    this.#faults = faults;
    this.#turns = turns;
  }

  async run(schema: JsonObject, path: string): Promise<void> {
    this.#later([() => this.#visit(schema, path, 'root', 0)]);
    for (let next = this.#open.pop(); next; next = this.#open.pop()) {
      this.#faults.chargeSteps(1);
      next();
      if (this.#turns.isOver) await this.#turns.next();
    }
  }

  /** In this order, and before everything that waits already. */
  #later(work: (() => void)[]): void {
    for (const one of work.reverse()) this.#open.push(one);
  }

  #visit(schema: JsonObject, path: string, place: Place, depth: number): void {
    if (depth > LIMIT_DEPTH) {
      this.#faults.push(invalidValue(path, '', `must not nest deeper than ${LIMIT_DEPTH}`));
      return;
    }
    this.#checkType(schema, path, place);
    this.#checkForbidden(schema, path, place);
    this.#checkExtensions(schema, path);
    if (place === 'root') this.#checkMetadata(schema, path);
    const below: (() => void)[] = [];
    const properties = asObject(schema.properties);
    for (const name of properties ? Object.keys(properties) : []) {
      const child = asObject(properties![name]) ?? {};
      below.push(() => this.#visit(child, `${path}.properties[${name}]`, 'field', depth + 1));
    }
    const [additional, items] = [asObject(schema.additionalProperties), asObject(schema.items)];
    if (additional) below.push(() => this.#visit(additional, `${path}.additionalProperties`, 'value', depth + 1));
    if (Array.isArray(schema.items))
      this.#faults.push(forbiddenValue(`${path}.items`, 'items must be a schema object and not an array'));
    else if (items) below.push(() => this.#visit(items, `${path}.items`, 'items', depth + 1));
    else if (schema.type === 'array') this.#faults.push(requiredValue(`${path}.items`, 'must be specified'));
    if (hasCombinations(schema)) below.push(() => this.#combinations(schema, schema, path, depth));
    this.#later(below);
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
      const field = asObject(ownValue(properties, key));
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
    const parts: (() => void)[] = [];
    const add = (part: JsonObject, at: string) => parts.push(() => this.#constraint(part, declared, at, depth + 1));
    for (const word of ['allOf', 'anyOf', 'oneOf']) {
      const list = schema[word];
      if (Array.isArray(list))
        for (const [index, part] of list.entries()) add(asObject(part) ?? {}, `${path}.${word}[${index}]`);
    }
    const not = asObject(schema.not);
    if (not) add(not, `${path}.not`);
    this.#later(parts);
  }

  /** A part of a combination: it says nothing of structure, and names only what `declared` names. */
  #constraint(part: JsonObject, declared: JsonObject, path: string, depth: number): void {
    if (depth > LIMIT_DEPTH) {
      this.#faults.push(invalidValue(path, '', `must not nest deeper than ${LIMIT_DEPTH}`));
      return;
    }
    const isIntOrString = declared['x-kubernetes-int-or-string'] === true; // there each part may name one of the two
    for (const field of STRUCTURE) {
      if (part[field] === undefined || part[field] === '' || (field === 'type' && isIntOrString)) continue;
      this.#faults.push(forbiddenValue(`${path}.${field}`, EMPTY));
    }
    if (part.additionalProperties !== undefined)
      this.#faults.push(forbiddenValue(`${path}.additionalProperties`, EMPTY));
    checkPattern(part, path, this.#faults);
    const keepsUnknown = declared['x-kubernetes-preserve-unknown-fields'] === true;
    const [outer, inner] = [asObject(declared.properties) ?? {}, asObject(part.properties) ?? {}];
    const below: (() => void)[] = [];
    for (const name of Object.keys(inner)) {
      const outside = asObject(ownValue(outer, name)) ?? asObject(declared.additionalProperties);
      const here = `${path}.properties[${name}]`;
      if (outside) below.push(() => this.#constraint(asObject(inner[name]) ?? {}, outside, here, depth + 1));
      else if (!keepsUnknown) {
        const missing = here.replace(/\.(?:allOf|anyOf|oneOf)\[\d+\]|\.not/g, '');
        this.#faults.push(requiredValue(missing, `because it is defined in ${here}`));
      }
    }
    const items = asObject(part.items);
    if (items) below.push(() => this.#constraint(items, asObject(declared.items) ?? {}, `${path}.items`, depth + 1));
    if (hasCombinations(part)) below.push(() => this.#combinations(part, declared, path, depth));
    this.#later(below);
  }
}

function hasCombinations({ allOf, anyOf, oneOf, not }: JsonObject): boolean {
  return allOf !== undefined || anyOf !== undefined || oneOf !== undefined || not !== undefined;
}

function checkPattern({ pattern }: JsonObject, path: string, faults: Validation): void {
  if (typeof pattern !== 'string' || pattern === '') return;
  try {
    checkPatternSyntax(pattern);
  } catch (err) {
    if (!(err instanceof PatternError)) throw err;
    faults.push(
      invalidValue(`${path}.pattern`, pattern, `must be a valid regular expression, but isn't: ${err.message}`),
    );
  }
}
