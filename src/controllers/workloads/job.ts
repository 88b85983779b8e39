/**
 * Job to Pods that run to their end: as many at a time as `parallelism`, until `completions` have succeeded.
 *
 * A Pod is counted once, though it may be deleted by anybody at any time: it carries a finalizer until its end stands in the
 * status (first as uncounted, by uid, then as a number). Pods that fail are replaced, later each time, until there are more
 * than `backoffLimit`. Pod failure and success policies, and limits by index, are left out.
 */
import { greatestOf, rfc3339, wallNow } from '../../api/index.ts';
import { batchv1, corev1, mergePatch } from '../../client/index.ts';
import {
  type ControllerDefinition,
  controllerOf,
  defineController,
  hasFinalizer,
  isBeingDeleted,
  isConditionTrue,
  type ReconcileContext,
  requeueAfter,
  setCondition,
} from '../../controller/index.ts';
import { podIndexers } from '../pods/indexes.ts';
import { createPods, deletePods, MOST_AT_ONCE, podFrom } from '../pods/own-pods.ts';
import { isActive, isFinished, isLeaving, isReady } from '../pods/pod-state.ts';
import { writeStatus } from '../write-status.ts';
import { freeIndexes, indexesText, indexOf } from './job-indexes.ts';

const TRACKING = 'batch.kubernetes.io/job-tracking';
const INDEX = 'batch.kubernetes.io/job-completion-index';
const FIRST_RETRY_MS = 10_000;
const LAST_RETRY_MS = 360_000;

type Status = batchv1.JobStatus;
type Verdict = { readonly type: 'Complete' | 'Failed'; readonly reason: string; readonly message: string };

export const jobController: ControllerDefinition<batchv1.Job> = defineController({
  name: 'job-controller',
  for: batchv1.jobs,
  owns: [{ resource: corev1.pods, indexers: podIndexers }],
  async reconcile(job, context) {
    if (!job || isBeingDeleted(job)) {
      await releaseAll(context, job);
      return;
    }
    const pods = podsOf(job, context);
    if (isConditionTrue(job.status?.conditions, 'Complete') || isConditionTrue(job.status?.conditions, 'Failed')) {
      await deletePods(pods.filter(isActive), context);
      await release(
        pods.filter((pod) => isFinished(pod) || isBeingDeleted(pod)),
        context,
      );
      return;
    }
    const { status, uncounted } = count(job, pods);
    const active = pods.filter(isActive);
    const { suspend = false } = job.spec;
    const verdict = suspend ? undefined : (verdictOf(job) ?? judge(job, status, active.length));
    if (!verdict && !suspend) {
      const wait = await startMore(job, status, pods, active, context);
      await updateStatus(job, { ...status, active: active.length }, pods, undefined, context);
      await release(uncounted, context);
      return wait;
    }
    // First why, then what follows: of pods that are deleted already another verdict could come.
    await updateStatus(job, status, pods, verdict, context);
    await deletePods(active, context);
    await release(uncounted, context);
    return undefined;
  },
});

function podsOf(job: batchv1.Job, { cache }: ReconcileContext): corev1.Pod[] {
  return cache.of(corev1.pods).by('byController', job.metadata.uid);
}

/** What is known of its Pods' ends: numbers, and uids that are not numbers yet. */
function count(job: batchv1.Job, pods: readonly corev1.Pod[]): { status: Status; uncounted: corev1.Pod[] } {
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
  const uncounted: corev1.Pod[] = [];
  for (const [uid, pod] of held) {
    // One that is deleted before its end counts as failed.
    if (!isFinished(pod) && !isBeingDeleted(pod)) continue;
    uncounted.push(pod);
    const end = pod.status?.phase === 'Succeeded' ? 'succeeded' : 'failed';
    if (!listed.has(uid)) left[end].push(uid);
  }
  const isNone = left.succeeded.length + left.failed.length === 0;
  const completedIndexes =
    job.spec.completionMode === 'Indexed'
      ? {
          completedIndexes: indexesText(
            pods.filter((pod) => pod.status?.phase === 'Succeeded').map(indexOf),
            before.completedIndexes,
          ),
        }
      : {};
  const status = { ...before, ...ends, ...completedIndexes, uncountedTerminatedPods: isNone ? {} : left };
  return { status, uncounted };
}

