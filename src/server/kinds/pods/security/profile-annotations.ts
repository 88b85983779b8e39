/**
 * Profiles of seccomp and AppArmor in the annotations that came before their fields. Where both speak they say the same;
 * of AppArmor an annotation alone becomes a field when a pod is made.
 */
import { type FieldError, forbiddenValue, type JsonObject } from '../../../../api/index.ts';
import { ensureObject, objectAt, sameValue, textAt } from '../../../strategy/validation/fields.ts';
import { containerPath, containersOf } from '../fields/each-container.ts';
import { checkAppArmor } from './security-context.ts';

type Annotations = Readonly<Record<string, string>> | undefined;

export const podSeccomp = 'seccomp.security.alpha.kubernetes.io/pod';
export const containerSeccomp = 'container.seccomp.security.alpha.kubernetes.io/';
export const appArmor = 'container.apparmor.security.beta.kubernetes.io/';
export const appArmorText = 'deprecated since v1.30; use the "appArmorProfile" field instead';

const local = 'localhost/';

/** Of a pod that is made. */
export function takeAppArmor(annotations: Annotations, spec: JsonObject, warn: (text: string) => void): void {
  if (!annotations || isWindows(spec) || !Object.keys(annotations).some((key) => key.startsWith(appArmor))) return;
  const whole = objectAt(objectAt(spec, 'securityContext'), 'appArmorProfile');
  for (const container of containersOf(spec)) {
    const key = `${appArmor}${textAt(container, 'name')}`;
    const annotation = annotations[key];
    if (annotation === undefined || objectAt(objectAt(container, 'securityContext'), 'appArmorProfile')) continue;
    const profile = appArmorProfile(annotation);
    if (profile && sameValue(profile, whole)) continue;
    if (profile) ensureObject(container, 'securityContext').appArmorProfile = profile;
    warn(`metadata.annotations[${key}]: ${appArmorText}`);
  }
}

/** None of what is no profile. */
function appArmorProfile(annotation: string): JsonObject | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' };
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' };
  if (!annotation.startsWith(local)) return undefined;
  const localhostProfile = annotation.slice(local.length);
  const [profile, errors] = [{ type: 'Localhost', localhostProfile }, [] as FieldError[]];
  checkAppArmor(profile, '', errors);
  return errors.length === 0 ? profile : undefined;
}

/** `path` is that of the spec. */
export function validateProfilePairs(
  annotations: Annotations,
  spec: JsonObject,
  path: string,
  errors: FieldError[],
): void {
  if (!annotations) return;
  const whole = objectAt(spec, 'securityContext');
  const isAppArmor = !isWindows(spec);
  checkPair('seccomp', annotations[podSeccomp], whole?.seccompProfile, () => path, errors);
  containersOf(spec).forEach((container, place) => {
    const [own, name] = [objectAt(container, 'securityContext'), textAt(container, 'name')];
    const at = (): string => containerPath(spec, path, place);
    checkPair('seccomp', annotations[`${containerSeccomp}${name}`], own?.seccompProfile, at, errors);
    const profile = own?.appArmorProfile ?? whole?.appArmorProfile;
    if (isAppArmor) checkPair('apparmor', annotations[`${appArmor}${name}`], profile, at, errors);
  });
}

function checkPair(
  what: 'seccomp' | 'apparmor',
  annotation: string | undefined,
  profile: unknown,
  pathOf: () => string,
  errors: FieldError[],
): void {
  if (annotation === undefined || !profile) return;
  const problem = difference(annotation, profile as JsonObject, what === 'seccomp');
  if (!problem) return;
  const field = what === 'seccomp' ? 'seccompProfile' : 'appArmorProfile';
  const part = problem === 'type' ? 'type' : 'profile';
  const why = `${what} ${part} in annotation and field must match`;
  errors.push(forbiddenValue(`${pathOf()}.securityContext.${field}.${problem}`, why));
}

function difference(
  annotation: string,
  profile: JsonObject,
  isSeccomp: boolean,
): 'type' | 'localhostProfile' | undefined {
  const type = textAt(profile, 'type');
  if (type === 'Unconfined') return annotation === 'unconfined' ? undefined : 'type';
  if (type === 'RuntimeDefault') {
    const isSame = annotation === 'runtime/default' || (isSeccomp && annotation === 'docker/default');
    return isSame ? undefined : 'type';
  }
  if (type !== 'Localhost') return undefined;
  if (!annotation.startsWith(local)) return 'type';
  return annotation.slice(local.length) === profile.localhostProfile ? undefined : 'localhostProfile';
}

function isWindows(spec: JsonObject): boolean {
  return textAt(objectAt(spec, 'os'), 'name') === 'windows';
}
