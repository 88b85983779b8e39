/** The status of a job, which its controller writes: counts, indexes, and an end that is told once. */
import { duplicateValue, type FieldError, invalidValue, type JsonObject, type KubeObject } from '../../../api/index.ts';
import { atLeast } from '../../strategy/validation/checks.ts';
import { numberAt, objectAt, objectsAt, textAt, textsAt } from '../../strategy/validation/fields.ts';
import { structChecks } from '../../strategy/validation/struct-checks.ts';
import { countIndexes } from './job-policies.ts';
import { specOf } from './pod-template.ts';

const notNegative = atLeast(0);
const checkCounts = structChecks([
  ['active', notNegative],
  ['succeeded', notNegative],
  ['failed', notNegative],
  ['ready', notNegative],
  ['terminating', notNegative],
]);

export function jobStatus(job: KubeObject, old: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  const status = objectAt(job as JsonObject, 'status') ?? {};
  const before = objectAt(old as JsonObject, 'status') ?? {};
  const spec = specOf(job);
  checkCounts(status, 'status', errors);
  checkUncounted(objectAt(status, 'uncountedTerminatedPods'), errors);
  const [active, ready] = [numberAt(status, 'active') ?? 0, numberAt(status, 'ready')];
  if (ready !== undefined && ready > active)
    errors.push(invalidValue('status.ready', ready, 'cannot set more ready pods than active'));
  for (const field of ['completedIndexes', 'failedIndexes']) checkIndexes(status, before, field, spec, errors);
  const isDone = hasCondition(status, 'Complete');
  if (status.completionTime !== undefined && !isDone) {
    const why = 'cannot set completionTime when there is no Complete=True condition';
    errors.push(invalidValue('status.completionTime', status.completionTime, why));
  }
  const end = before.completionTime;
  if (end !== undefined && status.completionTime !== end)
    errors.push(invalidValue('status.completionTime', status.completionTime ?? null, 'field is immutable'));
  for (const type of ['Complete', 'Failed'])
    if (hasCondition(before, type) && !hasCondition(status, type))
      errors.push(
        invalidValue(
          'status.conditions',
          objectsAt(status, 'conditions'),
          `cannot disable the terminal ${type}=True condition`,
        ),
      );
  if (isDone && hasCondition(status, 'Failed'))
    errors.push(
      invalidValue(
        'status.conditions',
        objectsAt(status, 'conditions'),
        'cannot set Complete=True and Failed=true conditions',
      ),
    );
  if ((isDone || hasCondition(status, 'Failed')) && active > 0)
    errors.push(invalidValue('status.active', active, 'active>0 is invalid for finished job'));
  return errors;
}

function hasCondition(status: JsonObject, type: string): boolean {
  return objectsAt(status, 'conditions').some((one) => one.type === type && one.status === 'True');
}

/** Indexes that were not written before are looked at, those of a job without indexes refused. */
function checkIndexes(
  status: JsonObject,
  before: JsonObject,
  field: string,
  spec: JsonObject,
  errors: FieldError[],
): void {
  const indexes = textAt(status, field);
  if (indexes === textAt(before, field) || indexes === '') return;
  const path = `status.${field}`;
  if (spec.completionMode !== 'Indexed') {
    const why = `cannot set non-empty ${field} when non-indexed completion mode`;
    errors.push(invalidValue(path, indexes, why));
    return;
  }
  const read = countIndexes(indexes, numberAt(spec, 'completions') ?? 0);
  if (typeof read !== 'number') errors.push(invalidValue(path, indexes, `error parsing ${field}: ${read.problem}`));
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
