import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../api/json.ts';
import { anyObjectOf } from '../codec/any-object.testing.ts';
import { checkObject } from '../codec/check-object.ts';
import { withNullsForAbsent } from '../codec/written-nulls.ts';
import { builtInResources } from '../registry/built-in-resources.ts';
import type { Schema } from '../schema/schema.ts';
import { builtInSchemas } from '../schema/schemas.ts';
import { compareObjects } from './compare.ts';
import {
  difference,
  emptySet,
  type FieldSet,
  leaf,
  setOfPaths,
  toFieldsV1,
  union,
  withoutSubtrees,
} from './field-sets/field-set.ts';
import { KeylessElementError } from './field-sets/field-shape.ts';
import { fieldsOfNew } from './fields-of-new.ts';
import { neverTracked } from './track-update.ts';

const status = setOfPaths([['f:status']]);
const metadataItself: FieldSet = new Map([['f:metadata', leaf]]);

/** What `make` says, as text; or that there is a list whose elements cannot be told apart. */
function textOf(make: () => JsonObject | undefined): string | undefined {
  try {
    return JSON.stringify(make());
  } catch (err) {
    if (err instanceof KeylessElementError) return 'keyless';
    throw err;
  }
}

/** The long way: everything that differs from an empty object, less what does not count. */
function byComparison(object: JsonObject, schema: Schema, ignored: FieldSet): JsonObject | undefined {
  const { added, modified } = compareObjects(
    withNullsForAbsent(checkObject({}, schema).object, schema),
    object,
    schema,
  );
  const counted = difference(union(added, modified), metadataItself);
  const set = withoutSubtrees(counted, union(neverTracked, ignored));
  return set.size > 0 ? toFieldsV1(set) : undefined;
}

const kinds = builtInResources().map(({ groupVersion, kind, schema }) => [`${groupVersion} ${kind}`, schema] as const);

it.each(kinds)(
  'fieldsOfNew() of any %s is what a comparison with an empty one says, in the same order',
  (_, schema) => {
    fc.assert(
      fc.property(anyObjectOf(schema, 7), fc.boolean(), (fields, ignoresStatus) => {
        const object = withNullsForAbsent(checkObject(fields, schema).object, schema);
        const ignored = ignoresStatus ? status : emptySet;
        const found = textOf(() => fieldsOfNew(object, schema, union(neverTracked, ignored)));
        const want = textOf(() => byComparison(object, schema, ignored));
        if (ignoresStatus && want === 'keyless') return; // in what is not looked at
        expect(found).toBe(want);
      }),
      { numRuns: 30 },
    );
  },
);

const custom = builtInSchemas().custom({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['needed', 'list'],
      properties: {
        needed: { type: 'object', properties: { a: { type: 'string' } } },
        list: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
        keyed: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
          items: { type: 'object', properties: { k: { type: 'string' }, v: { type: 'integer' } } },
        },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        map: { type: 'object', required: ['y'], additionalProperties: { type: 'integer' } },
        maps: { type: 'object', required: ['b'], additionalProperties: { type: 'object', properties: {} } },
        whole: { type: 'object', 'x-kubernetes-map-type': 'atomic', additionalProperties: { type: 'string' } },
      },
    },
  },
});

const many = (entry: (i: number) => [string, string]): JsonObject =>
  Object.fromEntries(Array.from({ length: 200 }, (_, i) => entry(i)));

it.each<[claim: string, object: JsonObject]>([
  ['a name only', { metadata: { name: 'a' } }],
  ['empty metadata', { metadata: {} }],
  ['empty parts', { metadata: {}, spec: { needed: {}, list: [], keyed: [], free: {}, map: {}, whole: {} } }],
  ['values', { spec: { list: ['b', 'a'], needed: { a: 'x' }, map: { z: 1, y: 2 }, whole: { a: 'b' } } }],
  ['elements out of order', { spec: { keyed: [{ k: 'b', v: 1 }, { k: 'a' }], list: [] } }],
  ['elements that are alike', { spec: { keyed: [{ k: 'a', v: 1 }, { k: 'a' }], list: ['a', 'a'] } }],
  ['elements without their key', { spec: { keyed: [{ v: 1 }], needed: {}, list: [] } }],
  ['members nobody knows', { spec: { free: { x: { y: [1, { z: 2 }] }, w: null }, other: 1 }, more: {} }],
  ['values of the wrong type', { metadata: { labels: 'x' }, spec: { needed: 5, list: {}, keyed: 'no', map: [1] } }],
  ['entries that are required', { spec: { map: { a: 1, y: 2 }, maps: { a: {}, b: {}, c: {} } } }],
  ['more elements than few', { spec: { keyed: Array.from({ length: 99 }, (_, i) => ({ k: `${(i * 37) % 99}` })) } }],
  ['many elements, two alike', { spec: { keyed: Array.from({ length: 99 }, (_, i) => ({ k: `${i % 98}` })) } }],
  ['more members than few', { metadata: { labels: many((i) => [`l${999 - i}`, 'x']) } }],
  ['metadata that counts', { metadata: { labels: { b: '1', a: '2' }, uid: 'u', finalizers: ['x/y'] } }],
])('fieldsOfNew() of a custom object with %s is what the comparison says', (_claim, object) => {
  const want = textOf(() => byComparison(object, custom, emptySet));
  expect(textOf(() => fieldsOfNew(object, custom, neverTracked))).toBe(want);
});
