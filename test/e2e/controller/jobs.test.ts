/** What Jobs say about Pods that fail, and when enough have succeeded, on pretended nodes. */
import { expect, it } from 'vitest';
import { batchv1, corev1, mergePatch } from '../../../src/client/index.ts';
import { until } from '../../support/client/client-under-test.ts';
import { pretendedCluster } from '../../support/client/pretended-cluster.ts';

const { client, newNamespace } = await pretendedCluster(2);

async function newJob(spec: object, script = 'exit 0', restartPolicy = 'Never') {
  const n = await newNamespace();
  const container = { name: 'main', image: 'example.com/x:1', command: ['/bin/sh', '-c', script] };
  const template = { spec: { restartPolicy, terminationGracePeriodSeconds: 0, containers: [container] } };
  const jobs = client.resource(batchv1.jobs, n);
  await jobs.create({ metadata: { name: 'j' }, spec: { template, ...spec } as batchv1.JobSpec });
  const pods = client.resource(corev1.pods, n);
  return {
    pods,
    events: client.resource(corev1.events, n),
    job: () => jobs.get('j'),
    patch: (change: object) => jobs.patch('j', mergePatch<batchv1.Job>({ spec: change } as object)),
    podsNow: async () => (await pods.list()).items,
    async until(type: string) {
      const conditions = async () => (await jobs.get('j')).status?.conditions ?? [];
      await until(async () => (await conditions()).some((one) => one.type === type && one.status === 'True'));
      const { status } = await jobs.get('j');
      return { status, said: status?.conditions?.map(({ type, reason, message }) => ({ type, reason, message })) };
    },
  };
}
const indexed = (completions: number) => ({ completions, parallelism: 1, completionMode: 'Indexed' });

it('a failure that its policy names ends it at once, and it says which', async () => {
  const rules = [
    { action: 'Ignore', onExitCodes: { operator: 'In', values: [7] } },
    { action: 'FailJob', onExitCodes: { containerName: 'main', operator: 'In', values: [42] } },
  ];
  const { until, podsNow } = await newJob({ podFailurePolicy: { rules } }, 'echo so; exit 42');
  const { status, said } = await until('Failed');
  const [pod] = await podsNow();
  const at = `${pod?.metadata.namespace}/${pod?.metadata.name}`;
  const message = `Container main for pod ${at} failed with exit code 42 matching FailJob rule at index 1`;
  expect(said).toEqual([
    { type: 'FailureTarget', reason: 'PodFailurePolicy', message },
    { type: 'Failed', reason: 'PodFailurePolicy', message },
  ]);
  expect(status).toMatchObject({ failed: 1 });
});

it('a failure that is ignored is none', async () => {
  const rules = [{ action: 'Ignore', onExitCodes: { operator: 'NotIn', values: [1] } }];
  const { job, podsNow } = await newJob({ backoffLimit: 0, podFailurePolicy: { rules } }, 'exit 3');
  await until(async () => (await podsNow()).some((pod) => pod.status?.phase === 'Failed' && !pod.metadata.finalizers));
  const { status } = await job();
  expect(status?.failed ?? 0).toBe(0);
  expect(status?.conditions ?? []).toEqual([]);
});

it('is complete when its policy says so, though not all have succeeded', async () => {
  const successPolicy = { rules: [{ succeededIndexes: '4' }, { succeededIndexes: '0,2-4', succeededCount: 1 }] };
  const { until, podsNow } = await newJob({ ...indexed(5), successPolicy });
  const { status, said } = await until('Complete');
  const message = 'Matched rules at index 1';
  expect(said).toEqual([
    { type: 'SuccessCriteriaMet', reason: 'SuccessPolicy', message },
    { type: 'Complete', reason: 'SuccessPolicy', message },
  ]);
  expect(status).toMatchObject({ succeeded: 1, completedIndexes: '0' });
  expect(await podsNow()).toHaveLength(1);
});

it('gives up one index after the other, each by its own limit', async () => {
  const { until } = await newJob({ ...indexed(3), backoffLimitPerIndex: 0 }, 'exit 1');
  const { status, said } = await until('Failed');
  expect(said?.at(-1)).toEqual({ type: 'Failed', reason: 'FailedIndexes', message: 'Job has failed indexes' });
  expect(status).toMatchObject({ failed: 3, failedIndexes: '0-2' });
});

