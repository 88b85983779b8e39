import { expect, it } from 'vitest';
import { expectLinear } from '../../../../test/support/growth.ts';
import type { JsonObject } from '../../../api/index.ts';
import { type Change, created, faultsOf, updateFaultsOf } from '../kind-tables.testing.ts';

const range: JsonObject = {
  spec: {
    limits: [
      {
        type: 'Container',
        max: { cpu: '2' },
        min: { cpu: '100m' },
        default: { cpu: '500m' },
        defaultRequest: { cpu: '200m' },
        maxLimitRequestRatio: { cpu: '10' },
      },
    ],
  },
};
const quota: JsonObject = { spec: { hard: { pods: '10', 'count/deployments.apps': '5' } } };

it('good ones are accepted, their amounts rounded to thousandths', async () => {
  const { created: object, errors } = await created(
    'limitranges',
    range,
    ['spec.limits.0.min', { cpu: '100u' }],
    ['spec.limits.0.maxLimitRequestRatio', undefined],
  );
  expect(errors).toEqual([]);
  expect(object).toMatchObject({ spec: { limits: [{ min: { cpu: '1m' } }] } });
  expect(await faultsOf('resourcequotas', quota)).toEqual([]);
});

const L = 'spec.limits[0]';
it.each<[path: string, value: Change[1], want: string[]]>([
  [
    'spec.limits.0.type',
    'Bogus',
    [`${L}.type: Invalid value: "Bogus": must be a standard limit type or fully qualified`],
  ],
  [
    'spec.limits.0.min',
    { cpu: '3' },
    [
      `${L}.min[cpu]: Invalid value: "3": min value 3 is greater than max value 2`,
      `${L}.defaultRequest[cpu]: Invalid value: "200m": min value 3 is greater than default request value 200m`,
      `${L}.default[cpu]: Invalid value: "3": min value 3 is greater than default value 500m`,
      `${L}.maxLimitRequestRatio[cpu]: Invalid value: "10": ratio 10 is greater than max/min = 0.666667`,
    ],
  ],
  [
    'spec.limits.0.maxLimitRequestRatio',
    { cpu: '21' },
    [`${L}.maxLimitRequestRatio[cpu]: Invalid value: "21": ratio 21 is greater than max/min = 20.000000`],
  ],
  [
    'spec.limits.0.maxLimitRequestRatio',
    { storage: '2' },
    [`${L}.maxLimitRequestRatio[storage]: Invalid value: "storage": must be a standard resource for containers`],
  ],
])('a limit range with %s: %j is refused', async (path, value, want) =>
  expect(await faultsOf('limitranges', range, [path, value])).toEqual(want),
);

const X = 'spec.scopeSelector.matchExpressions';
it.each<[path: string, value: Change[1], want: string[]]>([
  [
    'spec.hard',
    { bogus: '1' },
    [
      'spec.hard[bogus]: Invalid value: "bogus": must be a standard resource type or fully qualified',
      'spec.hard[bogus]: Invalid value: "bogus": must be a standard resource for quota',
    ],
  ],
  ['spec.hard', { pods: '500m' }, ['spec.hard[pods]: Invalid value: "500m": must be an integer']],
  ['spec.hard', { pods: '-1' }, ['spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0']],
  ['spec.scopes', ['Bogus'], ['spec.scopes: Invalid value: ["Bogus"]: unsupported scope']],
  [
    'spec.scopes',
    ['BestEffort', 'NotBestEffort'],
    ['spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes'],
  ],
  [
    'spec.scopeSelector',
    { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In' }] },
    [`${X}.values: Required value: must be at least one value when \`operator\` is 'In' or 'NotIn' for scope selector`],
  ],
  [
    'spec.scopeSelector',
    { matchExpressions: [{ scopeName: 'Terminating', operator: 'Bogus' }] },
    [
      `${X}.operator: Invalid value: "Bogus": must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity`,
      `${X}.operator: Invalid value: "Bogus": not a valid selector operator`,
    ],
  ],
  [
    'spec.scopeSelector',
    {
      matchExpressions: [
        { scopeName: 'BestEffort', operator: 'Exists' },
        { scopeName: 'NotBestEffort', operator: 'Exists' },
      ],
    },
    [`${X}: Invalid value: null: conflicting scopes`],
  ],
  [
    'spec',
    {
      hard: { services: '1' },
      scopeSelector: { matchExpressions: [{ scopeName: 'Terminating', operator: 'Exists' }] },
    },
    [
      `${X}: Invalid value: {"MatchExpressions":[{"ScopeName":"Terminating","Operator":"Exists","Values":null}]}: unsupported scope applied to resource`,
    ],
  ],
])('a quota with %s: %j is refused', async (path, value, want) =>
  expect(await faultsOf('resourcequotas', quota, [path, value])).toEqual(want),
);

it('scopes of a quota do not change, in whatever order they are written', async () => {
  const scoped = { spec: { hard: { pods: '1' }, scopes: ['BestEffort', 'NotTerminating'] } };
  expect(await updateFaultsOf('resourcequotas', scoped, ['spec.scopes', ['NotTerminating', 'BestEffort']])).toEqual([]);
  expect(await updateFaultsOf('resourcequotas', scoped, ['spec.scopes', ['BestEffort']])).toEqual([
    'spec.scopes: Invalid value: ["BestEffort"]: field is immutable',
  ]);
  expect(await updateFaultsOf('resourcequotas', scoped, ['spec.scopes', undefined])).toEqual([
    'spec.scopes: Invalid value: null: field is immutable',
  ]);
});

it('a quota is judged in time that grows as it does', async () => {
  await expectLinear('judging a quota', {
    from: 500,
    limit: 64_000,
    make: (size) => {
      const hard = Object.fromEntries(Array.from({ length: size }, (_, index) => [`hugepages-${index}`, '1']));
      return { spec: { hard, scopes: Array.from({ length: size }, () => 'BestEffort') } };
    },
    run: (body) => faultsOf('resourcequotas', body),
  });
});
