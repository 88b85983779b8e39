/** What kubelets report of single containers: how they ended, whom they run as, and how their devices do. */
import {
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  unsupportedValue,
} from '../../../api/index.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { between } from '../../strategy/validation/checks.ts';
import { numberAt, objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';

const restarted = [
  ['containerStatuses', 'containers'],
  ['initContainerStatuses', 'initContainers'],
] as const;
const ephemeral = 'ephemeralContainerStatuses';

/** What has ended stays so, unless it is to be restarted. */
export function validateTransitions(
  status: JsonObject,
  before: JsonObject,
  spec: JsonObject,
  errors: FieldError[],
): void {
  const all = restarted.some(([, list]) => objectsAt(spec, list).some((one) => endedBy(one, 'RestartAllContainers')));
  for (const [list, containers] of all ? [] : restarted) {
    const byName = new Map(objectsAt(spec, containers).map((one) => [textAt(one, 'name'), one]));
    validateEnds(status, before, list, errors, (name, exitCode) => {
      const container = byName.get(name);
      return container !== undefined && isRestarted(container, spec, exitCode);
    });
  }
  validateEnds(status, before, ephemeral, errors, () => false);
}

function validateEnds(
  status: JsonObject,
  before: JsonObject,
  list: string,
  errors: FieldError[],
  mayRestart: (name: string, exitCode: number) => boolean,
): void {
  const running = new Set(
    objectsAt(status, list).flatMap((one) =>
      objectAt(objectAt(one, 'state'), 'terminated') ? [] : [textAt(one, 'name')],
    ),
  );
  for (const [index, old] of objectsAt(before, list).entries()) {
    const [name, ended] = [textAt(old, 'name'), objectAt(objectAt(old, 'state'), 'terminated')];
    if (!ended || !running.has(name) || mayRestart(name, numberAt(ended, 'exitCode') ?? 0)) continue;
    errors.push(forbiddenValue(`status.${list}[${index}].state`, 'may not be transitioned to non-terminated state'));
  }
}

/** By a rule of its own, by its own policy, or by the policy of the pod. */
function isRestarted(container: JsonObject, spec: JsonObject, exitCode: number): boolean {
  if (endedBy(container, 'Restart', exitCode)) return true;
  const policy = textAt(container, 'restartPolicy') || textAt(spec, 'restartPolicy');
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
}

/** Whether the first rule for this code, or any rule where no code is given, says so. */
function endedBy(container: JsonObject, action: string, exitCode?: number): boolean {
  const rules = objectsAt(container, 'restartPolicyRules');
  if (exitCode === undefined) return rules.some((rule) => rule.action === action);
  const first = rules.find((rule) => {
    const codes = objectAt(rule, 'exitCodes');
    const isNamed = Array.isArray(codes?.values) && codes.values.some((code) => Number(code) === exitCode);
    return codes?.operator === 'In' ? isNamed : codes?.operator === 'NotIn' && !isNamed;
  });
  return first?.action === action;
}

export function validateContainerStatuses(status: JsonObject, spec: JsonObject, errors: FieldError[]): void {
  const os = textAt(objectAt(spec, 'os'), 'name');
  for (const list of [...restarted.map(([one]) => one), ephemeral])
    for (const [index, one] of objectsAt(status, list).entries())
      validateUser(objectAt(objectAt(one, 'user'), 'linux'), `status.${list}[${index}].user.linux`, os, errors);
  for (const [list, containers] of restarted) {
    const byName = new Map(objectsAt(spec, containers).map((one) => [textAt(one, 'name'), one]));
    for (const [index, one] of objectsAt(status, list).entries()) {
      const path = `status.${list}[${index}].allocatedResourcesStatus`;
      validateAllocated(objectsAt(one, 'allocatedResourcesStatus'), path, byName.get(textAt(one, 'name')), errors);
    }
  }
  for (const [index, one] of objectsAt(status, ephemeral).entries())
    if (objectsAt(one, 'allocatedResourcesStatus').length > 0) {
      const path = `status.${ephemeral}[${index}].allocatedResourcesStatus`;
      errors.push(forbiddenValue(path, 'must not be specified in container status'));
    }
}

const userOrGroup = between(0, 2 ** 31 - 1);

function validateUser(user: JsonObject | undefined, path: string, os: string, errors: FieldError[]): void {
  if (!user) return;
  if (os === 'windows') errors.push(forbiddenValue(path, 'cannot be set for a windows pod'));
  if (os !== '' && os !== 'linux') return;
  for (const field of ['uid', 'gid'])
    appendAll(errors, userOrGroup(user[field] ?? undefined, `${path}.${field}`, user));
  const groups = Array.isArray(user.supplementalGroups) ? user.supplementalGroups : [];
  for (const [index, group] of groups.entries())
    appendAll(errors, userOrGroup(group, `${path}.supplementalGroups[${index}]`, user));
}

const healths = ['Healthy', 'Unhealthy', 'Unknown'];
const noClaim =
  "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty";

/** Of a container that is not known it is not known what it asked for. */
function validateAllocated(
  allocated: readonly JsonObject[],
  path: string,
  container: JsonObject | undefined,
  errors: FieldError[],
): void {
  if (allocated.length === 0) return;
  const resources = objectAt(container, 'resources');
  const requests = objectAt(resources, 'requests') ?? {};
  const claims = new Set(objectsAt(resources, 'claims').map(claimText));
  for (const [index, one] of allocated.entries()) {
    const [name, at] = [textAt(one, 'name'), `${path}[${index}]`];
    if (container && name.startsWith('claim:')) {
      if (!claims.has(name)) errors.push(invalidValue(`${at}.name`, name, noClaim));
    } else if (container && !Object.hasOwn(requests, name))
      errors.push(invalidValue(`${at}.name`, name, "must match one of the container's resource requests"));
    const ids = new Set<string>();
    for (const [number, resource] of objectsAt(one, 'resources').entries()) {
      const [id, health] = [textAt(resource, 'resourceID'), textAt(resource, 'health')];
      if (!healths.includes(health))
        errors.push(unsupportedValue(`${at}.resources[${number}].health`, health, healths));
      if (ids.has(id)) errors.push(duplicateValue(`${at}.resources[${number}].resourceID`, id));
      ids.add(id);
    }
  }
}

function claimText(claim: JsonObject): string {
  const request = textAt(claim, 'request');
  return `claim:${textAt(claim, 'name')}${request === '' ? '' : `/${request}`}`;
}
