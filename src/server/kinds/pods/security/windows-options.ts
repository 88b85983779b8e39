/** What only pods on Windows have: users by name, credentials, containers that are processes of the host. */

import {
  checkDnsSubdomain,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
} from '../../../../api/index.ts';
import { objectAt } from '../../../strategy/validation/fields.ts';
import type { StructCheck } from '../../../strategy/validation/struct-checks.ts';
import { containerPath, containersOf } from '../fields/each-container.ts';
import { disallowedByPolicy } from './cluster-policy.ts';

const specLimitBytes = 64 * 1024;

export const checkWindowsOptions: StructCheck = (options, path, errors) => {
  const { gmsaCredentialSpecName: specName, gmsaCredentialSpec: spec, runAsUserName: user } = options;
  if (typeof specName === 'string')
    for (const problem of checkDnsSubdomain(specName))
      errors.push(invalidValue(`${path}.gmsaCredentialSpecName`, specName, problem));
  if (typeof spec === 'string') {
    const at = `${path}.gmsaCredentialSpec`;
    if (spec === '') errors.push(invalidValue(at, spec, 'gmsaCredentialSpec cannot be an empty string'));
    else if (Buffer.byteLength(spec) > specLimitBytes)
      errors.push(invalidValue(at, spec, 'gmsaCredentialSpec size must be under 64 KiB'));
  }
  if (typeof user === 'string')
    for (const problem of userProblems(user)) errors.push(invalidValue(`${path}.runAsUserName`, user, problem));
};

const netBios = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const dnsPart = /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$/;

function userProblems(name: string): string[] {
  if (name === '') return ['runAsUserName cannot be an empty string'];
  if (/\p{Cc}/u.test(name)) return ['runAsUserName cannot contain control characters'];
  const parts = name.split('\\');
  if (parts.length > 2) return ['runAsUserName cannot contain more than one backslash'];
  const problems: string[] = [];
  const [user, domain] = [parts.at(-1)!, parts.length === 2 ? parts[0]! : undefined];
  if ((domain ?? '').length >= 256) problems.push("runAsUserName's Domain length must be under 256 characters");
  if (domain !== undefined && !netBios.test(domain) && !domain.split('.').every((part) => dnsPart.test(part)))
    problems.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
  if (user === '') problems.push("runAsUserName's User cannot be empty");
  else if (Buffer.byteLength(user) > 104)
    problems.push("runAsUserName's User length must not be longer than 104 characters");
  if (/^[. ]+$/.test(user)) problems.push("runAsUserName's User cannot contain only periods or spaces");
  if (/["/\\:;|=,+*?<>@[\]]/.test(user))
    problems.push('runAsUserName\'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]');
  return problems;
}

/** Containers that are processes of the host: all or none, on its network, and only where policy lets them. */
export function validateHostProcess(spec: JsonObject, path: string, errors: FieldError[]): void {
  const own = hostProcessOf(objectAt(spec, 'securityContext'));
  let [all, hosted] = [0, 0];
  for (const container of containersOf(spec)) {
    const process = hostProcessOf(objectAt(container, 'securityContext'));
    all++;
    if (own !== undefined && process !== undefined && own !== process) {
      const why = `pod hostProcess value must be identical if both are specified, was ${own}`;
      const at = `${containerPath(spec, path, all - 1)}.securityContext.windowsOptions.hostProcess`;
      errors.push(invalidValue(at, process, why));
    }
    if (process ?? own) hosted++;
  }
  if (hosted === 0) return;
  if (hosted !== all) {
    const why = 'If pod contains any hostProcess containers then all containers must be HostProcess containers';
    errors.push(invalidValue(path, '', why));
  }
  if (spec.hostNetwork !== true) {
    const why = 'hostNetwork must be true if pod contains any hostProcess containers';
    errors.push(invalidValue(`${path}.hostNetwork`, false, why));
  }
  errors.push(forbiddenValue(path, `hostProcess containers are ${disallowedByPolicy}`));
}

function hostProcessOf(context: JsonObject | undefined): boolean | undefined {
  const value = objectAt(context, 'windowsOptions')?.hostProcess;
  return typeof value === 'boolean' ? value : undefined;
}

const linuxOnlyInPod = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'fsGroup',
  'fsGroupChangePolicy',
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'supplementalGroupsPolicy',
  'seLinuxChangePolicy',
];
const linuxOnlyInContainer = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
];
const notForWindows = 'cannot be set for a windows pod';

/** A pod that says which system it is for may not have what only another has. */
export function validateForSystem(spec: JsonObject, system: string, path: string, errors: FieldError[]): void {
  const context = objectAt(spec, 'securityContext') ?? {};
  const contexts = containersOf(spec).map((container, place) => {
    const at = `${containerPath(spec, path, place)}.securityContext`;
    return [objectAt(container, 'securityContext') ?? {}, at] as const;
  });
  if (system === 'linux') {
    for (const [one, at] of [[context, `${path}.securityContext`] as const, ...contexts])
      if (one.windowsOptions !== undefined)
        errors.push(forbiddenValue(`${at}.windowsOptions`, 'windows options cannot be set for a linux pod'));
    return;
  }
  const refuse = (field: string) => errors.push(forbiddenValue(field, notForWindows));
  for (const field of linuxOnlyInPod) if (context[field] !== undefined) refuse(`${path}.securityContext.${field}`);
  if (Array.isArray(context.sysctls) && context.sysctls.length > 0) refuse(`${path}.securityContext.sysctls`);
  for (const field of ['hostUsers', 'shareProcessNamespace']) if (spec[field] !== undefined) refuse(`${path}.${field}`);
  for (const field of ['hostPID', 'hostIPC']) if (spec[field] === true) refuse(`${path}.${field}`);
  for (const [one, at] of contexts)
    for (const field of linuxOnlyInContainer) if (one[field] !== undefined) refuse(`${at}.${field}`);
}
