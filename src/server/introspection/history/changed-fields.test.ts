import { expect, it } from 'vitest';
import { expectLinear } from '../../../../test/support/growth.ts';
import type { JsonObject } from '../../../api/index.ts';
import { changedFields, type FieldChanges } from './changed-fields.ts';

function changes(from: JsonObject | undefined, to: JsonObject | undefined, limit = 100): FieldChanges {
  const steps = changedFields(from, to, limit);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

it.each<[claim: string, from: JsonObject | undefined, to: JsonObject | undefined, paths: string[]]>([
  ['nothing', { a: 1, b: [{ c: null }] }, { b: [{ c: null }], a: 1 }, []],
  ['a leaf', { spec: { replicas: 1 } }, { spec: { replicas: 2 } }, ['spec.replicas']],
  ['what is new, and what is gone', { a: 1 }, { b: 1 }, ['a', 'b']],
  ['elements by their place', { l: [1, { x: 1 }] }, { l: [1, { x: 2 }, 3] }, ['l[1].x', 'l[2]']],
  ['another type as one change', { a: { b: 1 } }, { a: [1] }, ['a']],
  ['keys that are no names, in quotes', { a: { 'x.y/z': 1 } }, { a: { 'x.y/z': 2 } }, ['a["x.y/z"]']],
  ['what every object inherits as no field of it', { constructor: 1 }, {}, ['constructor']],
  ['all fields of an object that was not there', undefined, { kind: 'A', spec: { a: 1 } }, ['kind', 'spec']],
  [
    'not what the server counts',
    { metadata: { generation: 1, resourceVersion: '1', managedFields: [], labels: { a: 'b' } } },
    { metadata: { generation: 2, resourceVersion: '2', managedFields: [{}], labels: { a: 'c' } } },
    ['metadata.labels.a'],
  ],
])('changedFields() finds %s', (_claim, from, to, paths) => {
  const { changes: found, count } = changes(from, to);
  expect(found.map(({ path }) => path)).toEqual(paths);
  expect(count).toBe(paths.length);
});

it('changedFields() tells both values, keeps no more than it may, and counts all', () => {
  const { changes: found, count } = changes({ a: 1, b: 1, c: 1 }, { a: 2, c: null }, 2);
  expect(found).toEqual([
    { path: 'a', from: 1, to: 2 },
    { path: 'b', from: 1 },
  ]);
  expect(count).toBe(3);
});

it('changedFields() takes no longer for many fields under a long name than for its size', async () => {
  const object = (size: number, value: number): JsonObject => ({
    ['n'.repeat(size)]: Object.fromEntries(Array.from({ length: size / 10 }, (_, i) => [`f${i}`, value])),
  });
  const make = (size: number): [JsonObject, JsonObject] => [object(size, 1), object(size, 2)];
  const run = ([from, to]: [JsonObject, JsonObject]) => changes(from, to, 50);
  await expectLinear('changedFields()', { make, run, from: 40_000, limit: 640_000 });
});
