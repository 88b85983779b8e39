/** The rules of the kinds that make pods, as tables: a good spec with some fields changed, and all that is refused then. */
import { describe, expect, it } from 'vitest';
import { fieldErrorText, type JsonObject, type KubeObject } from '../../../api/index.ts';
import { apply, find } from '../strategy-run.testing.ts';

const labels = { app: 'a' };
const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'x:1' }] } };
const selector = { matchLabels: labels };
const storage = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const mounting = {
  metadata: { labels },
  spec: { containers: [{ name: 'c', image: 'x:1', volumeMounts: [{ name: 'data', mountPath: '/d' }] }] },
};
const explicit = 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones';
const once = { ...template, spec: { ...template.spec, restartPolicy: 'Never' } };
const exitCodes = { operator: 'In', values: [1] };

const good: Readonly<Record<string, JsonObject>> = {
  'deployments.apps': { selector, template },
  'replicasets.apps': { selector, template },
  replicationcontrollers: { selector: labels, template },
  'daemonsets.apps': { selector, template },
  'statefulsets.apps': { selector, template, serviceName: 's' },
  'jobs.batch': { template: once, completions: 3, completionMode: 'Indexed' },
  'cronjobs.batch': { schedule: '* * * * *', jobTemplate: { spec: { template: once } } },
};

it.each(Object.keys(good))('%s that are good are taken, and taken again', async (kind) => {
  const { created, errors, strategy, context } = await apply(find(kind), { spec: good[kind]! });
  expect(errors).toEqual([]);
  const next = structuredClone(created);
  await strategy.prepareUpdate?.(next, created, context);
  expect([
    await strategy.validate?.(next, created, context),
    strategy.validateUpdate?.(next, created, context) ?? [],
  ]).toEqual([[], []]);
});

