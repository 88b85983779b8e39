/** Whom a pod and its containers run as, and what they may do: on Linux and on Windows. */

import {
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
  tooLong,
  unsupportedValue,
} from '../../../../api/index.ts';
import { faultsOf } from '../../../strategy/validation/append-all.ts';
import { between, oneOf } from '../../../strategy/validation/checks.ts';
import type { Check } from '../../../strategy/validation/field-table.ts';
import { objectAt, objectsAt, textAt, textsAt } from '../../../strategy/validation/fields.ts';
import { checkStruct, type StructCheck, structChecks } from '../../../strategy/validation/struct-checks.ts';
import { checkLocalPath } from '../fields/paths.ts';
import { disallowedByPolicy } from './cluster-policy.ts';
import { checkWindowsOptions } from './windows-options.ts';

const userOrGroup = between(0, 2 ** 31 - 1);
const profiles = ['Localhost', 'RuntimeDefault', 'Unconfined'];
const profileLimitBytes = 4095;

const checkSeccomp: StructCheck = (profile, path, errors) => {
  const type = textAt(profile, 'type');
  if (type === '') errors.push(requiredValue(`${path}.type`, 'type is required when seccompProfile is set'));
  else if (!profiles.includes(type)) errors.push(unsupportedValue(`${path}.type`, type, profiles));
  const [at, local] = [`${path}.localhostProfile`, profile.localhostProfile];
  if (type !== 'Localhost') {
    if (local !== undefined) errors.push(invalidValue(at, profile, 'can only be set when seccomp type is Localhost'));
  } else if (local === undefined) errors.push(requiredValue(at, 'must be set when seccomp type is Localhost'));
  else checkLocalPath(String(local), at, errors);
};

export const checkAppArmor: StructCheck = (profile, path, errors) => {
  const type = textAt(profile, 'type');
  const [at, local] = [`${path}.localhostProfile`, profile.localhostProfile];
  if (type === '') errors.push(requiredValue(`${path}.type`, 'type is required when appArmorProfile is set'));
  else if (!profiles.includes(type)) errors.push(unsupportedValue(`${path}.type`, type, profiles));
  else if (type !== 'Localhost') {
    if (local !== undefined) errors.push(invalidValue(at, local, 'can only be set when AppArmor type is Localhost'));
  } else if (typeof local !== 'string') errors.push(requiredValue(at, 'must be set when AppArmor type is Localhost'));
  else {
    if (local.trim() !== local) errors.push(invalidValue(at, local, 'must not be padded with whitespace'));
    else if (local === '') errors.push(requiredValue(at, 'must be set when AppArmor type is Localhost'));
    if (Buffer.byteLength(local) > profileLimitBytes) errors.push(tooLong(at, profileLimitBytes));
  }
};

const checkProfiles: StructCheck = (context, path, errors) => {
  checkStruct(checkSeccomp, context, 'seccompProfile', path, errors);
  checkStruct(checkWindowsOptions, context, 'windowsOptions', path, errors);
  checkStruct(checkAppArmor, context, 'appArmorProfile', path, errors);
};

const checkUsers = structChecks([
  ['runAsUser', userOrGroup],
  ['runAsGroup', userOrGroup],
  ['procMount', oneOf('Default', 'Unmasked')],
]);

/** Privileged containers are refused, as kube-apiserver refuses them unless it is started otherwise. */
export function validateContainerContext(
  context: JsonObject,
  path: string,
  usesHostUsers: boolean,
  errors: FieldError[],
): void {
  if (context.privileged === true) errors.push(forbiddenValue(`${path}.privileged`, disallowedByPolicy));
  checkUsers(context, path, errors);
  if (usesHostUsers && context.procMount === 'Unmasked')
    errors.push(invalidValue(`${path}.procMount`, 'Unmasked', '`hostUsers` must be false to use `Unmasked`'));
  checkProfiles(context, path, errors);
  if (context.allowPrivilegeEscalation !== false) return;
  const why = 'cannot set `allowPrivilegeEscalation` to false and';
  if (context.privileged === true) errors.push(invalidValue(path, context, `${why} \`privileged\` to true`));
  for (const capability of textsAt(objectAt(context, 'capabilities'), 'add'))
    if (capability === 'CAP_SYS_ADMIN')
      errors.push(invalidValue(path, context, `${why} \`capabilities.Add\` CAP_SYS_ADMIN`));
}

const groups: Check = (value, path, owner) =>
  Array.isArray(value) ? faultsOf(value, (group, index) => userOrGroup(group, `${path}[${index}]`, owner)) : [];

const checkPodUsers = structChecks([
  ['fsGroup', userOrGroup],
  ['runAsUser', userOrGroup],
  ['runAsGroup', userOrGroup],
  ['supplementalGroups', groups],
  ['fsGroupChangePolicy', oneOf('Always', 'OnRootMismatch')],
  ['supplementalGroupsPolicy', oneOf('Merge', 'Strict')],
  ['seLinuxChangePolicy', oneOf('Recursive')],
]);

/** The host's own parts that a pod shares stand beside its security context. */
export function validatePodContext(context: JsonObject, path: string, spec: JsonObject, errors: FieldError[]): void {
  checkPodUsers(context, path, errors);
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    const why = 'ShareProcessNamespace and HostPID cannot both be enabled';
    errors.push(invalidValue(`${path}.shareProcessNamespace`, true, why));
  }
  if (context.sysctls) validateSysctls(objectsAt(context, 'sysctls'), `${path}.sysctls`, spec, errors);
  checkProfiles(context, path, errors);
}

const sysctlName = /^[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?$/;
const sysctlText =
  'must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$';

function validateSysctls(sysctls: readonly JsonObject[], path: string, spec: JsonObject, errors: FieldError[]): void {
  const names = new Set<string>();
  for (const [index, sysctl] of sysctls.entries()) {
    const at = `${path}[${index}].name`;
    const name = textAt(sysctl, 'name');
    const isGood = name.length <= 253 && name.split(/[./]/).every((part) => sysctlName.test(part));
    if (name === '') errors.push(requiredValue(at));
    else if (!isGood) errors.push(invalidValue(at, name, sysctlText));
    else if (names.has(name)) errors.push(duplicateValue(at, name));
    const owner = sysctlOwner(name);
    if (spec.hostNetwork === true && owner === 'net')
      errors.push(invalidValue(at, name, "may not be specified when 'hostNetwork' is true"));
    else if (spec.hostIPC === true && owner === 'ipc')
      errors.push(invalidValue(at, name, "may not be specified when 'hostIPC' is true"));
    names.add(name);
  }
}

/** The kernel namespace a setting belongs to. */
function sysctlOwner(name: string): 'net' | 'ipc' | undefined {
  const dotted =
    name.includes('/') && !(name.indexOf('.') >= 0 && name.indexOf('.') < name.indexOf('/'))
      ? name.replace(/[./]/g, (found) => (found === '/' ? '.' : '/'))
      : name;
  if (dotted.startsWith('net.')) return 'net';
  const isIpc = dotted === 'kernel.sem' || /^(kernel\.shm|kernel\.msg|fs\.mqueue\.)/.test(dotted);
  return isIpc ? 'ipc' : undefined;
}
