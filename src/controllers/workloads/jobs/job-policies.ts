/**
 * What a Job says about Pods that fail, and about when enough have succeeded. Pure: which failure counts, which ends the Job or
 * its index, and in which words.
 *
 * Of several rules the first that a Pod matches decides; one that matches none counts.
 */
import type { batchv1, corev1 } from '../../../client/index.ts';
import { commonIndexes, countIndexes } from './job-indexes.ts';

type Action = batchv1.PodFailurePolicyRule['action'];
export type FailureVerdict = { readonly action: Action; readonly message?: string };

const FAILURES = 'batch.kubernetes.io/job-index-failure-count';
const IGNORED = 'batch.kubernetes.io/job-index-ignored-failure-count';

export function judgeFailure({ spec }: batchv1.Job, pod: corev1.Pod): FailureVerdict {
  const at = `${pod.metadata.namespace}/${pod.metadata.name}`;
  for (const [index, rule] of (spec.podFailurePolicy?.rules ?? []).entries()) {
    const { action, onExitCodes, onPodConditions } = rule;
    const rulePart = `matching ${action} rule at index ${index}`;
    if (onExitCodes) {
      const found = containerWith(onExitCodes, pod);
      const code = found?.state?.terminated?.exitCode;
      const message = `Container ${found?.name} for pod ${at} failed with exit code ${code} ${rulePart}`;
      if (found) return { action, message };
    } else if (onPodConditions) {
      const found = conditionIn(onPodConditions, pod);
      if (found) return { action, message: `Pod ${at} has condition ${found.type} ${rulePart}` };
    }
  }
  return { action: 'Count' };
}

function containerWith(
  { containerName, operator, values }: batchv1.PodFailurePolicyOnExitCodesRequirement,
  { status }: corev1.Pod,
): corev1.ContainerStatus | undefined {
  const all = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  return all.find(({ name, state }) => {
    const code = state?.terminated?.exitCode ?? 0;
    if (code === 0 || (containerName !== undefined && containerName !== name)) return false;
    return values.includes(code) === (operator === 'In');
  });
}

function conditionIn(patterns: readonly batchv1.PodFailurePolicyOnPodConditionsPattern[], { status }: corev1.Pod) {
  const known = status?.conditions ?? [];
  for (const { type, status: wanted = 'True' } of patterns) {
    const found = known.find((one) => one.type === type && one.status === wanted);
    if (found) return found;
  }
  return undefined;
}

/** Whether its index has failed for good with this Pod. */
export function failsIndex(job: batchv1.Job, pod: corev1.Pod): boolean {
  return (
    judgeFailure(job, pod).action === 'FailIndex' || numberIn(pod, FAILURES) >= (job.spec.backoffLimitPerIndex ?? 0)
  );
}

/** How often its index had failed, with what does not count. */
export function failuresOf(pod: corev1.Pod): number {
  return numberIn(pod, FAILURES) + numberIn(pod, IGNORED);
}

/** What the next Pod of an index carries of those before it. */
export function failureAnnotations(job: batchv1.Job, before: corev1.Pod | undefined): Record<string, string> {
  if (job.spec.backoffLimitPerIndex === undefined) return {};
  const isIgnored = before !== undefined && judgeFailure(job, before).action === 'Ignore';
  const failures = before ? numberIn(before, FAILURES) + (isIgnored ? 0 : 1) : 0;
  const ignored = before ? numberIn(before, IGNORED) + (isIgnored ? 1 : 0) : 0;
  return { [FAILURES]: String(failures), ...(ignored > 0 && { [IGNORED]: String(ignored) }) };
}

function numberIn({ metadata }: corev1.Pod, annotation: string): number {
  return Number(metadata.annotations?.[annotation] ?? 0) || 0;
}

/** The first rule by which those that have succeeded are enough, in words; undefined if there is none. */
export function successOf({ spec }: batchv1.Job, completedIndexes: string): string | undefined {
  if (completedIndexes === '') return undefined;
  const rules = spec.successPolicy?.rules ?? [];
  const index = rules.findIndex(({ succeededIndexes, succeededCount }) => {
    if (succeededIndexes === undefined)
      return succeededCount !== undefined && countIndexes(completedIndexes) >= succeededCount;
    const wanted = countIndexes(succeededIndexes);
    const common = commonIndexes(succeededIndexes, completedIndexes);
    return wanted > 0 && (common === wanted || (succeededCount !== undefined && common >= succeededCount));
  });
  return index < 0 ? undefined : `Matched rules at index ${index}`;
}
