import { expect, it } from 'vitest';
import { fieldErrorText, type JsonObject, type KubeObject } from '../../api/index.ts';
import { checkScale, mustSayCount, toCustomScale, toScaleOf, toScaleToChange } from './custom-scale.ts';

const paths = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.status.selector',
};
const widget = (spec: unknown, status: unknown = {}) =>
  ({ apiVersion: 'ex.io/v1', kind: 'Widget', metadata: { name: 'a' }, spec, status }) as unknown as KubeObject;

it.each<[spec: unknown, status: unknown, faults: string[]]>([
  [{ replicas: 2 }, { replicas: 0, selector: 'a=b' }, []],
  [{}, undefined, []],
  [null, {}, []],
  [{ replicas: -1 }, {}, ['.spec.replicas: Invalid value: -1: should be a non-negative integer']],
  [
    { replicas: 2147483648 },
    {},
    ['.spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647'],
  ],
  [
    { replicas: 'two' },
    { replicas: 1.5, selector: { a: 'b' } },
    [
      '.spec.replicas: Invalid value: 0: .spec.replicas accessor error: two is of the type string, expected int64',
      '.status.replicas: Invalid value: 0: .status.replicas accessor error: 1.5 is of the type float64, expected int64',
      '.status.selector: Invalid value: "": .status.selector accessor error: map[a:b] is of the type map[string]interface {}, expected string',
    ],
  ],
  [
    ['x'],
    { replicas: null },
    [
      '.spec.replicas: Invalid value: 0: .spec.replicas accessor error: [x] is of the type []interface {}, expected map[string]interface{}',
      '.status.replicas: Invalid value: 0: .status.replicas accessor error: <nil> is of the type <nil>, expected int64',
    ],
  ],
])('of %j and %j is refused %j', (spec, status, faults) => {
  expect(checkScale(widget(spec, status) as JsonObject, paths).map(fieldErrorText)).toEqual(faults);
});

it('an object without a count has no Scale to show, but one that a count can be set in', () => {
  expect(() => toCustomScale(widget({}), paths)).toThrow(
    'Internal error occurred: the spec replicas field ".spec.replicas" does not exist',
  );
  expect(toScaleOf(widget({}), paths)).toMatchObject({ kind: 'Scale', spec: {} });
  const before = toScaleToChange(widget({}), paths);
  expect(() => mustSayCount(before, paths)).toThrow('the spec replicas field ".spec.replicas" cannot be empty');
  expect(() => mustSayCount({ ...before, spec: { replicas: 3 } } as KubeObject, paths)).not.toThrow();
});

it('a Scale is not made of what is no count', () => {
  expect(() => toScaleOf(widget({ replicas: true }), paths)).toThrow(
    /^.spec.replicas accessor error: true is of the type bool, expected int64$/,
  );
});
