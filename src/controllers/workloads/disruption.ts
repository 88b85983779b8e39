/**
 * The status of PodDisruptionBudgets: how many of their Pods are healthy, how many must be, and how many may go now. What
 * evictions are refused or let through by.
 *
 * With a number in minAvailable the Pods that are there count as expected; with maxUnavailable or a share, those that their
 * controllers want, as far as these say how many. A Pod that an eviction has named counts as gone until it is, for two minutes at most.
 */

import { isDeepStrictEqual } from 'node:util';
import { wallNow } from '../../api/index.ts';
import { appsv1, corev1, type metav1, policyv1 } from '../../client/index.ts';
import {
  type ControllerDefinition,
  controllerOf,
  defineController,
  isBeingDeleted,
  type ReconcileContext,
  requeueAfter,
  setCondition,
} from '../../controller/index.ts';
import { isFinished, isReady } from '../pods/pod-state.ts';
import { writeStatus } from '../write-status.ts';
import { boundOf } from './rollout.ts';

const BELIEVED_MS = 120_000;

export const disruptionController: ControllerDefinition<policyv1.PodDisruptionBudget> = defineController({
  name: 'disruption-controller',
  for: policyv1.podDisruptionBudgets,
  reads: [appsv1.replicaSets, appsv1.deployments, appsv1.statefulSets, corev1.replicationControllers],
  watches: [
    {
      resource: corev1.pods,
      map: ({ metadata }, { cache }) =>
        cache.of(policyv1.podDisruptionBudgets).list({ namespace: metadata.namespace! }),
    },
  ],
  async reconcile(budget, context) {
    if (!budget || isBeingDeleted(budget)) return undefined;
    const { cache, client, namespace } = context;
    const { selector, minAvailable, maxUnavailable } = budget.spec ?? {};
    const found = selector ? cache.of(corev1.pods).list({ namespace, labelSelector: selector }) : [];
    const pods = found.filter((pod) => !isFinished(pod));
    const isCount = maxUnavailable === undefined && typeof minAvailable === 'number';
    const { count: wanted, unmanaged, fault } = wantedBy(isCount ? [] : pods, context);
    if (found.length === 0) context.recorder.normal('NoPods', 'No matching pods found');
    tellUnmanaged(budget, unmanaged, context);
    if (fault !== undefined) return failSafe(budget, fault, context);
    const expectedPods = isCount ? pods.length : wanted;
    const desiredHealthy = isCount
      ? minAvailable
      : maxUnavailable !== undefined
        ? Math.max(0, wanted - boundOf(maxUnavailable, wanted, Math.ceil))
        : boundOf(minAvailable ?? 0, wanted, Math.ceil);
    const disrupted = Object.entries(budget.status?.disruptedPods ?? {}).filter(([pod, time]) => {
      const there = cache.of(corev1.pods).get(`${namespace}/${pod}`);
      return there && !isBeingDeleted(there) && wallNow() - Date.parse(String(time)) < BELIEVED_MS;
    });
    const named = new Set(disrupted.map(([pod]) => pod));
    const isGoing = (pod: corev1.Pod) => isBeingDeleted(pod) || named.has(pod.metadata.name);
    const currentHealthy = pods.filter((pod) => isReady(pod) && !isGoing(pod)).length;
    const disruptionsAllowed = expectedPods > 0 ? Math.max(0, currentHealthy - desiredHealthy) : 0;
    const observedGeneration = budget.metadata.generation ?? 0;
    const known = budget.status?.conditions ?? [];
    const conditions = setCondition(known, {
      type: 'DisruptionAllowed',
      status: disruptionsAllowed > 0 ? 'True' : 'False',
      reason: disruptionsAllowed > 0 ? 'SufficientPods' : 'InsufficientPods',
      message: '',
      observedGeneration,
    });
    const counts = { currentHealthy, desiredHealthy, disruptionsAllowed, expectedPods, observedGeneration };
    const before = Object.fromEntries(
      Object.keys(counts).map((field) => [field, budget.status?.[field as keyof typeof counts]]),
    );
    const hasForgotten = Object.keys(budget.status?.disruptedPods ?? {}).length > named.size;
    if (conditions !== known || !isDeepStrictEqual(before, counts) || hasForgotten) {
      const disruptedPods = disrupted.length > 0 ? Object.fromEntries(disrupted) : null;
      // An eviction that has counted meanwhile makes it fail.
      const budgets = client.resource(policyv1.podDisruptionBudgets);
      await writeStatus(budgets, budget, { ...counts, conditions, disruptedPods });
    }
    return disrupted.length > 0 ? requeueAfter(BELIEVED_MS) : undefined;
  },
});

