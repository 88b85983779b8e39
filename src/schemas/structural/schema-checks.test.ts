import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import { fieldErrorText, type JsonObject, type JsonValue } from '../../api/index.ts';
import { checkListTypes } from '../../server/apiextensions/value-rules.ts';
import { checkObject } from '../../server/codec/index.ts';
import { builtInSchemas } from '../../server/schema/schemas.ts';
import { compileSchema } from './schema-checks.ts';
import { NoRoomError, setDefaults } from './set-defaults.ts';
import { asObject, readStructural } from './structural.ts';
import { Validation, ValidationEnd } from './validation.ts';

function faultsOf(schema: JsonObject, value: JsonValue, old?: JsonValue): string[] {
  const validation = new Validation();
  compileSchema(schema)(value, old, { of: undefined, name: 'f' }, validation);
  return validation.faults.map(fieldErrorText);
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
    'set',
    { 'x-kubernetes-preserve-unknown-fields': true },
    [1, '1', { a: 1 }, '{"a":1}', { a: 1 }, null, 'null', 1],
    ['l[4]: Duplicate value: {"a":1}', 'l[7]: Duplicate value: 1'],
  ],
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
  const validation = new Validation();
  checkListTypes({ l: list }, root, validation);
  expect(validation.faults.map(fieldErrorText)).toEqual(want);
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

describe('what a schema may cost', () => {
  const text = { type: 'string' };
  const objectOf = (size: number, value: (i: number) => JsonValue): JsonObject =>
    Object.fromEntries(Array.from({ length: size }, (_, i) => [`f${i}`, value(i)]));
  const listOf = (size: number, value: (i: number) => JsonValue): JsonValue[] =>
    Array.from({ length: size }, (_, i) => value(i));

  it.each<[claim: string, make: (size: number) => readonly [schema: JsonObject, value: JsonValue, old?: JsonValue]]>([
    ['a list', (size) => [{ type: 'array', items: { type: 'integer', minimum: 0 } }, listOf(size * 20, (i) => i)]],
    [
      'objects of a kind with many fields',
      (size) => [
        { type: 'array', items: { type: 'object', properties: objectOf(size, () => text) } },
        listOf(size, (i) => ({ [`f${i}`]: 'x' })),
      ],
    ],
    [
      'an enum',
      (size) => [{ type: 'array', items: { enum: listOf(size, (i) => ({ a: i })) } }, listOf(size, (i) => ({ a: i }))],
    ],
    ['a text and its pattern', (size) => [{ type: 'string', pattern: '^(a|ä|b+)*$' }, 'aäb'.repeat(size * 20)]],
    ['a text and its format', (size) => [{ type: 'string', format: 'duration' }, `${'1'.repeat(size * 50)}x`]],
    ['an address for mail', (size) => [{ type: 'string', format: 'email' }, `${'a'.repeat(size * 50)}`]],
    [
      'parts that are wrong, deep, and unchanged',
      (size) => {
        const nest = (leaf: JsonValue, depth: number): JsonValue => (depth === 0 ? leaf : { a: nest(leaf, depth - 1) });
        const nestSchema = (depth: number): JsonObject =>
          depth === 0 ? { type: 'array', items: text } : { type: 'object', properties: { a: nestSchema(depth - 1) } };
        const wrong = () =>
          nest(
            listOf(size * 4, (i) => i),
            100,
          );
        return [nestSchema(100), wrong(), wrong()];
      },
    ],
  ])('%s is judged in time in proportion to it', async (claim, make) => {
    await expectLinear(claim, {
      make,
      run: ([schema, value, old]) => {
        try {
          compileSchema(schema)(value, old, undefined, new Validation());
        } catch (err) {
          expect(err).toBeInstanceOf(ValidationEnd);
        }
      },
      from: 250,
      limit: 16_000,
      rounds: 3,
    });
  });

  /** The last fault, which says why there are no more. */
  function endOf(schema: JsonObject, value: JsonValue): string {
    const validation = new Validation();
    expect(() => compileSchema(schema)(value, undefined, undefined, validation)).toThrow(ValidationEnd);
    expect(validation.faults.reduce((sum, { message }) => sum + message.length, 0)).toBeLessThan(2_000_000);
    return fieldErrorText(validation.faults.at(-1)!);
  }
  const over =
    '<nil>: Invalid value: validation failed due to running out of cost budget, no further validation rules will be run';
  const tooMany = '<nil>: Invalid value: too many errors, further ones are left out';

  it.each<[claim: string, schema: JsonObject, value: () => JsonValue, want: string]>([
    [
      'alternatives for every item',
      { type: 'array', items: { anyOf: listOf(5000, (i) => ({ minLength: i + 2 })) } },
      () => listOf(5000, () => 'x'),
      over,
    ],
    [
      'patterns by the thousand',
      { type: 'object', properties: objectOf(20_000, (i) => ({ pattern: `${i}a{900}` })) },
      () => objectOf(20_000, () => 'x'),
      over,
    ],
    [
      'a pattern that starts anew with every character',
      { pattern: 'ä.{900}Z$' },
      () => listOf(200_000, (i) => (Math.imul(Number(i), 2654435761) & 0x10000 ? 'ä' : 'ö')).join(''),
      over,
    ],
    [
      'required fields of every item',
      { type: 'array', items: { required: listOf(20_000, (i) => `f${i}`) } },
      () => listOf(20_000, () => ({})),
      tooMany,
    ],
    [
      'an enum that is told for every item',
      { type: 'array', items: { enum: listOf(20_000, (i) => `v${i}`) } },
      () => listOf(20_000, () => 'x'),
      tooMany,
    ],
  ])('%s are ended by a limit', (_claim, schema, value, want) => expect(endOf(schema, value())).toBe(want));

  it('keys of lists by the thousand are ended by a limit', () => {
    const keys = listOf(10_000, (i) => `k${i}`);
    const list = { type: 'array', items: {}, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys };
    const root = readStructural({ type: 'object', properties: { list } });
    const validation = new Validation();
    expect(() => checkListTypes({ list: listOf(10_000, () => ({})) }, root, validation)).toThrow(ValidationEnd);
    expect(validation.faults.map(fieldErrorText)).toEqual([over]);
  });

  it('an object that is wrong throughout can still be changed elsewhere', () => {
    const schema = { type: 'object', properties: { a: { type: 'integer' }, list: { type: 'array', items: text } } };
    const wrong = () => listOf(200_000, (i) => i);
    expect(faultsOf(schema, { a: 2, list: wrong() }, { a: 1, list: wrong() })).toEqual([]);
  });

  it('defaults that multiply end where they are as much as a body may have', () => {
    const multiplied = (depth: number): JsonObject => ({
      type: 'array',
      default: listOf(100, () => ({})),
      items: {
        type: 'object',
        properties: depth === 0 ? { a: { ...text, default: 'x' } } : { a: multiplied(depth - 1) },
      },
    });
    const node = readStructural({ type: 'object', properties: { a: multiplied(5) } });
    expect(() => setDefaults({}, node)).toThrow(NoRoomError);
  });

  it('defaults take time in proportion to the object, not to its schema', async () => {
    const wide = { type: 'object', properties: objectOf(5000, () => text) };
    const node = readStructural({ type: 'array', items: wide });
    await expectLinear('filling in defaults', {
      make: (size) => listOf(size, () => ({})),
      run: (list) => setDefaults(list, node),
      from: 1000,
      limit: 400_000,
    });
  });
});

