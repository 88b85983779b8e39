/**
 * What a schema says of values, compiled once into functions: types, bounds, patterns, formats, enums, required fields,
 * and the combinations of those. A check collects every fault in the words and in the order of the reference server.
 *
 * Given the value that was there before, a part that has not changed is not judged again: an object that a newer schema
 * would refuse can still be changed elsewhere. Elements of a list are only told apart by their keys, so those of other
 * lists are judged whenever their list changes.
 */
import { isDeepStrictEqual } from 'node:util';
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
import { compilePattern } from './pattern.ts';
import { formatCheck } from './string-formats.ts';
import { asObject } from './structural.ts';

/** `path` is the path of the value, `''` the root; `old` what was there before, undefined if nothing was. */
export type SchemaCheck = (value: JsonValue, old: JsonValue | undefined, path: string, faults: FieldError[]) => void;
type Part = SchemaCheck;

export function compileSchema(schema: JsonObject): SchemaCheck {
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
  return (value, old, path, faults) => {
    if (value === null && isNullable) return;
    const before = faults.length;
    for (const part of parts) part(value, old, path, faults);
    if (faults.length > before && old !== undefined && isDeepStrictEqual(value, old)) faults.length = before;
  };
}

function typeNameOf(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function typePart(schema: JsonObject): Part | undefined {
  const { type, format } = schema;
  if (schema['x-kubernetes-int-or-string'] === true) {
    return (value, _old, path, faults) => {
      const found = typeNameOf(value);
      if (found !== 'integer' && found !== 'string') faults.push(wrongType(path, 'integer,string', found));
    };
  }
  if (typeof type !== 'string' || type === '') return undefined;
  const takesInteger = type === 'number';
  const hasTextFormat = type === 'string' && typeof format === 'string' && format !== '';
  return (value, _old, path, faults) => {
    const found = typeNameOf(value);
    if (found === type || (takesInteger && found === 'integer')) return;
    if (hasTextFormat && found !== 'null' && found !== 'array') faults.push(wrongType(path, format, goFormat(found)));
    else faults.push(wrongType(path, type, found));
  };
}

/** How the reference server calls a number it did not expect. */
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
  return (value, _old, path, faults) => {
    const judge = (check: SchemaCheck) => {
      const found: FieldError[] = [];
      check(value, undefined, path, found);
      return found;
    };
    const tell = (why: string) => faults.push(invalidValue('<nil>', '', `${quote(path)} ${why}`));
    if (anyOf.length > 0) {
      const verdicts = anyOf.map(judge);
      if (verdicts.every((found) => found.length > 0)) {
        tell('must validate at least one schema (anyOf)');
        faults.push(...closest(verdicts));
      }
    }
    if (oneOf.length > 0) {
      const verdicts = oneOf.map(judge);
      const good = verdicts.filter((found) => found.length === 0).length;
      if (good !== 1) {
        const count = good === 0 ? 'Found none valid' : `Found ${good} valid alternatives`;
        tell(`must validate one and only one schema (oneOf). ${count}`);
        if (good === 0) faults.push(...closest(verdicts));
      }
    }
    const verdicts = allOf.map(judge);
    const good = verdicts.filter((found) => found.length === 0).length;
    faults.push(...verdicts.flat());
    if (good < allOf.length) tell(`must validate all the schemas (allOf)${good === 0 ? '. None validated' : ''}`);
    if (not && judge(not).length === 0) tell('must not validate the schema (not)');
  };
}

function compileAll(schemas: JsonValue | undefined): SchemaCheck[] {
  return Array.isArray(schemas) ? schemas.map((schema) => compileSchema(asObject(schema) ?? {})) : [];
}

/** Of several refusals the one that misses least. */
function closest(verdicts: readonly FieldError[][]): FieldError[] {
  return verdicts.reduce((best, found) => (found.length < best.length ? found : best));
}

function stringPart({ maxLength, minLength, pattern, format, type }: JsonObject): Part | undefined {
  const matches = typeof pattern === 'string' && pattern !== '' ? whenAsked(pattern) : undefined;
  const hasFormat = typeof format === 'string' && (type === 'string' || type === undefined);
  const isOfFormat = hasFormat ? formatCheck(format) : undefined;
  if (maxLength === undefined && minLength === undefined && !matches && !isOfFormat) return undefined;
  const [most, least] = [maxLength as number | undefined, minLength as number | undefined];
  return (value, _old, path, faults) => {
    if (typeof value !== 'string') return;
    if (most !== undefined && value.length > most && characters(value) > most) faults.push(tooLong(path, most));
    else if (least !== undefined && characters(value) < least)
      faults.push(invalidValue(path, value, `${path} in body should be at least ${least} chars long`));
    else if (matches && !matches(value))
      faults.push(invalidValue(path, value, `${path} in body should match '${pattern}'`));
    if (isOfFormat && !isOfFormat(value))
      faults.push(typeInvalid(path, value, `${path} in body must be of type ${format}: ${quote(value)}`));
  };
}

