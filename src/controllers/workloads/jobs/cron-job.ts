/**
 * CronJob to Jobs, one for each time that is due, named after that time: whoever makes it twice finds it made.
 *
 * Of several times that were missed the last is made up for, if it is not longer ago than `startingDeadlineSeconds`. What
 * happens when the one before still runs is `concurrencyPolicy`; old Jobs beyond the history limits go.
 */
import { rfc3339, wallNow } from '../../../api/index.ts';
import { batchv1, isApiError } from '../../../client/index.ts';
import {
  type ControllerDefinition,
  defineController,
  isBeingDeleted,
  isConditionTrue,
  type ReconcileContext,
  requeueAfter,
  setControllerReference,
} from '../../../controller/index.ts';
import { byController } from '../../pods/indexes.ts';
import { messageOf } from '../../pods/own-pods.ts';
import { isRefusedByNamespace } from '../../refused-by-namespace.ts';
import { writeStatus } from '../../write-status.ts';
import { CronSchedule } from './cron-schedule.ts';

const SCHEDULED = 'batch.kubernetes.io/cronjob-scheduled-timestamp';
/** Times that were missed and are looked through; with more the deadline is too long for the schedule. */
const MISSED = 100;

export const cronJobController: ControllerDefinition<batchv1.CronJob> = defineController({
  name: 'cronjob-controller',
  for: batchv1.cronJobs,
  owns: [{ resource: batchv1.jobs, indexers: { byController } }],
  async reconcile(cron, context) {
    if (!cron || isBeingDeleted(cron)) return undefined;
    const jobs = context.cache.of(batchv1.jobs).by('byController', cron.metadata.uid);
    const isComplete = (job: batchv1.Job) => isConditionTrue(job.status?.conditions, 'Complete');
    const isFailed = (job: batchv1.Job) => isConditionTrue(job.status?.conditions, 'Failed');
    const { successfulJobsHistoryLimit = 3, failedJobsHistoryLimit = 1, suspend = false } = cron.spec;
    await forgetJobs(jobs.filter(isComplete), successfulJobsHistoryLimit, context);
    await forgetJobs(jobs.filter(isFailed), failedJobsHistoryLimit, context);
    const active = jobs.filter((job) => !isComplete(job) && !isFailed(job) && !isBeingDeleted(job));
    for (const { uid, name } of cron.status?.active ?? []) {
      const job = jobs.find(({ metadata }) => metadata.uid === uid);
      if (!job) context.recorder.normal('MissingJob', `Active job went missing: ${name}`);
      else if (isComplete(job) || isFailed(job)) {
        const text = `Saw completed job: ${name}, condition: ${isComplete(job) ? 'Complete' : 'Failed'}`;
        context.recorder.normal('SawCompletedJob', text);
      }
    }
    const schedule = scheduleOf(cron, context);
    const due = schedule && !suspend ? dueAt(cron, schedule) : undefined;
    const started = due === undefined ? undefined : await start(cron, due, active, context);
    const ends = jobs.filter(isComplete).map(({ status }) => status?.completionTime ?? '');
    await updateStatus(cron, started ? [...active, started] : active, started && due, ends.sort().at(-1), context);
    const next = suspend ? undefined : schedule?.next(wallNow());
    return next === undefined ? undefined : requeueAfter(Math.max(0, next - wallNow()) + 50);
  },
});

function scheduleOf({ spec }: batchv1.CronJob, { recorder }: ReconcileContext): CronSchedule | undefined {
  try {
    return new CronSchedule(spec.schedule, spec.timeZone);
  } catch (err) {
    if (!(err instanceof RangeError)) throw err;
    recorder.warning('UnparseableSchedule', err.message);
    return undefined;
  }
}

