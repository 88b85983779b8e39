import { expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../../../api/index.ts';
import { Registry } from '../../../registry/registry.ts';
import { expressionWarnings } from './type-checking.ts';

const rule = (resources: string[], apiGroups = ['apps'], apiVersions = ['v1']) => ({
  apiGroups,
  apiVersions,
  operations: ['*'],
  resources,
});

function warnings(spec: JsonObject, rules = [rule(['deployments'])]) {
  const policy = { spec: { matchConstraints: { resourceRules: rules }, ...spec } } as unknown as KubeObject;
  return expressionWarnings(policy, new Registry());
}

it('a field that the kind does not have is told where it stands', async () => {
  expect(await warnings({ validations: [{ expression: 'object.spec.replicsa > 1' }] })).toEqual([
    {
      fieldRef: 'spec.validations[0].expression',
      warning:
        "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replicsa'\n | object.spec.replicsa > 1\n | ...........^\n",
    },
  ]);
});

it('every kind that it concerns is named, and messages are looked at too', async () => {
  const validations = [
    { expression: 'object.spec.replicas > 1', messageExpression: '"now " + object.spec.replicas' },
    { expression: 'object.data.x == "y"' },
  ];
  const found = await warnings({ validations }, [rule(['deployments', 'replicasets']), rule(['configmaps'], [''])]);
  expect(found.map(({ fieldRef }) => fieldRef)).toEqual([
    'spec.validations[0].expression',
    'spec.validations[0].messageExpression',
    'spec.validations[1].expression',
  ]);
  expect(found.map(({ warning }) => warning.match(/\S+, Kind=\w+/g))).toEqual([
    ['/v1, Kind=ConfigMap'],
    ['/v1, Kind=ConfigMap', 'apps/v1, Kind=Deployment', 'apps/v1, Kind=ReplicaSet'],
    ['apps/v1, Kind=Deployment', 'apps/v1, Kind=ReplicaSet'],
  ]);
});

it('variables and parameters have types of their own', async () => {
  const spec = {
    paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
    variables: [{ name: 'n', expression: 'object.spec.replicas' }],
    validations: [
      { expression: 'variables.n == "x"' },
      { expression: 'params.data.x == "y"' },
      { expression: 'params.spec.x == "y"' },
    ],
  };
  const found = await warnings(spec);
  expect(found.map(({ warning }) => warning.split('\n')[0])).toEqual([
    "apps/v1, Kind=Deployment: ERROR: <input>:1:13: found no matching overload for '_==_' applied to '(int, string)'",
    "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'spec'",
  ]);
});

it.each<[claim: string, rules: ReturnType<typeof rule>[]]>([
  ['wildcards', [rule(['*']), rule(['deployments'], ['*'])]],
  ['subresources', [rule(['deployments/status'])]],
  ['kinds that there are not', [rule(['things'])]],
])('%s are left out', async (_claim, rules) =>
  expect(await warnings({ validations: [{ expression: 'object.what == 1' }] }, rules)).toEqual([]),
);

it('recursive kinds are no trouble', async () => {
  const rules = [rule(['customresourcedefinitions'], ['apiextensions.k8s.io'])];
  const expression = 'object.spec.versions.all(v, v.schema.openAPIV3Schema.properties.all(k, p, p.not.not.what == 1))';
  const [found] = await warnings({ validations: [{ expression }] }, rules);
  expect(found?.warning).toContain("undefined field 'what'");
});

it('many warnings end where there is no room for more', async () => {
  const validations = Array.from({ length: 5_000 }, (_, i) => ({
    expression: `object.x${i} == 1 // ${'x'.repeat(200)}`,
  }));
  const text = JSON.stringify(await warnings({ validations }));
  expect(text.length).toBeGreaterThan(200_000);
  expect(text.length).toBeLessThan(600_000);
});
