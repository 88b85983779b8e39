/**
 * How far a Job is: which ends of its Pods are counted, which indexes are done or given up, and whether that is its end. Pure but
 * for the time.
 */
import { wallNow } from '../../../api/index.ts';
import type { batchv1, corev1 } from '../../../client/index.ts';
import { hasFinalizer, isBeingDeleted } from '../../../controller/index.ts';
import { isActive, isFinished } from '../../pods/pod-state.ts';
import { countIndexes, hasIndex, indexesText, indexOf } from './job-indexes.ts';
import { failsIndex, failuresOf, judgeFailure, successOf } from './job-policies.ts';

export const TRACKING = 'batch.kubernetes.io/job-tracking';

type Status = batchv1.JobStatus;
export type Verdict = { readonly type: 'Complete' | 'Failed'; readonly reason: string; readonly message: string };

/** What is known of its Pods' ends. */
export type Count = {
  /** Numbers, and uids that are not numbers yet. */
  readonly status: Status;
  /** Those that may go once the status has them. */
  readonly uncounted: readonly corev1.Pod[];
  /** Of indexes that are tried again: what the next one is to know of its own history. */
  readonly lastFailed: ReadonlyMap<number, corev1.Pod>;
  /** Why the Job is to fail because of one of them. */
  readonly failure: string | undefined;
};

/** `isOver`: none is tried again. */
export function countEnds(job: batchv1.Job, pods: readonly corev1.Pod[], isOver: boolean): Count {
  const before = job.status ?? {};
  const held = new Map(pods.filter((pod) => hasFinalizer(pod, TRACKING)).map((pod) => [pod.metadata.uid, pod]));
  const known = before.uncountedTerminatedPods ?? {};
  const ends = { succeeded: before.succeeded ?? 0, failed: before.failed ?? 0 };
  const left = { succeeded: [] as string[], failed: [] as string[] };
  for (const end of ['succeeded', 'failed'] as const)
    for (const uid of known[end] ?? [])
      if (held.has(uid)) left[end].push(uid);
      else ends[end]++;
  const listed = new Set([...left.succeeded, ...left.failed]);
  const indexes = indexesOf(job, pods);
  const lastFailed = isOver ? new Map<number, corev1.Pod>() : lastFailures(job, pods, indexes);
  const waiting = new Set([...lastFailed.values()].map(({ metadata }) => metadata.uid));
  const uncounted: corev1.Pod[] = [];
  let failure: string | undefined;
  for (const [uid, pod] of held) {
    if (!hasEnded(job, pod)) continue;
    const isSuccess = pod.status?.phase === 'Succeeded';
    const verdict = isSuccess ? undefined : judgeFailure(job, pod);
    if (verdict?.action === 'FailJob') failure ??= verdict.message;
    if (waiting.has(uid)) continue;
    uncounted.push(pod);
    if (listed.has(uid) || verdict?.action === 'Ignore') continue;
    left[isSuccess ? 'succeeded' : 'failed'].push(uid);
  }
  const isNone = left.succeeded.length + left.failed.length === 0;
  const status = { ...before, ...ends, ...indexes, uncountedTerminatedPods: isNone ? {} : left };
  return { status, uncounted, lastFailed, failure };
}

/** One that is told to go counts as failed before its end, unless it is to be replaced only then. */
function hasEnded({ spec }: batchv1.Job, pod: corev1.Pod): boolean {
  return isFinished(pod) || (isBeingDeleted(pod) && spec.podReplacementPolicy !== 'Failed');
}

type Indexes = Pick<Status, 'completedIndexes' | 'failedIndexes'>;

/** Which are done, and which are given up. */
function indexesOf(job: batchv1.Job, pods: readonly corev1.Pod[]): Indexes {
  if (job.spec.completionMode !== 'Indexed') return {};
  const isIn = (pod: corev1.Pod) => indexOf(pod) < (job.spec.completions ?? 0);
  const inTime = pods.filter(isIn);
  const done = inTime.filter((pod) => pod.status?.phase === 'Succeeded');
  const completedIndexes = indexesText(done.map(indexOf), job.status?.completedIndexes);
  if (job.spec.backoffLimitPerIndex === undefined) return { completedIndexes };
  const givenUp = inTime.filter((pod) => isFailure(job, pod) && failsIndex(job, pod));
  return { completedIndexes, failedIndexes: indexesText(givenUp.map(indexOf), job.status?.failedIndexes) };
}

