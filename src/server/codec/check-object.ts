/**
 * Walks an object by its schema, once: wrong types are refused in Go's words, unknown fields are left out and told,
 * values take the form in which kube-apiserver gives them back (UTC times, canonical quantities, no nulls, no
 * zeros that mean nothing, maps in the order of their keys).
 *
 * The input is never written to: what changes is copied, what does not is shared with the answer. Field names are
 * case-sensitive. A null is an absent field; in a map or a list it is the zero of the element.
 *
 * A custom resource is not Go: there only unknown fields are pruned, and what its schema says of types is left to
 * validation. Its metadata, and any other part with a built-in name, is read like a built-in one.
 */

import { noteGivenEmpty } from '../../api/given-empty.ts';
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { canonicalQuantity, QuantityError } from '../../api/scalars/quantity.ts';
import type { Schema } from '../schema/schema.ts';
import { builtInSchemas } from '../schema/schemas.ts';
import { firstOf, isBefore, isRaw, isSchemaOrBoolean, isSchemaUnion, isZero, SCHEMA_PROPS } from './check-parts.ts';
import { readClean } from './clean-object.ts';
import { stringTypeOf, wholeTypeOf } from './go-type-names.ts';
import { type FaultPath, faultPathText, maxFaults } from './json/fault-paths.ts';
import { isObject, setKey } from './json/json-objects.ts';
import { Base64Error, normalBase64 } from './scalars/base64.ts';
import { normalMicroTime, normalTime, TimeError } from './scalars/go-time.ts';
import { integerText } from './scalars/int64.ts';
import { type FieldPlan, type Plan, planOf, zeroOf } from './type-plan.ts';

/** The value does not fit its type; the message is Go's. */
export class TypeMismatchError extends Error {
  override readonly name = 'TypeMismatchError';
}

export type CheckOptions = {
  /** The object is a custom resource. */
  readonly isCustom?: boolean;
};

export type CheckedObject = {
  readonly object: JsonObject;
  /** In the order of the document (custom resources: sorted), at most 100. */
  readonly unknownFields: readonly FaultPath[];
};

export function checkObject(value: JsonObject, schema: Schema, options: CheckOptions = {}): CheckedObject {
  const clean = options.isCustom ? undefined : readClean(value, schema);
  return clean ? { object: clean.object, unknownFields: NONE } : checkOdd(value, schema, options);
}

/** The same for an object in which something may be odd. */
export function checkOdd(value: JsonObject, schema: Schema, { isCustom = false }: CheckOptions = {}): CheckedObject {
  const walk = new Walk();
  const object = isCustom ? walk.prune(value, schema) : walk.read(value, planOf(schema), '');
  const unknownFields = isCustom ? sortedPaths(walk.unknown) : walk.unknown;
  return { object: object as JsonObject, unknownFields };
}

const NONE: readonly FaultPath[] = [];
let schemaProps: Plan | undefined;

class Walk {
  readonly unknown: FaultPath[] = [];
  /** Where the walk is, with indexes: `spec.containers[0]`. Put into words only for those who must be told. */
  readonly #steps: (string | number)[] = [];
  /** The same as Go tells it: the names of fields only. */
  readonly #fields: string[] = [];
  /** The field of the outermost union around, in those words. */
  #union: string | undefined;

  /** `owner`: the struct around, as Go calls it. */
  read(value: JsonValue, plan: Plan, owner: string): JsonValue {
    switch (plan.kind) {
      case 'struct':
        return isObject(value) ? this.#struct(value, plan) : this.#mismatch(value, plan, owner);
      case 'map':
        return isObject(value) ? this.#map(value, plan, owner) : this.#mismatch(value, plan, owner);
      case 'list':
        return Array.isArray(value) ? this.#list(value, plan, owner) : this.#mismatch(value, plan, owner);
      case 'any':
        if (isSchemaUnion(plan.schema)) return this.#schemaUnion(value, plan.schema, owner);
        if (plan.schema.type === 'object' && !isObject(value) && !isRaw(plan.schema))
          return this.#mismatch(value, plan, owner);
        return value;
      default:
        return this.#scalar(value, plan, owner);
    }
  }

