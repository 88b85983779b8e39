/**
 * Whether a schema is structural: every field has one type, said in one place, so that objects can be pruned and
 * defaulted by it. Combinations of schemas may only constrain what is declared outside of them. Every violation is told,
 * with the path of the schema it is in. It yields between two schemas: whoever runs it may let others have their turn there.
 */
import {
  type FieldError,
  fieldErrorText,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type JsonValue,
  requiredValue,
} from '../../api/index.ts';
import { ownValue } from '../../api/json-objects.ts';
import { checkPatternSyntax, PatternError } from '../patterns/pattern.ts';
import { checkDefault } from './default-values.ts';
import { checkSchemaForm, isNothing, LIMIT_DEPTH } from './schema-form.ts';
import { asObject, readStructural, type Structural } from './structural.ts';
import { unsupportedIn } from './unsupported-words.ts';
import type { Validation } from './validation.ts';

const EMPTY = 'must be empty to be structural';
const UNDEFINED = 'must be undefined to be structural';
const FALSE = 'must be false to be structural';
/** What says where things are and how they look; a combination must not. */
const STRUCTURE: readonly (readonly [field: string, why: string])[] = [
  ['type', EMPTY],
  ['additionalProperties', UNDEFINED],
  ['default', UNDEFINED],
  ['title', EMPTY],
  ['description', EMPTY],
  ['nullable', FALSE],
  ['x-kubernetes-preserve-unknown-fields', FALSE],
  ['x-kubernetes-embedded-resource', FALSE],
  ['x-kubernetes-int-or-string', FALSE],
  ['x-kubernetes-list-map-keys', EMPTY],
  ['x-kubernetes-list-type', UNDEFINED],
  ['x-kubernetes-map-type', UNDEFINED],
  ['x-kubernetes-validations', EMPTY],
];
const COMBINATIONS = ['allOf', 'anyOf', 'oneOf'];

type Place = 'root' | 'field' | 'items';

/** The schema as a tree, if it can be one. `faultsBefore`: how many there were before anything was said of it. */
export function* checkStructural(
  schema: JsonObject,
  path: string,
  validation: Validation,
  faultsBefore: number = validation.length,
): Generator<void, Structural | undefined, undefined> {
  const before = validation.length;
  if (schema.nullable === true)
    validation.push(forbiddenValue(`${path}.nullable`, 'nullable cannot be true at the root'));
  const unsupported = unsupportedIn(schema);
  const tree = unsupported === undefined ? yield* readTree(schema, path, validation) : undefined;
  yield* checkSchemaForm(schema, path, validation);
  if (unsupported !== undefined && validation.length === faultsBefore)
    validation.push(invalidValue(path, '', unsupported));
  return validation.length > before ? undefined : tree;
}

function* readTree(
  schema: JsonObject,
  path: string,
  validation: Validation,
): Generator<void, Structural | undefined, undefined> {
  const before = validation.length;
  yield* new StructuralWalk(validation).run(schema, path);
  if (validation.length > before) {
    sortByText(validation.faults, before);
    return undefined;
  }
  const root = readStructural(schema);
  yield* checkDefaults(root, path, validation);
  return root;
}

/** What is not structural is told in the order of its texts, whatever order the properties are in. */
function sortByText(faults: FieldError[], from: number): void {
  const byText = faults.splice(from).map((fault) => [fieldErrorText(fault), fault] as const);
  byText.sort(([a], [b]) => (a < b ? -1 : Number(a > b)));
  for (const [, fault] of byText) faults.push(fault);
}

/** The schema is known to be structural. */
function* checkDefaults(root: Structural, path: string, validation: Validation): Generator<void, void, undefined> {
  const open: (readonly [node: Structural, path: string])[] = [[root, path]];
  while (open.length > 0) {
    const [node, at] = open.pop()!;
    checkDefault(node, at, validation);
    // The last to be put there is the first to be taken.
    if (node.items?.hasDefaults) open.push([node.items, `${at}.items`]);
    if (node.additional?.hasDefaults) open.push([node.additional, `${at}.additionalProperties`]);
    for (const [name, child] of [...node.properties].reverse())
      if (child.hasDefaults) open.push([child, `${at}.properties[${name}]`]);
    yield;
  }
}

class StructuralWalk {
  readonly #faults: Validation;
  /** What is still to be looked at, the next one last. */
  readonly #open: (() => void)[] = [];

  constructor(faults: Validation) {
    this.#faults = faults;
  }