describe('the spec of', () => {
  it.each<[kind: string, fields: JsonObject, refused: string[]]>([
    [
      'deployments.apps',
      { selector: { matchLabels: { 'a b': 'c' } } },
      [
        expect.stringContaining('spec.selector.matchLabels: Invalid value: "a b"') as unknown as string,
        'spec.selector: Invalid value: {"matchLabels":{"a b":"c"}}: invalid label selector',
      ],
    ],
    [
      'deployments.apps',
      { selector: { matchLabels: { app: '' } } },
      ['spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`'],
    ],
    [
      'daemonsets.apps',
      { selector: null as never },
      ['spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`'],
    ],
    [
      'daemonsets.apps',
      { updateStrategy: { rollingUpdate: { maxSurge: '10%' } } },
      [
        'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "10%": may not be set when maxUnavailable is non-zero',
      ],
    ],
    [
      'daemonsets.apps',
      { updateStrategy: { type: 'X' } },
      [
        'spec.updateStrategy: Unsupported value: {"Type":"X","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"',
      ],
    ],
    [
      'replicationcontrollers',
      { replicas: -1 },
      ['spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'statefulsets.apps',
      { podManagementPolicy: 'X' },
      [`spec.podManagementPolicy: Invalid value: "X": must be 'OrderedReady' or 'Parallel'`],
    ],
    [
      'statefulsets.apps',
      { updateStrategy: { type: 'OnDelete', rollingUpdate: {} } },
      [
        `spec.updateStrategy.rollingUpdate: Invalid value: {"partition":0}: only allowed for updateStrategy 'RollingUpdate'`,
      ],
    ],
    [
      'statefulsets.apps',
      { template: mounting },
      ['spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"'],
    ],
    [
      'statefulsets.apps',
      { template: mounting, volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: storage }] },
      [],
    ],
    [
      'statefulsets.apps',
      { volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: {} }] },
      [
        'spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required',
        'spec.volumeClaimTemplates[0].spec.resources[storage]: Required value',
      ],
    ],
    [
      'jobs.batch',
      { completions: null as never, parallelism: 2 },
      ['spec.completions: Required value: when completion mode is Indexed'],
    ],
    [
      'jobs.batch',
      { template },
      ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
    ],
    [
      'jobs.batch',
      { completionMode: 'NonIndexed', backoffLimitPerIndex: 1 },
      ['spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode'],
    ],
    [
      'jobs.batch',
      { maxFailedIndexes: 4 },
      [
        'spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified',
        'spec.maxFailedIndexes: Invalid value: 4: must be less than or equal to completions',
      ],
    ],
    [
      'jobs.batch',
      { managedBy: 'me' },
      ['spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")'],
    ],
    [
      'jobs.batch',
      { managedBy: 'acme.io/a b' },
      [
        "spec.managedBy: Invalid value: \"a b\": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
      ],
    ],
    [
      'jobs.batch',
      { podFailurePolicy: { rules: [{ action: 'FailIndex', onExitCodes: { ...exitCodes, values: [2, 1, 1] } }] } },
      [
        'spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set',
        'spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 1',
        'spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,1,1]: must be ordered',
      ],
    ],
    [
      'jobs.batch',
      { podFailurePolicy: { rules: [{ action: 'Count' }] } },
      ['spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required'],
    ],
    [
      'jobs.batch',
      { successPolicy: { rules: [{ succeededIndexes: '0-3' }] } },
      [
        'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "0-3": error parsing succeededIndexes: too large index: "3"',
      ],
    ],
    [
      'jobs.batch',
      { successPolicy: { rules: [{ succeededIndexes: '0,2', succeededCount: 3 }] } },
      [
        'spec.successPolicy.rules[0].succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)',
      ],
    ],
    [
      'jobs.batch',
      { selector: { matchLabels: { a: 'b' } } },
      [
        'spec.selector: Invalid value: {"matchLabels":{"a":"b","batch.kubernetes.io/controller-uid":"u1"}}: `selector` not auto-generated',
        expect.stringContaining('`selector` does not match template `labels`') as unknown as string,
      ],
    ],
    [
      'cronjobs.batch',
      { jobTemplate: { spec: { template: once, manualSelector: true } } },
      ['spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"'],
    ],
    ...['UTC', 'Europe/Berlin', 'US/Pacific'].map((timeZone): [string, JsonObject, string[]] => [
      'cronjobs.batch',
      { timeZone },
      [],
    ]),
    ...['europe/Berlin', 'Europe/berlin', 'utc', '+01:00'].map((timeZone): [string, JsonObject, string[]] => [
      'cronjobs.batch',
      { timeZone },
      [`spec.timeZone: Invalid value: "${timeZone}": unknown time zone ${timeZone}`],
    ]),
    ['cronjobs.batch', { timeZone: 'Local' }, [`spec.timeZone: Invalid value: "Local": ${explicit}`]],
    [
      'cronjobs.batch',
      { timeZone: 'LOCAL' },
      [
        `spec.timeZone: Invalid value: "LOCAL": ${explicit}`,
        'spec.timeZone: Invalid value: "LOCAL": unknown time zone LOCAL',
      ],
    ],
    ['cronjobs.batch', { timeZone: 'Nowhere' }, ['spec.timeZone: Invalid value: "Nowhere": unknown time zone Nowhere']],
  ])('%s with %j', async (kind, fields, refused) => {
    const spec: JsonObject = { ...good[kind], ...fields };
    for (const field in spec) if (spec[field] === null) delete spec[field];
    expect((await apply(find(kind), { spec })).errors).toEqual(refused);
  });
});

describe('the status of', () => {
  it.each<[kind: string, status: JsonObject, refused: string[]]>([
    [
      'deployments.apps',
      { replicas: 2, readyReplicas: 1, availableReplicas: 2 },
      ['status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas'],
    ],
    [
      'replicasets.apps',
      { replicas: 1, fullyLabeledReplicas: 2 },
      ['status.fullyLabeledReplicas: Invalid value: 2: cannot be greater than status.replicas'],
    ],
    [
      'statefulsets.apps',
      { replicas: 2, readyReplicas: 1, availableReplicas: 2 },
      ['status.availableReplicas: Invalid value: 2: cannot be greater than status.readyReplicas'],
    ],
    [
      'daemonsets.apps',
      { numberReady: -1 },
      ['status.numberReady: Invalid value: -1: must be greater than or equal to 0'],
    ],
    ['jobs.batch', { active: 0, ready: 1 }, ['status.ready: Invalid value: 1: cannot set more ready pods than active']],
    [
      'jobs.batch',
      { completedIndexes: '1-x' },
      [
        'status.completedIndexes: Invalid value: "1-x": error parsing completedIndexes: cannot convert string to integer for index: "x"',
      ],
    ],
    [
      'jobs.batch',
      { completionTime: '2024-01-01T00:00:00Z' },
      [
        'status.completionTime: Invalid value: "2024-01-01T00:00:00Z": cannot set completionTime when there is no Complete=True condition',
      ],
    ],
  ])('%s as %j', async (kind, status, refused) => {
    const { created, strategy, context } = await apply(find(kind), { spec: good[kind]! });
    const written = { ...context, subresource: 'status' };
    const next: KubeObject = { ...structuredClone(created), status };
    expect(await strategy.validate?.(next, created, written)).toEqual([]);
    expect(strategy.validateUpdate?.(next, created, written).map(fieldErrorText)).toEqual(refused);
  });
});

