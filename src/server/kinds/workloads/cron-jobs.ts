/** Cron jobs: a job made from a template whenever a schedule says so. */
import { type FieldError, invalidValue, type JsonObject, requiredValue, unsupportedValue } from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { atLeast, oneOf, required } from '../../strategy/validation/checks.ts';
import { checksFrom, type DefaultRow, defaultsFrom } from '../../strategy/validation/field-table.ts';
import { ensureObject, objectAt, textAt } from '../../strategy/validation/fields.ts';
import { setPodTemplateDefaults } from '../pods/pod-defaults.ts';
import { podNamesWarning } from '../pods/pod-warnings.ts';
import { scheduleProblem } from './cron-schedule.ts';
import { jobSpecWarnings, validateJobSpec } from './jobs.ts';
import { dropDisabled, specOf } from './pod-template.ts';
import { isStatus } from './replica-sets.ts';

const cronJobDefaults: DefaultRow[] = [
  ['spec.concurrencyPolicy', 'Allow'],
  ['spec.suspend', false],
  ['spec.successfulJobsHistoryLimit', 3],
  ['spec.failedJobsHistoryLimit', 1],
];
const setCronJobDefaults = defaultsFrom(cronJobDefaults);
const notNegative = atLeast(0);
const checkCronJob = checksFrom([
  ['spec.concurrencyPolicy', required, oneOf('Allow', 'Forbid', 'Replace')],
  ['spec.startingDeadlineSeconds', notNegative],
  ['spec.successfulJobsHistoryLimit', notNegative],
  ['spec.failedJobsHistoryLimit', notNegative],
]);
const jobPath = 'spec.jobTemplate.spec';

function jobSpecOf(spec: JsonObject): JsonObject {
  return objectAt(objectAt(spec, 'jobTemplate'), 'spec') ?? {};
}

export const cronJobStrategy: Strategy = {
  setDefaults: (cronJob) => {
    setCronJobDefaults(cronJob);
    const jobTemplate = ensureObject(ensureObject(cronJob as JsonObject, 'spec'), 'jobTemplate');
    setPodTemplateDefaults(ensureObject(jobTemplate, 'spec'));
  },
  prepareCreate: (cronJob) => dropDisabled(jobSpecOf(specOf(cronJob))),
  prepareUpdate: (cronJob) => dropDisabled(jobSpecOf(specOf(cronJob))),
  validate: (cronJob, old, context) => {
    if (isStatus(context)) return [];
    const spec = specOf(cronJob);
    const errors = validateSchedule(spec, old && textAt(specOf(old), 'schedule'));
    appendAll(errors, validateTimeZone(spec, old && specOf(old).timeZone));
    appendAll(errors, checkCronJob(cronJob));
    const jobSpec = jobSpecOf(spec);
    appendAll(errors, validateJobSpec(jobSpec, jobPath));
    if (jobSpec.selector !== undefined)
      errors.push(invalidValue(`${jobPath}.selector`, jobSpec.selector, '`selector` will be auto-generated'));
    if (jobSpec.manualSelector === true)
      errors.push(unsupportedValue(`${jobPath}.manualSelector`, true, ['nil', 'false']));
    return errors;
  },
  warnings: (cronJob, old, { subresource }) => {
    if (subresource !== '') return [];
    const spec = specOf(cronJob);
    const isZoned = /TZ/.test(textAt(spec, 'schedule'));
    return [
      ...(old ? [] : podNamesWarning(cronJob.metadata.name ?? '')),
      ...jobSpecWarnings(jobSpecOf(spec), jobPath, cronJob, old),
      ...(isZoned ? [zoneWarning] : []),
    ];
  },
};

const zoneWarning =
  'CRON_TZ or TZ used in spec.schedule is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details';

/** A zone in the schedule is a thing of the past: only who had one may have one. */
function validateSchedule(spec: JsonObject, old: string | undefined): FieldError[] {
  const path = 'spec.schedule';
  const schedule = textAt(spec, 'schedule');
  if (schedule === '') return [requiredValue(path)];
  const [zone, rest] = splitZone(schedule);
  const problem =
    zone === undefined || isLocation(zone)
      ? scheduleProblem(rest)
      : `provided bad location ${zone}: unknown time zone ${zone}`;
  const errors = problem === undefined ? [] : [invalidValue(path, schedule, problem)];
  if (!schedule.includes('TZ')) return errors;
  if (!old?.includes('TZ'))
    errors.push(invalidValue(path, schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead'));
  else if (typeof spec.timeZone === 'string')
    errors.push(invalidValue(path, schedule, 'cannot use both timeZone field and TZ or CRON_TZ in schedule'));
  return errors;
}

function splitZone(schedule: string): readonly [zone: string | undefined, rest: string] {
  const match = /^(?:CRON_)?TZ=([^ ]*) (.*)$/s.exec(schedule);
  return match ? [match[1], match[2]!.trim()] : [undefined, schedule];
}

/** None is UTC. */
function isLocation(zone: string): boolean {
  return zone === '' || zone === 'Local' || isTimeZone(zone);
}

const notExplicit = 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones';

function validateTimeZone(spec: JsonObject, old: unknown): FieldError[] {
  const zone = spec.timeZone;
  if (zone === undefined || zone === null || zone === old) return [];
  const path = 'spec.timeZone';
  if (zone === '') return [invalidValue(path, zone, 'timeZone must be nil or non-empty string')];
  const name = String(zone);
  const errors = name.toLowerCase() === 'local' ? [invalidValue(path, zone, notExplicit)] : [];
  if (!isLocation(name)) errors.push(invalidValue(path, zone, `unknown time zone ${zone}`));
  return errors;
}

/** By its name in the database of zones, letter by letter: capitals count, and a distance from UTC is no zone. */
function isTimeZone(name: string): boolean {
  if (!/^[A-Z]/.test(name)) return false;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    return timeZone === name || timeZone.toLowerCase() !== name.toLowerCase();
  } catch {
    return false;
  }
}
