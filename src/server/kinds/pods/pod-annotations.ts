/** Annotations of pods that mean something: they were fields before the fields there are now. */
import { type FieldError, forbiddenValue, invalidValue, type JsonObject } from '../../../api/index.ts';
import { sortedEntries, textAt } from '../../strategy/validation/fields.ts';
import { containersOf } from './fields/each-container.ts';
import { checkLocalPath } from './fields/paths.ts';
import { appArmor, containerSeccomp, podSeccomp } from './security/profile-annotations.ts';

type Annotations = Readonly<Record<string, string>> | undefined;

export const mirrorPod = 'kubernetes.io/config.mirror';
const deletionCost = 'controller.kubernetes.io/pod-deletion-cost';
const seccompNames = ['runtime/default', 'docker/default', 'unconfined'];

/** Whether any says a profile, which fields may say as well. */
export function validatePodAnnotations(
  annotations: Annotations,
  spec: JsonObject,
  path: string,
  errors: FieldError[],
): boolean {
  if (!annotations) return false;
  let hasProfiles = false;
  let names: ReadonlySet<string> | undefined; // of containers, for those few who ask
  for (const [key, value] of sortedEntries(annotations)) {
    if (key === mirrorPod && textAt(spec, 'nodeName') === '')
      errors.push(invalidValue(`${path}[${key}]`, value, 'must set spec.nodeName if mirror pod annotation is set'));
    if (key === deletionCost && !isCost(value))
      errors.push(invalidValue(`${path}[${key}]`, value, 'must be a 32bit integer'));
    if (key === podSeccomp || key.startsWith(containerSeccomp)) {
      hasProfiles = true;
      checkSeccomp(value, `${path}.${key}`, errors);
    }
    if (!key.startsWith(appArmor)) continue;
    hasProfiles = true;
    names ??= new Set(containersOf(spec).map((container) => textAt(container, 'name')));
    checkAppArmor(key, value, names, `${path}[${key}]`, errors);
  }
  return hasProfiles;
}

/** Without a sign that says nothing, and without zeros in front. */
function isCost(text: string): boolean {
  if (!/^(?:0|-?[1-9][0-9]{0,9})$/.test(text)) return false;
  const value = Number(text);
  return value >= -(2 ** 31) && value < 2 ** 31;
}

function checkSeccomp(profile: string, path: string, errors: FieldError[]): void {
  if (seccompNames.includes(profile)) return;
  if (profile.startsWith('localhost/')) checkLocalPath(profile.slice('localhost/'.length), path, errors);
  else errors.push(invalidValue(path, profile, 'must be a valid seccomp profile'));
}

function checkAppArmor(
  key: string,
  profile: string,
  names: ReadonlySet<string>,
  path: string,
  errors: FieldError[],
): void {
  const name = key.slice(appArmor.length);
  if (!names.has(name)) errors.push(invalidValue(path, name, 'container not found'));
  const isKnown = ['', 'runtime/default', 'unconfined'].includes(profile) || profile.startsWith('localhost/');
  if (!isKnown) errors.push(invalidValue(path, profile, `invalid AppArmor profile name: ${JSON.stringify(profile)}`));
}

/** What may be said of a pod only when it is made. */
export function validateAnnotationUpdate(
  next: Annotations,
  old: Annotations,
  path: string,
  errors: FieldError[],
): void {
  if (next === old) return;
  for (const [key, value] of sortedEntries(old)) {
    if (next?.[key] === value) continue;
    if (key.startsWith(appArmor))
      errors.push(forbiddenValue(`${path}[${key}]`, 'may not remove or update AppArmor annotations'));
    if (key === mirrorPod)
      errors.push(forbiddenValue(`${path}[${key}]`, 'may not remove or update mirror pod annotation'));
  }
  for (const [key] of sortedEntries(next)) {
    if (old?.[key] !== undefined) continue;
    if (key.startsWith(appArmor)) errors.push(forbiddenValue(`${path}[${key}]`, 'may not add AppArmor annotations'));
    if (key === mirrorPod) errors.push(forbiddenValue(`${path}[${key}]`, 'may not add mirror pod annotation'));
  }
}
