/**
 * StatefulSet to Pods that have names: `web-0`, `web-1`, each with its own claims, made in order and taken away in the
 * opposite one.
 *
 * With OrderedReady one Pod is made, or replaced, at a time, and only when all before it are ready. An update goes from the
 * highest ordinal down to `partition`, and waits for each to be available. One decision per reconcile: the next comes when
 * the cache has what this one did.
 */
import { wallNow } from '../../api/index.ts';
import { appsv1, corev1 } from '../../client/index.ts';
import {
  type ControllerDefinition,
  controllerOf,
  defineController,
  isBeingDeleted,
  type ReconcileContext,
  requeueAfter,
} from '../../controller/index.ts';
import { claimPods } from '../pods/claim-pods.ts';
import { podIndexers } from '../pods/indexes.ts';
import { MOST_AT_ONCE } from '../pods/own-pods.ts';
import { isActive, isFinished, isReady, msUntilAvailable, msUntilNextAvailable } from '../pods/pod-state.ts';
import { settle, writeStatus } from '../write-status.ts';
import { currentRevision, forgetRevisions, labelOf, REVISION_LABEL, revisionsOwned } from './revisions.ts';
import { createMember, deleteMember, giveClaims, ordinalOf } from './stateful-members.ts';

type StatefulSet = appsv1.StatefulSet;

export const statefulSetController: ControllerDefinition<StatefulSet> = defineController({
  name: 'statefulset-controller',
  for: appsv1.statefulSets,
  owns: [{ resource: corev1.pods, indexers: podIndexers }, revisionsOwned],
  reads: [corev1.persistentVolumeClaims],
  watches: [
    {
      resource: corev1.pods,
      indexers: podIndexers,
      map: (pod, { cache }) =>
        controllerOf(pod) ? undefined : cache.of(appsv1.statefulSets).list({ namespace: pod.metadata.namespace! }),
    },
  ],
  async reconcile(set, context) {
    if (!set) return undefined; // its pods are the garbage collector's business
    const pods = await claimPods(
      set,
      {
        selector: set.spec.selector,
        isConcerned: (pod) => !isBeingDeleted(pod),
        isMember: (pod) => ordinalOf(set, pod) >= 0,
      },
      context,
    );
    const byOrdinal = new Map(pods.map((pod) => [ordinalOf(set, pod), pod]));
    const update = await currentRevision(set, context);
    const current = set.status?.currentRevision ?? update;
    const moved = isBeingDeleted(set) ? undefined : await settle(moveOn(set, byOrdinal, { current, update }, context));
    await updateStatus(set, pods, { current, update }, context);
    if (moved?.status === 'rejected') throw moved.reason;
    await forgetRevisions(set, new Set([current, update]), context);
    const nextMs = msUntilNextAvailable(pods, set.spec.minReadySeconds ?? 0, wallNow());
    return nextMs === undefined ? undefined : requeueAfter(nextMs);
  },
});

type Revisions = { readonly current: string; readonly update: string };

async function moveOn(
  set: StatefulSet,
  byOrdinal: ReadonlyMap<number, corev1.Pod>,
  revisions: Revisions,
  context: ReconcileContext,
): Promise<void> {
  const {
    replicas = 1,
    ordinals,
    podManagementPolicy = 'OrderedReady',
    updateStrategy,
    minReadySeconds = 0,
  } = set.spec;
  const start = ordinals?.start ?? 0;
  const isOrdered = podManagementPolicy === 'OrderedReady';
  const end = start + replicas;
  const partition = updateStrategy?.rollingUpdate?.partition ?? 0;
  const isAvailable = (pod: corev1.Pod | undefined) =>
    pod !== undefined && isActive(pod) && msUntilAvailable(pod, minReadySeconds, wallNow()) === 0;

  let made = 0;
  for (let ordinal = start; ordinal < end; ordinal++) {
    const pod = byOrdinal.get(ordinal);
    if (pod) await giveClaims(set, pod, context);
    if (pod && isFinished(pod) && !isBeingDeleted(pod)) {
      const [reason, what] =
        pod.status?.phase === 'Failed' ? ['RecreatingFailedPod', 'failed'] : ['RecreatingTerminatedPod', 'terminated'];
      const { name, namespace } = set.metadata;
      const text = `StatefulSet ${namespace}/${name} is recreating ${what} Pod ${pod.metadata.name}`;
      context.recorder.warning(reason!, text);
      await deleteMember(set, pod, context);
    } else if (!pod) {
      const revision = ordinal < start + partition ? revisions.current : revisions.update;
      if (!(await createMember(set, ordinal, revision, context)) || ++made === MOST_AT_ONCE) return;
    }
    if (isOrdered && !(pod && isActive(pod) && isReady(pod))) return;
  }
  const superfluous = [...byOrdinal.keys()]
    .filter((ordinal) => ordinal < start || ordinal >= end)
    .sort((a, b) => b - a);
  for (const ordinal of superfluous) {
    const pod = byOrdinal.get(ordinal)!;
    if (!isBeingDeleted(pod)) {
      await giveClaims(set, pod, context);
      await deleteMember(set, pod, context);
    }
    if (isOrdered) return;
  }
  if (updateStrategy?.type === 'OnDelete') return;
  for (let ordinal = end - 1; ordinal >= start + partition; ordinal--) {
    const pod = byOrdinal.get(ordinal);
    if (pod && !isBeingDeleted(pod) && pod.metadata.labels?.[REVISION_LABEL] !== labelOf(set, revisions.update)) {
      await deleteMember(set, pod, context);
      return;
    }
    if (!isAvailable(pod)) return;
  }
}

async function updateStatus(
  set: StatefulSet,
  pods: readonly corev1.Pod[],
  { current, update }: Revisions,
  { client }: ReconcileContext,
): Promise<void> {
  const { minReadySeconds = 0 } = set.spec;
  const isOf = (revision: string) => (pod: corev1.Pod) =>
    !isBeingDeleted(pod) && pod.metadata.labels?.[REVISION_LABEL] === labelOf(set, revision);
  const isRunning = ({ status }: corev1.Pod) => status?.phase === 'Running';
  const running = pods.filter(isRunning);
  const updated = pods.filter(isOf(update)).length;
  const ready = running.filter(isReady).length;
  const isRolledOut = set.spec.updateStrategy?.type !== 'OnDelete' && updated === pods.length && ready === pods.length;
  const status = {
    observedGeneration: set.metadata.generation ?? 0,
    replicas: pods.length, // also those on their way out
    readyReplicas: ready,
    availableReplicas: running.filter((pod) => msUntilAvailable(pod, minReadySeconds, wallNow()) === 0).length,
    currentReplicas: isRolledOut ? updated : pods.filter(isOf(current)).length,
    updatedReplicas: updated,
    currentRevision: isRolledOut ? update : current,
    updateRevision: update,
    collisionCount: set.status?.collisionCount ?? 0,
  };
  const known: Partial<typeof status> = set.status ?? {};
  const isNews = (Object.keys(status) as (keyof typeof status)[]).some(
    (field) => status[field] !== (known[field] ?? 0),
  );
  if (isNews) await writeStatus(client.resource(appsv1.statefulSets), set, status);
}