/** As long as it cannot be told how many there should be, none may go. */
async function failSafe(budget: policyv1.PodDisruptionBudget, fault: string, context: ReconcileContext) {
  const { client, recorder } = context;
  recorder.warning('CalculateExpectedPodCountFailed', `Failed to calculate the number of expected pods: ${fault}`);
  const known = budget.status?.conditions ?? [];
  const observedGeneration = budget.metadata.generation ?? 0;
  const failed = { type: 'DisruptionAllowed', status: 'False', reason: 'SyncFailed', message: fault } as const;
  const conditions = setCondition(known, { ...failed, observedGeneration });
  if (conditions === known && budget.status?.disruptionsAllowed === 0) return undefined;
  const budgets = client.resource(policyv1.podDisruptionBudgets);
  await writeStatus(budgets, budget, { disruptionsAllowed: 0, conditions });
  return undefined;
}

/** What the controllers of these Pods want, each once. */
type Wish = {
  readonly count: number;
  /** Who has no controller cannot be expected. */
  readonly unmanaged: readonly corev1.Pod[];
  /** Why it cannot be told. */
  readonly fault: string | undefined;
};

/** Kinds that want as many as there is room or work for: of these nobody can say how many that is. */
const UNSCALED: Readonly<Record<string, string>> = { DaemonSet: 'daemonsets.apps', Job: 'jobs.batch' };

function wantedBy(pods: readonly corev1.Pod[], { cache, namespace }: ReconcileContext): Wish {
  const wishes = new Map<string, number>();
  const unmanaged: corev1.Pod[] = [];
  let fault: string | undefined;
  for (const pod of pods) {
    const owner = controllerOf(pod);
    const at = `${namespace}/${owner?.name}`;
    if (!owner) unmanaged.push(pod);
    else if (owner.kind === 'StatefulSet')
      wishes.set(owner.uid, cache.of(appsv1.statefulSets).get(at)?.spec.replicas ?? 1);
    else if (owner.kind === 'ReplicationController')
      wishes.set(owner.uid, cache.of(corev1.replicationControllers).get(at)?.spec.replicas ?? 1);
    else if (owner.kind === 'ReplicaSet') {
      const set = cache.of(appsv1.replicaSets).get(at);
      const above = set && controllerOf(set);
      const deployment = above && cache.of(appsv1.deployments).get(`${namespace}/${above.name}`);
      wishes.set(above?.uid ?? owner.uid, deployment?.spec.replicas ?? set?.spec.replicas ?? 1);
    } else if (UNSCALED[owner.kind]) fault ??= `${UNSCALED[owner.kind]} does not implement the scale subresource`;
    else wishes.set(pod.metadata.uid, 1); // a kind of somebody's own, whose scale is not looked up
  }
  return { count: [...wishes.values()].reduce((sum, one) => sum + one, 0), unmanaged, fault };
}

function tellUnmanaged(
  budget: policyv1.PodDisruptionBudget,
  pods: readonly corev1.Pod[],
  { recorder }: ReconcileContext,
): void {
  if (pods.length === 0) return;
  const text =
    `Pods selected by this PodDisruptionBudget (selector: ${showSelector(budget.spec?.selector)}) were found to be ` +
    'unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. ' +
    'To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.';
  recorder.warning('UnmanagedPods', text);
}

/** As Go prints it. */
function showSelector({ matchLabels, matchExpressions }: metav1.LabelSelector = {}): string {
  const labels = matchLabels && sortedText(matchLabels);
  const terms = (matchExpressions ?? []).map(
    ({ key, operator, values = [] }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],}`,
  );
  return `&LabelSelector{MatchLabels:map[string]string{${labels ?? ''}},MatchExpressions:[]LabelSelectorRequirement{${terms.map((term) => `${term},`).join('')}},}`;
}

function sortedText(labels: Readonly<Record<string, string>>): string {
  return Object.keys(labels)
    .sort()
    .map((key) => `${key}: ${labels[key]},`)
    .join('');
}
