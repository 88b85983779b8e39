/**
 * StatefulSet to Pods that have names: `web-0`, `web-1`, each with its own claims, made in order and taken away in the
 * opposite one.
 *
 * With OrderedReady one Pod is made, or replaced, at a time, and only when all before it are ready. An update goes from the
 * highest ordinal down to `partition`, and waits for each to be available. One decision per reconcile: the next comes when
 * the cache has what this one did. Retention of claims is left out: they stay.
 */
import { wallNow } from '../../api/index.ts';
import { appsv1, corev1, isApiError } from '../../client/index.ts';
import {
  type ControllerDefinition,
  defineController,
  isBeingDeleted,
  type ReconcileContext,
  requeueAfter,
} from '../../controller/index.ts';
import { podIndexers } from '../pods/indexes.ts';
import { createPods, deletePods, MOST_AT_ONCE, podFrom } from '../pods/own-pods.ts';
import { isActive, isFinished, isReady, msUntilAvailable, msUntilNextAvailable } from '../pods/pod-state.ts';
import { writeStatus } from '../write-status.ts';
import { currentRevision, forgetRevisions, labelOf, REVISION_LABEL, revisionsOwned, templateOf } from './revisions.ts';

type StatefulSet = appsv1.StatefulSet;

export const statefulSetController: ControllerDefinition<StatefulSet> = defineController({
  name: 'statefulset-controller',
  for: appsv1.statefulSets,
  owns: [{ resource: corev1.pods, indexers: podIndexers }, revisionsOwned],
  async reconcile(set, context) {
    if (!set) return undefined; // its pods are the garbage collector's business
    const pods = context.cache.of(corev1.pods).by('byController', set.metadata.uid);
    const byOrdinal = new Map(pods.map((pod) => [ordinalOf(set, pod), pod]));
    const update = await currentRevision(set, context);
    const current = set.status?.currentRevision ?? update;
    if (!isBeingDeleted(set)) await moveOn(set, byOrdinal, { current, update }, context);
    await updateStatus(set, pods, { current, update }, context);
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
    if (pod && isFinished(pod) && !isBeingDeleted(pod)) await deletePods([pod], context);
    else if (!pod) {
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
    if (!isBeingDeleted(pod)) await deletePods([pod], context);
    if (isOrdered) return;
  }
  if (updateStrategy?.type === 'OnDelete') return;
  for (let ordinal = end - 1; ordinal >= start + partition; ordinal--) {
    const pod = byOrdinal.get(ordinal);
    if (pod && !isBeingDeleted(pod) && pod.metadata.labels?.[REVISION_LABEL] !== labelOf(set, revisions.update)) {
      await deletePods([pod], context);
      return;
    }
    if (!isAvailable(pod)) return;
  }
}

/** Its claims first: a Pod without them could not start. */
async function createMember(
  set: StatefulSet,
  ordinal: number,
  revision: string,
  context: ReconcileContext,
): Promise<boolean> {
  const { template, volumeClaimTemplates = [], serviceName, selector } = set.spec;
  const name = `${set.metadata.name}-${ordinal}`;
  const volumes: corev1.Volume[] = [];
  for (const { metadata, spec } of volumeClaimTemplates) {
    const claimName = `${metadata?.name}-${name}`;
    const labels = { ...metadata?.labels, ...selector.matchLabels };
    await context.client
      .resource(corev1.persistentVolumeClaims)
      .create({ metadata: { ...metadata, name: claimName, namespace: context.namespace, labels }, spec: spec ?? {} })
      .catch((err: unknown) => {
        if (!isApiError(err, 'AlreadyExists')) throw err;
      });
    volumes.push({ name: metadata?.name ?? '', persistentVolumeClaim: { claimName } });
  }
  const from = templateOf(set, revision, context) ?? template;
  const own = (from.spec?.volumes ?? []).filter((volume) => !volumes.some((one) => one.name === volume.name));
  const draft = podFrom(from, {
    name,
    labels: {
      'statefulset.kubernetes.io/pod-name': name,
      'apps.kubernetes.io/pod-index': String(ordinal),
      [REVISION_LABEL]: labelOf(set, revision),
    },
    spec: { hostname: name, ...(serviceName && { subdomain: serviceName }), volumes: [...own, ...volumes] },
  });
  try {
    return await createPods(set, [draft], context);
  } catch (err) {
    if (!isApiError(err, 'AlreadyExists')) throw err; // somebody else's, or ours that the cache has not seen
    return false;
  }
}

async function updateStatus(
  set: StatefulSet,
  pods: readonly corev1.Pod[],
  { current, update }: Revisions,
  { client }: ReconcileContext,
): Promise<void> {
  const { minReadySeconds = 0 } = set.spec;
  const active = pods.filter(isActive);
  const isOf = (revision: string) => (pod: corev1.Pod) =>
    pod.metadata.labels?.[REVISION_LABEL] === labelOf(set, revision);
  const updated = active.filter(isOf(update)).length;
  const ready = active.filter(isReady).length;
  const isRolledOut = updated === (set.spec.replicas ?? 1) && active.length === updated && ready === updated;
  const status = {
    observedGeneration: set.metadata.generation ?? 0,
    replicas: active.length,
    readyReplicas: ready,
    availableReplicas: active.filter((pod) => msUntilAvailable(pod, minReadySeconds, wallNow()) === 0).length,
    currentReplicas: isRolledOut ? updated : active.filter(isOf(current)).length,
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

/** -1: a Pod of it that it would not have made. */
function ordinalOf({ metadata }: StatefulSet, pod: corev1.Pod): number {
  const rest = pod.metadata.name.slice(metadata.name.length + 1);
  return /^(0|[1-9][0-9]*)$/.test(rest) ? Number(rest) : -1;
}
