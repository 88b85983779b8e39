/**
 * Job to Pods that run to their end: as many at a time as `parallelism`, until `completions` have succeeded.
 *
 * A Pod is counted once, though it may be deleted by anybody at any time: it carries a finalizer until its end stands in the
 * status (first as uncounted, by uid, then as a number). Pods that fail are replaced, later each time, until there are more
 * than `backoffLimit`, or as the policies say (job-policies.ts). Indexes with a limit of their own are tried again each by
 * itself: what was before is carried from Pod to Pod.
 */
import { greatestOf, leastOf, rfc3339, wallNow } from '../../../api/index.ts';
import { batchv1, corev1, type Draft, mergePatch } from '../../../client/index.ts';
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
} from '../../../controller/index.ts';
import { podIndexers } from '../../pods/indexes.ts';
import { createPods, deletePods, MOST_AT_ONCE, podFrom } from '../../pods/own-pods.ts';
import { isActive, isFinished, isLeaving, isReady } from '../../pods/pod-state.ts';
import { settle, writeStatus } from '../../write-status.ts';
import { freeIndexes, indexesText } from './job-indexes.ts';
import { failureAnnotations, failuresOf } from './job-policies.ts';
import { type Count, countEnds, deadlineMs, FIRST, judge, TRACKING, total, type Verdict } from './job-state.ts';

const INDEX = 'batch.kubernetes.io/job-completion-index';
const FIRST_RETRY_MS = 10_000;
const LAST_RETRY_MS = 600_000;
const MANAGER = 'kubernetes.io/job-controller';

type Status = batchv1.JobStatus;

