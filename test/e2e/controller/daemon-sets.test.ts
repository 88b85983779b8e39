/** On which nodes a DaemonSet has Pods, and how it replaces them, on three pretended nodes. */
import { expect, it } from 'vitest';
import { appsv1, corev1, mergePatch } from '../../../src/client/index.ts';
import { until } from '../../support/client/client-under-test.ts';
import { pretendedCluster } from '../../support/client/pretended-cluster.ts';

const { client, newNamespace } = await pretendedCluster(3);

const labels = { app: 'agent' };

async function newSet(podSpec: object, strategy?: object) {
  const n = await newNamespace();
  const [sets, pods] = [client.resource(appsv1.daemonSets, n), client.resource(corev1.pods, n)];
  const container = { name: 'agent', image: 'example.com/agent:1' };
  const spec = { terminationGracePeriodSeconds: 0, containers: [container], ...podSpec };
  const draft = {
    metadata: { name: 'd' },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec },
      ...(strategy && { updateStrategy: strategy as appsv1.DaemonSetUpdateStrategy }),
    },
  };
  const run = () => sets.create(draft);
  await run();
  return {
    ...{ sets, pods, run },
    podsNow: async () => (await pods.list()).items,
    available: async () => (await sets.get('d')).status?.numberAvailable ?? 0,
    update: (image: string) =>
      sets.patch(
        'd',
        mergePatch<appsv1.DaemonSet>({
          spec: { template: { spec: { containers: [{ name: 'agent', image }] } } },
        } as object),
      ),
    told: async () =>
      (await client.resource(corev1.events, n).list()).items
        .filter(({ involvedObject }) => involvedObject.kind === 'DaemonSet')
        .map(({ type, reason, message }) => `${type} ${reason} ${message}`),
  };
}

it('has Pods where its template wants to be, and they keep what they prefer', async () => {
  const terms = (values: string[]) => ({
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values }] }],
  });
  const preference = { matchExpressions: [{ key: 'disk', operator: 'Exists' as const }] };
  const preferred = [{ weight: 1, preference }];
  const nodeAffinity = {
    requiredDuringSchedulingIgnoredDuringExecution: terms(['node-2']),
    preferredDuringSchedulingIgnoredDuringExecution: preferred,
  };
  const { available, podsNow, sets } = await newSet({ affinity: { nodeAffinity } });
  await until(async () => (await available()) === 1);
  const all = await podsNow();
  expect(all.map(({ spec }) => spec.nodeName)).toEqual(['node-2']);
  expect(all[0]?.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution).toEqual(preferred);
  expect(all[0]?.metadata.labels?.['pod-template-generation']).toBe('1');
  expect((await sets.get('d')).status).toMatchObject({ desiredNumberScheduled: 1, currentNumberScheduled: 1 });
});

it('makes new Pods beside the old ones where it may, and takes these away when those work', async () => {
  const rollingUpdate = { maxSurge: 1, maxUnavailable: 0 };
  const { available, podsNow, update } = await newSet({}, { type: 'RollingUpdate', rollingUpdate });
  await until(async () => (await available()) === 3);
  const old = new Set((await podsNow()).map(({ metadata }) => metadata.uid));
  await update('example.com/agent:broken');
  await until(async () => (await podsNow()).length === 4);
  await until(async () =>
    (await podsNow()).some(
      ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ImagePullBackOff',
    ),
  );
  expect((await podsNow()).filter(({ metadata }) => old.has(metadata.uid))).toHaveLength(3);
  await update('example.com/agent:2');
  await until(async () => {
    const all = await podsNow();
    return all.length === 3 && all.every(({ spec }) => spec.containers[0]?.image === 'example.com/agent:2');
  });
  await until(async () => (await available()) === 3);
});

it('replaces what has failed, and says so', async () => {
  const { available, pods, podsNow, told } = await newSet({});
  await until(async () => (await available()) === 3);
  const [one] = await podsNow();
  const { name } = one!.metadata;
  await pods.status.patch(name, mergePatch<corev1.Pod>({ status: { phase: 'Failed' } } as object));
  await until(async () => (await pods.find(name)) === undefined && (await available()) === 3);
  const at = `${one?.metadata.namespace}/${name}`;
  const text = `Found failed daemon pod ${at} on node ${one?.spec.nodeName}, will try to kill it`;
  await until(async () => (await told()).includes(`Warning FailedDaemonPod ${text}`));
  expect(await told()).toContain(`Normal SuccessfulDelete Deleted pod: ${name}`);
});

it('Pods of a set that was deleted without them are those of the next of its name', async () => {
  const { available, sets, podsNow, run } = await newSet({});
  await until(async () => (await available()) === 3);
  const uids = async () => (await podsNow()).map(({ metadata }) => metadata.uid).sort();
  const before = await uids();
  await sets.delete('d', { propagationPolicy: 'Orphan' });
  await until(async () => (await sets.find('d')) === undefined);
  await run();
  await until(async () => (await available()) === 3);
  expect(await uids()).toEqual(before);
});
