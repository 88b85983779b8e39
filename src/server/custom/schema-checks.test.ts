import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type FieldError, fieldErrorText, type JsonObject, type JsonValue } from '../../api/index.ts';
import { checkObject } from '../codec/index.ts';
import { builtInSchemas } from '../schema/schemas.ts';
import { compileSchema } from './schema-checks.ts';
import { setDefaults } from './set-defaults.ts';
import { asObject, readStructural } from './structural.ts';
import { checkListTypes } from './value-rules.ts';

function faultsOf(schema: JsonObject, value: JsonValue, old?: JsonValue): string[] {
  const faults: FieldError[] = [];
  compileSchema(schema)(value, old, 'f', faults);
  return faults.map(fieldErrorText);
}

it.each<[schema: JsonObject, value: JsonValue, want: string[]]>([
  [{ type: 'integer' }, 1, []],
  [{ type: 'integer' }, 'x', ['f: Invalid value: "string": f in body must be of type integer: "string"']],
  [{ type: 'number' }, 1, []],
  [{ type: 'string' }, null, ['f: Invalid value: "null": f in body must be of type string: "null"']],
  [{ type: 'string', nullable: true }, null, []],
  [
    { type: 'integer', format: 'int32' },
    2 ** 31,
    ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in f'],
  ],
  [
    { type: 'integer', minimum: 1, exclusiveMinimum: true },
    1,
    ['f: Invalid value: 1: f in body should be greater than 1'],
  ],
  [
    { type: 'integer', maximum: 1, exclusiveMaximum: true },
    1,
    ['f: Invalid value: 1: f in body should be less than 1'],
  ],
  [{ type: 'number', multipleOf: 0.1 }, 0.3, []],
  [{ type: 'number', multipleOf: 0.5 }, 0.7, ['f: Invalid value: 0.7: f in body should be a multiple of 0.5']],
  [{ type: 'string', maxLength: 1 }, '😀', []],
  [{ type: 'string', maxLength: 1 }, 'ab', ['f: Too long: may not be more than 1 byte']],
  [{ type: 'string', format: 'ipv4' }, '1.2.3', ['f: Invalid value: "1.2.3": f in body must be of type ipv4: "1.2.3"']],
  [{ type: 'string', format: 'made-up' }, 'x', []],
  [
    { type: 'string', format: 'date' },
    '2023-02-30',
    ['f: Invalid value: "2023-02-30": f in body must be of type date: "2023-02-30"'],
  ],
  [
    { 'x-kubernetes-int-or-string': true },
    true,
    ['f: Invalid value: "boolean": f in body must be of type integer,string: "boolean"'],
  ],
  [{ 'x-kubernetes-int-or-string': true }, '80', []],
  [{ enum: [1, 'a', null] }, 2, ['f: Unsupported value: 2: supported values: "1", "a", "null"']],
  [{ type: 'object', minProperties: 1 }, {}, ['f: Invalid value: 0: f in body should have at least 1 properties']],
  [{ type: 'object', maxProperties: 1 }, { a: 1, b: 2 }, ['f: Too many: 2: must have at most 1 item']],
  [
    { type: 'object', properties: { a: { type: 'string' } }, required: ['a', 'b'] },
    { a: 1 },
    ['f.a: Invalid value: "integer": f.a in body must be of type string: "integer"', 'f.b: Required value'],
  ],
  [{ type: 'object', properties: {}, required: ['toString'] }, {}, ['f.toString: Required value']],
  [
    { type: 'object', anyOf: [{ required: ['a'] }, { required: ['b'] }] },
    {},
    ['<nil>: Invalid value: "": "f" must validate at least one schema (anyOf)', 'f.a: Required value'],
  ],
  [
    { type: 'object', oneOf: [{ required: ['a'] }, { required: ['b'] }] },
    { a: 1, b: 1 },
    ['<nil>: Invalid value: "": "f" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
  ],
  [
    { type: 'integer', allOf: [{ minimum: 3 }, { maximum: 9 }] },
    1,
    [
      'f: Invalid value: 1: f in body should be greater than or equal to 3',
      '<nil>: Invalid value: "": "f" must validate all the schemas (allOf)',
    ],
  ],
  [{ type: 'string', not: { enum: ['x'] } }, 'x', ['<nil>: Invalid value: "": "f" must not validate the schema (not)']],
])('the schema %j judges %j', (schema, value, want) => expect(faultsOf(schema, value)).toEqual(want));

it('what has not changed is not judged again', () => {
  const item = { type: 'object', properties: { name: { type: 'string' }, size: { type: 'integer', maximum: 3 } } };
  const byName = {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    items: item,
  };
  const schema = { type: 'object', properties: { a: { type: 'integer', maximum: 3 }, list: byName } };
  const old = { a: 9, list: [{ name: 'x', size: 9 }] };
  expect(faultsOf(schema, { a: 9, list: [{ name: 'y' }, { name: 'x', size: 9 }] }, old)).toEqual([]);
  expect(faultsOf(schema, { a: 8, list: [{ name: 'x', size: 8 }] }, old)).toHaveLength(2);
});

it.each<[listType: string, items: JsonObject, list: JsonValue[], want: string[]]>([
  ['set', { type: 'string' }, ['a', 'b', 'a'], ['l[2]: Duplicate value: "a"']],
  [
    'map',
    { type: 'object', properties: { k: { type: 'string' } } },
    [{ k: 'a' }, { k: 'a' }],
    ['l[1]: Duplicate value: {"k":"a"}'],
  ],
  ['atomic', { type: 'string' }, ['a', 'a'], []],
])('a list of type %s holds nothing twice', (listType, items, list, want) => {
  const schema = { type: 'array', items, 'x-kubernetes-list-type': listType, 'x-kubernetes-list-map-keys': ['k'] };
  const root = readStructural({ type: 'object', properties: { l: schema } });
  expect(checkListTypes({ l: list }, root).map(fieldErrorText)).toEqual(want);
});

it.each<[schema: JsonObject, value: JsonObject, want: JsonObject]>([
  [{ a: { type: 'integer', default: 1 } }, {}, { a: 1 }],
  [{ a: { type: 'integer', default: 1 } }, { a: null }, { a: 1 }],
  [{ a: { type: 'integer', default: 1, nullable: true } }, { a: null }, { a: null }],
  [{ a: { type: 'integer' } }, { a: null }, {}],
  [{ a: { type: 'object', default: {}, properties: { b: { type: 'integer', default: 2 } } } }, {}, { a: { b: 2 } }],
  [{ a: { type: 'object', properties: { b: { type: 'integer', default: 2 } } } }, {}, {}],
  [
    {
      a: {
        type: 'object',
        additionalProperties: { type: 'object', properties: { b: { type: 'integer', default: 2 } } },
      },
    },
    { a: { x: {} } },
    { a: { x: { b: 2 } } },
  ],
])('the fields %j fill %j', (properties, value, want) => {
  setDefaults(value, readStructural({ type: 'object', properties }));
  expect(value).toEqual(want);
});

/** A schema and values that are near to it. */
const leafSchema = fc.oneof(
  fc
    .record({ type: fc.constant('integer') }, { requiredKeys: ['type'] })
    .map((s): JsonObject => ({ ...s, default: 7 })),
  fc.constant<JsonObject>({ type: 'string', maxLength: 3 }),
  fc.constant<JsonObject>({ type: 'boolean', nullable: true }),
  fc.constant<JsonObject>({ 'x-kubernetes-int-or-string': true }),
);
const { schema: anySchema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    leafSchema,
    fc
      .dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema'))
      .map((properties): JsonObject => ({ type: 'object', properties, required: Object.keys(properties).slice(0, 1) })),
    tie('schema').map((items): JsonObject => ({ type: 'array', items })),
    tie('schema').map((additionalProperties): JsonObject => ({ type: 'object', additionalProperties })),
  ),
}));
const anyValue = fc
  .jsonValue({ maxDepth: 4 })
  .map((value) => JSON.parse(JSON.stringify(value), (_key, one) => (typeof one === 'number' ? Math.trunc(one) : one)));