function isFailure(job: batchv1.Job, pod: corev1.Pod): boolean {
  return hasEnded(job, pod) && pod.status?.phase !== 'Succeeded';
}

/** They keep their finalizer, so that they are there, until the next one of their index is. */
function lastFailures(
  job: batchv1.Job,
  pods: readonly corev1.Pod[],
  { completedIndexes = '', failedIndexes = '' }: Indexes,
): Map<number, corev1.Pod> {
  const last = new Map<number, corev1.Pod>();
  if (job.spec.backoffLimitPerIndex === undefined) return last;
  const running = new Set(pods.filter(isActive).map(indexOf));
  for (const pod of pods) {
    const index = indexOf(pod);
    if (!isFailure(job, pod) || !hasFinalizer(pod, TRACKING) || !(index < (job.spec.completions ?? 0))) continue;
    if (running.has(index) || hasIndex(completedIndexes, index) || hasIndex(failedIndexes, index)) continue;
    const known = last.get(index);
    if (!known || failuresOf(known) < failuresOf(pod)) last.set(index, pod);
  }
  return last;
}

export function total(status: Status, end: 'succeeded' | 'failed'): number {
  return (status[end] ?? 0) + (status.uncountedTerminatedPods?.[end]?.length ?? 0);
}

/** What led to an end stands from then on, whatever becomes of the pods that are still on their way out. */
export const FIRST = { Complete: 'SuccessCriteriaMet', Failed: 'FailureTarget' } as const;

function verdictOf({ status }: batchv1.Job, type: 'Complete' | 'Failed'): Verdict | undefined {
  const told = status?.conditions?.find((one) => one.type === FIRST[type] && one.status === 'True');
  return told && { type, reason: told.reason ?? '', message: told.message ?? '' };
}

const failed = (reason: string, message: string): Verdict => ({ type: 'Failed', reason, message });

export function judge(job: batchv1.Job, { status, failure }: Count, pods: readonly corev1.Pod[]): Verdict | undefined {
  const { completions, backoffLimit = 6, maxFailedIndexes } = job.spec;
  const told = verdictOf(job, 'Failed');
  if (told) return told;
  if (failure !== undefined) return failed('PodFailurePolicy', failure);
  const enough = verdictOf(job, 'Complete');
  if (enough) return enough;
  if (total(status, 'failed') > backoffLimit || isRestartedTooOften(job, pods))
    return failed('BackoffLimitExceeded', 'Job has reached the specified backoff limit');
  if (deadlineMs(job) <= wallNow()) return failed('DeadlineExceeded', 'Job was active longer than specified deadline');
  const { completedIndexes = '', failedIndexes = '' } = status;
  const givenUp = countIndexes(failedIndexes);
  if (maxFailedIndexes !== undefined && givenUp > maxFailedIndexes)
    return failed('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes');
  if (givenUp > 0 && completions !== undefined && countIndexes(completedIndexes) + givenUp >= completions)
    return failed('FailedIndexes', 'Job has failed indexes');
  const rule = successOf(job, completedIndexes);
  if (rule !== undefined) return { type: 'Complete', reason: 'SuccessPolicy', message: rule };
  const succeeded = total(status, 'succeeded');
  const isComplete = completions === undefined ? succeeded > 0 && !pods.some(isActive) : succeeded >= completions;
  const message = 'Reached expected number of succeeded pods';
  return isComplete ? { type: 'Complete', reason: 'CompletionsReached', message } : undefined;
}

/** Containers that are started again in their Pods count as the Pods would. */
function isRestartedTooOften({ spec }: batchv1.Job, pods: readonly corev1.Pod[]): boolean {
  const { template, backoffLimit = 6 } = spec;
  if (template.spec?.restartPolicy !== 'OnFailure') return false;
  const statuses = pods
    .filter(isActive)
    .flatMap(({ status }) => [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])]);
  const restarts = statuses.reduce((sum, { restartCount }) => sum + restartCount, 0);
  return backoffLimit === 0 ? restarts > 0 : restarts >= backoffLimit;
}

/** Infinity: there is none, or it does not run. */
export function deadlineMs({ spec, status }: batchv1.Job): number {
  const { activeDeadlineSeconds: deadline } = spec;
  const isRunning = deadline !== undefined && status?.startTime !== undefined && !spec.suspend;
  return isRunning ? Date.parse(status.startTime!) + deadline * 1000 : Number.POSITIVE_INFINITY;
}