  #struct(value: JsonObject, plan: Plan): JsonObject {
    const keys = Object.keys(value);
    let result: JsonObject | undefined; // a copy, from the first difference on
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]!;
      const field = plan.fields.get(key);
      const given = value[key];
      let kept: JsonValue | undefined;
      if (!field) this.#tellUnknown(key);
      else if (given !== null && given !== undefined) kept = this.#field(given, field, plan, key);
      if (kept === given && kept !== undefined) {
        if (result) result[key] = kept;
        continue;
      }
      result ??= firstOf(value, keys, i);
      if (kept !== undefined) result[key] = kept;
      else if (field?.isEmptyTold && given !== null) noteGivenEmpty(result, key);
    }
    for (const name of plan.alwaysWritten) {
      if ((result ?? value)[name] !== undefined) continue;
      const { schema } = plan.fields.get(name)!;
      const zero = zeroOf(schema);
      if (zero === null) continue;
      result ??= firstOf(value, keys, keys.length);
      result[name] = zero === undefined ? this.#struct({}, planOf(schema)) : zero;
    }
    return result ?? value;
  }

  #field(given: JsonValue, field: FieldPlan, owner: Plan, key: string): JsonValue | undefined {
    const { plan, dropsZero } = field;
    if (isPlain(given, plan)) return dropsZero && (given === '' || given === false) ? undefined : given;
    this.#steps.push(key);
    const through = owner.inlinedBy?.get(key);
    if (through) this.#fields.push(...through);
    this.#fields.push(key);
    const kept = this.read(given, plan, owner.structName);
    this.#steps.pop();
    this.#fields.pop();
    if (through) for (const _ of through) this.#fields.pop();
    if (kept === null && isSchemaUnion(field.schema)) return undefined;
    return dropsZero && isZero(kept, field.schema) ? undefined : kept;
  }

  #map(value: JsonObject, plan: Plan, owner: string): JsonObject {
    const element = plan.elementPlan!;
    const keys = Object.keys(value);
    let isSame = true;
    for (let i = 1; i < keys.length && isSame; i++) isSame = isBefore(keys[i - 1]!, keys[i]!);
    if (!isSame) keys.sort();
    let result: JsonObject | undefined = isSame ? undefined : {};
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]!;
      const given = value[key]!;
      const kept = this.#element(given, element, key, owner);
      if (kept !== given) result ??= firstOf(value, keys, i);
      if (result) setKey(result, key, kept);
    }
    return result ?? value;
  }

  #list(value: JsonValue[], plan: Plan, owner: string): JsonValue[] {
    if (!plan.element) return value;
    const element = plan.elementPlan!;
    let result = value;
    for (let i = 0; i < value.length; i++) {
      const given = value[i]!;
      const kept = this.#element(given, element, i, owner);
      if (kept === given) continue;
      if (result === value) result = value.slice();
      result[i] = kept;
    }
    return result;
  }

  #element(given: JsonValue, element: Plan, step: string | number, owner: string): JsonValue {
    if (isPlain(given, element)) return given;
    this.#steps.push(step);
    let kept: JsonValue;
    if (given !== null) kept = this.read(given, element, owner);
    else {
      const zero = zeroOf(element.schema);
      kept = zero === undefined ? this.#struct({}, element) : zero;
    }
    this.#steps.pop();
    return kept;
  }

  /** Leaves out what the schema of a custom resource does not know. */
  prune(value: JsonValue, schema: Schema): JsonValue {
    // Go reads a part of a built-in type by itself, and does not tell where it lies.
    if (schema.name?.startsWith('io.k8s.') && schema.properties && value !== null)
      return this.read(value, planOf(schema), '');
    if (Array.isArray(value)) {
      const { items } = schema;
      return items ? mapShared(value, (item, i) => this.#pruneAt(i, item, items)) : value;
    }
    if (!isObject(value) || (!schema.properties && schema.additional === true)) return value;
    const keys = Object.keys(value);
    let result: JsonObject | undefined; // a copy, from the first difference on
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]!;
      const given = value[key]!;
      const child = schema.properties?.get(key) ?? (schema.additional === true ? undefined : schema.additional);
      const isKept = child || schema.preserveUnknownFields || schema.additional === true || schema.type === 'any';
      if (!isKept) {
        result ??= firstOf(value, keys, i);
        this.#tellUnknown(key);
        continue;
      }
      const kept = child ? this.#pruneAt(key, given, child) : given;
      if (kept !== given) result ??= firstOf(value, keys, i);
      if (result) setKey(result, key, kept);
    }
    return result ?? value;
  }

  #pruneAt(step: string | number, value: JsonValue, schema: Schema): JsonValue {
    this.#steps.push(step);
    const kept = this.prune(value, schema);
    this.#steps.pop();
    return kept;
  }

  #tellUnknown(key: string): void {
    if (this.#union === undefined && this.unknown.length < maxFaults) this.unknown.push([...this.#steps, key]);
  }

  /**
   * A schema of a custom kind, or a list of them, in a field that may also hold something else. Go reads it apart: it
   * does not tell of unknown fields in it, and of a wrong type only in which field the union is.
   */
  #schemaUnion(value: JsonValue, schema: Schema, owner: string): JsonValue {
    if (isSchemaOrBoolean(schema) && typeof value !== 'boolean' && !isObject(value) && value !== null)
      throw new TypeMismatchError('boolean or JSON schema expected');
    // What is nothing of what it may be is nothing, and goes unnoticed.
    if (typeof value !== 'object' || value === null) return isSchemaOrBoolean(schema) ? value : null;
    const isListOfSchemas = schema.name?.endsWith('Array') && !schema.name.endsWith('StringArray');
    const isOutermost = this.#union === undefined;
    this.#union ??= `${owner}.${this.#fields.join('.')}`;
    schemaProps ??= planOf(builtInSchemas().byName(SCHEMA_PROPS)!);
    const plan = schemaProps;
    const kept = Array.isArray(value)
      ? mapShared(value, (item) => {
          if (isObject(item)) return this.read(item, plan, owner);
          return isListOfSchemas && item !== null ? this.#mismatch(item, plan, owner) : item;
        })
      : this.read(value, plan, owner);
    if (isOutermost) this.#union = undefined;
    return kept;
  }

  #scalar(value: JsonValue, plan: Plan, owner: string): JsonValue {
    switch (plan.kind) {
      case 'string':
        return typeof value === 'string' ? value : this.#mismatch(value, plan, owner);
      case 'boolean':
        return typeof value === 'boolean' ? value : this.#mismatch(value, plan, owner);
      case 'integer':
        if (typeof value === 'bigint' && plan.goType === 'int64') return value;
        if (typeof value !== 'number' && typeof value !== 'bigint') return this.#mismatch(value, plan, owner);
        if (!Number.isSafeInteger(value) || (plan.goType === 'int32' && value !== (Number(value) | 0)))
          return this.#mismatch(value, plan, owner, `number ${integerText(value)}`);
        return value;
      case 'number':
        if (typeof value === 'bigint') return Number(value);
        return typeof value === 'number' ? value : this.#mismatch(value, plan, owner);
      case 'int-or-string':
        if (typeof value === 'string') return value;
        if (typeof value === 'number' && value === (value | 0)) return value;
        return this.#mismatch(value, plan, owner, wordWithNumber(value), 'int32');
      case 'quantity':
        if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint')
          return inGoWords(canonicalQuantity, value);
        return inGoWords(canonicalQuantity, '?');
      case 'bytes':
        if (Array.isArray(value)) return this.#bytes(value, plan, owner);
        if (typeof value !== 'string') return this.#mismatch(value, plan, owner);
        return inGoWords(normalBase64, value);
      default: // the two kinds of time
        if (typeof value !== 'string') return this.#mismatch(value, plan, owner);
        return inGoWords(plan.kind === 'time' ? normalTime : normalMicroTime, value);
    }
  }

  /** Go reads bytes from a list of numbers, too. */
  #bytes(list: readonly JsonValue[], plan: Plan, owner: string): string {
    const isByte = (one: JsonValue) =>
      one === null || (Number.isInteger(one) && (one as number) >= 0 && (one as number) < 256);
    const wrong = list.find((one) => !isByte(one));
    if (wrong !== undefined) return this.#mismatch(wrong, plan, owner, wordWithNumber(wrong), 'uint8');
    return Buffer.from(list.map((one) => Number(one ?? 0))).toString('base64');
  }

  #mismatch(value: JsonValue, plan: Plan, owner: string, word = jsonWord(value), type?: string): never {
    const field = this.#union ?? `${owner}.${this.#fields.join('.')}`;
    const where = this.#fields.length === 0 ? 'Go value' : `Go struct field ${field}`;
    throw new TypeMismatchError(
      `json: cannot unmarshal ${word} into ${where} of type ${type ?? namedType(plan, owner, this.#fields.at(-1) ?? '')}`,
    );
  }
}

