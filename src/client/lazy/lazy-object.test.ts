import fc from 'fast-check';
import { expect, it } from 'vitest';
import { deepFreeze } from '../../api/index.ts';
import { isPlainKey } from '../../api/json-keys.testing.ts';
import { type Pod, pods } from '../objects/generated/core-v1.ts';
import type { AnyObject } from '../objects/objects.ts';
import { asPromised, isSameContent, type LazyObject, lazyChange, lazyOf } from './lazy-object.ts';

const token = lazyOf(pods);

function lazy(line: string): LazyObject<Pod> {
  const change = lazyChange(token, line);
  if (!change) throw new Error('the line was not understood');
  return change.object as LazyObject as LazyObject<Pod>;
}

/** Strings as they come, and some that look like what the scan looks for. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', '\\', '"', '\\"', '"metadata":{"name":"no"}', '}}', '{[', '\u2028', 'é', '\ud800', 'name', 'uid'),
);
const keys = fc
  .oneof(text, fc.constantFrom('metadata', 'name', 'namespace', 'uid', 'resourceVersion', 'labels'))
  .filter(isPlainKey);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    fc.integer(),
    fc.double({ noNaN: true }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(keys, tie('value'), { maxKeys: 4 }),
  ),
}));
const name = fc.oneof(
  fc.stringMatching(/^[a-z0-9.-]{1,20}$/),
  text.filter((one) => one !== ''),
);
const labels = fc.dictionary(text.filter(isPlainKey), text, { maxKeys: 3 });
const identity = fc.record(
  { name, namespace: name, uid: name, resourceVersion: name, labels },
  { requiredKeys: ['name', 'uid', 'resourceVersion'] },
);
/** In any order: JSON objects keep the order of their keys, but for those that are numbers. */
function shuffled<T extends object>(of: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return of.chain((object) =>
    fc
      .shuffledSubarray(Object.entries(object), { minLength: Object.keys(object).length })
      .map((entries) => Object.fromEntries(entries) as T),
  );
}
const others = fc.dictionary(keys, value, { maxKeys: 5 });
const metadata = shuffled(fc.tuple(others, identity).map(([more, known]) => ({ ...withoutKnown(more), ...known })));
/** Nearly in the order of Go structs, with what the server may leave out left out, and values that do not belong there. */
const nearlyStruct = fc
  .record(
    {
      name,
      generateName: text,
      namespace: name,
      selfLink: text,
      uid: name,
      resourceVersion: name,
      generation: fc.oneof(fc.nat(), value),
      creationTimestamp: fc.oneof(text, fc.constant(null)),
      deletionTimestamp: text,
      deletionGracePeriodSeconds: fc.nat(),
      labels: fc.oneof(labels, value),
      annotations: fc.dictionary(text.filter(isPlainKey), text),
    },
    { requiredKeys: ['name', 'uid', 'resourceVersion'] },
  )
  .map((meta) => ({ kind: 'Pod', apiVersion: 'v1', metadata: meta, spec: { template: { metadata: { name: 'no' } } } }));
const object = fc.oneof(
  shuffled(fc.tuple(others, metadata).map(([more, meta]) => ({ ...more, metadata: meta }))),
  nearlyStruct,
);
const type = fc.constantFrom('ADDED' as const, 'MODIFIED' as const, 'DELETED' as const);

it('whatever the scan finds is what JSON.parse finds', () => {
  let understood = 0;
  fc.assert(
    fc.property(type, object, (kind, content) => {
      const line = JSON.stringify({ type: kind, object: content });
      const parsed = JSON.parse(line).object as AnyObject;
      const change = lazyChange(token, line);
      if (!change) return; // left to JSON.parse
      understood++;
      const found = change.object;
      expect(change.type).toBe(kind);
      expect(found.metadata.name).toBe(parsed.metadata.name);
      expect(found.metadata.namespace).toBe(parsed.metadata.namespace);
      expect(found.metadata.uid).toBe(parsed.metadata.uid);
      expect(found.metadata.resourceVersion).toBe(parsed.metadata.resourceVersion);
      expect(found.metadata.labels).toEqual(parsed.metadata.labels);
      expect(found.metadata.annotations).toEqual(parsed.metadata.annotations);
      expect(JSON.parse(JSON.stringify(found))).toEqual(parsed);
      expect(JSON.parse(JSON.stringify(found.metadata))).toEqual(parsed.metadata);
      expect(found.decode()).toEqual(parsed);
      expect(found.metadata.labels).toEqual(parsed.metadata.labels);
    }),
    { numRuns: 2000 },
  );
  expect(understood).toBeGreaterThan(500); // not all was left
});

