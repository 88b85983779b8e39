/**
 * Which of its Pods a ReplicaSet takes away first: those that nobody would miss. Pure.
 *
 * In this order: without a node, not running yet, not ready, of the lowest deletion cost, on a node with the most of its
 * kind, ready for a short time only, often restarted, young. Of times only the power of two counts, so that among Pods of
 * about one age it is chance that decides.
 */
import { greatestOf } from '../../api/index.ts';
import type { corev1 } from '../../client/index.ts';
import { findCondition } from '../../controller/index.ts';
import { isReady } from './pod-state.ts';

const COST = 'controller.kubernetes.io/pod-deletion-cost';
const PHASES: readonly string[] = ['Pending', 'Unknown', 'Running'];

/** `related`: those of all generations, which share nodes with these. */
export function leastWorthFirst(
  pods: readonly corev1.Pod[],
  related: readonly corev1.Pod[],
  nowMs: number,
): corev1.Pod[] {
  const onNode = new Map<string, number>();
  for (const { spec } of related) onNode.set(spec.nodeName ?? '', (onNode.get(spec.nodeName ?? '') ?? 0) + 1);
  const worths = new Map(pods.map((pod) => [pod, worthOf(pod, onNode, nowMs)]));
  return [...pods].sort((a, b) => {
    const [one, other] = [worths.get(a)!, worths.get(b)!];
    const at = one.findIndex((worth, index) => worth !== other[index]);
    return at < 0 ? (a.metadata.uid < b.metadata.uid ? -1 : 1) : one[at]! - other[at]!;
  });
}

/** What is compared, one after the other; less is less worth. */
function worthOf(pod: corev1.Pod, onNode: ReadonlyMap<string, number>, nowMs: number): number[] {
  const { spec, status, metadata } = pod;
  const ready = findCondition(status?.conditions, 'Ready');
  return [
    spec.nodeName ? 1 : 0,
    PHASES.indexOf(status?.phase ?? 'Pending'),
    isReady(pod) ? 1 : 0,
    costOf(pod),
    -(onNode.get(spec.nodeName ?? '') ?? 0),
    isReady(pod) ? magnitude(nowMs - Date.parse(ready?.lastTransitionTime ?? '')) : 0,
    -restartsOf(status),
    magnitude(nowMs - Date.parse(metadata.creationTimestamp)),
  ];
}

function costOf({ metadata }: corev1.Pod): number {
  const text = metadata.annotations?.[COST] ?? '0';
  const cost = /^(0|-?[1-9][0-9]*)$/.test(text) ? Number(text) : 0;
  return Math.abs(cost) < 2 ** 31 ? cost : 0;
}

function restartsOf(status: corev1.PodStatus | undefined): number {
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  return Math.max(0, greatestOf(statuses.map(({ restartCount }) => restartCount)));
}

/** Of nanoseconds, as times are counted in Go. */
function magnitude(ms: number): number {
  return ms > 0 ? Math.floor(Math.log2(ms * 1e6)) : -1;
}
