/** What Deployments and ReplicaSets say of themselves, and do where something stands in their way, on two pretended nodes. */
import { describe, expect, it } from 'vitest';
import { appsv1, batchv1, corev1, mergePatch } from '../../../src/client/index.ts';
import { until } from '../../support/client/client-under-test.ts';
import { pretendedCluster } from '../../support/client/pretended-cluster.ts';

const { client, newNamespace } = await pretendedCluster(2);

const labels = { app: 'web' };
const deployment = (spec: Partial<appsv1.DeploymentSpec> = {}, image = 'example.com/web:1') => ({
  metadata: { name: 'web', annotations: { 'kubernetes.io/change-cause': 'a test' } },
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'web', image }] },
    },
    ...spec,
  },
});
const deploymentsIn = (n: string) => client.resource(appsv1.deployments, n);
const setsIn = async (n: string) => (await client.resource(appsv1.replicaSets, n).list()).items;
const podsIn = async (n: string) => (await client.resource(corev1.pods, n).list()).items;
const change = (spec: object) => mergePatch<appsv1.Deployment>({ spec } as object);
const withImage = (image: string) => change({ template: { spec: { containers: [{ name: 'web', image }] } } });
const conditionsOf = async (n: string) => (await deploymentsIn(n).get('web')).status?.conditions ?? [];
const conditionOf = async (n: string, type: string) => (await conditionsOf(n)).find((one) => one.type === type);
const untilReason = (n: string, type: string, reason: string) =>
  until(async () => (await conditionOf(n, type))?.reason === reason);
const told = async (n: string, reason: string) =>
  (await client.resource(corev1.events, n).list()).items
    .filter((event) => event.reason === reason)
    .map(({ type, message }) => `${type} ${message}`);

async function running(n: string, spec: Partial<appsv1.DeploymentSpec> = {}): Promise<appsv1.ReplicaSet> {
  await deploymentsIn(n).create(deployment(spec));
  await untilReason(n, 'Progressing', 'NewReplicaSetAvailable');
  return (await setsIn(n))[0]!;
}

