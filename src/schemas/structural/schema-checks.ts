/**
 * What a schema says of values, compiled into functions when the first value comes: types, bounds, patterns, formats,
 * enums, required fields, and the combinations of those. A check collects every fault in the words and in the order of
 * kube-apiserver. It takes steps in proportion to the value, not to the schema, but for what a combination, an enum
 * or a list of required fields repeats for every value; all of them are charged.
 *
 * Given the value that was there before, a part that has not changed is not judged again: an object that a newer schema
 * would refuse can still be changed elsewhere. Elements of a list are only told apart by their keys, so those of other
 * lists are judged whenever their list changes.
 */
import {
  type FieldError,
  invalidValue,
  type JsonObject,
  type JsonValue,
  quote,
  requiredValue,
  tooLong,
  tooMany,
  typeInvalid,
  unsupportedValue,
} from '../../api/index.ts';
import { ownValue } from '../../api/json-objects.ts';
import { jsonText } from '../../api/json-text.ts';
import { compilePattern } from '../patterns/pattern.ts';
import { type Place, pathOf } from './place.ts';
import { formatCheck } from './string-formats.ts';
import { asObject } from './structural.ts';
import type { Validation } from './validation.ts';

/** `place` is where the value is, undefined the root; `old` what was there before, undefined if nothing was. */
export type SchemaCheck = (
  value: JsonValue,
  old: JsonValue | undefined,
  place: Place | undefined,
  faults: Validation,
) => void;
type Part = SchemaCheck;

/** Texts are gone through a few times, this many characters in a step. */
const CHARACTERS_PER_STEP = 16;

/** Nothing is compiled before there is a value for it: most of most schemas never sees one. */
export function compileSchema(schema: JsonObject): SchemaCheck {
  let check: SchemaCheck | undefined;
  return (value, old, place, faults) => {
    check ??= compileNow(schema);
    check(value, old, place, faults);
  };
}

function compileNow(schema: JsonObject): SchemaCheck {
  const parts = [
    typePart(schema),
    combinationPart(schema),
    stringPart(schema),
    numberPart(schema),
    listPart(schema),
    enumPart(schema),
    objectPart(schema),
  ].filter((part) => part !== undefined);
  const isNullable = schema.nullable === true;
  return (value, old, place, faults) => {
    faults.chargeSteps(1);
    if (value === null && isNullable) return;
    if (old !== undefined && faults.isSame(value, old)) return;
    for (const part of parts) part(value, old, place, faults);
  };
}

function typeNameOf(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint') return 'integer';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function typePart(schema: JsonObject): Part | undefined {
  const { type, format } = schema;
  if (schema['x-kubernetes-int-or-string'] === true) {
    return (value, _old, place, faults) => {
      const found = typeNameOf(value);
      if (found !== 'integer' && found !== 'string') faults.push(wrongType(pathOf(place), 'integer,string', found));
    };
  }
  if (typeof type !== 'string' || type === '') return undefined;
  const takesInteger = type === 'number';
  const hasTextFormat = type === 'string' && typeof format === 'string' && format !== '';
  return (value, _old, place, faults) => {
    const found = typeNameOf(value);
    if (found === type || (takesInteger && found === 'integer')) return;
    if (hasTextFormat && found !== 'null' && found !== 'array')
      faults.push(wrongType(pathOf(place), format, goFormat(found)));
    else faults.push(wrongType(pathOf(place), type, found));
  };
}

/** How kube-apiserver calls a number it did not expect. */
function goFormat(found: string): string {
  return found === 'integer' ? 'int64' : found === 'number' ? 'float64' : '';
}

function wrongType(path: string, wanted: string, found: string): FieldError {
  return typeInvalid(path, found, `${path} in body must be of type ${wanted}: ${quote(found)}`);
}

function combinationPart(schema: JsonObject): Part | undefined {
  const [anyOf, oneOf, allOf] = [compileAll(schema.anyOf), compileAll(schema.oneOf), compileAll(schema.allOf)];
  const notSchema = asObject(schema.not);
  const not = notSchema && compileSchema(notSchema);
  if (anyOf.length + oneOf.length + allOf.length === 0 && !not) return undefined;
  return (value, _old, place, faults) => {
    const judge = (check: SchemaCheck) => faults.trial((trial) => check(value, undefined, place, trial));
    const tell = (why: string) => faults.push(invalidValue('<nil>', '', `${quote(pathOf(place))} ${why}`));
    if (anyOf.length > 0) {
      const verdicts = anyOf.map(judge);
      if (verdicts.every((found) => found.length > 0)) {
        tell('must validate at least one schema (anyOf)');
        faults.pushAll(closest(verdicts));
      }
    }
    if (oneOf.length > 0) {
      const verdicts = oneOf.map(judge);
      const good = verdicts.filter((found) => found.length === 0).length;
      if (good !== 1) {
        const count = good === 0 ? 'Found none valid' : `Found ${good} valid alternatives`;
        tell(`must validate one and only one schema (oneOf). ${count}`);
        if (good === 0) faults.pushAll(closest(verdicts));
      }
    }
    const verdicts = allOf.map(judge);
    const good = verdicts.filter((found) => found.length === 0).length;
    for (const found of verdicts) faults.pushAll(found);
    if (good < allOf.length) tell(`must validate all the schemas (allOf)${good === 0 ? '. None validated' : ''}`);
    if (not && judge(not).length === 0) tell('must not validate the schema (not)');
  };
}

