/**
 * How little of a pod may change once it is there: by a write to the pod itself, or to its ephemeral containers.
 *
 * Both specs have their defaults, so what is absent in one and empty in the other is a change, but for lists.
 */
import {
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type JsonValue,
  type KubeObject,
  requiredValue,
} from '../../../api/index.ts';
import { jsonText } from '../../../api/json-text.ts';
import { cloneJson } from '../../codec/json/json-objects.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { isNumber, mapAt, numberAt, objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';
import { internalForm, podSpecText } from '../../strategy/validation/internal-text.ts';
import { lineDiff } from '../../strategy/validation/line-diff.ts';
import { checkTolerations as checkTolerationList } from '../../strategy/validation/tolerations.ts';
import { mirrorPod, validateAnnotationUpdate, validatePodAnnotations } from './pod-annotations.ts';

export function specOf(pod: KubeObject): JsonObject {
  return objectAt(pod as JsonObject, 'spec') ?? {};
}

/** Equal as decoded values are: an empty list is none, all else is what it is. */
export function sameField(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (isNone(a) || isNone(b)) return isNone(a) && isNone(b);
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  if (Array.isArray(a) && Array.isArray(b)) return isSameList(a, b);
  const [left, right] = [a as JsonObject, b as JsonObject];
  for (const name in left) if (!sameField(left[name], right[name])) return false;
  for (const name in right) if (left[name] === undefined && !isNone(right[name])) return false;
  return true;
}

function isSameList(a: readonly JsonValue[], b: readonly JsonValue[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!sameField(a[i], b[i])) return false;
  return true;
}

function isNone(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

/** Annotations are looked at once for themselves and once for their change, as kube-apiserver does it. */
export function validateAnnotations(pod: KubeObject, old: KubeObject, errors: FieldError[]): void {
  const [next, before] = [pod.metadata.annotations, old.metadata.annotations];
  if (!next && !before) return;
  validateAnnotationUpdate(next, before, 'metadata.annotations', errors);
  validatePodAnnotations(mapAt(pod.metadata as JsonObject, 'annotations'), specOf(pod), 'metadata.annotations', errors);
}

const mayChange = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',');

export function validateSpecUpdate(next: JsonObject, old: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  for (const list of ['containers', 'initContainers']) {
    if (objectsAt(next, list).length !== objectsAt(old, list).length)
      return [...errors, forbiddenValue(`spec.${list}`, 'pod updates may not add or remove containers')];
    for (const [index, container] of objectsAt(next, list).entries())
      checkImage(textAt(container, 'image'), `spec.${list}[${index}].image`, errors);
  }
  if (!checkDeadline(next, old, errors)) return errors;
  checkTolerations(next, old, errors);
  checkGates(next, old, errors);
  if (sameField(next, old)) return errors;
  const munged = withMutableFieldsOf(old, next);
  if (objectsAt(old, 'schedulingGates').length > 0) checkGatedPod(munged, old, errors);
  if (!sameField(munged, old)) {
    const difference = lineDiff(podSpecText(old), podSpecText(munged));
    errors.push(forbiddenValue('spec', `pod updates may not change fields other than ${mayChange}\n${difference}`));
  }
  return errors;
}

function checkImage(image: string, path: string, errors: FieldError[]): void {
  if (image === '') errors.push(requiredValue(path));
  else if (image !== image.trim())
    errors.push(invalidValue(path, image, 'must not have leading or trailing whitespace'));
}

/** False if there is nothing more to say. */
function checkDeadline(next: JsonObject, old: JsonObject, errors: FieldError[]): boolean {
  const [after, before] = [next.activeDeadlineSeconds, old.activeDeadlineSeconds];
  const path = 'spec.activeDeadlineSeconds';
  if (!isNumber(after)) {
    if (isNumber(before)) errors.push(invalidValue(path, null, 'must not update from a positive integer to nil value'));
    return true;
  }
  if (after < 0 || after > 2 ** 31 - 1)
    errors.push(invalidValue(path, after, 'must be between 0 and 2147483647, inclusive'));
  else if (isNumber(before) && after > before)
    errors.push(invalidValue(path, after, 'must be less than or equal to previous value'));
  else return true;
  return false;
}

function checkTolerations(next: JsonObject, old: JsonObject, errors: FieldError[]): void {
  const tolerations = objectsAt(next, 'tolerations');
  const identity = (one: JsonObject) =>
    JSON.stringify(['key', 'operator', 'value', 'effect'].map((field) => textAt(one, field)));
  const identities = new Set(tolerations.map(identity));
  const isKept = (wanted: JsonObject) => identities.has(identity(wanted));
  if (objectsAt(old, 'tolerations').every(isKept))
    appendAll(errors, checkTolerationList(tolerations, 'spec.tolerations'));
  else {
    const why = 'existing toleration can not be modified except its tolerationSeconds';
    errors.push(forbiddenValue('spec.tolerations', why));
  }
}