  *run(schema: JsonObject, path: string): Generator<void, void, undefined> {
    this.#later([
      () => this.#visit(schema, path, 'root', 0),
      // Only what stands in combinations of the root must be declared: so does kube-apiserver.
      ...partsOf(schema).map(
        ([part, at]) =>
          () =>
            this.#declared(part, schema, path, `${path}.${at}`, 0),
      ),
    ]);
    for (let next = this.#open.pop(); next; next = this.#open.pop()) {
      this.#faults.chargeSteps(1);
      next();
      yield;
    }
  }

  /** In this order, and before everything that waits already. */
  #later(work: (() => void)[]): void {
    for (const one of work.reverse()) this.#open.push(one);
  }

  #visit(schema: JsonObject, path: string, place: Place, depth: number): void {
    if (depth > LIMIT_DEPTH) return; // told of by its form
    this.#checkType(schema, path, place);
    this.#checkExtensions(schema, path, place);
    this.#checkOwn(schema, path, place);
    checkPattern(schema, path, this.#faults);
    const below: (() => void)[] = [];
    const [additional, items] = [asObject(schema.additionalProperties), asObject(schema.items)];
    if (items) below.push(() => this.#visit(items, `${path}.items`, 'items', depth + 1));
    else if (schema.type === 'array' && !Array.isArray(schema.items))
      this.#faults.push(requiredValue(`${path}.items`, 'must be specified'));
    const properties = asObject(schema.properties);
    for (const name of properties ? Object.keys(properties) : []) {
      const child = asObject(properties![name]) ?? {};
      below.push(() => this.#visit(child, `${path}.properties[${name}]`, 'field', depth + 1));
    }
    if (additional) below.push(() => this.#visit(additional, `${path}.additionalProperties`, 'field', depth + 1));
    const isEither = isIntOrString(schema.anyOf);
    const [first] = Array.isArray(schema.allOf) ? schema.allOf : [];
    for (const [part, at] of partsOf(schema)) {
      if (isEither && at.startsWith('anyOf')) continue;
      const skipsAnyOf = part === first && isIntOrString(part.anyOf);
      below.push(() => this.#constraint(part, `${path}.${at}`, depth + 1, skipsAnyOf));
    }
    this.#later(below);
  }

  #checkType(schema: JsonObject, path: string, place: Place): void {
    const { type } = schema;
    const at = `${path}.type`;
    const either = schema['x-kubernetes-int-or-string'] === true;
    const hasType = typeof type === 'string' && type !== '';
    if (schema['x-kubernetes-embedded-resource'] === true && type !== 'object') {
      const why = 'must be object if x-kubernetes-embedded-resource is true';
      this.#faults.push(hasType ? invalidValue(at, type, why) : requiredValue(at, why));
    } else if (!hasType && !either && schema['x-kubernetes-preserve-unknown-fields'] !== true) {
      const where = { root: 'at the root', field: 'for specified object fields', items: 'for specified array items' };
      this.#faults.push(requiredValue(at, `must not be empty ${where[place]}`));
    }
    if (place === 'root' && hasType && type !== 'object')
      this.#faults.push(invalidValue(at, type, 'must be object at the root'));
  }

  #checkExtensions(schema: JsonObject, path: string, place: Place): void {
    const forbid = (field: string, why: string) => this.#faults.push(forbiddenValue(`${path}.${field}`, why));
    const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
    const keepsUnknown = schema['x-kubernetes-preserve-unknown-fields'] === true;
    const hasAdditional = schema.additionalProperties !== undefined && schema.additionalProperties !== null;
    if (place === 'root' && hasAdditional) forbid('additionalProperties', 'must not be used at the root');
    if (isEmbedded && hasAdditional)
      forbid('additionalProperties', 'must not be used if x-kubernetes-embedded-resource is set');
    if (isEmbedded && !keepsUnknown && isNothing(schema.properties)) {
      const why =
        'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields';
      this.#faults.push(requiredValue(`${path}.properties`, why));
    }
    if (schema['x-kubernetes-int-or-string'] !== true) return;
    const refuse = (field: string) =>
      this.#faults.push(invalidValue(`${path}.${field}`, true, 'must be false if x-kubernetes-int-or-string is true'));
    if (keepsUnknown) refuse('x-kubernetes-preserve-unknown-fields');
    if (isEmbedded) refuse('x-kubernetes-embedded-resource');
  }

  /** What every object has: of the metadata of the root only the names may be restricted. */
  #checkOwn(schema: JsonObject, path: string, place: Place): void {
    const properties = asObject(schema.properties);
    if (!properties || (place !== 'root' && schema['x-kubernetes-embedded-resource'] !== true)) return;
    for (const [name, type] of Object.entries({ kind: 'string', apiVersion: 'string', metadata: 'object' })) {
      const field = asObject(ownValue(properties, name));
      if (field && field.type !== type)
        this.#faults.push(invalidValue(`${path}.properties[${name}].type`, field.type ?? '', `must be ${type}`));
    }
    const metadata = asObject(ownValue(properties, 'metadata'));
    if (place !== 'root' || !metadata) return;
    const { type: _type, default: _default, properties: named, ...rest } = metadata;
    const isOfNames = Object.keys(asObject(named) ?? {}).every((name) => name === 'name' || name === 'generateName');
    if (isOfNames && Object.values(rest).every(isNothing)) return;
    const why = 'must not specify anything other than name and generateName, but metadata is implicitly specified';
    this.#faults.push(forbiddenValue(`${path}.properties[metadata]`, why));
  }

  /** A part of a combination: it says nothing of structure. */
  #constraint(part: JsonObject, path: string, depth: number, skipsAnyOf = false): void {
    if (depth > LIMIT_DEPTH) return;
    for (const [field, why] of STRUCTURE)
      if (why === UNDEFINED ? part[field] !== undefined && part[field] !== null : !isNothing(part[field]))
        this.#faults.push(forbiddenValue(`${path}.${field}`, why));
    checkPattern(part, path, this.#faults);
    const below: (() => void)[] = [];
    for (const [inner, at] of partsOf(part)) {
      if (skipsAnyOf && at.startsWith('anyOf')) continue;
      below.push(() => this.#constraint(inner, `${path}.${at}`, depth + 1));
    }
    const items = asObject(part.items);
    if (items) below.push(() => this.#constraint(items, `${path}.items`, depth + 1));
    const properties = asObject(part.properties) ?? {};
    for (const name of Object.keys(properties)) {
      const at = `${path}.properties[${name}]`;
      if (name === 'metadata') this.#faults.push(forbiddenValue(at, 'must not be specified in a nested context'));
      below.push(() => this.#constraint(asObject(properties[name]) ?? {}, at, depth + 1));
    }
    this.#later(below);
  }

  /** What a part names is there outside of it: `schema`, at `path`, is what it is about. */
  #declared(part: JsonObject, schema: JsonObject | undefined, path: string, partPath: string, depth: number): void {
    if (depth > LIMIT_DEPTH) return;
    if (!schema) {
      this.#faults.push(requiredValue(path, `because it is defined in ${partPath}`));
      return;
    }
    const below: (() => void)[] = [];
    const add = (inner: JsonObject, about: JsonObject | undefined, at: string, innerPath: string) =>
      below.push(() => this.#declared(inner, about, at, innerPath, depth + 1));
    for (const [inner, at] of partsOf(part)) add(inner, schema, path, `${partPath}.${at}`);
    const items = asObject(part.items);
    if (items) add(items, asObject(schema.items), `${path}.items`, `${partPath}.items`);
    const properties = asObject(part.properties) ?? {};
    for (const name of Object.keys(properties)) {
      const outside = asObject(ownValue(asObject(schema.properties) ?? {}, name));
      const step = `properties[${name}]`;
      add(asObject(properties[name]) ?? {}, outside, `${path}.${step}`, `${partPath}.${step}`);
    }
    this.#later(below);
  }
}

/** The schemas that a schema combines, with their place in it. */
function partsOf(schema: JsonObject): [part: JsonObject, at: string][] {
  const parts: [JsonObject, string][] = [];
  for (const word of COMBINATIONS) {
    const list = schema[word];
    for (const [index, part] of Array.isArray(list) ? list.entries() : [])
      parts.push([asObject(part) ?? {}, `${word}[${index}]`]);
  }
  const not = asObject(schema.not);
  if (not) parts.push([not, 'not']);
  return parts;
}

/** The one combination that may name types: an integer or a string, and not a word more. */
function isIntOrString(anyOf: JsonValue | undefined): boolean {
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return false;
  return ['integer', 'string'].every((type, index) => {
    const part = asObject(anyOf[index]);
    return part?.type === type && Object.entries(part).every(([field, value]) => field === 'type' || value === null);
  });
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