function compileAll(schemas: JsonValue | undefined): SchemaCheck[] {
  return Array.isArray(schemas) ? schemas.map((schema) => compileSchema(asObject(schema) ?? {})) : [];
}

/** Of several refusals the one that misses least. */
function closest(verdicts: readonly (readonly FieldError[])[]): readonly FieldError[] {
  return verdicts.reduce((best, found) => (found.length < best.length ? found : best));
}

function stringPart({ maxLength, minLength, pattern, format, type }: JsonObject): Part | undefined {
  const hasPattern = typeof pattern === 'string' && pattern !== '';
  const hasFormat = typeof format === 'string' && (type === 'string' || type === undefined);
  const isOfFormat = hasFormat ? formatCheck(format) : undefined;
  if (maxLength === undefined && minLength === undefined && !hasPattern && !isOfFormat) return undefined;
  const [most, least] = [maxLength as number | undefined, minLength as number | undefined];
  return (value, _old, place, faults) => {
    if (typeof value !== 'string') return;
    faults.chargeSteps(value.length / CHARACTERS_PER_STEP);
    if (most !== undefined && value.length > most && characters(value) > most) {
      faults.push(tooLong(pathOf(place), most));
    } else if (least !== undefined && characters(value) < least) {
      const path = pathOf(place);
      faults.push(invalidValue(path, value, `${path} in body should be at least ${least} chars long`));
    } else if (hasPattern && !compilePattern(pattern, faults).matches(value, faults)) {
      const path = pathOf(place);
      faults.push(invalidValue(path, value, `${path} in body should match '${pattern}'`));
    }
    if (isOfFormat && !isOfFormat(value)) {
      const path = pathOf(place);
      faults.push(typeInvalid(path, value, `${path} in body must be of type ${format}: ${quote(value)}`));
    }
  };
}

/** Code points; only as many are counted as there are halves of pairs. */
function characters(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xfc00) === 0xdc00) count--;
  return count;
}

function numberPart(schema: JsonObject): Part | undefined {
  const { type, format, multipleOf, maximum, minimum, exclusiveMaximum, exclusiveMinimum } = schema as {
    type?: string;
    format?: string;
    multipleOf?: number;
    maximum?: number;
    minimum?: number;
    exclusiveMaximum?: boolean;
    exclusiveMinimum?: boolean;
  };
  const isInteger = type === 'integer';
  if (!isInteger && multipleOf === undefined && maximum === undefined && minimum === undefined) return undefined;
  const kind = format ? `integer with format ${format}` : 'integer (default format)';
  return (value, _old, place, faults) => {
    if (typeof value !== 'number' && typeof value !== 'bigint') return;
    if (isInteger && !fitsInteger(value, format))
      faults.push(invalidValue('<nil>', '', `Checked value must be of type ${kind} in ${pathOf(place)}`));
    if (multipleOf !== undefined && !isMultiple(value, multipleOf))
      faults.push(outOfBounds(value, place, `a multiple of ${multipleOf}`));
    if (minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum))
      faults.push(outOfBounds(value, place, `greater than ${exclusiveMinimum ? '' : 'or equal to '}${minimum}`));
    if (maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum))
      faults.push(outOfBounds(value, place, `less than ${exclusiveMaximum ? '' : 'or equal to '}${maximum}`));
  };
}

function outOfBounds(value: number | bigint, place: Place | undefined, why: string): FieldError {
  const path = pathOf(place);
  return invalidValue(path, value, `${path} in body should be ${why}`);
}

function fitsInteger(value: number | bigint, format: string | undefined): boolean {
  if (typeof value === 'bigint') return format !== 'int32'; // beyond 2^53, within 64 bits
  if (!Number.isInteger(value)) return false;
  if (format === 'int32') return value === (value | 0);
  return value >= -(2 ** 63) && value < 2 ** 63;
}

/** By division, with room for what binary fractions cannot hold: 0.3 is a multiple of 0.1. */
function isMultiple(value: number | bigint, of: number): boolean {
  if (typeof value === 'bigint' && Number.isInteger(of)) return value % BigInt(of) === 0n;
  const quotient = Number(value) / of;
  return Math.abs(quotient - Math.round(quotient)) < 1e-9 * Math.max(1, Math.abs(quotient));
}