export const jobController: ControllerDefinition<batchv1.Job> = defineController({
  name: 'job-controller',
  for: batchv1.jobs,
  owns: [{ resource: corev1.pods, indexers: podIndexers }],
  async reconcile(job, context) {
    if (!job || isBeingDeleted(job)) {
      await releaseAll(context, job);
      return undefined;
    }
    if ((job.spec.managedBy ?? MANAGER) !== MANAGER) return undefined; // somebody else's
    const pods = podsOf(job, context);
    if (isConditionTrue(job.status?.conditions, 'Complete') || isConditionTrue(job.status?.conditions, 'Failed')) {
      await deletePods(pods.filter(isActive), context);
      await release(
        pods.filter((pod) => isFinished(pod) || isBeingDeleted(pod)),
        context,
      );
      return undefined;
    }
    let counted = countEnds(job, pods, false);
    const active = pods.filter(isActive);
    const { suspend = false } = job.spec;
    const verdict = judge(job, counted, pods);
    if (verdict) counted = countEnds(job, pods, true);
    const { status, uncounted } = counted;
    if (!verdict && !suspend) {
      const started = await settle(startMore(job, counted, pods, active, context));
      await updateStatus(job, { ...status, active: active.length }, pods, undefined, context);
      await release(uncounted, context);
      if (started.status === 'rejected') throw started.reason;
      const waitMs = Math.min(started.value, deadlineMs(job) - wallNow());
      return Number.isFinite(waitMs) ? requeueAfter(Math.max(0, waitMs)) : undefined;
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

/** When to look again, if not at the next change. */
async function startMore(
  job: batchv1.Job,
  { status, lastFailed }: Count,
  pods: readonly corev1.Pod[],
  active: readonly corev1.Pod[],
  context: ReconcileContext,
): Promise<number> {
  const { completions, parallelism = 1, podReplacementPolicy } = job.spec;
  const succeeded = total(status, 'succeeded');
  const stillWanted =
    completions === undefined ? (succeeded > 0 ? active.length : parallelism) : completions - succeeded;
  const wanted = Math.min(parallelism, stillWanted);
  if (active.length > wanted) await deletePods(active.slice(wanted), context);
  const leaving = podReplacementPolicy === 'Failed' ? pods.filter(isLeaving).length : 0;
  const missing = Math.min(wanted - active.length - leaving, MOST_AT_ONCE);
  if (missing <= 0) return Number.POSITIVE_INFINITY;
  if (job.spec.completionMode !== 'Indexed') {
    const retryMs = retryIn(pods);
    if (retryMs > 0) return retryMs;
    await createPods(
      job,
      Array.from({ length: missing }, () => draftFor(job, undefined, undefined)),
      context,
    );
    return Number.POSITIVE_INFINITY;
  }
  const waits = new Map([...lastFailed].map(([index, pod]) => [index, retryAfter(pod, failuresOf(pod) + 1)]));
  const retryMs = job.spec.backoffLimitPerIndex === undefined ? retryIn(pods) : leastOf(waits.values());
  const isLate = job.spec.backoffLimitPerIndex === undefined && retryMs > 0;
  const blocked = [...waits].filter(([, waitMs]) => waitMs > 0).map(([index]) => index);
  const none = indexesText(
    blocked,
    indexesText([], [status.completedIndexes, status.failedIndexes].filter(Boolean).join(',')),
  );
  const free = isLate ? [] : freeIndexes(completions ?? 0, none, [...active, ...pods.filter(isKept(job))], missing);
  await createPods(
    job,
    free.map((index) => draftFor(job, index, lastFailed.get(index))),
    context,
  );
  return retryMs > 0 ? retryMs : Number.POSITIVE_INFINITY;
}

/** One that is on its way out and has its index until it is gone. */
const isKept =
  ({ spec }: batchv1.Job) =>
  (pod: corev1.Pod) =>
    spec.podReplacementPolicy === 'Failed' && isLeaving(pod);

function draftFor(job: batchv1.Job, index: number | undefined, before: corev1.Pod | undefined): Draft<corev1.Pod> {
  const { template } = job.spec;
  if (index === undefined) return podFrom(template, { prefix: job.metadata.name, finalizers: [TRACKING] });
  const told = { name: 'JOB_COMPLETION_INDEX', valueFrom: { fieldRef: { fieldPath: `metadata.labels['${INDEX}']` } } };
  const withIndex = (container: corev1.Container): corev1.Container =>
    container.env?.some(({ name }) => name === told.name)
      ? container
      : { ...container, env: [...(container.env ?? []), told] };
  const { containers = [], initContainers, hostname = `${job.metadata.name}-${index}` } = template.spec ?? {};
  return podFrom(template, {
    prefix: `${job.metadata.name}-${index}`,
    finalizers: [TRACKING],
    labels: { [INDEX]: String(index) },
    annotations: { [INDEX]: String(index), ...failureAnnotations(job, before) },
    spec: {
      hostname,
      containers: containers.map(withIndex),
      ...(initContainers && { initContainers: initContainers.map(withIndex) }),
    },
  });
}

/** After a failure, twice as long as after the one before, until one succeeds. */
function retryIn(pods: readonly corev1.Pod[]): number {
  const ended = (phase: string) => pods.filter(({ status }) => status?.phase === phase);
  const lastSuccess = greatestOf(ended('Succeeded').map(endOf));
  const failures = ended('Failed').filter((pod) => endOf(pod) > lastSuccess);
  const last = failures.reduce<corev1.Pod | undefined>((a, b) => (a && endOf(a) >= endOf(b) ? a : b), undefined);
  return last ? retryAfter(last, failures.length) : 0;
}

function retryAfter(pod: corev1.Pod, failures: number): number {
  const end = endOf(pod);
  if (end === 0) return 0;
  return Math.max(0, end + Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1)) - wallNow());
}

/** 0: nobody said. */
function endOf({ status }: corev1.Pod): number {
  const ends = (status?.containerStatuses ?? []).map(
    ({ state }) => Date.parse(state?.terminated?.finishedAt ?? '') || 0,
  );
  return Math.max(0, greatestOf(ends));
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
    recorder.normal(suspend ? 'Suspended' : 'Resumed', message!);
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
    ...(counted.failedIndexes !== undefined && { failedIndexes: counted.failedIndexes }),
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