const total = (status: Status, end: 'succeeded' | 'failed') =>
  (status[end] ?? 0) + (status.uncountedTerminatedPods?.[end]?.length ?? 0);

/** What led to an end stands from then on, whatever becomes of the pods that are still on their way out. */
const FIRST = { Complete: 'SuccessCriteriaMet', Failed: 'FailureTarget' } as const;

function verdictOf({ status }: batchv1.Job): Verdict | undefined {
  for (const type of ['Failed', 'Complete'] as const) {
    const told = status?.conditions?.find((one) => one.type === FIRST[type] && one.status === 'True');
    if (told) return { type, reason: told.reason ?? '', message: told.message ?? '' };
  }
  return undefined;
}

function judge({ spec, status: before }: batchv1.Job, status: Status, active: number): Verdict | undefined {
  const { completions, backoffLimit = 6, activeDeadlineSeconds } = spec;
  const ageMs = before?.startTime ? wallNow() - Date.parse(before.startTime) : 0;
  const succeeded = total(status, 'succeeded');
  const isComplete = completions === undefined ? succeeded > 0 && active === 0 : succeeded >= completions;
  const message = 'Reached expected number of succeeded pods';
  if (isComplete) return { type: 'Complete', reason: 'CompletionsReached', message };
  if (total(status, 'failed') > backoffLimit)
    return { type: 'Failed', reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' };
  if (activeDeadlineSeconds !== undefined && ageMs >= activeDeadlineSeconds * 1000)
    return { type: 'Failed', reason: 'DeadlineExceeded', message: 'Job was active longer than specified deadline' };
  return undefined;
}

async function startMore(
  job: batchv1.Job,
  status: Status,
  pods: readonly corev1.Pod[],
  active: readonly corev1.Pod[],
  context: ReconcileContext,
) {
  const { completions, parallelism = 1, activeDeadlineSeconds: deadline, template, completionMode } = job.spec;
  const succeeded = total(status, 'succeeded');
  const stillWanted =
    completions === undefined ? (succeeded > 0 ? active.length : parallelism) : completions - succeeded;
  const wanted = Math.min(parallelism, stillWanted);
  if (active.length > wanted) await deletePods(active.slice(wanted), context);
  const deadlineMs = deadline === undefined ? Number.POSITIVE_INFINITY : startOf(job) + deadline * 1000 - wallNow();
  const retryMs = active.length < wanted ? retryIn(status, pods) : 0;
  if (active.length < wanted && retryMs === 0) {
    const missing = Math.min(wanted - active.length, MOST_AT_ONCE);
    const indexes =
      completionMode === 'Indexed'
        ? freeIndexes(completions ?? 0, status.completedIndexes, active, missing)
        : Array<undefined>(missing).fill(undefined);
    const drafts = indexes.map((index) =>
      podFrom(template, {
        prefix: index === undefined ? job.metadata.name : `${job.metadata.name}-${index}`,
        finalizers: [TRACKING],
        ...(index !== undefined && {
          labels: { [INDEX]: String(index) },
          annotations: { [INDEX]: String(index) },
          spec: { hostname: `${job.metadata.name}-${index}` },
        }),
      }),
    );
    await createPods(job, drafts, context);
  }
  const wait = Math.min(deadlineMs, retryMs > 0 ? retryMs : Number.POSITIVE_INFINITY);
  return Number.isFinite(wait) ? requeueAfter(Math.max(0, wait)) : undefined;
}

/** After a failure, twice as long as after the one before. */
function retryIn(status: Status, pods: readonly corev1.Pod[]): number {
  const failed = total(status, 'failed');
  if (failed === 0) return 0;
  const ends = pods
    .filter(({ status: { phase } = {} }) => phase === 'Failed')
    .flatMap(({ status: { containerStatuses = [] } = {} }) =>
      containerStatuses.map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? '')),
    )
    .filter((end) => end > 0);
  if (ends.length === 0) return 0;
  const delay = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failed - 1));
  return Math.max(0, greatestOf(ends) + delay - wallNow());
}

