import { expect, it } from 'vitest';
import { builtInSchemas } from '../schema/schemas.ts';
import { readApplyBody } from './apply-body.ts';

const schema = builtInSchemas().byKind('', 'v1', 'ConfigMap')!;
const configMap = { kind: 'ConfigMap', groupVersion: 'v1', schema, isCustom: false };
const read = (text: string) => readApplyBody(Buffer.from(text), configMap, 'Warn');

it('a body may be YAML or JSON', () => {
  expect(read('apiVersion: v1\nkind: ConfigMap\n')).toEqual({ apiVersion: 'v1', kind: 'ConfigMap' });
  expect(read('{"apiVersion":"v1","kind":"ConfigMap"}')).toEqual({ apiVersion: 'v1', kind: 'ConfigMap' });
});

it.each<[body: string, message: string]>([
  ['', 'invalid object type: /, Kind='],
  ['null', 'invalid object type: /, Kind='],
  ['[]', 'cannot unmarshal array into Go value of type map[string]interface {}'],
  ['5', 'cannot unmarshal number into Go value of type map[string]interface {}'],
  ['a: [', 'error decoding YAML: error converting YAML to JSON: '],
  ['{"apiVersion":"v1","kind":"Secret"}', 'invalid object type: /v1, Kind=Secret'],
])('%j is refused', (body, message) =>
  expect(() => read(body)).toThrow(expect.objectContaining({ code: 400, message: expect.stringContaining(message) })),
);
