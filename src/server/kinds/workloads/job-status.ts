/**
 * The status of a job, which its controller writes: counts, indexes, and an end that is told once and stays.
 *
 * Most rules are asked only where what they are about has changed: what was accepted once may stay.
 */
import {
  duplicateValue,
  type FieldError,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
} from '../../../api/index.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { atLeast } from '../../strategy/validation/checks.ts';
import { numberAt, objectAt, objectsAt, sameStruct, textAt, textsAt } from '../../strategy/validation/fields.ts';
import { structChecks } from '../../strategy/validation/struct-checks.ts';
import { countIndexes, invalidRule, sharedIndex } from './job-policies.ts';
import { specOf } from './pod-template.ts';

const notNegative = atLeast(0);
const checkCounts = structChecks([
  ['active', notNegative],
  ['succeeded', notNegative],
  ['failed', notNegative],
  ['ready', notNegative],
  ['terminating', notNegative],
]);

type Change = {
  readonly spec: JsonObject;
  readonly status: JsonObject;
  readonly before: JsonObject;
  readonly is: (type: string) => boolean;
  readonly was: (type: string) => boolean;
  /** Whether one of these conditions has become true, or ceased to be. */
  readonly turned: (...types: string[]) => boolean;
  /** Whether one of these fields is another. */
  readonly changed: (...fields: string[]) => boolean;
  readonly isFinished: boolean;
  readonly finishes: boolean;
};

export function jobStatus(job: KubeObject, old: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  const change = changeOf(job, old);
  checkCounts(change.status, 'status', errors);
  checkUncounted(objectAt(change.status, 'uncountedTerminatedPods'), errors);
  for (const check of [checkCompletion, checkFinish, checkIndexes, checkNumbers, checkCriteria, checkLasting])
    appendAll(errors, check(change));
  return errors;
}

function changeOf(job: KubeObject, old: KubeObject): Change {
  const status = objectAt(job as JsonObject, 'status') ?? {};
  const before = objectAt(old as JsonObject, 'status') ?? {};
  const is = (type: string) => hasCondition(status, type);
  const was = (type: string) => hasCondition(before, type);
  const isFinished = is('Complete') || is('Failed');
  return {
    spec: specOf(job),
    status,
    before,
    is,
    was,
    turned: (...types) => types.some((type) => is(type) !== was(type)),
    changed: (...fields) => fields.some((field) => !sameStruct(status[field], before[field])),
    isFinished,
    finishes: isFinished !== (was('Complete') || was('Failed')),
  };
}

function hasCondition(status: JsonObject, type: string): boolean {
  return objectsAt(status, 'conditions').some((one) => one?.type === type && one.status === 'True');
}

const conditionsFault = (why: string) => invalidRule('status.conditions', why);
const cannotBoth = (one: string, other: string) => conditionsFault(`cannot set ${one} and ${other} conditions`);

function checkCompletion({ status, is, turned, changed }: Change): FieldError[] {
  const errors: FieldError[] = [];
  const path = 'status.completionTime';
  const [end, start, isComplete] = [textAt(status, 'completionTime'), textAt(status, 'startTime'), is('Complete')];
  if (turned('Complete', 'Failed') && isComplete && is('Failed'))
    errors.push(cannotBoth('Complete=True', 'Failed=true'));
  if (turned('Complete', 'FailureTarget') && isComplete && is('FailureTarget'))
    errors.push(cannotBoth('Complete=True', 'FailureTarget=true'));
  if (turned('Complete') || changed('completionTime')) {
    if (end !== '' && !isComplete)
      errors.push(invalidValue(path, end, 'cannot set completionTime when there is no Complete=True condition'));
    if (end === '' && isComplete) errors.push(requiredValue(path, 'completionTime is required for Complete jobs'));
  }
  if (changed('startTime', 'completionTime') && start !== '' && end !== '' && Date.parse(end) < Date.parse(start))
    errors.push(invalidValue(path, end, 'completionTime cannot be set before startTime'));
  return errors;
}

function checkFinish({ spec, status, is, turned, changed, isFinished, finishes }: Change): FieldError[] {
  const errors: FieldError[] = [];
  if (turned('Failed', 'FailureTarget') && is('Failed') && !is('FailureTarget'))
    errors.push(conditionsFault('cannot set Failed=True condition without the FailureTarget=true condition'));
  if (turned('Complete', 'SuccessCriteriaMet') && is('Complete') && !is('SuccessCriteriaMet'))
    errors.push(conditionsFault('cannot set Complete=True condition without the SuccessCriteriaMet=true condition'));
  if (!isFinished) return errors;
  const active = numberAt(status, 'active') ?? 0;
  if ((finishes || changed('active')) && active > 0)
    errors.push(invalidValue('status.active', active, 'active>0 is invalid for finished job'));
  const neverStarts = spec.suspend === true && spec.completions === 0;
  if ((finishes || changed('startTime')) && !neverStarts && !status.startTime)
    errors.push(requiredValue('status.startTime', 'startTime is required for finished job'));
  const pods = objectAt(status, 'uncountedTerminatedPods');
  const uncounted = textsAt(pods, 'failed').length + textsAt(pods, 'succeeded').length;
  if ((finishes || changed('uncountedTerminatedPods')) && uncounted > 0) {
    const why = 'uncountedTerminatedPods needs to be empty for finished job';
    errors.push(invalidValue('status.uncountedTerminatedPods', pods, why));
  }
  return errors;
}

