import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../api/json.ts';
import { anyObjectOf } from '../codec/any-object.testing.ts';
import { checkObject } from '../codec/check-object.ts';
import { builtInResources } from '../registry/built-in-resources.ts';
import type { Schema } from '../schema/schema.ts';
import { builtInSchemas } from '../schema/schemas.ts';
import { KeylessElementError } from './field-sets/field-shape.ts';
import { fieldsOfNew } from './fields-of-new.ts';
import { leastOwnedBytes } from './owned-size.ts';
import { neverTracked } from './track-update.ts';

/** What an empty object of any type has of its own. */
const SLACK = 512;
const kinds = builtInResources().map(({ groupVersion, kind, schema }) => [`${groupVersion} ${kind}`, schema] as const);

it.each(kinds)('what is owned of any %s takes no less than is said', (_, schema) => {
  fc.assert(
    fc.property(anyObjectOf(schema, 7), (fields) => {
      const { object } = checkObject(fields, schema);
      const owned = JSON.stringify(ownedFields(object, schema));
      const parts = Object.keys(object).filter((field) => !['kind', 'apiVersion', 'metadata'].includes(field));
      expect(leastOwnedBytes(object, schema, parts, 1e9)).toBeLessThanOrEqual(Buffer.byteLength(owned) + SLACK);
    }),
    { numRuns: 20 },
  );
});

function ownedFields(object: JsonObject, schema: Schema): JsonObject {
  try {
    return fieldsOfNew(object, schema, neverTracked) ?? {};
  } catch (err) {
    if (err instanceof KeylessElementError) return {}; // then nothing is owned
    throw err;
  }
}

const custom = builtInSchemas().custom({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
        list: { type: 'array', items: { type: 'string' } },
        map: { type: 'object', additionalProperties: { type: 'string' } },
      },
    },
  },
});
const texts = Array.from({ length: 10_000 }, (_, i) => `v${i}`);
const ownedOf = (spec: JsonObject, limit = 1e9) => leastOwnedBytes({ spec }, custom, ['spec'], limit);

it('elements of sets and members of maps are counted, lists that are owned as one are not', () => {
  expect(ownedOf({ set: texts })).toBeGreaterThan(texts.join('').length);
  expect(ownedOf({ map: Object.fromEntries(texts.map((text) => [text, 'x'])) })).toBeGreaterThan(texts.join('').length);
  expect(ownedOf({ list: texts })).toBeLessThan(50);
  expect(ownedOf({ set: [...texts, 'v1'] })).toBeLessThan(50);
  expect(ownedOf({ set: [...texts, {}] })).toBeLessThan(50);
});

it('beyond its limit nothing is counted on, but what would not count', () => {
  expect(ownedOf({ set: texts }, 100)).toBeGreaterThan(100);
  expect(ownedOf({ set: texts }, 100)).toBeLessThan(150);
  expect(ownedOf({ set: [...texts, {}] }, 100)).toBeLessThan(50);
});
