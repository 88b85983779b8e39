/**
 * DaemonSet to one Pod on every node that takes it, bound there by an affinity to the node's name as the scheduler reads it.
 *
 * An update takes away Pods a few at a time (`maxUnavailable`), or makes a few beside the old ones, which go when these are
 * available (`maxSurge`), or waits for somebody to delete them (OnDelete).
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
import { fitsNode } from '../pods/node-fit.ts';
import { createPods, deletePods, podFrom } from '../pods/own-pods.ts';
import { isActive, isFinished, isReady, msUntilAvailable, msUntilNextAvailable } from '../pods/pod-state.ts';
import { settle, writeStatus } from '../write-status.ts';
import { currentRevision, forgetRevisions, labelOf, REVISION_LABEL, revisionsOwned } from './revisions.ts';
import { boundOf } from './rollout.ts';

type DaemonSet = appsv1.DaemonSet;

/** What keeps others off a node does not keep these off. */
const TOLERATED: readonly (readonly [key: string, effect: 'NoExecute' | 'NoSchedule'])[] = [
  ['node.kubernetes.io/not-ready', 'NoExecute'],
  ['node.kubernetes.io/unreachable', 'NoExecute'],
  ['node.kubernetes.io/disk-pressure', 'NoSchedule'],
  ['node.kubernetes.io/memory-pressure', 'NoSchedule'],
  ['node.kubernetes.io/pid-pressure', 'NoSchedule'],
  ['node.kubernetes.io/unschedulable', 'NoSchedule'],
];

const GENERATION_LABEL = 'pod-template-generation';
const OF_HOST_NETWORK = ['node.kubernetes.io/network-unavailable', 'NoSchedule'] as const;

export const daemonSetController: ControllerDefinition<DaemonSet> = defineController({
  name: 'daemonset-controller',
  for: appsv1.daemonSets,
  owns: [{ resource: corev1.pods, indexers: podIndexers }, revisionsOwned],
  watches: [
    { resource: corev1.nodes, map: (_node, { cache }) => cache.of(appsv1.daemonSets).list() },
    {
      resource: corev1.pods,
      indexers: podIndexers,
      map: (pod, { cache }) =>
        controllerOf(pod) ? undefined : cache.of(appsv1.daemonSets).list({ namespace: pod.metadata.namespace! }),
    },
  ],
  async reconcile(set, context) {
    if (!set) return undefined;
    const isConcerned = (pod: corev1.Pod) => !isBeingDeleted(pod);
    const pods = await claimPods(set, { selector: set.spec.selector, isConcerned }, context);
    const update = await currentRevision(set, context);
    const byNode = new Map<string, corev1.Pod[]>();
    for (const pod of pods) byNode.set(nodeOf(pod), [...(byNode.get(nodeOf(pod)) ?? []), pod]);
    const nodes = context.cache.of(corev1.nodes).list();
    const wanted = nodes.filter((node) => fitsNode(anywhere(set), node));
    const manage = async () => {
      await fillNodes(set, wanted, byNode, update, context);
      if (set.spec.updateStrategy?.type !== 'OnDelete') await replaceOld(set, wanted, byNode, update, context);
    };
    const managed = isBeingDeleted(set) ? undefined : await settle(manage());
    await updateStatus(set, wanted, byNode, update, context);
    if (managed?.status === 'rejected') throw managed.reason;
    const inUse = pods.map((pod) => `${set.metadata.name}-${pod.metadata.labels?.[REVISION_LABEL]}`);
    await forgetRevisions(set, new Set([update, ...inUse]), context);
    const nextMs = msUntilNextAvailable(pods, set.spec.minReadySeconds ?? 0, wallNow());
    return nextMs === undefined ? undefined : requeueAfter(nextMs);
  },
});