/** Compiled when the first value comes: most patterns of most definitions never see one. */
function whenAsked(pattern: string): (text: string) => boolean {
  let matches: ((text: string) => boolean) | undefined;
  return (text) => {
    matches ??= compilePattern(pattern);
    return matches(text);
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
  return (value, _old, path, faults) => {
    if (typeof value !== 'number') return;
    const fault = (why: string) => faults.push(invalidValue(path, value, `${path} in body should be ${why}`));
    if (isInteger && !fitsInteger(value, format))
      faults.push(invalidValue('<nil>', '', `Checked value must be of type ${kind} in ${path}`));
    if (multipleOf !== undefined && !isMultiple(value, multipleOf)) fault(`a multiple of ${multipleOf}`);
    if (minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum))
      fault(`greater than ${exclusiveMinimum ? '' : 'or equal to '}${minimum}`);
    if (maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum))
      fault(`less than ${exclusiveMaximum ? '' : 'or equal to '}${maximum}`);
  };
}

function fitsInteger(value: number, format: string | undefined): boolean {
  if (!Number.isInteger(value)) return false;
  if (format === 'int32') return value === (value | 0);
  return value >= -(2 ** 63) && value < 2 ** 63;
}

/** By division, with room for what binary fractions cannot hold: 0.3 is a multiple of 0.1. */
function isMultiple(value: number, of: number): boolean {
  const quotient = value / of;
  return Math.abs(quotient - Math.round(quotient)) < 1e-9 * Math.max(1, Math.abs(quotient));
}

function listPart(schema: JsonObject): Part | undefined {
  const itemsSchema = asObject(schema.items);
  const items = itemsSchema && compileSchema(itemsSchema);
  const [least, most] = [schema.minItems as number | undefined, schema.maxItems as number | undefined];
  if (!items && least === undefined && most === undefined) return undefined;
  const keys = schema['x-kubernetes-list-type'] === 'map' ? (schema['x-kubernetes-list-map-keys'] as string[]) : [];
  return (value, old, path, faults) => {
    if (!Array.isArray(value)) return;
    if (items) {
      const before = Array.isArray(old) && keys.length > 0 ? byKeys(old, keys) : undefined;
      for (let i = 0; i < value.length; i++)
        items(value[i]!, before?.get(keyOf(value[i]!, keys)), `${path}[${i}]`, faults);
    }
    if (least !== undefined && value.length < least)
      faults.push(invalidValue(path, value.length, `${path} in body should have at least ${least} items`));
    if (most !== undefined && value.length > most) faults.push(tooMany(path, value.length, most));
  };
}

function byKeys(list: readonly JsonValue[], keys: readonly string[]): ReadonlyMap<string, JsonValue> {
  return new Map(list.map((item) => [keyOf(item, keys), item]));
}

export function keyOf(item: JsonValue, keys: readonly string[]): string {
  const object = asObject(item) ?? {};
  return JSON.stringify(keys.map((key) => object[key] ?? null));
}

function enumPart({ enum: allowed }: JsonObject): Part | undefined {
  if (!Array.isArray(allowed) || allowed.length === 0) return undefined;
  const shown = allowed.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  const simple: ReadonlySet<unknown> = new Set(allowed.filter((value) => typeof value !== 'object' || value === null));
  const structured = allowed.filter((value) => typeof value === 'object' && value !== null);
  return (value, _old, path, faults) => {
    if (simple.has(value) || structured.some((one) => isDeepStrictEqual(one, value))) return;
    faults.push(unsupportedValue(path, value, shown));
  };
}

function objectPart(schema: JsonObject): Part | undefined {
  const properties = Object.entries(asObject(schema.properties) ?? {}).map(
    ([name, json]) => [name, compileSchema(asObject(json) ?? {})] as const,
  );
  const additionalSchema = asObject(schema.additionalProperties);
  const additional = additionalSchema && compileSchema(additionalSchema);
  const known = new Set(properties.map(([name]) => name));
  const required = Array.isArray(schema.required) ? (schema.required as string[]) : [];
  const [least, most] = [schema.minProperties as number | undefined, schema.maxProperties as number | undefined];
  if (properties.length === 0 && !additional && required.length === 0 && least === undefined && most === undefined)
    return undefined;
  return (value, oldValue, path, faults) => {
    const object = asObject(value);
    if (!object) return;
    const old = asObject(oldValue);
    const prefix = path === '' ? '' : `${path}.`;
    if (least !== undefined || most !== undefined) {
      const count = Object.keys(object).length;
      if (least !== undefined && count < least) {
        faults.push(invalidValue(path, count, `${path} in body should have at least ${least} properties`));
        return;
      }
      if (most !== undefined && count > most) {
        faults.push(tooMany(path, count, most));
        return;
      }
    }
    if (additional)
      for (const name of Object.keys(object))
        if (!known.has(name)) additional(object[name]!, memberOf(old, name), prefix + name, faults);
    for (const [name, check] of properties) {
      const member = memberOf(object, name);
      if (member !== undefined) check(member, memberOf(old, name), prefix + name, faults);
    }
    for (const name of required) if (memberOf(object, name) === undefined) faults.push(requiredValue(prefix + name));
  };
}

function memberOf(object: JsonObject | undefined, name: string): JsonValue | undefined {
  return object && Object.hasOwn(object, name) ? object[name] : undefined;
}
