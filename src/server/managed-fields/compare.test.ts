import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { schemaFromOpenApi } from '../schema/from-openapi.ts';
import type { Schema } from '../schema/schema.ts';
import { compareObjects } from './compare.ts';
import { type FieldSet, toFieldsV1 } from './field-sets/field-set.ts';
import { KeylessElementError } from './field-sets/field-shape.ts';

const names: Schema = schemaFromOpenApi({
  type: 'object',
  properties: {
    ports: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['port', 'protocol'],
      items: {
        type: 'object',
        properties: {
          port: { type: 'integer' },
          protocol: { type: 'string', default: 'TCP' },
          name: { type: 'string' },
          hosts: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['ip'],
            items: { type: 'object', properties: { ip: { type: 'string' }, weight: { type: 'integer' } } },
          },
        },
      },
    },
  },
});

const port = fc.record(
  {
    port: fc.constantFrom<JsonValue>(80, 443, '80', 0, null),
    protocol: fc.constantFrom('TCP', 'UDP'),
    name: fc.constantFrom('a', 'b'),
    hosts: fc.array(fc.record({ ip: fc.constantFrom('::1', '::2') }, { requiredKeys: [] }), { maxLength: 2 }),
  },
  { requiredKeys: ['port'] },
);

/** So many that nobody compares them place by place. */
const others = Array.from({ length: 20 }, (_, i) => ({ port: 1000 + i, protocol: 'TCP' }));

const textOf = (set: FieldSet) => JSON.stringify(toFieldsV1(set));

function differences(before: JsonValue[], after: JsonValue[]) {
  try {
    const { added, modified, removed } = compareObjects({ ports: before }, { ports: after } as JsonObject, names);
    return [added, modified, removed].map(textOf);
  } catch (err) {
    if (err instanceof KeylessElementError) return 'keyless';
    throw err;
  }
}

it('elements that stand where they stood differ as those of a list do that is searched', () => {
  const list = fc.array(port, { minLength: 1, maxLength: 3 });
  // Of two lists that have nothing to do with each other few are aligned: mostly one is the other with something changed.
  const pair = fc.oneof(
    fc.tuple(list, list),
    fc.tuple(list, list).map(([a, b]) => [a, a.map((one, i) => ({ ...one, ...(b[i] && { name: b[i].name }) }))]),
    fc
      .tuple(list, list)
      .map(([a, b]) => [a, a.map((one, i) => ({ ...one, ...(b[i]?.hosts && { hosts: b[i].hosts }) }))]),
  );
  fc.assert(
    fc.property(pair, ([before, after]) => {
      const [was, is] = structuredClone([before, after]) as [JsonValue[], JsonValue[]];
      expect(differences(was, is)).toEqual(differences([...was, ...others], [...is, ...others]));
    }),
    { numRuns: 2000 },
  );
});

it.each<[what: string, before: JsonValue[], after: JsonValue[], modified: object]>([
  [
    'two of the same keys are one field',
    [
      { port: 80, protocol: 'TCP' },
      { port: 80, protocol: 'TCP', name: 'a' },
    ],
    [
      { port: 80, protocol: 'TCP' },
      { port: 80, protocol: 'TCP', name: 'b' },
    ],
    { 'f:ports': { 'k:{"port":80,"protocol":"TCP"}': {} } },
  ],
  [
    'a key by default is the key that is given',
    [{ port: 80 }, { port: 80, protocol: 'TCP', name: 'a' }],
    [{ port: 80 }, { port: 80, protocol: 'TCP', name: 'b' }],
    { 'f:ports': { 'k:{"port":80,"protocol":"TCP"}': {} } },
  ],
  [
    'only what has changed is named',
    [
      { port: 80, protocol: 'TCP' },
      { port: 443, protocol: 'TCP', name: 'a', hosts: [{ ip: '::1', weight: 1 }] },
    ],
    [
      { port: 80, protocol: 'TCP' },
      { port: 443, protocol: 'TCP', name: 'b', hosts: [{ ip: '::1', weight: 2 }] },
    ],
    {
      'f:ports': {
        'k:{"port":443,"protocol":"TCP"}': { 'f:name': {}, 'f:hosts': { 'k:{"ip":"::1"}': { 'f:weight': {} } } },
      },
    },
  ],
])('%s', (_what, before, after, modified) => {
  expect(JSON.parse(differences(before, after)[1]!)).toEqual(modified);
});