function listPart(schema: JsonObject): Part | undefined {
  const itemsSchema = asObject(schema.items);
  const items = itemsSchema && compileSchema(itemsSchema);
  const [least, most] = [schema.minItems as number | undefined, schema.maxItems as number | undefined];
  if (!items && least === undefined && most === undefined) return undefined;
  const keys = schema['x-kubernetes-list-type'] === 'map' ? (schema['x-kubernetes-list-map-keys'] as string[]) : [];
  return (value, old, place, faults) => {
    if (!Array.isArray(value)) return;
    if (items) {
      const before = Array.isArray(old) && keys.length > 0 ? byKeys(old, keys) : undefined;
      if (before) faults.chargeSteps(keys.length * (before.size + value.length));
      for (let i = 0; i < value.length; i++)
        items(value[i]!, before?.get(keyOf(value[i]!, keys)), { of: place, name: i }, faults);
    }
    if (least !== undefined && value.length < least) {
      const path = pathOf(place);
      faults.push(invalidValue(path, value.length, `${path} in body should have at least ${least} items`));
    }
    if (most !== undefined && value.length > most) faults.push(tooMany(pathOf(place), value.length, most));
  };
}

function byKeys(list: readonly JsonValue[], keys: readonly string[]): ReadonlyMap<string, JsonValue> {
  return new Map(list.map((item) => [keyOf(item, keys), item]));
}

export function keyOf(item: JsonValue, keys: readonly string[]): string {
  const object = asObject(item) ?? {};
  return jsonText(keys.map((key) => ownValue(object, key) ?? null));
}

function enumPart({ enum: allowed }: JsonObject): Part | undefined {
  if (!Array.isArray(allowed) || allowed.length === 0) return undefined;
  const isSimple = (value: JsonValue) => typeof value !== 'object' || value === null;
  const simple: ReadonlySet<unknown> = new Set(allowed.filter(isSimple));
  const structured = new Set(allowed.filter((value) => !isSimple(value)).map(canonicalText));
  let shown: string[] | undefined;
  return (value, _old, place, faults) => {
    if (isSimple(value)) {
      if (simple.has(value)) return;
    } else if (structured.size > 0) {
      const text = canonicalText(value);
      faults.chargeSteps(text.length / CHARACTERS_PER_STEP);
      if (structured.has(text)) return;
    }
    shown ??= allowed.map((one) => (typeof one === 'string' ? one : jsonText(one)));
    faults.chargeSteps(shown.length);
    faults.push(unsupportedValue(pathOf(place), value, shown));
  };
}

/** The same text for the same value, in whatever order its fields are. */
function canonicalText(value: JsonValue): string {
  const object = asObject(value);
  if (object)
    return `{${Object.keys(object)
      .sort()
      .map((name) => `${JSON.stringify(name)}:${canonicalText(object[name]!)}`)
      .join()}}`;
  return Array.isArray(value) ? `[${value.map(canonicalText).join()}]` : jsonText(value);
}

type Field = { readonly name: string; readonly order: number; readonly check: SchemaCheck };

function objectPart(schema: JsonObject): Part | undefined {
  const properties = asObject(schema.properties) ?? {};
  const fields = new Map<string, Field>();
  for (const [order, name] of Object.keys(properties).entries())
    fields.set(name, { name, order, check: compileSchema(asObject(properties[name]) ?? {}) });
  const additionalSchema = asObject(schema.additionalProperties);
  const additional = additionalSchema && compileSchema(additionalSchema);
  const required = Array.isArray(schema.required) ? (schema.required as string[]) : [];
  const [least, most] = [schema.minProperties as number | undefined, schema.maxProperties as number | undefined];
  if (fields.size === 0 && !additional && required.length === 0 && least === undefined && most === undefined)
    return undefined;
  return (value, oldValue, place, faults) => {
    const object = asObject(value);
    if (!object) return;
    const names = Object.keys(object);
    faults.chargeSteps(names.length + required.length);
    const old = asObject(oldValue);
    if (least !== undefined && names.length < least) {
      const path = pathOf(place);
      faults.push(invalidValue(path, names.length, `${path} in body should have at least ${least} properties`));
      return;
    }
    if (most !== undefined && names.length > most) {
      faults.push(tooMany(pathOf(place), names.length, most));
      return;
    }
    const present: Field[] = [];
    for (const name of names) {
      const field = fields.get(name);
      if (field) present.push(field);
      else if (additional) additional(object[name]!, memberOf(old, name), { of: place, name }, faults);
    }
    // Faults are told in the order of the schema.
    if (!isInOrder(present)) present.sort((a, b) => a.order - b.order);
    for (const { name, check } of present) {
      const member = object[name];
      if (member !== undefined) check(member, memberOf(old, name), { of: place, name }, faults);
    }
    for (const name of required)
      if (memberOf(object, name) === undefined) faults.push(requiredValue(pathOf({ of: place, name })));
  };
}

function isInOrder(fields: readonly Field[]): boolean {
  for (let i = 1; i < fields.length; i++) if (fields[i]!.order < fields[i - 1]!.order) return false;
  return true;
}

function memberOf(object: JsonObject | undefined, name: string): JsonValue | undefined {
  return object && ownValue(object, name);
}
