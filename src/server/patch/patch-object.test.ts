import { expect, it } from 'vitest';
import { StatusError } from '../../api/errors/status-error.ts';
import { builtInResources } from '../registry/built-in-resources.ts';
import { type PatchRequest, patchObject, patchTypeOf } from './patch-object.ts';

const resource = builtInResources().find(({ plural }) => plural === 'configmaps')!;
const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a' }, data: { k: 'v' } };

function patch(type: PatchRequest['type'], text: string, more: Partial<PatchRequest> = {}) {
  return patchObject({ type, bytes: Buffer.from(text), object, resource, ...more });
}

function refusal(run: () => unknown): unknown {
  try {
    run();
  } catch (err) {
    expect(err).toBeInstanceOf(StatusError);
    return [(err as StatusError).code, (err as StatusError).message];
  }
  return undefined;
}

it.each<[type: PatchRequest['type'], text: string]>([
  ['json', '[{"op":"replace","path":"/data/k","value":"w"}]'],
  ['merge', '{"data":{"k":"w"}}'],
  ['strategic', '{"data":{"k":"w"}}'],
])('patchObject() applies a %s patch', (type, text) => {
  expect(patch(type, text)).toEqual({ object: { ...object, data: { k: 'w' } }, warnings: [] });
});

it.each<[type: PatchRequest['type'], text: string, code: number, message: string]>([
  ['merge', '{"data":', 400, 'error decoding patch: unexpected end of JSON input'],
  ['merge', '', 400, 'error decoding patch: unexpected end of JSON input'],
  ['merge', 'null', 400, 'Invalid JSON Patch'],
  [
    'merge',
    '[]',
    400,
    'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}',
  ],
  ['json', '[{"op":"remove","path":"/none"}]', 422, 'the server rejected our request due to an error in our request'],
  [
    'merge',
    '{"data":{"k":5}}',
    422,
    ' "" is invalid: patch: Invalid value: "{\\"kind\\":\\"ConfigMap\\",\\"apiVersion\\":\\"v1\\",\\"metadata\\":{\\"name\\":\\"a\\"},\\"data\\":{\\"k\\":5}}": json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
  ],
])('patchObject() refuses the %s patch %j', (type, text, code, message) => {
  expect(refusal(() => patch(type, text))).toEqual([code, message]);
});

it('patchObject() warns of unknown fields, or refuses them', () => {
  expect(patch('merge', '{"extra":1,"data":{"k":"1","k":"2"}}').warnings).toEqual([
    'duplicate field "data.k"',
    'unknown field "extra"',
  ]);
  expect(refusal(() => patch('strategic', '{"extra":1}', { fieldValidation: 'Strict' }))).toEqual([
    422,
    ' "" is invalid: patch: Invalid value: "map[extra:1]": strict decoding error: unknown field "extra"',
  ]);
});

it('patchTypeOf() knows the types that a resource takes', () => {
  expect(patchTypeOf('application/merge-patch+json; charset=utf-8', false)).toBe('merge');
  expect(refusal(() => patchTypeOf('application/json', false))).toEqual([415, '415: Unsupported Media Type']);
  expect(refusal(() => patchTypeOf('application/strategic-merge-patch+json', true))).toEqual([
    415,
    'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
  ]);
});