const MAP = 'map[string]';

/** As Go names the type of a field: many strings and lists have names of their own. */
function namedType(plan: Plan, owner: string, field: string): string {
  const isList = plan.kind === 'list';
  if (isList || plan.kind === 'map') {
    const whole = wholeTypeOf(owner, field);
    if (whole !== undefined) return isList && whole.startsWith(MAP) ? whole.slice(MAP.length) : whole;
  }
  const isText = plan.kind === 'string' || (isList && plan.element?.type === 'string');
  const name = isText ? stringTypeOf(owner, field) : undefined;
  if (name === undefined) return plan.goType;
  return isList ? `[]${name}` : name;
}

/** What is most of any object and needs no second look: where it stands need not be known. */
function isPlain(value: JsonValue, { kind }: Plan): value is string | boolean {
  return (kind === 'string' && typeof value === 'string') || (kind === 'boolean' && typeof value === 'boolean');
}

function inGoWords<V, T>(read: (value: V) => T, value: V): T {
  try {
    return read(value);
  } catch (err) {
    if (err instanceof TimeError || err instanceof QuantityError || err instanceof Base64Error)
      throw new TypeMismatchError(err.message, { cause: err });
    throw err;
  }
}

/** How encoding/json calls what it found. */
export function jsonWord(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint') return 'number';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

function wordWithNumber(value: JsonValue): string {
  return typeof value === 'number' || typeof value === 'bigint' ? `number ${integerText(value)}` : jsonWord(value);
}

function mapShared(list: JsonValue[], change: (item: JsonValue, index: number) => JsonValue): JsonValue[] {
  let result = list;
  for (let i = 0; i < list.length; i++) {
    const kept = change(list[i]!, i);
    if (kept === list[i]) continue;
    if (result === list) result = list.slice();
    result[i] = kept;
  }
  return result;
}

function sortedPaths(paths: readonly FaultPath[]): FaultPath[] {
  return paths
    .map((path) => ({ path, text: faultPathText(path) }))
    .sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0))
    .map(({ path }) => path);
}
