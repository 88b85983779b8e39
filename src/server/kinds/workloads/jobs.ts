/**
 * Jobs. A job finds its pods by labels the server makes from the job's uid, unless it is told to select by hand; they
 * appear in the template, in the selector and, where the job has no labels, on the job itself.
 */
import {
  checkDnsLabel,
  type FieldError,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
  tooLong,
  unsupportedValue,
} from '../../../api/index.ts';
import { cloneJson } from '../../codec/json/json-objects.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { atLeast, domainPath, labelSelector } from '../../strategy/validation/checks.ts';
import { type DefaultRow, defaultsFrom, immutable } from '../../strategy/validation/field-table.ts';
import {
  ensureObject,
  isEmptyMap,
  mapAt,
  numberAt,
  objectAt,
  objectsAt,
  sameStruct,
  sameValue,
  textAt,
} from '../../strategy/validation/fields.ts';
import { internalPodSpec, internalTemplate } from '../../strategy/validation/internal-text.ts';
import { structChecks } from '../../strategy/validation/struct-checks.ts';
import { setPodTemplateDefaults } from '../pods/pod-defaults.ts';
import { validatePodTemplate } from '../pods/pod-validation.ts';
import { podNamesWarning, templateWarnings } from '../pods/pod-warnings.ts';
import { validateFailurePolicy, validateSuccessPolicy } from './job-policies.ts';
import { jobStatus } from './job-status.ts';
import { dropDisabledInTemplate, selectsTemplate, specOf, unselected } from './pod-template.ts';
import { isStatus } from './replica-sets.ts';

const isOpen = (spec: JsonObject) => spec.completions === undefined && spec.parallelism === undefined;

const jobDefaults: DefaultRow[] = [
  ['spec.completions', 1, isOpen],
  ['spec.parallelism', 1],
  ['spec.backoffLimit', 2 ** 31 - 1, (spec) => spec.backoffLimitPerIndex !== undefined],
  ['spec.backoffLimit', 6],
  ['spec.completionMode?', 'NonIndexed'],
  ['spec.suspend', false],
  ['spec.podReplacementPolicy?', 'Failed', (spec) => spec.podFailurePolicy !== undefined],
  ['spec.podReplacementPolicy?', 'TerminatingOrFailed'],
  ['spec.podFailurePolicy.rules[].onPodConditions[].status', 'True'],
  ['spec.manualSelector', false],
];
const setJobDefaults = defaultsFrom(jobDefaults);

export const jobStrategy: Strategy = {
  setDefaults: (job) => {
    setJobDefaults(job);
    setPodTemplateDefaults(ensureObject(job as JsonObject, 'spec'));
    const labels = mapAt(objectAt(objectAt(specOf(job), 'template'), 'metadata'), 'labels');
    if (!isEmptyMap(labels) && isEmptyMap(job.metadata.labels)) job.metadata.labels = { ...labels };
  },
  prepareCreate: (job) => {
    dropDisabledInTemplate(job);
    const metadata = () => objectAt(objectAt(specOf(job), 'template'), 'metadata');
    const hasOwnLabels = !sameValue(job.metadata.labels, metadata()?.labels);
    if (specOf(job).manualSelector !== true) selectByUid(job);
    const labels = mapAt(metadata(), 'labels');
    if (!hasOwnLabels && labels) job.metadata.labels = { ...labels };
  },
  prepareUpdate: dropDisabledInTemplate,
  validate: (job, old, context) => {
    if (isStatus(context)) return [];
    const errors = validateGenerated(job);
    appendAll(errors, validateWhole(specOf(job)));
    appendAll(errors, validateLastHost(job));
    // kube-apiserver looks at the spec of a changed job twice.
    if (old) appendAll(errors, validateWhole(specOf(job)));
    return errors;
  },
  validateUpdate: (job, old, context) => (isStatus(context) ? jobStatus(job, old) : validateSpecUpdate(job, old)),
  warnings: (job, old, { subresource }) => {
    if (subresource !== '') return [];
    const warnings = jobSpecWarnings(specOf(job), 'spec', job, old);
    return old ? warnings : [...podNamesWarning(job.metadata.name ?? ''), ...warnings];
  },
};

const trackingText =
  'In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail';

/** Of a job, or of what jobs are made from; `owner` is the object in which it stands. */
export function jobSpecWarnings(
  spec: JsonObject,
  path: string,
  owner: KubeObject,
  old: KubeObject | undefined,
): string[] {
  if (old && old.metadata.generation === owner.metadata.generation) return [];
  const isHuge = (numberAt(spec, 'completions') ?? 0) > many && (numberAt(spec, 'parallelism') ?? 0) > someOfMany;
  const isHard = spec.completionMode === 'Indexed' && isHuge;
  const ofTemplate = templateWarnings(objectAt(spec, 'template'), `${path}.template`, owner, old);
  return isHard ? [`${path}: ${trackingText}`, ...ofTemplate] : ofTemplate;
}

const uidLabel = 'batch.kubernetes.io/controller-uid';

