import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../api/json.ts';
import { pickFields, type Wanted, wantedOf } from './pick-fields.ts';

const pick = (value: unknown, ...paths: string[]) => pickFields(Buffer.from(JSON.stringify(value)), 0, wantedOf(paths));

it('finds what is asked for among what is not', () => {
  const pod = {
    metadata: { name: 'a', labels: { app: 'ä"\\', tier: 'b' }, annotations: { labels: '{"labels":{}}' } },
    spec: {
      nodeName: 'n1',
      containers: [{ env: [{ name: 'nodeName', value: '"nodeName":"n2"' }] }],
      hostNetwork: true,
    },
    status: { phase: 'Running', observedGeneration: 7 },
  };
  expect(pick(pod, 'metadata.labels', 'spec.nodeName', 'status.phase', 'status.none', 'none.at.all')).toEqual({
    metadata: { labels: { app: 'ä"\\', tier: 'b' } },
    spec: { nodeName: 'n1' },
    status: { phase: 'Running' },
  });
});

it('reads no further than to the last of what is wanted', () => {
  const text = '{"metadata":{"name":"a","labels":{"app":"b"},"annotations":{?';
  expect(pickFields(Buffer.from(text), 0, wantedOf(['metadata.labels']))).toEqual({
    metadata: { labels: { app: 'b' } },
  });
  expect(pickFields(Buffer.from(text), 0, wantedOf(['metadata.labels', 'spec']))).toBeUndefined();
});

it('keeps integers beyond 2^53', () => {
  expect(pickFields(Buffer.from('{"a":{"b":9007199254740993}}'), 0, wantedOf(['a.b']))).toEqual({
    a: { b: 9007199254740993n },
  });
});

it.each([
  '',
  '[',
  '{',
  '{"a"',
  '{"a":',
  '{"a":}',
  '{"a":1',
  '{ "a":1}',
  '{"a": {"b":1}',
  '{"a":1,}',
  '{"a":{"b":"x}',
  '{a:1}',
])('reads nothing of %j, which nobody here has written', (text) =>
  expect(pickFields(Buffer.from(text), 0, wantedOf(['a.b', 'z']))).toBeUndefined(),
);

it('picks of any object what parsing all of it would show', () => {
  const names = fc.constantFrom('a', 'b', 'c', '__proto__', 'ü"');
  const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.string({ unit: 'binary' }),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(names, tie('value'), { maxKeys: 4 }),
    ),
  }));
  const objects = fc.dictionary(names, value, { maxKeys: 4 });
  const paths = fc.array(fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 }), { maxLength: 4 });
  fc.assert(
    fc.property(objects, paths, (object, wishes) => {
      const wanted = wantedOf(wishes.map((steps) => steps.join('.')));
      const text = `,${JSON.stringify(object)}`;
      expect(pickFields(Buffer.from(text), 1, wanted)).toEqual(picked(JSON.parse(text.slice(1)) as JsonObject, wanted));
    }),
  );
});

function picked(object: JsonObject, wanted: Wanted): JsonObject {
  const found: JsonObject = {};
  for (const { name, within } of wanted.values()) {
    const value = object[name];
    if (value === undefined) continue;
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    found[name] = within === undefined ? value : isObject ? picked(value, within) : null;
  }
  return found;
}