/** The last time that has come and was not seen to. */
function dueAt({ spec, status, metadata }: batchv1.CronJob, schedule: CronSchedule): number | undefined {
  const now = wallNow();
  const { startingDeadlineSeconds: deadline } = spec;
  const since = Date.parse(status?.lastScheduleTime ?? metadata.creationTimestamp);
  let at = deadline === undefined ? since : Math.max(since, now - deadline * 1000);
  let due: number | undefined;
  for (let count = 0; ; count++) {
    const next = schedule.next(at);
    if (next === undefined || next > now) return due;
    due = next;
    // Too many to look at each: those of the last while decide.
    at = count === MISSED ? Math.max(next, now - 3_600_000) : next;
  }
}

async function start(
  cron: batchv1.CronJob,
  dueMs: number,
  active: readonly batchv1.Job[],
  context: ReconcileContext,
): Promise<batchv1.Job | undefined> {
  const { client, namespace, recorder } = context;
  const { concurrencyPolicy = 'Allow', jobTemplate } = cron.spec;
  if (active.length > 0 && concurrencyPolicy === 'Forbid') {
    const why = 'Not starting job because prior execution is running and concurrency policy is Forbid';
    recorder.normal('JobAlreadyActive', why);
    return undefined;
  }
  const jobs = client.resource(batchv1.jobs);
  if (concurrencyPolicy === 'Replace') for (const job of active) await deleteJob(job, context);
  const { metadata = {}, spec } = jobTemplate;
  const name = `${cron.metadata.name}-${Math.floor(dueMs / 60_000)}`;
  const annotations = { ...metadata.annotations, [SCHEDULED]: rfc3339(dueMs) };
  const draft = { metadata: { ...metadata, name, namespace, annotations }, spec: spec as batchv1.JobSpec };
  try {
    const made = await jobs.create(setControllerReference(cron, draft));
    recorder.normal('SuccessfulCreate', `Created job ${name}`);
    return made;
  } catch (err) {
    if (isRefusedByNamespace(err)) return undefined;
    if (isApiError(err, 'AlreadyExists')) return jobs.get(name);
    recorder.warning('FailedCreate', `Error creating job: ${messageOf(err)}`);
    throw err;
  }
}

async function forgetJobs(done: readonly batchv1.Job[], limit: number, context: ReconcileContext): Promise<void> {
  const oldest = [...done].sort((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1));
  for (const job of oldest.slice(0, Math.max(0, oldest.length - limit))) await deleteJob(job, context);
}

async function deleteJob({ metadata }: batchv1.Job, { client, recorder }: ReconcileContext): Promise<void> {
  const { name, uid } = metadata;
  await client.resource(batchv1.jobs).delete(name, { propagationPolicy: 'Background', preconditions: { uid } });
  recorder.normal('SuccessfulDelete', `Deleted job ${name}`);
}

async function updateStatus(
  cron: batchv1.CronJob,
  active: readonly batchv1.Job[],
  dueMs: number | undefined,
  lastSuccessfulTime: string | undefined,
  { client }: ReconcileContext,
): Promise<void> {
  const known = cron.status ?? {};
  const status = {
    active: active.map(({ metadata }) => ({
      ...{ apiVersion: 'batch/v1', kind: 'Job', namespace: metadata.namespace!, name: metadata.name },
      ...{ uid: metadata.uid, resourceVersion: metadata.resourceVersion },
    })),
    ...(dueMs !== undefined && { lastScheduleTime: rfc3339(dueMs) }),
    ...(lastSuccessfulTime && { lastSuccessfulTime }),
  };
  const uids = (list: readonly { uid?: string }[] = []) =>
    list
      .map(({ uid }) => uid)
      .sort()
      .join();
  const isSame =
    uids(known.active) === uids(status.active) &&
    (status.lastScheduleTime ?? known.lastScheduleTime) === known.lastScheduleTime &&
    (status.lastSuccessfulTime ?? known.lastSuccessfulTime) === known.lastSuccessfulTime;
  if (!isSame) await writeStatus(client.resource(batchv1.cronJobs), cron, status);
}