describe('a change of', () => {
  const change = async (kind: string, spec: JsonObject, edit: (next: JsonObject) => void): Promise<string[]> => {
    const { created, strategy, context } = await apply(find(kind), { spec });
    const next = structuredClone(created);
    edit(next.spec as JsonObject);
    return (strategy.validateUpdate?.(next, created, context) ?? []).map(fieldErrorText);
  };
  const rename = (next: JsonObject) => {
    (next.template as { spec: JsonObject }).spec.nodeName = 'n';
  };
  const direct = (next: JsonObject) => {
    (next.template as { spec: JsonObject }).spec.nodeSelector = { a: 'b' };
  };

  it('a job leaves its template alone, unless it waits', async () => {
    const job = good['jobs.batch']!;
    const fixed = expect.stringMatching(
      /^spec\.template: Invalid value: \{.*"Spec":\{"Volumes":null,.*\}\}: field is immutable$/,
    );
    expect(await change('jobs.batch', job, direct)).toEqual([fixed]);
    expect(await change('jobs.batch', { ...job, suspend: true }, direct)).toEqual([]);
    expect(await change('jobs.batch', { ...job, suspend: true }, rename)).toEqual([
      expect.stringMatching(/^spec\.template\.spec: Invalid value: \{"Volumes":null,.*\}: field is immutable$/),
    ]);
  });

  it('a daemon set counts its templates in an annotation', async () => {
    const { created, strategy, context } = await apply(find('daemonsets.apps'), { spec: good['daemonsets.apps']! });
    const generation = 'deprecated.daemonset.template.generation';
    expect(created.metadata.annotations).toEqual({ [generation]: '1' });
    const next = structuredClone(created);
    direct(next.spec as JsonObject);
    await strategy.prepareUpdate?.(next, created, context);
    expect(next.metadata.annotations).toEqual({ [generation]: '2' });
  });

  it('a deployment is a new one with other annotations', async () => {
    const { created, strategy } = await apply(find('deployments.apps'), { spec: good['deployments.apps']! });
    const next = { ...created, metadata: { ...created.metadata, annotations: { a: '' } } };
    expect([strategy.isRenewed?.(next, created), strategy.isRenewed?.(created, created)]).toEqual([true, false]);
  });
});

describe('a node', () => {
  it.each<[fields: JsonObject, refused: string[]]>([
    [{ spec: { taints: [{ key: 'a' }] } }, ['metadata.taints[0].effect: Required value']],
    [
      { spec: { podCIDR: '10.0.0.0/33' } },
      [
        'spec.podCIDRs[0]: Invalid value: "10.0.0.0/33": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
      ],
    ],
    [
      { spec: { podCIDRs: ['10.0.0.0/24', '10.1.0.0/24'] } },
      [
        'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may specify no more than one CIDR for each IP family',
      ],
    ],
    [
      { status: { capacity: { pods: '1500m' }, allocatable: { pods: '1' } } },
      ['status.capacity.pods: Invalid value: "1500m": must be an integer'],
    ],
  ])('with %j', async (fields, refused) => {
    expect((await apply(find('nodes'), fields)).errors).toEqual(refused);
  });

  it('keeps the ranges it has', async () => {
    const { created, strategy, context } = await apply(find('nodes'), { spec: { podCIDR: '10.0.0.0/24' } });
    expect(created.spec).toMatchObject({ podCIDRs: ['10.0.0.0/24'] });
    const next = { ...created, spec: { ...(created.spec as JsonObject), podCIDRs: ['10.1.0.0/24'], externalID: 'x' } };
    expect(strategy.validateUpdate?.(next, created, context).map(fieldErrorText)).toEqual([
      'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
      'spec.externalID: Forbidden: may not be updated',
    ]);
  });
});

it('a namespace that stays is active, and a revision says something', async () => {
  const { created, strategy, context } = await apply(find('namespaces'), {});
  const gone: KubeObject = { ...created, status: { phase: 'Terminating' } };
  const errors = (await strategy.validate?.(gone, created, { ...context, subresource: 'status' })) ?? [];
  expect(errors.map(fieldErrorText)).toEqual([
    'status.Phase: Invalid value: "Terminating": may only be \'Active\' if `deletionTimestamp` is empty',
  ]);
  expect((await apply(find('controllerrevisions.apps'), { revision: 1 })).errors).toEqual([
    'data: Required value: data is mandatory',
  ]);
});