const nearValue = fc.oneof(anyValue, fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), anyValue));

/** The same question, asked of the schema at every step, with nothing compiled. */
function isValid(value: JsonValue, schema: JsonObject): boolean {
  if (value === null) return schema.nullable === true;
  if (schema['x-kubernetes-int-or-string']) return typeof value === 'string' || Number.isInteger(value);
  switch (schema.type) {
    case 'integer':
      return Number.isInteger(value) && Math.abs(value as number) < 2 ** 63;
    case 'string':
      return typeof value === 'string' && [...value].length <= 3;
    case 'boolean':
      return typeof value === 'boolean';
    case 'array':
      return Array.isArray(value) && value.every((item) => isValid(item, schema.items as JsonObject));
    default: {
      const object = asObject(value);
      if (!object) return false;
      const properties = (schema.properties ?? {}) as Record<string, JsonObject>;
      const required = (schema.required ?? []) as string[];
      return (
        required.every((name) => Object.hasOwn(object, name)) &&
        Object.entries(object).every(([name, member]) => {
          const child = Object.hasOwn(properties, name)
            ? properties[name]
            : (schema.additionalProperties as JsonObject);
          return !child || isValid(member!, child);
        })
      );
    }
  }
}

it('compiled checks agree with the schema read naively', () => {
  fc.assert(
    fc.property(anySchema, nearValue, (schema, value) => {
      expect(faultsOf(schema, value).length === 0).toBe(isValid(value, schema));
    }),
    { numRuns: 2000 },
  );
});

it('defaulting twice is defaulting once, and what was pruned and defaulted stays as it is', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('a', 'b'), anySchema),
      fc.dictionary(fc.constantFrom('a', 'b', 'c'), nearValue),
      (properties, value) => {
        const schema: JsonObject = { type: 'object', properties };
        const prune = (object: JsonObject) =>
          checkObject(object, builtInSchemas().custom(schema), { isCustom: true }).object;
        const once = structuredClone(prune(value as JsonObject));
        setDefaults(once, readStructural(schema));
        const twice = structuredClone(prune(once));
        setDefaults(twice, readStructural(schema));
        expect(twice).toEqual(once);
        expect(faultsOf(schema, twice)).toEqual(faultsOf(schema, once));
      },
    ),
    { numRuns: 1000 },
  );
});
