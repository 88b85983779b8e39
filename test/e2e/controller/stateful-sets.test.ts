/** Members of StatefulSets: what is said of them, whose their claims are, and whose they are when the set is made anew. */
import { expect, it } from 'vitest';
import { appsv1, corev1, mergePatch } from '../../../src/client/index.ts';
import { until } from '../../support/client/client-under-test.ts';
import { pretendedCluster } from '../../support/client/pretended-cluster.ts';

const { client, newNamespace } = await pretendedCluster(2);

const labels = { app: 'db' };
const draft = (retention?: object) => ({
  metadata: { name: 's' },
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    ...(retention && { persistentVolumeClaimRetentionPolicy: retention }),
    template: {
      metadata: { labels },
      spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'db', image: 'example.com/db:1' }] },
    },
    volumeClaimTemplates: [
      {
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce' as const], resources: { requests: { storage: '1Gi' } } },
      },
    ],
  },
});

async function newSet(retention?: object) {
  const n = await newNamespace();
  const sets = client.resource(appsv1.statefulSets, n);
  const pods = client.resource(corev1.pods, n);
  const claims = client.resource(corev1.persistentVolumeClaims, n);
  const run = async () => {
    await sets.create(draft(retention));
    await until(async () => (await sets.get('s')).status?.availableReplicas === 2);
  };
  await run();
  return {
    ...{ sets, pods, claims, run },
    told: async () =>
      (await client.resource(corev1.events, n).list()).items
        .filter(({ involvedObject }) => involvedObject.kind === 'StatefulSet')
        .map(({ type, reason, message }) => `${type} ${reason} ${message}`),
    ownersOf: async (name: string) =>
      ((await claims.get(name)).metadata.ownerReferences ?? []).map(({ kind, controller }) => `${kind} ${controller}`),
  };
}

it('what is made and taken away is told of Pods and claims', async () => {
  const { sets, pods, told } = await newSet();
  await pods.status.patch('s-0', mergePatch<corev1.Pod>({ status: { phase: 'Failed' } } as object));
  await until(async () => (await told()).some((text) => text.includes('delete Pod s-0')));
  await until(async () => (await sets.get('s')).status?.availableReplicas === 2);
  await sets.scale.patch('s', mergePatch({ spec: { replicas: 1 } }));
  await until(async () => (await told()).some((text) => text.includes('delete Pod s-1')));
  const all = await told();
  expect(all).toEqual(
    expect.arrayContaining([
      'Normal SuccessfulCreate create Claim data-s-0 Pod s-0 in StatefulSet s success',
      'Normal SuccessfulCreate create Pod s-0 in StatefulSet s successful',
      'Normal SuccessfulCreate create Claim data-s-1 Pod s-1 in StatefulSet s success',
      'Normal SuccessfulCreate create Pod s-1 in StatefulSet s successful',
      'Normal SuccessfulDelete delete Pod s-0 in StatefulSet s successful',
      'Normal SuccessfulDelete delete Pod s-1 in StatefulSet s successful',
    ]),
  );
  expect(
    all.some((text) => /^Warning RecreatingFailedPod StatefulSet ns-\d+\/s is recreating failed Pod s-0$/.test(text)),
  ).toBe(true);
});

it('claims stay, unless they are to go with the set', async () => {
  const kept = await newSet();
  expect(await kept.ownersOf('data-s-0')).toEqual([]);
  await kept.sets.delete('s');
  const { sets, pods, claims, ownersOf } = await newSet({ whenDeleted: 'Delete' });
  await until(async () => (await ownersOf('data-s-1')).join() === 'StatefulSet true');
  await sets.scale.patch('s', mergePatch({ spec: { replicas: 1 } }));
  await until(async () => (await pods.find('s-1')) === undefined);
  expect(await ownersOf('data-s-1')).toEqual(['StatefulSet true']);
  await sets.delete('s');
  await until(async () => (await claims.list()).items.length === 0);
  await until(async () => (await kept.pods.list()).items.length === 0);
  expect((await kept.claims.list()).items).toHaveLength(2);
});

it('or with the Pod that is one too many', async () => {
  const { sets, claims, ownersOf } = await newSet({ whenScaled: 'Delete' });
  await sets.scale.patch('s', mergePatch({ spec: { replicas: 1 } }));
  await until(async () => (await claims.find('data-s-1')) === undefined);
  expect(await ownersOf('data-s-0')).toEqual([]);
});

it('Pods of a set that was deleted without them are those of the next of its name', async () => {
  const { sets, pods, run } = await newSet();
  const uids = async () => (await pods.list()).items.map(({ metadata }) => metadata.uid).sort();
  const before = await uids();
  await sets.delete('s', { propagationPolicy: 'Orphan' });
  await until(async () => (await sets.find('s')) === undefined);
  await run();
  expect(await uids()).toEqual(before);
  const { uid } = (await sets.get('s')).metadata;
  const owners = (await pods.list()).items.map(({ metadata }) => metadata.ownerReferences?.map((one) => one.uid));
  expect(owners).toEqual([[uid], [uid]]);
});