function startOf({ status, metadata }: batchv1.Job): number {
  return Date.parse(status?.startTime ?? metadata.creationTimestamp);
}

async function updateStatus(
  job: batchv1.Job,
  counted: Status,
  pods: readonly corev1.Pod[],
  verdict: Verdict | undefined,
  { client, recorder }: ReconcileContext,
): Promise<void> {
  const known = job.status ?? {};
  const active = verdict ? pods.filter(isActive).length : (counted.active ?? 0);
  const terminating = pods.filter(isLeaving).length;
  // An end is told when nothing is left of it: no pod to count, none active and none on its way out.
  const { succeeded: toCount = [], failed: toCountFailed = [] } = counted.uncountedTerminatedPods ?? {};
  const isOver = verdict !== undefined && active + terminating + toCount.length + toCountFailed.length === 0;
  const now = rfc3339(wallNow());
  const before = known.conditions ?? [];
  let conditions = before;
  const { suspend = false } = job.spec;
  const wasSuspended = isConditionTrue(conditions, 'Suspended');
  if (suspend !== wasSuspended) {
    const [reason, message] = suspend ? ['JobSuspended', 'Job suspended'] : ['JobResumed', 'Job resumed'];
    conditions = setCondition(conditions, { type: 'Suspended', status: suspend ? 'True' : 'False', reason, message });
  }
  if (verdict) {
    const { type, reason, message } = verdict;
    for (const one of isOver ? [FIRST[type], type] : [FIRST[type]])
      conditions = setCondition(conditions, { type: one, status: 'True', reason, message });
  }
  const status: Status = {
    succeeded: counted.succeeded ?? 0,
    failed: counted.failed ?? 0,
    uncountedTerminatedPods: counted.uncountedTerminatedPods ?? {},
    ...(counted.completedIndexes !== undefined && { completedIndexes: counted.completedIndexes }),
    active,
    ready: Math.min(active, pods.filter((pod) => isActive(pod) && isReady(pod)).length),
    terminating,
    ...(!suspend && { startTime: known.startTime ?? now }),
    ...(isOver && verdict.type === 'Complete' && { completionTime: now }),
  };
  const isNews = Object.entries(status).some(
    ([field, value]) =>
      JSON.stringify(value) !== JSON.stringify(known[field as keyof Status] ?? (typeof value === 'number' ? 0 : {})),
  );
  if (!isNews && conditions === before) return;
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  const uncountedTerminatedPods = {
    ...(succeeded.length > 0 && { succeeded }),
    ...(failed.length > 0 && { failed }),
  };
  const change = { ...status, uncountedTerminatedPods, conditions, ...(suspend && { startTime: null }) };
  await writeStatus(client.resource(batchv1.jobs), job, change);
  if (!isOver) return;
  if (verdict.type === 'Complete') recorder.normal('Completed', 'Job completed');
  else recorder.warning(verdict.reason, verdict.message);
}

/** Their ends stand in the status: from here on anybody may delete them. */
async function release(pods: readonly corev1.Pod[], { client }: ReconcileContext): Promise<void> {
  for (const { metadata } of pods.filter((pod) => hasFinalizer(pod, TRACKING))) {
    const finalizers = (metadata.finalizers ?? []).filter((one) => one !== TRACKING);
    const { uid, resourceVersion, name } = metadata;
    const change = { uid, resourceVersion, finalizers: finalizers.length > 0 ? finalizers : null };
    await client.resource(corev1.pods).patch(name, mergePatch<corev1.Pod>({ metadata: change as object }));
  }
}

/** The Job goes or is gone, and nobody counts any more. */
async function releaseAll(context: ReconcileContext, job: batchv1.Job | undefined): Promise<void> {
  const { cache, namespace, name } = context;
  const left = cache
    .of(corev1.pods)
    .list({ namespace })
    .filter((pod) => {
      const owner = controllerOf(pod);
      return owner?.kind === 'Job' && owner.name === name && (!job || owner.uid === job.metadata.uid);
    });
  await release(left, context);
}