/** What its Pods ask of a node. */
function anywhere({ spec: { template } }: DaemonSet): { readonly spec: corev1.PodSpec } {
  const isOnHost = template.spec?.hostNetwork === true;
  const all = isOnHost ? [...TOLERATED, OF_HOST_NETWORK] : TOLERATED;
  const added = all.map(([key, effect]) => ({ key, operator: 'Exists' as const, effect }));
  const own = template.spec?.tolerations ?? [];
  const isNew = (one: corev1.Toleration) => !own.some(({ key, effect }) => key === one.key && effect === one.effect);
  return { spec: { ...(template.spec as corev1.PodSpec), tolerations: [...own, ...added.filter(isNew)] } };
}

/** What the template says about nodes was heard already: on this one it is to be. */
function draftFor(set: DaemonSet, node: string, revision: string): ReturnType<typeof podFrom> {
  const { template } = set.spec;
  const { affinity } = template.spec ?? {};
  const generation = set.metadata.annotations?.['deprecated.daemonset.template.generation'];
  const nodeSelectorTerms = [{ matchFields: [{ key: 'metadata.name', operator: 'In' as const, values: [node] }] }];
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
  return podFrom(template, {
    prefix: set.metadata.name,
    labels: {
      [REVISION_LABEL]: labelOf(set, revision),
      ...(generation !== undefined && { [GENERATION_LABEL]: generation }),
    },
    spec: {
      affinity: { ...affinity, nodeAffinity: { ...affinity?.nodeAffinity, ...required } },
      tolerations: anywhere(set).spec.tolerations ?? [],
    },
  });
}

/** Where a Pod is, or is meant to be. */
function nodeOf({ spec }: corev1.Pod): string {
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return spec.nodeName ?? terms[0]?.matchFields?.[0]?.values?.[0] ?? '';
}

async function fillNodes(
  set: DaemonSet,
  wanted: readonly corev1.Node[],
  byNode: ReadonlyMap<string, readonly corev1.Pod[]>,
  update: string,
  context: ReconcileContext,
): Promise<void> {
  const names = new Set(wanted.map(({ metadata }) => metadata.name));
  const { namespace } = context;
  const going: corev1.Pod[] = [];
  for (const [node, pods] of byNode) {
    const alive = pods.filter((pod) => !isBeingDeleted(pod)).sort(byAge);
    for (const pod of alive.filter(isFinished)) {
      const isFailed = pod.status?.phase === 'Failed';
      const [reason, how, next] = isFailed
        ? ['FailedDaemonPod', 'failed', 'kill']
        : ['SucceededDaemonPod', 'succeeded', 'delete'];
      const text = `Found ${how} daemon pod ${namespace}/${pod.metadata.name} on node ${node}, will try to ${next} it`;
      if (isFailed) context.recorder.warning(reason!, text);
      else context.recorder.normal(reason!, text);
      going.push(pod);
    }
    const active = alive.filter(isActive);
    if (!names.has(node)) going.push(...active);
    else if (boundsOf(set, wanted.length).maxSurge === 0) going.push(...active.slice(1));
    else {
      // Of each generation the oldest may stay.
      const isNew = isOf(set, update);
      going.push(...active.filter(isNew).slice(1), ...active.filter((pod) => !isNew(pod)).slice(1));
    }
  }
  await deletePods(going, context);
  const missing = [...names].filter((node) => (byNode.get(node) ?? []).length === 0);
  await createPods(
    set,
    missing.map((node) => draftFor(set, node, update)),
    context,
  );
}

const byAge = (a: corev1.Pod, b: corev1.Pod): number =>
  Date.parse(a.metadata.creationTimestamp) - Date.parse(b.metadata.creationTimestamp);

const isOf = (set: DaemonSet, revision: string) => (pod: corev1.Pod) =>
  pod.metadata.labels?.[REVISION_LABEL] === labelOf(set, revision);