function checkIndexes({ spec, status, before, changed }: Change): FieldError[] {
  const errors: FieldError[] = [];
  const [completed, failed] = [textAt(status, 'completedIndexes'), status.failedIndexes];
  const completions = numberAt(spec, 'completions');
  // No failed indexes are something else than an empty list of them.
  const [isCompletedNew, isFailedNew] = [changed('completedIndexes'), failed !== before.failedIndexes];
  const read = (field: string, indexes: string) => {
    const found = countIndexes(indexes, completions!);
    if (typeof found !== 'number')
      errors.push(invalidValue(`status.${field}`, indexes, `error parsing ${field}: ${found.problem}`));
  };
  const hasLimit = spec.backoffLimitPerIndex !== undefined;
  const isFailedText = typeof failed === 'string';
  if (isCompletedNew && completions !== undefined) read('completedIndexes', completed);
  if (isFailedNew && completions !== undefined && hasLimit && isFailedText) read('failedIndexes', failed);
  if (isCompletedNew && completed !== '' && spec.completionMode !== 'Indexed') {
    const why = 'cannot set non-empty completedIndexes when non-indexed completion mode';
    errors.push(invalidValue('status.completedIndexes', completed, why));
  }
  if (!isFailedText) return errors;
  const path = 'status.failedIndexes';
  if (isFailedNew && !hasLimit) {
    const why = 'cannot set non-null failedIndexes when backoffLimitPerIndex is null';
    errors.push(invalidValue(path, failed, why));
  }
  if ((!isFailedNew && !isCompletedNew) || completions === undefined) return errors;
  const shared = sharedIndex(completed, failed, completions);
  if (shared !== undefined)
    errors.push(invalidValue(path, failed, `failedIndexes and completedIndexes overlap at index: ${shared}`));
  return errors;
}

function checkNumbers({ status, changed, isFinished, finishes }: Change): FieldError[] {
  const errors: FieldError[] = [];
  const [active, ready] = [numberAt(status, 'active') ?? 0, numberAt(status, 'ready')];
  const terminating = numberAt(status, 'terminating') ?? 0;
  if ((finishes || changed('terminating')) && isFinished && terminating > 0)
    errors.push(invalidValue('status.terminating', terminating, 'terminating>0 is invalid for finished job'));
  if (changed('ready', 'active') && ready !== undefined && ready > active)
    errors.push(invalidValue('status.ready', ready, 'cannot set more ready pods than active'));
  return errors;
}

function checkCriteria({ spec, is }: Change): FieldError[] {
  const errors: FieldError[] = [];
  const isMet = is('SuccessCriteriaMet');
  if (isMet && is('Failed')) errors.push(cannotBoth('SuccessCriteriaMet=True', 'Failed=true'));
  if (isMet && is('FailureTarget')) errors.push(cannotBoth('SuccessCriteriaMet=True', 'FailureTarget=true'));
  if (objectAt(spec, 'successPolicy') && !isMet && is('Complete')) {
    const why = 'cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True';
    errors.push(conditionsFault(why));
  }
  return errors;
}

function checkLasting({ spec, status, before, is, was }: Change): FieldError[] {
  const errors: FieldError[] = [];
  for (const type of ['Failed', 'Complete', 'FailureTarget'])
    if (was(type) && !is(type)) errors.push(conditionsFault(`cannot disable the terminal ${type}=True condition`));
  const mayShrink = spec.completionMode === 'Indexed' && spec.completions === spec.parallelism;
  for (const field of mayShrink ? ['failed'] : ['failed', 'succeeded']) {
    const count = numberAt(status, field) ?? 0;
    if (count < (numberAt(before, field) ?? 0))
      errors.push(invalidValue(`status.${field}`, count, `cannot decrease the ${field} counter`));
  }
  const { completionTime: end, startTime: start } = before;
  if (end && status.completionTime && status.completionTime !== end)
    errors.push(invalidValue('status.completionTime', status.completionTime, 'completionTime cannot be mutated'));
  if (start && status.startTime !== start && spec.suspend !== true)
    errors.push(requiredValue('status.startTime', 'startTime cannot be removed for unsuspended job'));
  const [isMet, wasMet] = [is('SuccessCriteriaMet'), was('SuccessCriteriaMet')];
  if (wasMet && !isMet) errors.push(conditionsFault('cannot disable the SuccessCriteriaMet=True condition'));
  if (was('Complete') && !wasMet && isMet) {
    const why = 'cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions';
    errors.push(conditionsFault(why));
  }
  return errors;
}

function checkUncounted(pods: JsonObject | undefined, errors: FieldError[]): void {
  const seen = new Set<string>();
  for (const list of ['succeeded', 'failed']) {
    for (const [index, uid] of textsAt(pods, list).entries()) {
      const at = `status.uncountedTerminatedPods.${list}[${index}]`;
      if (uid === '') errors.push(invalidValue(at, uid, 'must not be empty'));
      else if (seen.has(uid)) errors.push(duplicateValue(at, uid));
      seen.add(uid);
    }
  }
}