it.each(['constructor', 'toString', 'hasOwnProperty', '__proto__', 'prototype'])(
  'a field called %s is a field like any other',
  (name) => {
    const odd = (value: JsonValue) => JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`) as JsonObject;
    const schema = { type: 'object', properties: odd({ type: 'integer', default: 7 }), required: [name] };
    expect(faultsOf(schema, {})).toEqual([`f.${name}: Required value`]);
    expect(faultsOf(schema, odd(1))).toEqual([]);
    expect(faultsOf(schema, odd('x'))).toHaveLength(1);
    expect(faultsOf({ type: 'object', additionalProperties: { type: 'integer' } }, odd('x'))).toHaveLength(1);
    expect(faultsOf({ enum: [odd(1)] }, {})).toHaveLength(1);
    const filled: JsonObject = {};
    setDefaults(filled, readStructural(schema));
    expect(Object.getPrototypeOf(filled)).toBe(Object.prototype);
    expect(JSON.stringify(filled)).toBe(JSON.stringify(odd(7)));
    const list = {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': [name],
      items: schema,
    };
    const validation = new Validation();
    checkListTypes([odd(1), odd(2), odd(1)], readStructural(list), validation);
    expect(validation.faults.map(fieldErrorText)).toEqual([`[2]: Duplicate value: ${JSON.stringify(odd(1))}`]);
  },
);