/** Where Pods may be beside the old ones, none may be missing. */
function boundsOf({ spec }: DaemonSet, nodes: number): { readonly maxSurge: number; readonly maxUnavailable: number } {
  const { maxSurge = 0, maxUnavailable = 1 } = spec.updateStrategy?.rollingUpdate ?? {};
  const surge = spec.updateStrategy?.type === 'OnDelete' ? 0 : boundOf(maxSurge, nodes, Math.ceil);
  if (surge > 0) return { maxSurge: surge, maxUnavailable: 0 };
  return { maxSurge: 0, maxUnavailable: Math.max(1, boundOf(maxUnavailable, nodes, Math.ceil)) };
}

async function replaceOld(
  set: DaemonSet,
  wanted: readonly corev1.Node[],
  byNode: ReadonlyMap<string, readonly corev1.Pod[]>,
  update: string,
  context: ReconcileContext,
): Promise<void> {
  const { minReadySeconds = 0 } = set.spec;
  const { maxSurge, maxUnavailable } = boundsOf(set, wanted.length);
  const isAvailable = (pod: corev1.Pod) => msUntilAvailable(pod, minReadySeconds, wallNow()) === 0;
  const isNew = isOf(set, update);
  const pairs = wanted.map(({ metadata: { name } }) => {
    const active = byNode.get(name)?.filter(isActive).sort(byAge) ?? [];
    return { node: name, fresh: active.find(isNew), old: active.find((pod) => !isNew(pod)) };
  });
  if (maxSurge > 0) {
    const both = pairs.filter(({ fresh, old }) => fresh && old);
    const isDone = ({ fresh }: (typeof pairs)[number]) => isAvailable(fresh!);
    await deletePods(
      both.filter(isDone).map(({ old }) => old!),
      context,
    );
    const waiting = pairs.filter(({ fresh, old }) => !fresh && old);
    const idle = waiting.filter(({ old }) => !isAvailable(old!)); // nobody misses these
    const rest = waiting.filter(({ old }) => isAvailable(old!));
    const room = Math.max(0, maxSurge - both.filter((pair) => !isDone(pair)).length);
    const drafts = [...idle, ...rest.slice(0, room)].map(({ node }) => draftFor(set, node, update));
    await createPods(set, drafts, context);
    return;
  }
  const isMissed = ({ fresh, old }: (typeof pairs)[number]) =>
    fresh ? old !== undefined || !isAvailable(fresh) : !old;
  const stale = pairs.flatMap(({ fresh, old }) => (old && !fresh ? [old] : []));
  const idle = stale.filter((pod) => !isAvailable(pod)); // nobody misses these
  const room = Math.max(0, maxUnavailable - pairs.filter(isMissed).length);
  const rest = stale.filter(isAvailable).slice(0, room);
  await deletePods([...idle, ...rest], context);
}

async function updateStatus(
  set: DaemonSet,
  wanted: readonly corev1.Node[],
  byNode: ReadonlyMap<string, readonly corev1.Pod[]>,
  update: string,
  { client }: ReconcileContext,
): Promise<void> {
  const names = new Set(wanted.map(({ metadata }) => metadata.name));
  const there = [...names].flatMap((node) => byNode.get(node)?.find(isActive) ?? []);
  const available = there.filter((pod) => msUntilAvailable(pod, set.spec.minReadySeconds ?? 0, wallNow()) === 0).length;
  const status = {
    observedGeneration: set.metadata.generation ?? 0,
    desiredNumberScheduled: names.size,
    currentNumberScheduled: there.length,
    numberMisscheduled: [...byNode].filter(([node, pods]) => !names.has(node) && pods.some(isActive)).length,
    numberReady: there.filter(isReady).length,
    updatedNumberScheduled: there.filter(({ metadata }) => metadata.labels?.[REVISION_LABEL] === labelOf(set, update))
      .length,
    numberAvailable: available,
    numberUnavailable: names.size - available,
  };
  const known: Partial<typeof status> = set.status ?? {};
  const isNews = (Object.keys(status) as (keyof typeof status)[]).some(
    (field) => status[field] !== (known[field] ?? 0),
  );
  if (isNews) await writeStatus(client.resource(appsv1.daemonSets), set, status);
}
