import { expect, it } from 'vitest';
import type { JsonObject } from '../../../api/index.ts';
import { type Change, created, faultsOf, updateFaultsOf } from '../kind-tables.testing.ts';

const KIND = 'horizontalpodautoscalers.autoscaling';
const cpu = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } } };
const good: JsonObject = {
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
    maxReplicas: 5,
    metrics: [cpu],
    behavior: { scaleUp: {} },
  },
};

it('a good one is accepted, and its behaviour filled in', async () => {
  const { created: object, errors } = await created(KIND, good);
  expect(errors).toEqual([]);
  expect(object).toMatchObject({
    spec: { minReplicas: 1, behavior: { scaleUp: { selectPolicy: 'Max' }, scaleDown: {} } },
  });
});

const M = 'spec.metrics[0]';
const T = `${M}.resource.target`;
it.each<[path: string, value: Change[1], want: string[]]>([
  [
    'spec.maxReplicas',
    0,
    [
      'spec.maxReplicas: Required value: must be set and greater than 0',
      'spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`',
    ],
  ],
  [
    'spec.minReplicas',
    0,
    [
      'spec.minReplicas: Invalid value: 0: must be greater than or equal to 1',
      'spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas',
    ],
  ],
  [
    'spec.behavior.scaleUp.tolerance',
    '-1m',
    ['spec.behavior.scaleUp.tolerance: Invalid value: "-1m": must be greater or equal to zero'],
  ],
  ['spec.behavior.scaleUp.tolerance', '0', []],
  [
    'spec.scaleTargetRef.apiVersion',
    'v1',
    ['spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group'],
  ],
  ['spec.metrics.0.type', 'Pods', [`${M}.pods: Required value: must populate information for the given metric source`]],
  [
    'spec.metrics.0.resource.target.type',
    'x',
    [`${T}.type: Invalid value: "x": must be either Utilization, Value, or AverageValue`],
  ],
  [
    'spec.metrics.0.resource.target.averageValue',
    '1',
    [`${T}.averageValue: Forbidden: may not set both a target raw value and a target utilization`],
  ],
  [
    'spec.metrics.0.pods',
    {},
    [
      `${M}.pods.metric.name: Required value: must specify a metric name`,
      `${M}.pods.target.type: Required value: must specify a metric target type`,
      `${M}.pods.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue`,
      `${M}.pods.target.averageValue: Required value: must specify a positive target averageValue`,
      `${M}.pods: Forbidden: must populate the given metric source only`,
    ],
  ],
  [
    'spec.behavior.scaleUp.policies',
    [{ type: 'x', value: 0, periodSeconds: 1801 }],
    [
      'spec.behavior.scaleUp.policies[0].type: Unsupported value: "x": supported values: "Percent", "Pods"',
      'spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero',
      'spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800',
    ],
  ],
  [
    'spec.behavior.scaleUp.stabilizationWindowSeconds',
    3601,
    ['spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600'],
  ],
])('an autoscaler with %s: %j is refused', async (path, value, want) =>
  expect(await faultsOf(KIND, good, [path, value])).toEqual(want),
);

const version = 'spec.metrics[0].object.describedObject.apiVersion';
const described = (apiVersion: string): Change => [
  'spec.metrics.0',
  {
    type: 'Object',
    object: {
      describedObject: { apiVersion, kind: 'Service', name: 's' },
      metric: { name: 'm' },
      target: { type: 'Value', value: '1' },
    },
  },
];
it.each<[apiVersion: string, want: string[]]>([
  ['', []],
  ['v1', []],
  ['a/b', []],
  ['a/b/c', [`${version}: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`]],
])('a metric about an object of version %j may name a core one, and must be readable', async (apiVersion, want) =>
  expect(await faultsOf(KIND, good, described(apiVersion))).toEqual(want),
);

it('controllers of the core group are scaled in any version', async () => {
  const kind: Change = ['spec.scaleTargetRef.kind', 'ReplicationController'];
  expect(await faultsOf(KIND, good, kind, ['spec.scaleTargetRef.apiVersion', 'v2'])).toEqual([]);
  expect(await faultsOf(KIND, good, kind, ['spec.scaleTargetRef.apiVersion', 'a/b/c'])).toHaveLength(1);
});

it('versions that nobody can read stay where they were', async () => {
  const target: JsonObject = { apiVersion: 'v1', kind: 'Deployment', name: 'd' };
  const old = { spec: { ...(good.spec as JsonObject), scaleTargetRef: target, metrics: [described('a/b/c')[1]!] } };
  expect(await updateFaultsOf(KIND, old, ['spec.maxReplicas', 7])).toEqual([]);
  expect(await updateFaultsOf(KIND, old, ['spec.scaleTargetRef.kind', 'Other'])).toEqual([
    'spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group',
  ]);
});
