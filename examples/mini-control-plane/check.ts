/**
 * The mini control plane, put through its paces: what `npm run examples -- mini-control-plane` runs.
 *
 * For a control plane that runs until Ctrl-C, to play with from kubectl, see main.ts. Either needs a server without
 * controllers of its own, such as `npm start`; a real cluster is refused.
 */
import assert from 'node:assert/strict';
import { appsv1, connect, corev1, mergePatch } from 'longwatch/client';
import { isActive, isReady, startControllers } from 'longwatch/controllers';
import { runExample } from '../stage/run-example.ts';
import { scratchNamespace } from '../stage/scratch-namespace.ts';

const REPLICAS = 4;

await runExample(async (signal) => {
  await using client = await connect();
  const fast = { startMs: 100, stopMs: 100, onError: console.error };
  await using plane = startControllers(client, { controllers: ['*'], pretendNodes: 3, ...fast });
  await plane.ready(signal);
  await using scratch = await scratchNamespace(client, 'mini-control-plane');
  const namespace = scratch.name;
  await using seenDeployments = client.informer(appsv1.deployments, { namespace });
  await using seenPods = client.informer(corev1.pods, { namespace });

  const web = client.resource(appsv1.deployments, namespace);
  const apply = (image: string, replicas = REPLICAS) =>
    web.apply(webDeployment(image, replicas), { fieldManager: 'check', force: true, signal });
  const uidsOf = (found: Iterable<corev1.Pod>) => [...found].map(({ metadata }) => metadata.uid).sort();
  const untilPods = async (count: number) => {
    for await (const { objects } of seenPods.snapshots({ signal }))
      if (objects.size === count && [...objects.values()].every(isReady)) return;
  };
  const untilRolledOut = async ({ metadata, spec }: appsv1.Deployment) => {
    for await (const { objects } of seenDeployments.snapshots({ signal }))
      if (isRolledOut(objects.get(`${namespace}/web`), metadata.generation!)) break;
    await untilPods(spec.replicas!); // also those on their way out are gone
  };
  const untilDeleted = async () => {
    for await (const { objects } of seenDeployments.snapshots({ signal })) if (objects.size === 0) return;
  };

  console.log('A Deployment is applied: Pods appear');
  await untilRolledOut(await apply('example.com/web:1', 2));
  for (const { metadata, spec, status } of seenPods.list())
    console.log(`  ${metadata.name} ${status?.phase} on ${spec.nodeName} at ${status?.podIP}`);

  console.log(`It is scaled to ${REPLICAS}`);
  await web.scale.patch('web', mergePatch({ spec: { replicas: REPLICAS } }), { signal });
  await untilRolledOut(await web.get('web', { signal }));
  assert.equal(new Set(seenPods.list().map(({ status }) => status?.podIP)).size, REPLICAS, 'each has its address');

  console.log('A new image is rolled out: at no time are there fewer than wanted, or more than one too many');
  const counts = { fewest: REPLICAS, most: REPLICAS };
  await using _counting = seenPods.subscribe(() => {
    const active = seenPods.list().filter(isActive);
    counts.fewest = Math.min(counts.fewest, active.filter(isReady).length);
    counts.most = Math.max(counts.most, active.length);
  });
  await untilRolledOut(await apply('example.com/web:2'));
  console.log(`  never fewer than ${counts.fewest} ready, never more than ${counts.most} in all`);
  assert.deepEqual(counts, { fewest: REPLICAS, most: REPLICAS + 1 });
  assert.equal(
    (await client.resource(appsv1.replicaSets, namespace).list({ signal })).items.length,
    2,
    'one for each image',
  );

  console.log('An image that cannot be pulled: the rollout stops by itself, and is taken back');
  await apply('example.com/web:broken');
  for await (const { objects } of seenPods.snapshots({ signal })) if ([...objects.values()].some(isStuck)) break;
  await untilRolledOut(await apply('example.com/web:2'));
  assert.equal(counts.fewest, REPLICAS, 'nobody noticed');

  console.log('Deleted in the foreground: first the pods, then their replica sets, then the Deployment');
  await web.delete('web', { propagationPolicy: 'Foreground', signal });
  await untilDeleted();
  assert.deepEqual((await client.resource(appsv1.replicaSets, namespace).list({ signal })).items, [], 'it went last');
  assert.deepEqual((await client.resource(corev1.pods, namespace).list({ signal })).items, [], 'and they went first');

  console.log('Deleted as an orphan: the pods stay, and the next Deployment of that name takes them over');
  await untilRolledOut(await apply('example.com/web:1'));
  const before = uidsOf(seenPods.list());
  await web.delete('web', { propagationPolicy: 'Orphan', signal });
  await untilDeleted();
  await untilRolledOut(await apply('example.com/web:1'));
  assert.deepEqual(uidsOf(seenPods.list()), before, 'they are the same pods');

  console.log('Deleted in the background, as kubectl does: what it leaves behind is collected');
  await web.delete('web', { propagationPolicy: 'Background', signal });
  await untilPods(0);

  console.log('The namespace is deleted: everything in it goes, and then it goes itself');
  await untilRolledOut(await apply('example.com/web:1'));
  await client.resource(corev1.namespaces).delete(namespace, { signal });
  await using all = client.informer(corev1.namespaces, { fieldSelector: { 'metadata.name': namespace } });
  for await (const { objects } of all.snapshots({ signal })) if (objects.size === 0) break;
  assert.deepEqual(
    (await client.resource(corev1.pods, namespace).list({ signal })).items,
    [],
    'nothing is left behind',
  );
});

function webDeployment(image: string, replicas: number) {
  const labels = { app: 'web' };
  return {
    metadata: { name: 'web' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: { metadata: { labels }, spec: { containers: [{ name: 'web', image }] } },
    },
  };
}

/** What `kubectl rollout status` waits for. */
function isRolledOut(deployment: appsv1.Deployment | undefined, generation: number): boolean {
  const { replicas, updatedReplicas, availableReplicas, observedGeneration = 0 } = deployment?.status ?? {};
  const counts = [replicas, updatedReplicas, availableReplicas];
  return observedGeneration >= generation && counts.every((count) => (count ?? 0) === deployment?.spec.replicas);
}

function isStuck({ status }: corev1.Pod): boolean {
  return status?.containerStatuses?.some(({ state }) => state?.waiting?.reason === 'ImagePullBackOff') ?? false;
}