function labelsByUid({ metadata: { uid = '', name = '' } }: KubeObject): Record<string, string> {
  return {
    'controller-uid': uid,
    'job-name': name,
    [uidLabel]: uid,
    'batch.kubernetes.io/job-name': name,
  };
}

function selectByUid(job: KubeObject): void {
  const spec = ensureObject(job as JsonObject, 'spec');
  const labels = ensureObject(ensureObject(ensureObject(spec, 'template'), 'metadata'), 'labels');
  for (const [key, value] of Object.entries(labelsByUid(job))) labels[key] ??= value;
  const matchLabels = ensureObject(ensureObject(spec, 'selector'), 'matchLabels');
  matchLabels[uidLabel] ??= job.metadata.uid ?? '';
}

/** Labels and selector are those the server makes, unless selection is by hand. */
function validateGenerated(job: KubeObject): FieldError[] {
  const spec = specOf(job);
  const selector = objectAt(spec, 'selector');
  if (spec.manualSelector === true || !selector) return [];
  const labels = mapAt(objectAt(objectAt(spec, 'template'), 'metadata'), 'labels') ?? {};
  const errors: FieldError[] = [];
  const expected = labelsByUid(job);
  for (const [key, value] of Object.entries(expected)) {
    const at = `spec.template.metadata.labels[${key}]`;
    if (labels[key] === undefined) errors.push(requiredValue(at, `must be '${value}'`));
    else if (labels[key] !== value) errors.push(invalidValue(at, labels, `must be '${value}'`));
  }
  if (selectsTemplate(selector, { metadata: { labels: expected } }) === false)
    errors.push(invalidValue('spec.selector', selector, '`selector` not auto-generated'));
  return errors;
}

/** Pods of an indexed job are hosts, named after it with their index behind: the last one must have a name, too. */
function validateLastHost(job: KubeObject): FieldError[] {
  const spec = specOf(job);
  const completions = numberAt(spec, 'completions') ?? 0;
  if (spec.completionMode !== 'Indexed' || completions <= 0) return [];
  const { name = '' } = job.metadata;
  const last = `${name}-${completions - 1}`;
  if (checkDnsLabel(last).length === 0) return [];
  return [invalidValue('metadata.name', name, `will not able to create pod with invalid DNS label: ${last}`)];
}

function validateWhole(spec: JsonObject): FieldError[] {
  const errors = validateJobSpec(spec, 'spec');
  const [selector, template] = [objectAt(spec, 'selector'), objectAt(spec, 'template')];
  const faults = selector ? labelSelector(selector, 'spec.selector', spec) : [requiredValue('spec.selector')];
  appendAll(errors, faults);
  if ((faults.length === 0 || !selector) && selectsTemplate(selector, template) === false)
    errors.push(unselected(template, 'spec.template'));
  return errors;
}

const notNegative = atLeast(0);
const checkNumbers = structChecks([
  ['parallelism', notNegative],
  ['completions', notNegative],
  ['activeDeadlineSeconds', notNegative],
  ['backoffLimit', notNegative],
  ['ttlSecondsAfterFinished', notNegative],
  ['backoffLimitPerIndex', notNegative],
  ['maxFailedIndexes', notNegative],
]);