it('every object that is written as servers write it is understood', () => {
  const plain = fc.stringMatching(/^[a-z0-9.-]{1,30}$/);
  const known = fc.record({ name: plain, namespace: plain, uid: plain, resourceVersion: plain, labels });
  const more = fc.record({
    annotations: fc.dictionary(text.filter(isPlainKey), text),
    managedFields: fc.array(value),
    generation: fc.nat(),
  });
  const meta = shuffled(fc.tuple(more, known).map(([a, b]) => ({ ...a, ...b })));
  const whole = shuffled(fc.record({ kind: plain, apiVersion: plain, metadata: meta, spec: value, status: value }));
  fc.assert(
    fc.property(type, whole, (kind, content) => {
      expect(lazy(JSON.stringify({ type: kind, object: content })).decode()).toEqual(
        JSON.parse(JSON.stringify(content)),
      );
    }),
  );
});

const line = (content: string) => `{"type":"ADDED","object":${content}}`;

it.each([
  ['a bookmark', '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"5"}}}'],
  ['an error', '{"type":"ERROR","object":{"kind":"Status","metadata":{}}}'],
  ['spaces', line('{"metadata": {"name":"a","uid":"u","resourceVersion":"1"}}')],
  ['spaces before a name', line('{"metadata":{"name": "a","uid":"u","resourceVersion":"1"}}')],
  [
    'a key that is spelt with an escape',
    line('{"metadata":{"\\u006eame":"b","name":"a","uid":"u","resourceVersion":"1"}}'),
  ],
  ['a name with an escape', line('{"metadata":{"name":"\\u0061","uid":"u","resourceVersion":"1"}}')],
  ['no name', line('{"metadata":{"uid":"u","resourceVersion":"1"}}')],
  ['a name that is a number', line('{"metadata":{"name":7,"uid":"u","resourceVersion":"1"}}')],
  ['no metadata', line('{"spec":{"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}}')],
  ['metadata that is null', line('{"metadata":null}')],
  ['text that stops', '{"type":"ADDED","object":{"metadata":{"name":"a'],
  ['the object first', '{"object":{"metadata":{"name":"a","uid":"u","resourceVersion":"1"}},"type":"ADDED"}'],
  ['no object', '{"type":"ADDED","object":[]}}'],
])('%s is left to JSON.parse', (_what, text) => expect(lazyChange(token, text)).toBeUndefined());

it('metadata of what is inside the object is not taken for its own', () => {
  const template = { metadata: { name: 'inner', uid: 'no', resourceVersion: '0', labels: { a: 'b' } } };
  const content = { spec: { template }, metadata: { name: 'outer', uid: 'u', resourceVersion: '9' }, status: template };
  const found = lazy(line(JSON.stringify(content)));
  expect(found.metadata).toMatchObject({ name: 'outer', uid: 'u', resourceVersion: '9' });
  expect(found.metadata.labels).toBeUndefined();
});

it.each([
  ['after the version', '"name":"a","uid":"u","resourceVersion":"1","namespace":"n"'],
  ['first', '"namespace":"n","name":"a","uid":"u","resourceVersion":"1"'],
])('a namespace is found %s', (_where, fields) => {
  const found = lazy(line(`{"kind":"Pod","apiVersion":"v1","metadata":{${fields}}}`));
  expect(found.metadata.namespace).toBe('n');
});

const content = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '1', labels: { app: 'web' }, finalizers: ['x'] },
  spec: { nodeName: 'n1' },
};

it('decodes once, and what is decoded stays the same object', () => {
  const found = lazy(line(JSON.stringify(content)));
  const decoded = found.decode();
  expect(found.decode()).toBe(decoded);
  expect(found.metadata.labels).toBe(decoded.metadata.labels);
  expect(decoded.spec.nodeName).toBe('n1');
});

it('of a frozen object everything that comes out is frozen', () => {
  const found = deepFreeze(lazy(line(JSON.stringify(content))));
  expect(Object.isFrozen(found.metadata.labels)).toBe(true);
  expect(Object.isFrozen(found.metadata.finalizers)).toBe(true);
  expect(Object.isFrozen(found.decode().spec)).toBe(true);
});

it('what came decoded is a lazy object, too; other tokens leave it as it is', () => {
  const found = asPromised(token, content as unknown as LazyObject<Pod>);
  expect(found.metadata.finalizers).toEqual(['x']);
  expect(found.decode()).toBe(content);
  expect(asPromised(pods, content as unknown as Pod)).toBe(content);
});

it('content is compared, not what was decoded of it', () => {
  const one = lazy(line(JSON.stringify(content)));
  const other = lazy(line(JSON.stringify({ ...content, spec: { nodeName: 'n2' } })));
  expect(isSameContent(one, lazy(line(JSON.stringify(content))))).toBe(true);
  expect(isSameContent(one, other)).toBe(false);
  expect(isSameContent(undefined, one)).toBe(false);
});

function withoutKnown(more: Record<string, unknown>): Record<string, unknown> {
  const { name: _n, namespace: _s, uid: _u, resourceVersion: _v, labels: _l, ...rest } = more;
  return rest;
}
