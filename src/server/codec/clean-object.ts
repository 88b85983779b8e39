/**
 * Objects in which nothing is odd, read in one walk: every field known, every value of its type, as nearly all that are sent
 * are. What comes out is what `checkObject` makes of them. Of any other it says only that it is another one: paths, and what
 * Go says of a fault, are the business of `check-object.ts`, which begins anew.
 *
 * A schema is compiled once, when it is first met, to a function per type: what the schema says is looked up then, and not
 * for every object. On the way members are counted: who knows how many a text has knows whether a key came twice.
 */
import { noteGivenEmpty } from '../../api/given-empty.ts';
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { canonicalQuantity } from '../../api/scalars/quantity.ts';
import type { Schema } from '../schema/schema.ts';
import { firstOf, isBefore, isRaw, isSchemaOrBoolean, isSchemaUnion, isZero } from './check-parts.ts';
import { isObject, setKey } from './json/json-objects.ts';
import { countMembers } from './json/json-reader.ts';
import { normalBase64 } from './scalars/base64.ts';
import { normalMicroTime, normalTime } from './scalars/go-time.ts';
import { type FieldPlan, type Plan, planOf, zeroOf } from './type-plan.ts';

export type CleanObject = {
  readonly object: JsonObject;
  /** Of all objects in it, as they were given. */
  readonly members: number;
};

/**
 * Undefined: something in it is odd. What changes is copied; of a value that nobody else has (`isOwn`) only that from which
 * something is left out, and what is odd may by then have changed.
 */
export function readClean(value: JsonObject, schema: Schema, isOwn = false): CleanObject | undefined {
  members = 0;
  mayWrite = isOwn;
  const object = readerOf(planOf(schema))(value);
  return object === undefined ? undefined : { object: object as JsonObject, members };
}

/** Undefined: odd. */
type Read = (value: JsonValue) => JsonValue | undefined;

/** So many were met in this walk. */
let members = 0;
/** Whether this walk may write to what it was given. */
let mayWrite = false;

const readers = new WeakMap<Plan, Read>();

function readerOf(plan: Plan): Read {
  let read = readers.get(plan);
  if (!read) {
    read = compile(plan);
    readers.set(plan, read);
  }
  return read;
}

function compile(plan: Plan): Read {
  switch (plan.kind) {
    case 'struct':
      return structReader(plan);
    case 'map':
      return mapReader(plan);
    case 'list':
      return listReader(plan);
    case 'any':
      return anyReader(plan);
    case 'string':
      return (value) => (typeof value === 'string' ? value : undefined);
    case 'boolean':
      return (value) => (typeof value === 'boolean' ? value : undefined);
    case 'integer':
      if (plan.goType === 'int32')
        return (value) => (typeof value === 'number' && value === (value | 0) ? value : undefined);
      return (value) => (Number.isSafeInteger(value) ? value : undefined);
    case 'number':
      return (value) => (typeof value === 'number' ? value : undefined);
    case 'int-or-string':
      return (value) =>
        typeof value === 'string' || (typeof value === 'number' && value === (value | 0)) ? value : undefined;
    case 'quantity':
      return (value) => (typeof value === 'string' ? ifGood(canonicalQuantity, value) : undefined);
    case 'bytes':
      return (value) => (typeof value === 'string' ? ifGood(normalBase64, value) : undefined);
    case 'time':
      return (value) => (typeof value === 'string' ? ifGood(normalTime, value) : undefined);
    case 'micro-time':
      return (value) => (typeof value === 'string' ? ifGood(normalMicroTime, value) : undefined);
  }
}

/** Whatever is wrong with it is told by who reads it again. */
function ifGood(read: (text: string) => string, text: string): string | undefined {
  try {
    return read(text);
  } catch {
    return undefined;
  }
}

/** Compiled when a value of it is met: types may contain themselves. */
class FieldReader {
  readonly dropsZero: boolean;
  readonly isEmptyTold: boolean;
  readonly schema: Schema;
  read: Read;

  constructor(field: FieldPlan) {
    this.dropsZero = field.dropsZero;
    this.isEmptyTold = field.isEmptyTold;
    this.schema = field.schema;
    this.read = (value) => {
      this.read = readerOf(field.plan);
      return this.read(value);
    };
  }
}