/** The spec of a job, its own or that of a cron job's template. */
export function validateJobSpec(spec: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = [];
  checkNumbers(spec, path, errors);
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined)
    errors.push(requiredValue(`${path}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified'));
  if (typeof spec.managedBy === 'string') checkManager(spec.managedBy, `${path}.managedBy`, errors);
  const mode = spec.completionMode;
  if (mode === 'Indexed') checkIndexed(spec, path, errors);
  else if (mode === 'NonIndexed' || mode === undefined) {
    for (const field of ['backoffLimitPerIndex', 'maxFailedIndexes'])
      if (spec[field] !== undefined)
        errors.push(invalidValue(`${path}.${field}`, spec[field], 'requires indexed completion mode'));
  } else errors.push(unsupportedValue(`${path}.completionMode`, mode, ['NonIndexed', 'Indexed']));
  validateFailurePolicy(spec, path, errors);
  validateSuccessPolicy(spec, path, errors);
  checkReplacement(spec, `${path}.podReplacementPolicy`, errors);
  appendAll(errors, validatePodTemplate(objectAt(spec, 'template'), `${path}.template`));
  checkRestarts(spec, `${path}.template.spec.restartPolicy`, errors);
  return errors;
}

function checkRestarts(spec: JsonObject, path: string, errors: FieldError[]): void {
  const policy = textAt(objectAt(objectAt(spec, 'template'), 'spec'), 'restartPolicy');
  if (policy === 'Always') errors.push(requiredValue(path, 'valid values: "OnFailure", "Never"'));
  else if (policy !== 'OnFailure' && policy !== 'Never')
    errors.push(unsupportedValue(path, policy, ['OnFailure', 'Never']));
  else if (policy === 'OnFailure' && spec.podFailurePolicy !== undefined)
    errors.push(invalidValue(path, policy, 'only "Never" is supported when podFailurePolicy is specified'));
}

function checkReplacement(spec: JsonObject, path: string, errors: FieldError[]): void {
  const policy = spec.podReplacementPolicy;
  if (policy === undefined) return;
  const known = spec.podFailurePolicy === undefined ? ['Failed', 'TerminatingOrFailed'] : ['Failed'];
  if (!known.includes(String(policy))) errors.push(unsupportedValue(path, policy, known));
}

const managerLimitBytes = 63;

/** Who works on a job if it is not the server's own controller: `domain/path`. */
function checkManager(name: string, path: string, errors: FieldError[]): void {
  if (name === '') errors.push(requiredValue(path));
  else appendAll(errors, domainPath(name, path, {}));
  if (Buffer.byteLength(name) > managerLimitBytes) errors.push(tooLong(path, managerLimitBytes));
}

const many = 100_000;
const someOfMany = 10_000;

function checkIndexed(spec: JsonObject, path: string, errors: FieldError[]): void {
  const [completions, parallelism] = [numberAt(spec, 'completions'), numberAt(spec, 'parallelism') ?? 0];
  const failed = numberAt(spec, 'maxFailedIndexes');
  const refuse = (field: string, value: number, why: string) =>
    errors.push(invalidValue(`${path}.${field}`, value, `must be less than or equal to ${why}`));
  if (completions === undefined) errors.push(requiredValue(`${path}.completions`, 'when completion mode is Indexed'));
  if (parallelism > many) refuse('parallelism', parallelism, `${many} when completion mode is Indexed`);
  if (failed !== undefined && completions !== undefined && failed > completions)
    refuse('maxFailedIndexes', failed, 'completions');
  if (failed !== undefined && failed > many) refuse('maxFailedIndexes', failed, `${many}`);
  if ((completions ?? 0) <= many || spec.backoffLimitPerIndex === undefined) return;
  const text = `${someOfMany} when completions are above ${many} and used with backoff limit per index`;
  if (failed === undefined)
    errors.push(requiredValue(`${path}.maxFailedIndexes`, `must be specified when completions is above ${many}`));
  if (parallelism > someOfMany) refuse('parallelism', parallelism, text);
  if (failed !== undefined && failed > someOfMany) refuse('maxFailedIndexes', failed, text);
}

const fixedFields = ['completionMode', 'podFailurePolicy', 'backoffLimitPerIndex', 'managedBy', 'successPolicy'];

function validateSpecUpdate(job: KubeObject, old: KubeObject): FieldError[] {
  const [spec, before] = [specOf(job), specOf(old)];
  const errors: FieldError[] = [];
  const keep = (field: string) => {
    if (!sameStruct(spec[field], before[field])) errors.push(immutable(`spec.${field}`, spec[field]));
  };
  // An indexed job may grow and shrink, if all of it runs at once.
  const { completions } = spec;
  if (spec.completionMode !== 'Indexed') keep('completions');
  else if (completions !== undefined && completions !== before.completions && completions !== spec.parallelism) {
    const why = 'can only be modified in tandem with spec.parallelism';
    errors.push(invalidValue('spec.completions', completions, why));
  }
  keep('selector');
  checkTemplateUpdate(spec, before, old, errors);
  for (const field of fixedFields) keep(field);
  return errors;
}

/** While a job is suspended its pods may still be told where to go and what to ask for. */
function checkTemplateUpdate(spec: JsonObject, before: JsonObject, old: KubeObject, errors: FieldError[]): void {
  const status = objectAt(old as JsonObject, 'status');
  const isSuspended =
    status?.startTime === undefined ||
    objectsAt(status, 'conditions').some(({ type, status: is }) => type === 'Suspended' && is === 'True');
  const template = objectAt(spec, 'template') ?? {};
  const oldTemplate = objectAt(before, 'template') ?? {};
  if (before.suspend !== true || !isSuspended) {
    if (!sameStruct(template, oldTemplate)) errors.push(immutable('spec.template', internalTemplate(template)));
    return;
  }
  const podSpec = objectAt(template, 'spec') ?? {};
  if (!sameStruct(withDirectivesOf(podSpec, objectAt(oldTemplate, 'spec') ?? {}), podSpec))
    errors.push(immutable('spec.template.spec', internalPodSpec(podSpec)));
}

/** `old` with all of `next` that may change. */
function withDirectivesOf(next: JsonObject, old: JsonObject): JsonObject {
  const spec = cloneJson(old);
  for (const field of ['nodeSelector', 'tolerations', 'schedulingGates']) spec[field] = next[field] ?? null;
  const [affinity, before] = [objectAt(next, 'affinity'), objectAt(spec, 'affinity')];
  if (affinity) spec.affinity = { ...before, nodeAffinity: affinity.nodeAffinity ?? null };
  else if (!before?.podAffinity && !before?.podAntiAffinity) delete spec.affinity;
  for (const list of ['containers', 'initContainers']) {
    for (const [index, container] of objectsAt(spec, list).entries())
      container.resources = objectsAt(next, list)[index]?.resources ?? {};
  }
  return spec;
}