it('gives up as a whole when too many indexes have', async () => {
  const limits = { backoffLimitPerIndex: 0, maxFailedIndexes: 1 };
  const { until } = await newJob({ ...indexed(5), ...limits }, 'exit 1');
  const { status, said } = await until('Failed');
  expect(said?.at(-1)?.reason).toBe('MaxFailedIndexesExceeded');
  expect(status?.failedIndexes).toBe('0,1');
});

it('an index that is tried again knows what was before, and its last Pod stays until then', async () => {
  const { until: end, podsNow, job, pods } = await newJob({ ...indexed(1), backoffLimitPerIndex: 1 }, 'exit 1');
  await until(async () => (await podsNow()).some(({ status }) => status?.phase === 'Failed'));
  const [first] = await podsNow();
  const failures = 'batch.kubernetes.io/job-index-failure-count';
  expect(first?.metadata).toMatchObject({ annotations: { [failures]: '0' } });
  expect(first?.metadata.finalizers).toEqual(['batch.kubernetes.io/job-tracking']);
  expect((await job()).status?.failedIndexes ?? '').toBe('');
  // It would be 10 s.
  const [container] = first?.status?.containerStatuses ?? [];
  const state = { terminated: { ...container?.state?.terminated, finishedAt: '2026-01-01T00:00:00Z' } };
  const status = { containerStatuses: [{ ...container, state }] };
  await pods.status.patch(first!.metadata.name, mergePatch<corev1.Pod>({ status } as object));
  await until(async () => (await podsNow()).length === 2);
  const second = (await podsNow()).find(({ metadata }) => metadata.name !== first?.metadata.name);
  expect(second?.metadata.annotations?.[failures]).toBe('1');
  expect((await end('Failed')).status).toMatchObject({ failed: 2, failedIndexes: '0' });
});

it('tells each Pod of an index which it is', async () => {
  const { podsNow } = await newJob(indexed(1));
  await until(async () => (await podsNow()).length === 1);
  const [pod] = await podsNow();
  expect(pod?.spec.hostname).toBe('j-0');
  expect(pod?.spec.containers[0]?.env).toEqual([
    {
      name: 'JOB_COMPLETION_INDEX',
      valueFrom: {
        fieldRef: { apiVersion: 'v1', fieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']" },
      },
    },
  ]);
});

it('containers that are started again count as Pods that fail', async () => {
  const { until: end, podsNow, pods } = await newJob({ backoffLimit: 2 }, 'exit 1', 'OnFailure');
  await until(async () => (await podsNow()).some(({ status }) => status?.phase === 'Running'));
  const [pod] = await podsNow();
  const [container] = pod?.status?.containerStatuses ?? [];
  const status = { containerStatuses: [{ ...container, restartCount: 2 }] };
  await pods.status.patch(pod!.metadata.name, mergePatch<corev1.Pod>({ status } as object));
  expect((await end('Failed')).said?.at(-1)?.reason).toBe('BackoffLimitExceeded');
});

it('says when it is suspended and resumed, and has no Pods meanwhile', async () => {
  const { patch, podsNow, job, events, until: end } = await newJob({ suspend: true });
  await end('Suspended');
  expect(await podsNow()).toEqual([]);
  expect((await job()).status?.startTime).toBeUndefined();
  await patch({ suspend: false });
  await end('Complete');
  const told = async () =>
    (await events.list()).items.filter(({ reason }) => /^(Completed|Resumed|Suspended)$/.test(reason ?? ''));
  await until(async () => (await told()).length === 3);
  expect((await told()).map(({ reason, message }) => `${reason} ${message}`).sort()).toEqual([
    'Completed Job completed',
    'Resumed Job resumed',
    'Suspended Job suspended',
  ]);
});

it('of another manager is left alone', async () => {
  const theirs = await newJob({ managedBy: 'example.com/mine' });
  const ours = await newJob({});
  await ours.until('Complete');
  expect(await theirs.podsNow()).toEqual([]);
  expect((await theirs.job()).status).toEqual({});
});