function structReader(plan: Plan): Read {
  const fields = new Map([...plan.fields].map(([name, field]) => [name, new FieldReader(field)]));
  const always = plan.alwaysWritten.flatMap((name) => {
    const { schema } = plan.fields.get(name)!;
    const zero = zeroOf(schema);
    return zero === null ? [] : [{ name, make: () => zero ?? emptyOf(planOf(schema)) }];
  });
  return (value) => {
    if (!isObject(value)) return undefined;
    let result: JsonObject | undefined; // a copy, from the first difference on
    for (const key in value) {
      members++;
      const field = fields.get(key);
      if (!field) return undefined;
      const given = value[key];
      let kept: JsonValue | undefined;
      if (given !== null && given !== undefined) {
        kept = field.read(given);
        if (kept === undefined) return undefined;
        if (field.dropsZero && isZero(kept, field.schema)) kept = undefined;
      }
      if (kept !== undefined && (kept === given || mayWrite)) {
        if (result) result[key] = kept;
        else if (kept !== given) value[key] = kept;
        continue;
      }
      result ??= upTo(value, key);
      if (kept !== undefined) result[key] = kept;
      else if (field.isEmptyTold && given !== null) noteGivenEmpty(result, key);
    }
    for (const { name, make } of always) {
      if ((result ?? value)[name] !== undefined) continue;
      result ??= mayWrite ? value : { ...value };
      result[name] = make();
    }
    return result ?? value;
  };
}

/** A struct of which nothing was said. */
function emptyOf(plan: Plan): JsonValue {
  return readerOf(plan)({})!;
}

/** A copy of the members before one. */
function upTo(value: JsonObject, end: string): JsonObject {
  const copy: JsonObject = {};
  for (const key in value) {
    if (key === end) break;
    copy[key] = value[key]!;
  }
  return copy;
}

/** What Go makes of a null in a list or a map: the zero of its type. */
function elementReader(element: Plan): Read {
  let read: Read = (value) => {
    read = readerOf(element); // compiled when it is met, as fields are
    return read(value);
  };
  return (value) => (value === null ? (zeroOf(element.schema) ?? nullOf(element)) : read(value));
}

function nullOf(element: Plan): JsonValue {
  return element.kind === 'struct' ? emptyOf(element) : null;
}

function mapReader(plan: Plan): Read {
  const read = elementReader(plan.elementPlan!);
  return (value) => {
    if (!isObject(value)) return undefined;
    const keys = Object.keys(value);
    members += keys.length;
    let isSame = true;
    for (let i = 1; i < keys.length && isSame; i++) isSame = isBefore(keys[i - 1]!, keys[i]!);
    if (!isSame) keys.sort();
    let result: JsonObject | undefined = isSame ? undefined : {};
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]!;
      const given = value[key]!;
      const kept = read(given);
      if (kept === undefined) return undefined;
      if (kept !== given) result ??= firstOf(value, keys, i);
      if (result) setKey(result, key, kept); // its keys are anybody's, so it is never written to
    }
    return result ?? value;
  };
}

function listReader(plan: Plan): Read {
  if (!plan.element) {
    return (value) => {
      if (!Array.isArray(value)) return undefined;
      members += countMembers(value);
      return value;
    };
  }
  const read = elementReader(plan.elementPlan!);
  return (value) => {
    if (!Array.isArray(value)) return undefined;
    let result = value;
    for (let i = 0; i < value.length; i++) {
      const given = value[i]!;
      const kept = read(given);
      if (kept === undefined) return undefined;
      if (kept === given) continue;
      if (result === value && !mayWrite) result = value.slice();
      result[i] = kept;
    }
    return result;
  };
}

function anyReader({ schema }: Plan): Read {
  if (isSchemaUnion(schema)) {
    const mayBeBoolean = isSchemaOrBoolean(schema);
    return (value) => (mayBeBoolean && typeof value === 'boolean' ? value : undefined);
  }
  const isObjectOnly = schema.type === 'object' && !isRaw(schema);
  return (value) => {
    if (isObjectOnly && !isObject(value)) return undefined;
    members += countMembers(value);
    return value;
  };
}
