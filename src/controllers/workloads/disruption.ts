/**
 * The status of PodDisruptionBudgets: how many of their Pods are healthy, how many must be, and how many may go now. What
 * evictions are refused or let through by.
 *
 * With a number in minAvailable the Pods that are there count as expected; with maxUnavailable or a share, those that their
 * controllers want. A Pod that an eviction has named counts as gone until it is, for two minutes at most.
 */

import { isDeepStrictEqual } from 'node:util';
import { wallNow } from '../../api/index.ts';
import { appsv1, corev1, policyv1 } from '../../client/index.ts';
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
  reads: [appsv1.replicaSets, appsv1.deployments, appsv1.statefulSets],
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
    const wanted = wantedBy(pods, context);
    const isCount = maxUnavailable === undefined && typeof minAvailable === 'number';
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

/** What the controllers of these Pods want, each once; a Pod without one counts for itself. */
function wantedBy(pods: readonly corev1.Pod[], { cache, namespace }: ReconcileContext): number {
  const wishes = new Map<string, number>();
  for (const pod of pods) {
    const owner = controllerOf(pod);
    if (!owner) wishes.set(pod.metadata.uid, 1);
    else if (owner.kind === 'StatefulSet')
      wishes.set(owner.uid, cache.of(appsv1.statefulSets).get(`${namespace}/${owner.name}`)?.spec.replicas ?? 1);
    else if (owner.kind === 'ReplicaSet') {
      const set = cache.of(appsv1.replicaSets).get(`${namespace}/${owner.name}`);
      const above = set && controllerOf(set);
      const deployment = above && cache.of(appsv1.deployments).get(`${namespace}/${above.name}`);
      wishes.set(above?.uid ?? owner.uid, deployment?.spec.replicas ?? set?.spec.replicas ?? 1);
    } else wishes.set(pod.metadata.uid, 1);
  }
  return [...wishes.values()].reduce((sum, one) => sum + one, 0);
}
