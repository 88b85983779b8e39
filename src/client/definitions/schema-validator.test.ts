import { expect, it } from 'vitest';
import { issueText } from '../objects/standard-schema.ts';
import type { StructuralSchema } from '../objects/structural-schema.ts';
import { schemaValidator } from './schema-validator.ts';

const text = { type: 'string' };

it.each<[claim: string, schema: StructuralSchema, value: unknown, issues: string[]]>([
  ['a value of another type', { type: 'integer' }, 1.5, ['must be an integer']],
  ['null where it is not allowed', { type: 'string' }, null, ['must not be null']],
  ['null where it is allowed', { type: 'string', nullable: true }, null, []],
  ['an integer or a text', { 'x-kubernetes-int-or-string': true }, '10%', []],
  ['neither', { 'x-kubernetes-int-or-string': true }, true, ['must be an integer or string']],
  ['a missing field', { type: 'object', required: ['a'], properties: { a: text } }, {}, ['a: is required']],
  [
    'a missing field that the server fills in',
    { type: 'object', required: ['a'], properties: { a: { ...text, default: 'x' } } },
    {},
    [],
  ],
  ['a field that is not described', { type: 'object', properties: { a: text } }, { b: 1 }, []],
  ['a name of every object', { type: 'object', properties: { a: text } }, { constructor: 1, toString: 2 }, []],
  ['a value of a map', { type: 'object', additionalProperties: text }, { a: 1 }, ['a: must be a string']],
  ['an item', { type: 'array', items: text }, ['a', 2], ['1: must be a string']],
  ['another value', { ...text, enum: ['a', 'b'] }, 'c', ['must be one of "a", "b"']],
  ['a bound that is not included', { type: 'number', minimum: 0, exclusiveMinimum: true }, 0, ['must be more than 0']],
  ['a number that is too large', { type: 'integer', format: 'int32' }, 2 ** 31, ['must fit into 32 bits']],
  ['characters, not units', { ...text, maxLength: 2 }, '😀😀', []],
  ['a text that does not match', { ...text, pattern: '^[a-z]+$' }, 'A', ['must match ^[a-z]+$']],
  ['a pattern of another language', { ...text, pattern: '(?i)a[[:alpha:]]' }, 'A', []],
  [
    'two shapes at once',
    { type: 'object', oneOf: [{ required: ['a'] }, { required: ['b'] }] },
    { a: 1, b: 1 },
    ['must fit exactly one of the shapes of oneOf'],
  ],
])('schemaValidator() judges %s', async (_claim, schema, value, issues) => {
  const result = await schemaValidator(schema)['~standard'].validate(value);
  expect((result.issues ?? []).map(issueText)).toEqual(issues);
});

it('schemaValidator() stops at a hundred issues', async () => {
  const value = Array.from({ length: 1000 }, (_, i) => i);
  const result = await schemaValidator({ type: 'array', items: text })['~standard'].validate(value);
  expect(result.issues).toHaveLength(100);
});
