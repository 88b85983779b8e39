/** What controllers ask about a pod. */
import { leastOf } from '../../api/index.ts';
import type { corev1 } from '../../client/index.ts';
import { findCondition, isBeingDeleted } from '../../controller/index.ts';

/** It runs, or it is going to. */
export function isActive(pod: corev1.Pod): boolean {
  return !isBeingDeleted(pod) && !isFinished(pod);
}

export function isFinished({ status }: corev1.Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

/** It was told to go, and has not come to its end. */
export function isLeaving(pod: corev1.Pod): boolean {
  return isBeingDeleted(pod) && !isFinished(pod);
}

export function isReady(pod: corev1.Pod): boolean {
  return readyCondition(pod)?.status === 'True';
}

/** How much longer it must stay ready to be called available; 0: it is; Infinity: it is not ready. */
export function msUntilAvailable(pod: corev1.Pod, minReadySeconds: number, now: number): number {
  const condition = readyCondition(pod);
  if (condition?.status !== 'True') return Number.POSITIVE_INFINITY;
  return Math.max(0, Date.parse(condition.lastTransitionTime ?? '') + minReadySeconds * 1000 - now);
}

/** Until the first of them that is ready has been so for long enough; undefined: no pause would make a difference. */
export function msUntilNextAvailable(
  pods: readonly corev1.Pod[],
  minReadySeconds: number,
  now: number,
): number | undefined {
  const waits = pods.map((pod) => msUntilAvailable(pod, minReadySeconds, now)).filter((wait) => wait > 0);
  const next = leastOf(waits);
  return Number.isFinite(next) ? next : undefined;
}

function readyCondition(pod: corev1.Pod) {
  return findCondition(pod.status?.conditions, 'Ready');
}
