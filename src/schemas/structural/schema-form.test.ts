import { expect, it } from 'vitest';
import { fieldErrorText, type JsonObject } from '../../api/index.ts';
import { WorkSlices } from '../../server/event-loop/work-slices.ts';
import { schemaAt } from './schema-path.ts';
import { checkStructural } from './structural-schema.ts';
import { Validation } from './validation.ts';

async function faultsOf(schema: JsonObject): Promise<string[]> {
  const validation = new Validation();
  await new WorkSlices().run(checkStructural(schema, 's', validation));
  return validation.faults.map(fieldErrorText);
}

const EMPTY = 'Forbidden: must be empty to be structural';
const either = [{ type: 'integer' }, { type: 'string' }];

it.each<[claim: string, field: JsonObject, want: string[]]>([
  ['an integer or a string', { 'x-kubernetes-int-or-string': true, anyOf: either }, []],
  [
    'the same with a word more',
    { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer', minimum: 0 }, { type: 'string' }] },
    [`s.properties[f].anyOf[0].type: ${EMPTY}`, `s.properties[f].anyOf[1].type: ${EMPTY}`],
  ],
  [
    'a list type within a combination',
    { type: 'string', not: { 'x-kubernetes-list-type': 'bogus' } },
    [
      's.properties[f].not.x-kubernetes-list-type: Forbidden: must be undefined to be structural',
      's.properties[f].not.type: Required value: must be array if x-kubernetes-list-type is specified',
      's.properties[f].not.x-kubernetes-list-type: Unsupported value: "bogus": supported values: "atomic", "set", "map"',
    ],
  ],
  [
    'a nullable part',
    { type: 'string', oneOf: [{ nullable: true }] },
    ['s.properties[f].oneOf[0].nullable: Forbidden: must be false to be structural'],
  ],
  [
    'a map type of a text',
    { type: 'string', 'x-kubernetes-map-type': 'x' },
    [
      's.properties[f].type: Invalid value: "string": must be object if x-kubernetes-map-type is specified',
      's.properties[f].x-kubernetes-map-type: Unsupported value: "x": supported values: "atomic", "granular"',
    ],
  ],
  [
    'keys of no map',
    { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-map-keys': ['k'] },
    ['s.properties[f].x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty'],
  ],
  [
    'a set of granular objects',
    { type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'set' },
    [
      's.properties[f].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set',
    ],
  ],
  [
    'a type there is not',
    { type: 'date' },
    [
      's.properties[f].type: Unsupported value: "date": supported values: "array", "boolean", "integer", "number", "object", "string"',
    ],
  ],
  [
    'a rule on several lines',
    { type: 'string', 'x-kubernetes-validations': [{ rule: 'true ||\nfalse' }] },
    [
      's.properties[f].x-kubernetes-validations[0].message: Required value: message must be specified if rule contains line breaks',
    ],
  ],
  [
    'a rule with nothing in it, and a blank message',
    { type: 'string', 'x-kubernetes-validations': [{ rule: ' ', message: ' ', fieldPath: ' ' }] },
    [
      's.properties[f].x-kubernetes-validations[0].rule: Required value: rule is not specified',
      's.properties[f].x-kubernetes-validations[0].fieldPath: Invalid value: " ": must be non-empty if specified',
      's.properties[f].x-kubernetes-validations[0].fieldPath: Invalid value: " ": must be a valid path',
    ],
  ],
  [
    'a rule with a blank message',
    { type: 'string', 'x-kubernetes-validations': [{ rule: 'true', message: ' ' }] },
    ['s.properties[f].x-kubernetes-validations[0].message: Invalid value: " ": must be non-empty if specified'],
  ],
  [
    'a set of what may be null',
    { type: 'array', items: { type: 'string', nullable: true }, 'x-kubernetes-list-type': 'set' },
    ['s.properties[f].items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set'],
  ],
  [
    'a schema of another language',
    { type: 'string', not: { $schema: 'x', title: 'not asked for any more' } },
    ['s: Invalid value: "": OpenAPIV3Schema \'schema\' is not supported'],
  ],
  [
    'one that is told of where it stands',
    { type: 'string', not: { id: 'x', title: 'not asked for any more' } },
    ['s.properties[f].not.id: Forbidden: id is not supported'],
  ],
  [
    'items of which nothing is said',
    { type: 'array', items: { type: 'string' }, additionalItems: {} },
    ['s.properties[f].additionalItems: Forbidden: additionalItems is not supported'],
  ],
  [
    'an embedded object with defaults in its metadata',
    {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      properties: {
        metadata: {
          type: 'object',
          properties: {
            labels: { type: 'object', additionalProperties: { type: 'string', default: 'x' } },
            inner: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { a: { type: 'string' } } },
          },
        },
      },
    },
    [
      's.properties[f].properties[metadata].properties[labels].additionalProperties.default: Forbidden: must not be set inside additionalProperties applying to object metadata',
      's.properties[f].properties[metadata].properties[inner].x-kubernetes-embedded-resource: Forbidden: must not be used inside of resource meta',
    ],
  ],
  [
    'a default that lacks what another default would give',
    { type: 'object', required: ['a'], properties: { a: { type: 'string', default: 'x' } }, default: {} },
    ['s.properties[f].default.a: Required value'],
  ],
])('a field that is %s is judged', async (_claim, field, want) =>
  expect(await faultsOf({ type: 'object', properties: { f: field } })).toEqual(want),
);

it.each(['kind', 'apiVersion'])('the %s of the root has no default', async (name) => {
  const field = { type: 'string', default: 'x' };
  expect(await faultsOf({ type: 'object', properties: { [name]: field } })).toEqual([
    `s.properties[${name}].default: Forbidden: must not be set in top-level ${name}`,
  ]);
});

it('what is not structural is told in the order of the texts', async () => {
  const properties = { zone: {}, metadata: {}, area: {} };
  expect(await faultsOf({ type: 'object', properties })).toEqual([
    's.properties[area].type: Required value: must not be empty for specified object fields',
    's.properties[metadata].type: Invalid value: "": must be object',
    's.properties[metadata].type: Required value: must not be empty for specified object fields',
    's.properties[zone].type: Required value: must not be empty for specified object fields',
  ]);
});

it('only combinations of the root must name what is declared', async () => {
  const part = { anyOf: [{ properties: { gone: {} } }] };
  expect(await faultsOf({ type: 'object', ...part })).toEqual([
    's.properties[gone]: Required value: because it is defined in s.anyOf[0].properties[gone]',
  ]);
  expect(await faultsOf({ type: 'object', properties: { f: { type: 'object', ...part } } })).toEqual([]);
});

it.each<[path: string, want: string]>([
  ['.spec.color', 'string'],
  [".spec['a.b']", 'integer'],
  ['.map.any', 'boolean'],
  ['spec', 'expected [ or . but got: spec'],
  ['.spec.gone', 'does not refer to a valid field'],
  ['.spec[0]', 'expected single quoted string but got 0'],
  [".spec['color'", 'unexpected end of JSON path'],
  [".spec['color'.", 'expected ] but got .'],
  [".spec['a\\q']", 'invalid string literal: invalid escape char \\q'],
  ['.spec.', 'unexpected end of JSON path'],
  ['..spec', 'does not refer to a valid field'],
  ['a b/c.d', 'expected [ or . but got: a b/c'],
  ['.spec.toString', 'does not refer to a valid field'],
])('schemaAt(%s) is what it names', (path, want) => {
  const spec = { type: 'object', properties: { color: { type: 'string' }, 'a.b': { type: 'integer' } } };
  const map = { type: 'object', additionalProperties: { type: 'boolean' } };
  const found = schemaAt({ type: 'object', properties: { spec, map } }, path);
  expect(typeof found === 'string' ? found : found.type).toBe(want);
});
