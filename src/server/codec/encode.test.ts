import { expect, it } from 'vitest';
import { encodeObject, encodeYaml } from './encode.ts';

it('encodeObject() writes kind, apiVersion and metadata first, in the order of the wire', () => {
  const object = {
    data: { a: '1' },
    metadata: { labels: { x: 'y' }, uid: 'u', name: 'n', managedFields: [{ fieldsV1: {}, manager: 'm' }] },
    apiVersion: 'v1',
    kind: 'ConfigMap',
  };
  expect(encodeObject(object).toString()).toBe(
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"n","uid":"u","labels":{"x":"y"},"managedFields":[{"manager":"m","fieldsV1":{}}]},"data":{"a":"1"}}\n',
  );
  expect(Object.keys(object)).toEqual(['data', 'metadata', 'apiVersion', 'kind']);
});

it('encodeObject() sorts all keys of a custom resource', () => {
  const object = { kind: 'W', spec: { b: [{ z: 1, a: 2 }], a: null }, apiVersion: 'e/v1' };
  expect(encodeObject(object, { isCustom: true }).toString()).toBe(
    '{"apiVersion":"e/v1","kind":"W","spec":{"a":null,"b":[{"a":2,"z":1}]}}\n',
  );
});

it('encodeObject() escapes as Go does', () => {
  expect(encodeObject({ a: '<b> & \u2028"' }).toString()).toBe('{"a":"\\u003cb\\u003e \\u0026 \\u2028\\""}\n');
});

it('encodeObject() can indent', () => {
  expect(encodeObject({ a: { b: [] } }, { isPretty: true }).toString()).toBe('{\n  "a": {\n    "b": []\n  }\n}\n');
});

it('encodeYaml() quotes what would be read as something else', () => {
  const yaml = encodeYaml({ kind: 'C', data: { n: '5', b: 'true', y: 'yes', t: 'two\nlines\n' } }).toString();
  expect(yaml).toBe(`data:\n  b: 'true'\n  'n': '5'\n  t: |\n    two\n    lines\n  'y': 'yes'\nkind: C\n`);
});
