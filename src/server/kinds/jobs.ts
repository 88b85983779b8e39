/**
 * Jobs and cron jobs. A job finds its pods by labels the server makes from the job's uid, unless it is told to select
 * by hand; they appear in the template, in the selector and, where the job has no labels, on the job itself.
 */
import { type FieldError, invalidValue, type JsonObject, type KubeObject, requiredValue } from '../../api/index.ts';
import { scheduleProblem } from './cron-schedule.ts';
import { appendAll } from './engine/append-all.ts';
import { atLeast, labelSelector, oneOf, required } from './engine/checks.ts';
import { type CheckRow, checksFrom, type DefaultRow, defaultsFrom, immutableFields } from './engine/field-table.ts';
import { ensureObject, isEmpty, mapAt, numberAt, objectAt, sameValue, textAt } from './engine/fields.ts';
import type { KindRules } from './kind-rules.ts';
import { setPodTemplateDefaults } from './pods/pod-defaults.ts';
import { validatePodTemplate, validateTemplateLabels } from './pods/pod-validation.ts';

const isOpen = (spec: JsonObject) => spec.completions === undefined && spec.parallelism === undefined;

const jobDefaults: DefaultRow[] = [
  ['spec.completions', 1, isOpen],
  ['spec.parallelism', 1],
  ['spec.backoffLimit', 2 ** 31 - 1, (spec) => spec.backoffLimitPerIndex !== undefined],
  ['spec.backoffLimit', 6],
  ['spec.completionMode', 'NonIndexed'],
  ['spec.suspend', false],
  ['spec.podReplacementPolicy', 'Failed', (spec) => spec.podFailurePolicy !== undefined],
  ['spec.podReplacementPolicy', 'TerminatingOrFailed'],
  ['spec.podFailurePolicy.rules[].onPodConditions[].status', 'True'],
  ['spec.manualSelector', false],
];
const cronJobDefaults: DefaultRow[] = [
  ['spec.concurrencyPolicy', 'Allow'],
  ['spec.suspend', false],
  ['spec.successfulJobsHistoryLimit', 3],
  ['spec.failedJobsHistoryLimit', 1],
];

const notNegative = atLeast(0);
const jobNumbers = ['parallelism', 'completions', 'activeDeadlineSeconds', 'backoffLimit', 'ttlSecondsAfterFinished'];
const jobRows = (prefix: string): CheckRow[] => [
  ...jobNumbers.map((field): CheckRow => [`${prefix}.${field}`, notNegative]),
  [`${prefix}.completionMode`, oneOf('Indexed', 'NonIndexed')],
  [`${prefix}.podReplacementPolicy`, oneOf('Failed', 'TerminatingOrFailed')],
];
const checkJob = checksFrom(jobRows('spec'));
const checkJobTemplate = checksFrom(jobRows('spec.jobTemplate.spec'));
const checkCronJob = checksFrom([
  ['spec.concurrencyPolicy', oneOf('Allow', 'Forbid', 'Replace'), required],
  ['spec.startingDeadlineSeconds', notNegative],
  ['spec.successfulJobsHistoryLimit', notNegative],
  ['spec.failedJobsHistoryLimit', notNegative],
]);

export const jobRules: KindRules = {
  setDefaults: (job) => {
    setJobDefaults(job);
    setPodTemplateDefaults(ensureObject(job as JsonObject, 'spec'));
  },
  prepareCreate: (job) => {
    if (specOf(job).manualSelector !== true) selectByUid(job);
    const labels = mapAt(objectAt(objectAt(specOf(job), 'template'), 'metadata'), 'labels');
    if (isEmpty(job.metadata.labels) && labels) job.metadata.labels = { ...labels };
  },
  validate: (job) => {
    const spec = specOf(job);
    const selector = objectAt(spec, 'selector');
    const errors = validateJobSpec(spec, 'spec', checkJob(job));
    if (!selector) return [...errors, requiredValue('spec.selector')];
    appendAll(errors, labelSelector(selector, 'spec.selector', spec));
    return [...errors, ...validateTemplateLabels(selector, objectAt(spec, 'template'), 'spec.template')];
  },
  validateUpdate: (job, old) => {
    const errors = keepsJob(job, old);
    const isElastic = specOf(job).completionMode === 'Indexed';
    if (!isElastic) errors.unshift(...keepsCompletions(job, old));
    const wasSuspended = specOf(old).suspend === true;
    if (!wasSuspended) appendAll(errors, keepsTemplate(job, old));
    return errors;
  },
};
const setJobDefaults = defaultsFrom(jobDefaults);
const keepsCompletions = immutableFields(['spec.completions']);
const keepsJob = immutableFields([
  'spec.selector',
  'spec.completionMode',
  'spec.podFailurePolicy',
  'spec.backoffLimitPerIndex',
  'spec.managedBy',
]);
const keepsTemplate = immutableFields(['spec.template']);