describe('a deployment', () => {
  it('says in the words of kube-controller-manager how its rollout goes', async () => {
    const n = await newNamespace();
    const { metadata, spec } = await running(n);
    expect(spec.replicas).toBe(2);
    expect(metadata.annotations).toEqual({
      'deployment.kubernetes.io/desired-replicas': '2',
      'deployment.kubernetes.io/max-replicas': '3',
      'deployment.kubernetes.io/revision': '1',
      'kubernetes.io/change-cause': 'a test',
    });
    const conditions = (await conditionsOf(n)).map(({ lastUpdateTime, lastTransitionTime, ...said }) => {
      expect([lastUpdateTime, lastTransitionTime]).not.toContain(undefined);
      return said;
    });
    expect(conditions).toEqual([
      {
        type: 'Available',
        status: 'True',
        reason: 'MinimumReplicasAvailable',
        message: 'Deployment has minimum availability.',
      },
      {
        type: 'Progressing',
        status: 'True',
        reason: 'NewReplicaSetAvailable',
        message: `ReplicaSet "${metadata.name}" has successfully progressed.`,
      },
    ]);
    await until(async () => (await told(n, 'SuccessfulCreate')).length === 2);
    expect(await told(n, 'ScalingReplicaSet')).toEqual([`Normal Scaled up replica set ${metadata.name} from 0 to 2`]);
    const names = (await podsIn(n)).map((pod) => `Normal Created pod: ${pod.metadata.name}`);
    expect((await told(n, 'SuccessfulCreate')).sort()).toEqual(names.sort());
    const { status } = await deploymentsIn(n).get('web');
    expect(status).toMatchObject({ terminatingReplicas: 0, updatedReplicas: 2 });
  });

  it('whose rollout does not move has exceeded its deadline, until it moves again', async () => {
    const n = await newNamespace();
    await running(n, { progressDeadlineSeconds: 1 });
    await deploymentsIn(n).patch('web', withImage('example.com/web:broken'));
    await untilReason(n, 'Progressing', 'ProgressDeadlineExceeded');
    const late = (await setsIn(n)).find(
      ({ metadata }) => metadata.annotations?.['deployment.kubernetes.io/revision'] === '2',
    );
    expect(await conditionOf(n, 'Progressing')).toMatchObject({
      status: 'False',
      message: `ReplicaSet "${late?.metadata.name}" has timed out progressing.`,
    });
    await deploymentsIn(n).patch('web', withImage('example.com/web:1'));
    await untilReason(n, 'Progressing', 'NewReplicaSetAvailable');
    const [first] = (await setsIn(n)).filter(({ spec }) => spec.replicas === 2);
    expect(first?.metadata.annotations).toMatchObject({
      'deployment.kubernetes.io/revision': '3',
      'deployment.kubernetes.io/revision-history': '1',
    });
  });

  it('says that it is paused, is scaled all the same, and goes on when it is resumed', async () => {
    const n = await newNamespace();
    await running(n);
    await deploymentsIn(n).patch('web', change({ paused: true }));
    await untilReason(n, 'Progressing', 'DeploymentPaused');
    expect(await conditionOf(n, 'Progressing')).toMatchObject({ status: 'Unknown', message: 'Deployment is paused' });
    await deploymentsIn(n).patch('web', withImage('example.com/web:2'));
    await deploymentsIn(n).patch('web', change({ replicas: 3 }));
    await until(async () => (await deploymentsIn(n).get('web')).status?.availableReplicas === 3);
    expect(await setsIn(n)).toHaveLength(1);
    await deploymentsIn(n).patch('web', change({ paused: false }));
    await until(async () => (await deploymentsIn(n).get('web')).status?.updatedReplicas === 3);
    expect(await setsIn(n)).toHaveLength(2);
  });

  it('says why its pods cannot be made, as does its replica set, and no more when they can', async () => {
    const n = await newNamespace();
    const quotas = client.resource(corev1.resourceQuotas, n);
    await quotas.create({ metadata: { name: 'q' }, spec: { hard: { pods: '1' } } });
    await quotas.status.patch('q', mergePatch({ status: { hard: { pods: '1' }, used: { pods: '0' } } }));
    await deploymentsIn(n).create(deployment());
    await untilReason(n, 'ReplicaFailure', 'FailedCreate');
    const text = /^pods "web-\S+" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1$/;
    expect((await conditionOf(n, 'ReplicaFailure'))?.message).toMatch(text);
    const [set] = await setsIn(n);
    expect(set?.status?.conditions).toMatchObject([{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate' }]);
    expect(set?.status?.replicas).toBe(1);
    await until(async () => (await told(n, 'FailedCreate')).length > 0);
    expect((await told(n, 'FailedCreate'))[0]).toMatch(
      /^Warning Error creating: pods "web-\S+" is forbidden: exceeded/,
    );
    await quotas.delete('q');
    await until(async () => (await deploymentsIn(n).get('web')).status?.availableReplicas === 2);
    await until(async () => (await conditionOf(n, 'ReplicaFailure')) === undefined);
  });

  it('that is recreated has no new pod while an old one is there', async () => {
    const n = await newNamespace();
    await running(n, { replicas: 1, strategy: { type: 'Recreate' } });
    const [old] = await podsIn(n);
    const pods = client.resource(corev1.pods, n);
    const hold = (finalizers: string[] | null) => mergePatch<corev1.Pod>({ metadata: { finalizers } } as object);
    await pods.patch(old!.metadata.name, hold(['example.com/hold']));
    await deploymentsIn(n).patch('web', withImage('example.com/web:2'));
    await until(async () => (await pods.get(old!.metadata.name)).metadata.deletionTimestamp !== undefined);
    await until(async () => (await deploymentsIn(n).get('web')).status?.replicas === undefined);
    expect(await setsIn(n)).toHaveLength(1);
    await pods.patch(old!.metadata.name, hold(null));
    await until(async () => (await deploymentsIn(n).get('web')).status?.updatedReplicas === 1);
    expect(await setsIn(n)).toHaveLength(2);
  });

  it('takes another name for a replica set where somebody has the first', async () => {
    const n = await newNamespace();
    const { metadata } = await running(n);
    await deploymentsIn(n).delete('web');
    await until(async () => (await setsIn(n)).length === 0);
    const { spec } = deployment({ selector: { matchLabels: { app: 'other' } } });
    const template = { ...spec.template, metadata: { labels: { app: 'other' } } };
    const other = { replicas: 0, selector: spec.selector, template };
    await client.resource(appsv1.replicaSets, n).create({ metadata: { name: metadata.name }, spec: other });
    await deploymentsIn(n).create(deployment());
    await until(async () => (await deploymentsIn(n).get('web')).status?.availableReplicas === 2);
    expect((await deploymentsIn(n).get('web')).status?.collisionCount).toBe(1);
    expect(await setsIn(n)).toHaveLength(2);
  });
});

it('jobs, stateful and daemon sets tell of themselves though no pod can be made', async () => {
  const n = await newNamespace();
  const quotas = client.resource(corev1.resourceQuotas, n);
  await quotas.create({ metadata: { name: 'q' }, spec: { hard: { pods: '0' } } });
  await quotas.status.patch('q', mergePatch({ status: { hard: { pods: '0' }, used: { pods: '0' } } }));
  const { template } = deployment().spec;
  const selector = { matchLabels: labels };
  const metadata = { name: 'x' };
  const jobs = client.resource(batchv1.jobs, n);
  const once = { ...template.spec, restartPolicy: 'Never' as const };
  await jobs.create({ metadata, spec: { template: { spec: once } } });
  await client.resource(appsv1.statefulSets, n).create({ metadata, spec: { selector, template } });
  await client.resource(appsv1.daemonSets, n).create({ metadata, spec: { selector, template } });
  await until(async () => (await jobs.get('x')).status?.startTime !== undefined);
  const [stateful, daemons] = [client.resource(appsv1.statefulSets, n), client.resource(appsv1.daemonSets, n)];
  await until(async () => (await stateful.get('x')).status?.observedGeneration === 1);
  await until(async () => (await daemons.get('x')).status?.observedGeneration === 1);
  await until(async () => new Set(await told(n, 'FailedCreate')).size > 2);
  expect(await podsIn(n)).toEqual([]);
});

it('a replica set lets go of a pod that it does not select any more, and makes another', async () => {
  const n = await newNamespace();
  await running(n);
  const pods = client.resource(corev1.pods, n);
  const [one] = await podsIn(n);
  await pods.patch(one!.metadata.name, mergePatch<corev1.Pod>({ metadata: { labels: { app: 'debugged' } } } as object));
  await until(async () => (await podsIn(n)).length === 3);
  await until(async () => (await pods.get(one!.metadata.name)).metadata.ownerReferences === undefined);
});
