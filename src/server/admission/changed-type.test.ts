import { expect, it } from 'vitest';
import type { JsonObject } from '../../api/index.ts';
import type { Resource } from '../registry/resource.ts';
import { withItsType } from './changed-type.ts';

const widgets = { kind: 'Widget', isCustom: true } as Resource;
const widget = { group: 'example.com', version: 'v1', kind: 'Widget' };

it.each<[what: string, object: JsonObject, want: JsonObject]>([
  [
    'of another kind',
    { kind: 'Gadget', apiVersion: 'example.com/v1', metadata: { name: 'a' } },
    {
      code: 422,
      message: 'Gadget.example.com "a" is invalid: kind: Invalid value: "Gadget": must be Widget',
    },
  ],
  [
    'of another version',
    { kind: 'Widget', apiVersion: 'example.com/v2', metadata: { name: 'a' } },
    {
      code: 422,
      message: expect.stringContaining('apiVersion: Invalid value: "example.com/v2": must be example.com/v1'),
    },
  ],
  [
    'of no kind',
    { apiVersion: 'example.com/v1' },
    { code: 500, message: expect.stringContaining("Object 'Kind' is missing") },
  ],
])('a custom object %s is refused', (_what, object, want) => {
  const change = () => withItsType(object, { resource: widgets, kind: widget });
  expect(change).toThrow(expect.objectContaining(want));
});

it('what a subresource of a custom kind takes is of a built-in type', () => {
  const scale = { group: 'autoscaling', version: 'v1', kind: 'Scale' };
  expect(withItsType({ spec: {} }, { resource: widgets, kind: scale })).toEqual({
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    spec: {},
  });
});