export const cronJobRules: KindRules = {
  setDefaults: (cronJob) => {
    setCronJobDefaults(cronJob);
    const jobTemplate = ensureObject(ensureObject(cronJob as JsonObject, 'spec'), 'jobTemplate');
    setPodTemplateDefaults(ensureObject(jobTemplate, 'spec'));
  },
  validate: (cronJob) => {
    const spec = specOf(cronJob);
    const errors = validateSchedule(spec);
    appendAll(errors, checkCronJob(cronJob));
    const jobSpec = objectAt(objectAt(spec, 'jobTemplate'), 'spec') ?? {};
    return validateJobSpec(jobSpec, 'spec.jobTemplate.spec', [...errors, ...checkJobTemplate(cronJob)]);
  },
};
const setCronJobDefaults = defaultsFrom(cronJobDefaults);

function specOf(object: KubeObject): JsonObject {
  return objectAt(object as JsonObject, 'spec') ?? {};
}

function selectByUid(job: KubeObject): void {
  const spec = ensureObject(job as JsonObject, 'spec');
  const { uid = '', name = '' } = job.metadata;
  const labels = ensureObject(ensureObject(ensureObject(spec, 'template'), 'metadata'), 'labels');
  for (const prefix of ['', 'batch.kubernetes.io/']) {
    labels[`${prefix}controller-uid`] = uid;
    labels[`${prefix}job-name`] = name;
  }
  const matchLabels = ensureObject(ensureObject(spec, 'selector'), 'matchLabels');
  matchLabels['batch.kubernetes.io/controller-uid'] = uid;
}

function validateJobSpec(spec: JsonObject, path: string, errors: FieldError[]): FieldError[] {
  if (spec.completionMode === 'Indexed' && numberAt(spec, 'completions') === undefined)
    errors.push(requiredValue(`${path}.completions`, 'when completion mode is Indexed'));
  const template = objectAt(spec, 'template');
  appendAll(errors, validatePodTemplate(template, `${path}.template`));
  const policy = textAt(objectAt(template, 'spec'), 'restartPolicy');
  if (policy !== 'OnFailure' && policy !== 'Never')
    errors.push(requiredValue(`${path}.template.spec.restartPolicy`, 'valid values: "OnFailure", "Never"'));
  return errors;
}

function validateSchedule(spec: JsonObject): FieldError[] {
  const path = 'spec.schedule';
  const schedule = textAt(spec, 'schedule');
  if (schedule === '') return [requiredValue(path)];
  const problem = scheduleProblem(schedule);
  if (problem !== undefined) return [invalidValue(path, schedule, problem)];
  if (!/TZ=/.test(schedule)) return validateTimeZone(spec.timeZone);
  return [invalidValue(path, schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead')];
}

function validateTimeZone(zone: unknown): FieldError[] {
  if (zone === undefined || zone === null) return [];
  const path = 'spec.timeZone';
  if (zone === '') return [invalidValue(path, zone, 'timeZone must be nil or non-empty string')];
  if (sameValue(zone, 'Local'))
    return [
      invalidValue(path, zone, 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones'),
    ];
  try {
    new Intl.DateTimeFormat('en', { timeZone: String(zone) });
    return [];
  } catch {
    return [invalidValue(path, zone, `unknown time zone ${zone}`)];
  }
}
