import { expect, it } from 'vitest';
import type { JsonObject } from '../../../api/index.ts';
import { type Change, created, faultsOf } from '../kind-tables.testing.ts';

const SCHEMAS = 'flowschemas.flowcontrol.apiserver.k8s.io';
const LEVELS = 'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io';
const schema: JsonObject = {
  spec: {
    priorityLevelConfiguration: { name: 'p' },
    rules: [
      {
        subjects: [{ kind: 'User', user: { name: 'u' } }],
        resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['n'] }],
        nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['/x/*'] }],
      },
    ],
  },
};
const level: JsonObject = { spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } } };

it('good ones are accepted and filled in', async () => {
  expect(await faultsOf(SCHEMAS, schema)).toEqual([]);
  const { created: object, errors } = await created(LEVELS, level, [
    'spec.limited.limitResponse.queuing',
    { queues: 0 },
  ]);
  expect(errors).toEqual([]);
  expect(object).toMatchObject({
    spec: { limited: { limitResponse: { queuing: { queues: 64, handSize: 8, queueLengthLimit: 50 } } } },
  });
});

const S = 'spec.rules[0].subjects[0]';
const verbs = '"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"';
it.each<[path: string, value: Change[1], want: string[]]>([
  [
    'spec.matchingPrecedence',
    1,
    ["spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1"],
  ],
  ['spec.matchingPrecedence', 10001, ['spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000']],
  [
    'spec.distinguisherMethod',
    { type: 'x' },
    ['spec.distinguisherMethod.type: Unsupported value: {"Type":"x"}: supported values: "ByNamespace", "ByUser"'],
  ],
  [
    'spec.priorityLevelConfiguration',
    {},
    ['spec.priorityLevelConfiguration.name: Required value: must reference a priority level'],
  ],
  [
    'spec.rules.0.subjects.0.user',
    undefined,
    [`${S}.user: Required value: user is required when subject kind is 'User'`],
  ],
  [
    'spec.rules.0.subjects.0.group',
    { name: 'g' },
    [`${S}.group: Forbidden: group is forbidden when subject kind is not 'Group'`],
  ],
  [
    'spec.rules.0.subjects.0',
    { kind: 'ServiceAccount', serviceAccount: { name: '*' } },
    [`${S}.serviceAccount.namespace: Required value: must specify namespace for service account`],
  ],
  [
    'spec.rules.0.resourceRules.0.verbs',
    ['bogus'],
    [`spec.rules[0].resourceRules[0].verbs: Unsupported value: ["bogus"]: supported values: ${verbs}`],
  ],
  [
    'spec.rules.0.resourceRules.0.namespaces',
    [],
    [
      'spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace',
    ],
  ],
  [
    'spec.rules.0.nonResourceRules.0.nonResourceURLs',
    ['/a*'],
    [
      'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/a*": wildcard can only do suffix matching',
    ],
  ],
])('a flow schema with %s: %j is refused', async (path, value, want) =>
  expect(await faultsOf(SCHEMAS, schema, [path, value])).toEqual(want),
);

const Q = 'spec.limited.limitResponse.queuing';
it.each<[path: string, value: Change[1], want: string[]]>([
  ['spec.type', '', ['spec.type: Required value']],
  [
    'spec.type',
    'Exempt',
    [
      "spec.type: Invalid value: \"Exempt\": type must be 'Exempt' if and only if name is 'exempt'",
      'spec.limited: Forbidden: must be nil if the type is not Limited',
    ],
  ],
  ['spec.exempt', {}, ['spec.exempt: Forbidden: must be nil if the type is Limited']],
  ['spec.limited', undefined, ['spec.limited: Required value: must not be empty when type is Limited']],
  [
    'spec.limited.lendablePercent',
    101,
    ['spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive'],
  ],
  [
    'spec.limited.borrowingLimitPercent',
    -1,
    ['spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer'],
  ],
  [
    'spec.limited.limitResponse.type',
    'Reject',
    [`${Q}: Forbidden: must be nil if limited.limitResponse.type is not Limited`],
  ],
  [Q, { queues: 4, handSize: 5 }, [`${Q}.handSize: Invalid value: 5: should not be greater than queues (4)`]],
  [
    Q,
    { queues: 1024, handSize: 7 },
    [
      `${Q}.handSize: Invalid value: 7: required entropy bits of deckSize 1024 and handSize 7 should not be greater than 60`,
    ],
  ],
])('a priority level with %s: %j is refused', async (path, value, want) =>
  expect(await faultsOf(LEVELS, level, [path, value])).toEqual(want),
);

const everything: JsonObject = {
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
};
const mandatory: Readonly<Record<string, readonly [kind: string, spec: JsonObject]>> = {
  'schema exempt': [
    SCHEMAS,
    {
      matchingPrecedence: 1,
      priorityLevelConfiguration: { name: 'exempt' },
      rules: [{ subjects: [{ kind: 'Group', group: { name: 'system:masters' } }], ...everything }],
    },
  ],
  'level exempt': [LEVELS, { type: 'Exempt', exempt: { nominalConcurrencyShares: 7 } }],
  'level catch-all': [
    LEVELS,
    { type: 'Limited', limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' } } },
  ],
};
it.each<[which: string, path: string, value: Change[1], want: string[]]>([
  ['schema exempt', 'spec.matchingPrecedence', 1, []],
  ['schema exempt', 'spec.matchingPrecedence', 2, ["spec of 'exempt' must equal the fixed value"]],
  ['level exempt', 'spec.exempt.lendablePercent', 50, []],
  ['level catch-all', 'spec.limited.lendablePercent', 0, []],
  ['level catch-all', 'spec.limited.lendablePercent', 1, ["spec of 'catch-all' must equal the fixed value"]],
])('of the mandatory %s with %s: %j nothing but the fixed value is accepted', async (which, path, value, want) => {
  const [kind, spec] = mandatory[which]!;
  const name = which.split(' ')[1]!;
  const faults = await faultsOf(kind, { metadata: { name }, spec }, [path, value]);
  expect(faults.map((fault) => fault.slice(fault.lastIndexOf(': ') + 2))).toEqual(want);
});
