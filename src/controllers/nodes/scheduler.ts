/**
 * Scheduler: gives every pod without a node the one with the fewest pods, of those that it may run on.
 *
 * A pod that fits nowhere waits, says why, and is looked at again when a node changes; one that has gates, or another scheduler,
 * is left alone. One pod at a time, so that each sees where the ones before it went. What counts is in node-fit.ts.
 *
 * No pod waits for its claims: those whose class waits for their pod are told its node, and bound when somebody does that.
 */
import { corev1, isApiError, mergePatch, storagev1 } from '../../client/index.ts';
import {
  type ControllerDefinition,
  defineController,
  isBeingDeleted,
  type ReconcileContext,
  setCondition,
  whereObject,
} from '../../controller/index.ts';
import { classOf, SELECTED_NODE, waitsForConsumer } from '../pods/claim-class.ts';
import { podIndexers } from '../pods/indexes.ts';
import { misfitOf } from '../pods/node-fit.ts';
import { claimNamesOf } from '../pods/pod-claims.ts';

const NAME = 'default-scheduler';

const isWaiting = (pod: corev1.Pod) =>
  !pod.spec.nodeName &&
  !isBeingDeleted(pod) &&
  (pod.spec.schedulerName ?? NAME) === NAME &&
  (pod.spec.schedulingGates ?? []).length === 0;

export const schedulerController: ControllerDefinition<corev1.Pod> = defineController({
  name: 'scheduler',
  concurrency: 1,
  for: { resource: corev1.pods, indexers: podIndexers, where: whereObject(isWaiting) },
  reads: [corev1.persistentVolumeClaims, storagev1.storageClasses],
  watches: [{ resource: corev1.nodes, map: (_node, { cache }) => cache.of(corev1.pods).list().filter(isWaiting) }],
  async reconcile(pod, context) {
    if (!pod || !isWaiting(pod)) return;
    const { cache, client, recorder, name } = context;
    const podsOn = (node: corev1.Node) => cache.of(corev1.pods).by('byNode', node.metadata.name).length;
    const judged = cache
      .of(corev1.nodes)
      .list()
      .map((node) => ({ node, misfit: misfitOf(pod, node) }));
    const [target] = judged
      .flatMap(({ node, misfit }) => (misfit === undefined ? [node] : []))
      .sort((a, b) => podsOn(a) - podsOn(b) || (a.metadata.name < b.metadata.name ? -1 : 1));
    if (!target) {
      await tellWhy(
        pod,
        judged.map(({ misfit }) => misfit!),
        context,
      );
      return;
    }
    await tellClaims(pod, target.metadata.name, context);
    const to = { apiVersion: 'v1', kind: 'Node', name: target.metadata.name };
    try {
      await client.resource(corev1.pods).subresource('binding').create(name, { metadata: { name }, target: to });
      recorder.normal(
        'Scheduled',
        `Successfully assigned ${pod.metadata.namespace}/${name} to ${target.metadata.name}`,
      );
    } catch (err) {
      ignoreGone(err); // it is gone, going, or has a node
    }
  },
});

/** A claim that changes at the same time is not told: that its Pod has a node can be seen all the same. */
async function tellClaims(
  pod: corev1.Pod,
  nodeName: string,
  { cache, client, namespace }: ReconcileContext,
): Promise<void> {
  for (const claimName of claimNamesOf(pod)) {
    const claim = cache.of(corev1.persistentVolumeClaims).get(`${namespace}/${claimName}`);
    if (!claim || claim.spec.volumeName || claim.metadata.annotations?.[SELECTED_NODE] !== undefined) continue;
    if (!waitsForConsumer(cache.of(storagev1.storageClasses).get(classOf(claim)))) continue;
    const { uid, resourceVersion } = claim.metadata;
    const metadata = { uid, resourceVersion, annotations: { [SELECTED_NODE]: nodeName } };
    await client
      .resource(corev1.persistentVolumeClaims)
      .patch(claimName, mergePatch<corev1.PersistentVolumeClaim>({ metadata } as object))
      .catch(ignoreGone);
  }
}

/** As an Event, and in the condition that autoscalers look for. */
async function tellWhy(
  pod: corev1.Pod,
  misfits: readonly string[],
  { client, recorder, name }: ReconcileContext,
): Promise<void> {
  const message = textOf(misfits);
  recorder.warning('FailedScheduling', message);
  const known = pod.status?.conditions ?? [];
  const why = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message } as const;
  const conditions = setCondition<corev1.PodCondition>(known, why);
  if (conditions === known) return;
  const { uid, resourceVersion } = pod.metadata;
  await client
    .resource(corev1.pods)
    .status.patch(
      name,
      mergePatch<corev1.Pod>({ metadata: { uid, resourceVersion }, status: { conditions } } as object),
    )
    .catch(ignoreGone);
}

function textOf(misfits: readonly string[]): string {
  const nodes = misfits.length;
  if (nodes === 0) return 'no nodes available to schedule pods';
  const counts = new Map<string, number>();
  for (const misfit of misfits) counts.set(misfit, (counts.get(misfit) ?? 0) + 1);
  const reasons = [...counts].map(([misfit, count]) => `${count} ${misfit}`).sort();
  const none = `0/${nodes} nodes are available: `;
  return `${none}${reasons.join(', ')}. preemption: ${none}${nodes} Preemption is not helpful for scheduling.`;
}

function ignoreGone(err: unknown): void {
  if (!isApiError(err, 'NotFound') && !isApiError(err, 'Conflict')) throw err;
}
