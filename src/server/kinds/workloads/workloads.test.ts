import { expect, it, vi } from 'vitest';
import { fieldErrorText, type JsonObject } from '../../../api/index.ts';
import { apply, find } from '../strategy-run.testing.ts';
import { scheduleProblem } from './cron-schedule.ts';

const labels = { app: 'a' };
const selector = { matchLabels: labels };
const podSpec = { containers: [{ name: 'c', image: 'registry.example/app:1' }] };
const template = { metadata: { labels }, spec: podSpec };
const body = { spec: { selector, template } };
const storedTemplate = {
  metadata: { labels },
  spec: {
    containers: [
      {
        name: 'c',
        image: 'registry.example/app:1',
        resources: {},
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
        imagePullPolicy: 'IfNotPresent',
      },
    ],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
  },
};

it.each<[kind: string, spec: JsonObject, status: JsonObject]>([
  [
    'deployments.apps',
    {
      replicas: 1,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
    },
    {},
  ],
  ['replicasets.apps', { replicas: 1 }, { replicas: 0 }],
  [
    'statefulsets.apps',
    {
      replicas: 1,
      podManagementPolicy: 'OrderedReady',
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      revisionHistoryLimit: 10,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
    },
    { replicas: 0, availableReplicas: 0 },
  ],
  [
    'daemonsets.apps',
    {
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
      revisionHistoryLimit: 10,
    },
    { currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0 },
  ],
])('a new object of %s has its defaults, and no status of its writer', async (kind, spec, status) => {
  const { created, errors } = await apply(find(kind), { ...body, status: { replicas: 5 } });
  expect(errors).toEqual([]);
  expect(created.spec).toEqual({ selector, template: storedTemplate, ...spec });
  expect(created.status).toEqual(status);
});

const mismatch =
  'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`';

it.each<[claim: string, spec: JsonObject, want: string[]]>([
  ['a selector of other labels', { selector: { matchLabels: { app: 'b' } }, template }, [mismatch]],
  ['no selector', { template }, ['spec.selector: Required value', mismatch]],
  [
    'too few replicas',
    { selector, template, replicas: -1 },
    ['spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
  ],
  [
    'pods that end',
    { selector, template: { ...template, spec: { ...podSpec, restartPolicy: 'Never' } } },
    ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
  ],
  [
    'no room to roll in',
    { selector, template, strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 0 } } },
    ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0'],
  ],
])('a deployment with %s is refused', async (_claim, spec, want) => {
  const { errors } = await apply(find('deployments.apps'), { spec });
  expect(errors).toEqual(want);
});

it('the selector of a deployment is fixed', async () => {
  const { created, strategy } = await apply(find('deployments.apps'), body);
  const next = structuredClone(created);
  (next.spec as JsonObject).selector = { matchLabels: { app: 'b' } };
  expect(strategy.validateUpdate?.(next, created).map(fieldErrorText)).toEqual([
    'spec.selector: Invalid value: {"matchLabels":{"app":"b"}}: field is immutable',
  ]);
});

it('of a stateful set only a few fields may change', async () => {
  const { created, strategy } = await apply(find('statefulsets.apps'), body);
  const next = structuredClone(created);
  (next.spec as JsonObject).replicas = 3;
  expect(strategy.validateUpdate?.(next, created)).toEqual([]);
  (next.spec as JsonObject).serviceName = 'other';
  expect(strategy.validateUpdate?.(next, created)).toMatchObject([{ field: 'spec', reason: 'FieldValueForbidden' }]);
});

it('a job selects its pods by its uid', async () => {
  const job = { spec: { template: { spec: { ...podSpec, restartPolicy: 'Never' } } } };
  const { created, errors } = await apply(find('jobs.batch'), job);
  const generated = {
    'controller-uid': 'u1',
    'job-name': 'a',
    'batch.kubernetes.io/controller-uid': 'u1',
    'batch.kubernetes.io/job-name': 'a',
  };
  expect(errors).toEqual([]);
  expect(created.metadata.labels).toEqual(generated);
  expect(created.spec).toMatchObject({
    completions: 1,
    parallelism: 1,
    backoffLimit: 6,
    completionMode: 'NonIndexed',
    suspend: false,
    podReplacementPolicy: 'TerminatingOrFailed',
    manualSelector: false,
    selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': 'u1' } },
    template: { metadata: { labels: generated } },
  });
});

it('a job whose pods restart for ever is refused', async () => {
  const { errors } = await apply(find('jobs.batch'), { spec: { template: { spec: podSpec } } });
  expect(errors).toEqual(['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"']);
});

it.each([
  ['*/5 * * * *', undefined],
  ['0 0 1-15,20 jan-mar sun', undefined],
  ['@hourly', undefined],
  ['* * * *', 'expected exactly 5 fields, found 4: [* * * *]'],
  ['61 * * * *', 'end of range (61) above maximum (59): 61'],
  ['x * * * *', 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
  ['@often', 'unrecognized descriptor: @often'],
  ['@every 1h30m', undefined],
  ['@every -5s', undefined],
  ['@every 5', 'failed to parse duration @every 5: time: missing unit in duration "5"'],
  ['@every', 'unrecognized descriptor: @every'],
  ['*-7/2 ?,+5 * * *', undefined],
  ['x-1-2 * * * *', 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
  ['1-2-y * * * *', 'too many hyphens: 1-2-y'],
  ['-5 * * * *', 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax'],
  ['*/-5 * * * *', 'negative number (-5) not allowed: -5'],
  ['1/2/3 * * * *', 'too many slashes: 1/2/3'],
  ['61/0 * * * *', 'beginning of range (61) beyond end of range (59): 61/0'],
  ['5/0 * * * *', 'step of range should be a positive number: 5/0'],
  [
    '99999999999999999999 * * * *',
    'failed to parse int from 99999999999999999999: strconv.Atoi: parsing "99999999999999999999": value out of range',
  ],
  ['+0000000000000000000000005 * * * *', undefined],
  ['+ * * * *', 'failed to parse int from +: strconv.Atoi: parsing "+": invalid syntax'],
])('scheduleProblem(%s) is %s', (schedule, want) => expect(scheduleProblem(schedule)).toBe(want));

it('a schedule of a million digits is not reckoned', () => {
  const spied = vi.spyOn(globalThis, 'BigInt');
  expect(scheduleProblem(`${'9'.repeat(1_000_000)} * * * *`)).toContain('value out of range');
  expect(spied).not.toHaveBeenCalled();
  spied.mockRestore();
});

it.each(['jobs.batch', 'replicationcontrollers'])(
  'one of %s takes over labels whose values are empty',
  async (kind) => {
    const isJob = kind === 'jobs.batch';
    const made = { metadata: { labels: { app: '' } }, spec: { ...podSpec, ...(isJob && { restartPolicy: 'Never' }) } };
    const { created, errors } = await apply(find(kind), { spec: { template: made } });
    expect(errors).toEqual([]);
    expect(created.metadata.labels).toMatchObject({ app: '' });
    if (!isJob) expect(created.spec).toMatchObject({ selector: { app: '' } });
  },
);
