/** Annotations of pods that mean something: they were fields before the fields there are now. */
import { type FieldError, forbiddenValue, invalidValue, type JsonObject } from '../../../api/index.ts';
import { objectAt, sortedEntries, textAt } from '../../strategy/validation/fields.ts';
import { containerPath, containersOf } from './fields/each-container.ts';
import { checkLocalPath } from './fields/paths.ts';

type Annotations = Readonly<Record<string, string>> | undefined;

export const mirrorPod = 'kubernetes.io/config.mirror';
const deletionCost = 'controller.kubernetes.io/pod-deletion-cost';
const podSeccomp = 'seccomp.security.alpha.kubernetes.io/pod';
const containerSeccomp = 'container.seccomp.security.alpha.kubernetes.io/';
const appArmor = 'container.apparmor.security.beta.kubernetes.io/';
const seccompNames = ['runtime/default', 'docker/default', 'unconfined'];

export function validatePodAnnotations(
  annotations: Annotations,
  spec: JsonObject,
  path: string,
  errors: FieldError[],
): void {
  if (!annotations) return;
  let names: ReadonlySet<string> | undefined; // of containers, for those few who ask
  for (const [key, value] of sortedEntries(annotations)) {
    if (key === mirrorPod && textAt(spec, 'nodeName') === '')
      errors.push(invalidValue(`${path}[${key}]`, value, 'must set spec.nodeName if mirror pod annotation is set'));
    if (key === deletionCost && !isCost(value))
      errors.push(invalidValue(`${path}[${key}]`, value, 'must be a 32bit integer'));
    if (key === podSeccomp || key.startsWith(containerSeccomp)) checkSeccomp(value, `${path}.${key}`, errors);
    if (!key.startsWith(appArmor)) continue;
    names ??= new Set(containersOf(spec).map((container) => textAt(container, 'name')));
    checkAppArmor(key, value, names, `${path}[${key}]`, errors);
  }
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

/** A profile of seccomp that is said twice is said alike. */
export function validateSeccompPairs(
  annotations: Annotations,
  spec: JsonObject,
  path: string,
  errors: FieldError[],
): void {
  if (!annotations) return;
  const compare = (annotation: string | undefined, context: JsonObject | undefined, at: () => string) => {
    const profile = objectAt(context, 'seccompProfile');
    if (annotation === undefined || !profile) return;
    const problem = difference(annotation, profile);
    const what = problem === 'type' ? 'type' : 'profile';
    if (problem)
      errors.push(
        forbiddenValue(
          `${at()}.securityContext.seccompProfile.${problem}`,
          `seccomp ${what} in annotation and field must match`,
        ),
      );
  };
  compare(annotations[podSeccomp], objectAt(spec, 'securityContext'), () => path);
  containersOf(spec).forEach((container, place) => {
    const context = objectAt(container, 'securityContext');
    if (context?.seccompProfile)
      compare(annotations[`${containerSeccomp}${textAt(container, 'name')}`], context, () =>
        containerPath(spec, path, place),
      );
  });
}

function difference(annotation: string, profile: JsonObject): 'type' | 'localhostProfile' | undefined {
  const type = textAt(profile, 'type');
  if (type === 'Unconfined') return annotation === 'unconfined' ? undefined : 'type';
  if (type === 'RuntimeDefault')
    return annotation === 'runtime/default' || annotation === 'docker/default' ? undefined : 'type';
  if (type !== 'Localhost') return undefined;
  if (!annotation.startsWith('localhost/')) return 'type';
  return annotation.slice('localhost/'.length) === profile.localhostProfile ? undefined : 'localhostProfile';
}
