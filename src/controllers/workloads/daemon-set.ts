/**
 * DaemonSet to one Pod on every node that takes it, bound there by an affinity to the node's name as the scheduler reads it.
 *
 * An update replaces Pods a few at a time (`maxUnavailable`), or all whose owner deletes them (OnDelete). Surge is left out.
 */
import { wallNow } from '../../api/index.ts';
import { appsv1, corev1 } from '../../client/index.ts';
import {
  type ControllerDefinition,
  defineController,
  isBeingDeleted,
  type ReconcileContext,
  requeueAfter,
} from '../../controller/index.ts';
import { podIndexers } from '../pods/indexes.ts';
import { fitsNode } from '../pods/node-fit.ts';
import { createPods, deletePods, podFrom } from '../pods/own-pods.ts';
import { isActive, isFinished, isReady, msUntilAvailable, msUntilNextAvailable } from '../pods/pod-state.ts';
import { writeStatus } from '../write-status.ts';
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

export const daemonSetController: ControllerDefinition<DaemonSet> = defineController({
  name: 'daemonset-controller',
  for: appsv1.daemonSets,
  owns: [{ resource: corev1.pods, indexers: podIndexers }, revisionsOwned],
  watches: [{ resource: corev1.nodes, map: (_node, { cache }) => cache.of(appsv1.daemonSets).list() }],
  async reconcile(set, context) {
    if (!set) return undefined;
    const pods = context.cache.of(corev1.pods).by('byController', set.metadata.uid);
    const update = await currentRevision(set, context);
    const byNode = new Map<string, corev1.Pod[]>();
    for (const pod of pods) byNode.set(nodeOf(pod), [...(byNode.get(nodeOf(pod)) ?? []), pod]);
    const nodes = context.cache.of(corev1.nodes).list();
    const wanted = nodes.filter((node) => fitsNode(draftFor(set, node.metadata.name, update), node));
    if (!isBeingDeleted(set)) {
      await fillNodes(set, wanted, byNode, update, context);
      if (set.spec.updateStrategy?.type !== 'OnDelete') await replaceOld(set, wanted, byNode, update, context);
    }
    await updateStatus(set, wanted, byNode, update, context);
    const inUse = pods.map((pod) => `${set.metadata.name}-${pod.metadata.labels?.[REVISION_LABEL]}`);
    await forgetRevisions(set, new Set([update, ...inUse]), context);
    const nextMs = msUntilNextAvailable(pods, set.spec.minReadySeconds ?? 0, wallNow());
    return nextMs === undefined ? undefined : requeueAfter(nextMs);
  },
});

function draftFor(set: DaemonSet, node: string, revision: string): ReturnType<typeof podFrom> {
  const { template } = set.spec;
  const nodeSelectorTerms = [{ matchFields: [{ key: 'metadata.name', operator: 'In' as const, values: [node] }] }];
  const affinity = {
    ...template.spec?.affinity,
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
  };
  const tolerations = TOLERATED.map(([key, effect]) => ({ key, operator: 'Exists' as const, effect }));
  return podFrom(template, {
    prefix: set.metadata.name,
    labels: { [REVISION_LABEL]: labelOf(set, revision) },
    spec: { affinity, tolerations: [...(template.spec?.tolerations ?? []), ...tolerations] },
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
  const going: corev1.Pod[] = [];
  for (const [node, pods] of byNode) {
    const alive = pods.filter((pod) => !isBeingDeleted(pod));
    const [, ...more] = alive.filter(isActive);
    going.push(...alive.filter(isFinished), ...(names.has(node) ? more : alive.filter(isActive)));
  }
  await deletePods(going, context);
  const missing = [...names].filter((node) => (byNode.get(node) ?? []).length === 0);
  await createPods(
    set,
    missing.map((node) => draftFor(set, node, update)),
    context,
  );
}

async function replaceOld(
  set: DaemonSet,
  wanted: readonly corev1.Node[],
  byNode: ReadonlyMap<string, readonly corev1.Pod[]>,
  update: string,
  context: ReconcileContext,
): Promise<void> {
  const { updateStrategy, minReadySeconds = 0 } = set.spec;
  const most = Math.max(1, boundOf(updateStrategy?.rollingUpdate?.maxUnavailable ?? 1, wanted.length, Math.ceil));
  const actives = wanted.map(({ metadata }) => byNode.get(metadata.name)?.find(isActive));
  const isAvailable = (pod: corev1.Pod) => msUntilAvailable(pod, minReadySeconds, wallNow()) === 0;
  const old = actives.filter(
    (pod) => pod !== undefined && pod.metadata.labels?.[REVISION_LABEL] !== labelOf(set, update),
  );
  const unavailable = actives.filter((pod) => pod === undefined || !isAvailable(pod)).length;
  const idle = old.filter((pod) => !isAvailable(pod!)); // nobody misses these
  const rest = old.filter((pod) => isAvailable(pod!)).slice(0, Math.max(0, most - unavailable));
  await deletePods([...idle, ...rest] as corev1.Pod[], context);
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
