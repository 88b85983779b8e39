/**
 * Objects of a type that nobody thought of, for tests with fast-check: every kind of field, nested as deep as is asked
 * for, with what the type requires and without the zeros and empty lists that are the same as nothing.
 */
import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../api/json.ts';
import type { Schema } from '../schema/schema.ts';
import { builtInSchemas } from '../schema/schemas.ts';
import { setKey } from './json/json-objects.ts';
import { messageOfSchema } from './protobuf/message-tables.ts';
import { planOf } from './type-plan.ts';

export function anyObjectOf(schema: Schema, depth: number): fc.Arbitrary<JsonObject> {
  const fields = [...schema.properties!].filter(([name]) => name !== 'kind' && name !== 'apiVersion');
  const isRequired = (name: string) => schema.required?.includes(name) === true;
  const required = fields.filter(([name]) => isRequired(name));
  const optional = depth <= 0 ? [] : fields.filter(([name]) => !isRequired(name));
  const some = fc.subarray(optional, { maxLength: Math.min(4, optional.length) });
  return some.chain((chosen) =>
    fc.record(Object.fromEntries([...required, ...chosen].map(([name, field]) => [name, anyOf(field, depth - 1)]))),
  ) as fc.Arbitrary<JsonObject>;
}

function anyOf(schema: Schema, depth: number): fc.Arbitrary<JsonValue> {
  const { name = '' } = schema;
  if (name.includes('.JSONSchemaPropsOr')) return unionOf(name, depth);
  const plan = planOf(schema);
  switch (plan.kind) {
    case 'struct':
      return anyObjectOf(schema, depth);
    case 'map':
      return mapOf(anyOf(plan.element!, depth - 1));
    case 'list':
      return fc.array(anyOf(plan.element!, depth - 1), { minLength: 1, maxLength: 2 });
    case 'string':
      return fc.string({ minLength: 1, maxLength: 80, unit: 'grapheme' });
    case 'integer':
      return schema.format === 'int32'
        ? fc.integer().filter((n) => n !== 0)
        : fc.oneof(
            fc.maxSafeInteger().filter((n) => n !== 0),
            exactInteger(),
          );
    case 'number':
      return fc.double({ noNaN: true, min: -1e9, max: 1e9 }).filter((n) => n !== 0);
    case 'boolean':
      return fc.constant(true);
    case 'time':
      return timeText().map((text) => `${text}Z`);
    case 'micro-time':
      return fc
        .tuple(timeText(), fc.nat(999_999))
        .map(([text, micros]) => `${text}.${String(micros).padStart(6, '0')}Z`);
    case 'bytes':
      return fc.uint8Array({ minLength: 1, maxLength: 9 }).map((bytes) => Buffer.from(bytes).toString('base64'));
    case 'quantity':
      return fc.tuple(fc.integer(), fc.constantFrom('', 'm', 'Ki', 'G')).map(([n, suffix]) => `${n}${suffix}`);
    case 'int-or-string':
      return fc.oneof(fc.integer({ min: 1 }), fc.string({ minLength: 1, maxLength: 5 }));
    default: // a type without fields takes none
      return messageOfSchema(name)?.byNumber.size === 0 ? fc.constant({}) : mapOf(anyJson(depth));
  }
}

/** One that a number cannot hold. */
function exactInteger(): fc.Arbitrary<bigint> {
  const beyond = fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n });
  return fc.tuple(beyond, fc.boolean()).map(([value, isNegative]) => (isNegative ? -value - 1n : value));
}

function anyJson(depth: number): fc.Arbitrary<JsonValue> {
  const scalar = fc.oneof(fc.constantFrom(null, true, false, 0, 0.5), fc.maxSafeInteger(), exactInteger(), fc.string());
  if (depth <= 0) return scalar;
  return fc.oneof(scalar, fc.array(anyJson(depth - 1), { maxLength: 2 }), mapOf(anyJson(depth - 2)));
}

function unionOf(name: string, depth: number): fc.Arbitrary<JsonValue> {
  const schema = builtInSchemas().byName(name.slice(0, name.indexOf('PropsOr') + 'Props'.length))!;
  const one = anyObjectOf(schema, depth - 1);
  if (name.endsWith('OrBool')) return fc.oneof(one, fc.boolean());
  const element: fc.Arbitrary<JsonValue> = name.endsWith('OrArray') ? one : fc.string();
  return fc.oneof(one, fc.array(element, { minLength: 1, maxLength: 2 }));
}

function mapOf(value: fc.Arbitrary<JsonValue>): fc.Arbitrary<JsonObject> {
  const key = fc.oneof(fc.string(), fc.constant('__proto__'));
  return fc.array(fc.tuple(key, value), { minLength: 1, maxLength: 3 }).map((entries) => {
    const map: JsonObject = {};
    for (const [name, element] of entries) setKey(map, name, element);
    return map;
  });
}

function timeText(): fc.Arbitrary<string> {
  const range = { min: new Date('0000-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true };
  return fc.date(range).map((date) => date.toISOString().slice(0, 19));
}
