/**
 * Schemas as types of CEL, for who wants to know what an expression would say of objects of a kind. Fields that are not
 * declared are not there; what a schema leaves open may be anything. Types are made when somebody looks, since schemas
 * may be recursive, and each once.
 */
import { type CelType, dyn, listOf, mapOf, plainType, string } from '../../../cel/values/types.ts';
import type { Schema } from '../../../schema/schema.ts';

const known = new WeakMap<Schema, CelType>();

export function typeOfSchema(schema: Schema): CelType {
  let type = known.get(schema);
  if (!type) {
    type = makeType(schema);
    known.set(schema, type);
  }
  return type;
}

function makeType(schema: Schema): CelType {
  const { type, items, properties, additional } = schema;
  if (schema.intOrString || schema.format === 'int-or-string') return dyn;
  switch (type) {
    case 'string':
      return textTypes.get(schema.format ?? '') ?? string;
    case 'integer':
      return plainType('int');
    case 'number':
      return plainType('double');
    case 'boolean':
      return plainType('bool');
    case 'array':
      return items ? listOf(typeOfSchema(items)) : dyn;
    case 'object':
      if (properties) return new DeclaredType(schema.name ?? 'object', properties);
      return additional && additional !== true ? mapOf(string, typeOfSchema(additional)) : dyn;
    default:
      return dyn;
  }
}

const textTypes: ReadonlyMap<string, CelType> = new Map([
  ['byte', plainType('bytes')],
  ['date', plainType('timestamp')],
  ['date-time', plainType('timestamp')],
  ['micro-time', plainType('timestamp')],
  ['duration', plainType('duration')],
]);

class DeclaredType {
  readonly kind = 'object';
  readonly name: string;
  readonly #properties: ReadonlyMap<string, Schema>;
  #fields: ReadonlyMap<string, CelType> | undefined;

  constructor(name: string, properties: ReadonlyMap<string, Schema>) {
    this.name = name;
    this.#properties = properties;
  }

  get fields(): ReadonlyMap<string, CelType> {
    this.#fields ??= new Map([...this.#properties].map(([name, schema]) => [name, typeOfSchema(schema)]));
    return this.#fields;
  }
}