function checkGates(next: JsonObject, old: JsonObject, errors: FieldError[]): void {
  const names = new Set(objectsAt(old, 'schedulingGates').map((gate) => textAt(gate, 'name')));
  const added = new Map<string, number>();
  for (const [index, gate] of objectsAt(next, 'schedulingGates').entries()) added.set(textAt(gate, 'name'), index);
  for (const [name, index] of added) {
    if (names.has(name)) continue;
    const why = `only deletion is allowed, but found new scheduling gate '${name}'`;
    errors.push(forbiddenValue(`spec.schedulingGates[${index}].name`, why));
  }
}

const hard = 'requiredDuringSchedulingIgnoredDuringExecution';

/** A pod that waits for its gates may still be told where to go, ever more narrowly; `munged` forgets what it was. */
function checkGatedPod(munged: JsonObject, old: JsonObject, errors: FieldError[]): void {
  const [selector, before] = [objectAt(munged, 'nodeSelector'), objectAt(old, 'nodeSelector') ?? {}];
  if (Object.entries(before).some(([key, value]) => selector?.[key] !== value)) {
    const why = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)';
    errors.push(invalidValue('spec.nodeSelector', selector ?? null, why));
  }
  restore(munged, old, 'nodeSelector');
  const affinityOf = (spec: JsonObject) => objectAt(objectAt(spec, 'affinity'), 'nodeAffinity');
  const [affinity, wanted] = [affinityOf(munged), affinityOf(old)];
  if (sameField(affinity, wanted)) return;
  const path = `spec.affinity.nodeAffinity.${hard}.nodeSelectorTerms`;
  checkTerms(objectAt(affinity, hard), objectAt(wanted, hard), path, errors);
  const all: JsonObject = { ...objectAt(munged, 'affinity') };
  if (wanted) all.nodeAffinity = wanted;
  else delete all.nodeAffinity;
  munged.affinity = all;
  if (old.affinity === undefined && Object.keys(all).length === 0) delete munged.affinity;
}

function checkTerms(
  next: JsonObject | undefined,
  old: JsonObject | undefined,
  path: string,
  errors: FieldError[],
): void {
  const [terms, before] = [objectsAt(next, 'nodeSelectorTerms'), objectsAt(old, 'nodeSelectorTerms')];
  if (!old || before.length === 0) return;
  if (terms.length !== before.length) {
    const why = 'no additions/deletions to non-empty NodeSelectorTerms list are allowed';
    errors.push(invalidValue(path, next?.nodeSelectorTerms ? terms : null, why));
    return;
  }
  for (const [index, term] of before.entries()) {
    if (hasOnlyAdditions(terms[index]!, term)) continue;
    errors.push(
      invalidValue(`${path}[${index}]`, terms[index], 'only additions are allowed (no mutations or deletions)'),
    );
  }
}

function hasOnlyAdditions(next: JsonObject, old: JsonObject): boolean {
  const fields = ['matchExpressions', 'matchFields'];
  const isEmptyTerm = fields.every((field) => objectsAt(old, field).length === 0);
  if (isEmptyTerm) return fields.every((field) => objectsAt(next, field).length === 0);
  return fields.every((field) =>
    objectsAt(old, field).every((one, index) => sameField(one, objectsAt(next, field)[index])),
  );
}

export function restore(target: JsonObject, from: JsonObject, field: string): void {
  if (from[field] === undefined) delete target[field];
  else target[field] = from[field];
}

/** `next`, with the fields that may change as they were: what differs then must not. */
function withMutableFieldsOf(old: JsonObject, next: JsonObject): JsonObject {
  const munged = cloneJson(next);
  for (const list of ['containers', 'initContainers']) {
    for (const [index, container] of objectsAt(munged, list).entries())
      restore(container, objectsAt(old, list)[index]!, 'image');
  }
  for (const field of ['activeDeadlineSeconds', 'tolerations', 'schedulingGates']) restore(munged, old, field);
  if ((numberAt(old, 'terminationGracePeriodSeconds') ?? 0) < 0 && next.terminationGracePeriodSeconds === 1)
    restore(munged, old, 'terminationGracePeriodSeconds');
  return munged;
}

export function validateEphemeralUpdate(pod: KubeObject, old: KubeObject): FieldError[] {
  if (old.metadata.annotations?.[mirrorPod] !== undefined)
    return [forbiddenValue('', 'static pods do not support ephemeral containers')];
  const path = 'spec.ephemeralContainers';
  const errors: FieldError[] = [];
  const byName = new Map(objectsAt(specOf(pod), 'ephemeralContainers').map((one) => [one.name, one]));
  for (const before of objectsAt(specOf(old), 'ephemeralContainers')) {
    const next = byName.get(before.name);
    if (!next) errors.push(forbiddenValue(path, `existing ephemeral containers "${before.name}" may not be removed\n`));
    else if (!sameField(next, before)) {
      const difference = lineDiff(ephemeralText(before), ephemeralText(next));
      errors.push(
        forbiddenValue(path, `existing ephemeral containers "${before.name}" may not be changed\n${difference}`),
      );
    }
  }
  return errors;
}

function ephemeralText(container: JsonObject): string {
  return jsonText(internalForm(container, 'EphemeralContainer'), 1);
}
