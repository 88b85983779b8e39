/** The status of a pod, which kubelets write: addresses, conditions, and how its containers do. */
import {
  checkDnsSubdomain,
  checkQualifiedName,
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
  unsupportedValue,
} from '../../../api/index.ts';
import { appendAll, faultsOf } from '../../strategy/validation/append-all.ts';
import { between } from '../../strategy/validation/checks.ts';
import { numberAt, objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';
import { ipAddress, parseAddress, warningsForAddress } from '../../strategy/validation/ip-address.ts';
import { specOf, validateAnnotations } from './pod-update.ts';

/** The one address and the first of the list are the same; the one is believed where they differ. */
export function joinAddresses(status: JsonObject | undefined): void {
  if (!status) return;
  const one = textAt(status, 'podIP');
  const first = textAt(objectsAt(status, 'podIPs')[0], 'ip');
  if (one !== '' && one !== first) status.podIPs = [{ ip: one }];
  else if (one === '' && first !== '') status.podIP = first;
}

/** Who does not say which generation they have seen has seen the one that was said before; conditions by their type. */
export function keepObserved(status: JsonObject, before: JsonObject): void {
  const field = 'observedGeneration';
  if (!numberAt(status, field) && numberAt(before, field)) status[field] = before[field]!;
  const known = new Map<string, JsonObject[]>();
  for (const condition of objectsAt(before, 'conditions')) {
    const type = textAt(condition, 'type');
    const same = known.get(type);
    if (same) same.push(condition);
    else known.set(type, [condition]);
  }
  for (const condition of objectsAt(status, 'conditions')) {
    const old = known.get(textAt(condition, 'type'))?.shift();
    if (!numberAt(condition, field) && numberAt(old, field)) condition[field] = old![field]!;
  }
}

/** What is told about addresses that are accepted, and written oddly. */
export function addressWarnings(status: JsonObject | undefined): string[] {
  return ['podIPs', 'hostIPs'].flatMap((field) =>
    faultsOf(objectsAt(status, field), (one, index) =>
      warningsForAddress(`status.${field}[${index}].ip`, textAt(one, 'ip')),
    ),
  );
}

const statusLists = [
  ['containerStatuses', 'containers'],
  ['initContainerStatuses', 'initContainers'],
  ['ephemeralContainerStatuses', 'ephemeralContainers'],
] as const;

export function validateStatusUpdate(pod: KubeObject, old: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  validateAnnotations(pod, old, errors);
  const [status, before] = [objectAt(pod as JsonObject, 'status') ?? {}, objectAt(old as JsonObject, 'status') ?? {}];
  for (const [index, { type }] of objectsAt(status, 'conditions').entries())
    for (const problem of checkQualifiedName(String(type ?? '')))
      errors.push(invalidValue(`status.conditions[${index}].Type`, type ?? '', problem));
  const node = textAt(status, 'nominatedNodeName');
  if (node !== '' && node !== before.nominatedNodeName)
    for (const problem of checkDnsSubdomain(node)) errors.push(invalidValue('status.nominatedNodeName', node, problem));
  if (textAt(status, 'qosClass') !== textAt(before, 'qosClass'))
    errors.push(invalidValue('status.qosClass', textAt(status, 'qosClass'), 'field is immutable'));
  const spec = specOf(old);
  for (const [list, containers] of statusLists) {
    validateTransitions(status, before, list, spec, errors);
    const byName = new Map(objectsAt(spec, containers).map((one) => [one.name, one]));
    for (const [index, one] of objectsAt(status, list).entries())
      validateContainerStatus(one, `status.${list}[${index}]`, byName.get(one.name), spec, errors);
  }
  validateClaimStatuses(objectsAt(status, 'resourceClaimStatuses'), spec, errors);
  validateExtendedClaim(objectAt(status, 'extendedResourceClaimStatus'), spec, errors);
  validateAddresses(status, 'podIPs', errors);
  const hosts = objectsAt(status, 'hostIPs');
  if (hosts.length > 0 && textAt(status, 'hostIP') !== textAt(hosts[0], 'ip'))
    errors.push(invalidValue('status.hostIPs[0].ip', textAt(hosts[0], 'ip'), 'must be equal to `hostIP`'));
  validateAddresses(status, 'hostIPs', errors);
  return errors;
}

function validateAddresses(status: JsonObject, field: string, errors: FieldError[]): void {
  const list = objectsAt(status, field);
  const addresses = list.map((one) => textAt(one, 'ip'));
  const path = `status.${field}`;
  for (const [index, address] of addresses.entries())
    appendAll(errors, ipAddress(address, `${path}[${index}]`, status));
  if (addresses.length < 2) return;
  const families = new Set(addresses.map((address) => parseAddress(address)?.bytes.length));
  if (families.size < 2 || addresses.length > 2 || families.has(undefined))
    errors.push(invalidValue(path, list, 'may specify no more than one IP for each IP family'));
}

/** What has ended stays so, unless it is to be restarted. */
function validateTransitions(
  status: JsonObject,
  before: JsonObject,
  list: string,
  spec: JsonObject,
  errors: FieldError[],
): void {
  const policy = list === 'ephemeralContainerStatuses' ? 'Never' : textAt(spec, 'restartPolicy');
  if (policy === 'Always') return;
  const sidecars = new Set(
    objectsAt(spec, 'initContainers').flatMap((one) => (one.restartPolicy === 'Always' ? [one.name] : [])),
  );
  const byName = new Map(objectsAt(status, list).map((one) => [one.name, one]));
  for (const [index, old] of objectsAt(before, list).entries()) {
    const ended = objectAt(objectAt(old, 'state'), 'terminated');
    if (!ended || (numberAt(ended, 'exitCode') !== 0 && policy === 'OnFailure')) continue;
    if (list === 'initContainerStatuses' && sidecars.has(old.name ?? null)) continue;
    const next = byName.get(old.name);
    if (!next || objectAt(objectAt(next, 'state'), 'terminated')) continue;
    errors.push(forbiddenValue(`status.${list}[${index}].state`, 'may not be transitioned to non-terminated state'));
  }
}

const userOrGroup = between(0, 2 ** 31 - 1);
const healths = ['Healthy', 'Unhealthy', 'Unknown'];

function validateContainerStatus(
  status: JsonObject,
  path: string,
  container: JsonObject | undefined,
  spec: JsonObject,
  errors: FieldError[],
): void {
  const user = objectAt(objectAt(status, 'user'), 'linux');
  if (user) {
    const at = `${path}.linux`;
    if (textAt(objectAt(spec, 'os'), 'name') === 'windows')
      errors.push(forbiddenValue(at, 'cannot be set for a windows pod'));
    for (const field of ['uid', 'gid'])
      appendAll(errors, userOrGroup(user[field] ?? undefined, `${at}.${field}`, user));
    const groups = Array.isArray(user.supplementalGroups) ? user.supplementalGroups : [];
    for (const [index, group] of groups.entries())
      appendAll(errors, userOrGroup(group, `${at}.supplementalGroups[${index}]`, user));
  }
  const allocated = objectsAt(status, 'allocatedResourcesStatus');
  if (allocated.length === 0) return;
  if (path.startsWith('status.ephemeral')) {
    const why = 'cannot be set for a container status';
    errors.push(forbiddenValue(`${path}.allocatedResourcesStatus`, why));
    return;
  }
  validateAllocated(allocated, `${path}.allocatedResourcesStatus`, container, errors);
}

function validateAllocated(
  allocated: readonly JsonObject[],
  path: string,
  container: JsonObject | undefined,
  errors: FieldError[],
): void {
  const resources = objectAt(container, 'resources');
  const known = new Set([
    ...Object.keys(objectAt(resources, 'requests') ?? {}),
    ...Object.keys(objectAt(resources, 'limits') ?? {}),
    ...objectsAt(resources, 'claims').map((claim) => {
      const request = textAt(claim, 'request');
      return `claim:${textAt(claim, 'name')}${request === '' ? '' : `/${request}`}`;
    }),
  ]);
  const seen = new Set<string>();
  for (const [index, one] of allocated.entries()) {
    const [name, at] = [textAt(one, 'name'), `${path}[${index}]`];
    if (!known.has(name))
      errors.push(invalidValue(`${at}.name`, name, "must match one of the container's resource requests"));
    if (seen.has(name)) errors.push(duplicateValue(`${at}.name`, name));
    seen.add(name);
    const ids = new Set<string>();
    for (const [number, resource] of objectsAt(one, 'resources').entries()) {
      const [id, health] = [textAt(resource, 'resourceID'), textAt(resource, 'health')];
      if (ids.has(id)) errors.push(duplicateValue(`${at}.resources[${number}].resourceID`, id));
      ids.add(id);
      if (health !== '' && !healths.includes(health))
        errors.push(unsupportedValue(`${at}.resources[${number}].health`, health, healths));
    }
  }
}

function validateClaimStatuses(statuses: readonly JsonObject[], spec: JsonObject, errors: FieldError[]): void {
  const known = new Set(objectsAt(spec, 'resourceClaims').map((claim) => textAt(claim, 'name')));
  const seen = new Set<string>();
  for (const [index, status] of statuses.entries()) {
    const at = `status.resourceClaimStatuses[${index}]`;
    const name = textAt(status, 'name');
    if (!known.has(name))
      errors.push(invalidValue(`${at}.name`, name, 'must match the name of an entry in `spec.resourceClaims`'));
    if (seen.has(name)) errors.push(duplicateValue(`${at}.name`, name));
    seen.add(name);
    checkClaimName(status, `${at}.resourceClaimName`, errors);
  }
}

function checkClaimName(owner: JsonObject, path: string, errors: FieldError[]): void {
  const name = owner.resourceClaimName;
  if (typeof name !== 'string') return;
  for (const problem of checkDnsSubdomain(name)) errors.push(invalidValue(path, name, problem));
}

/** A claim that was made for resources of others, and which request of it serves which container. */
function validateExtendedClaim(claim: JsonObject | undefined, spec: JsonObject, errors: FieldError[]): void {
  if (!claim) return;
  const path = 'status.extendedResourceClaimStatus';
  const mappings = objectsAt(claim, 'requestMappings');
  if (mappings.length === 0)
    errors.push(requiredValue(`${path}.requestMappings`, 'at least one request mapping is required'));
  const names = new Set(
    ['initContainers', 'containers'].flatMap((list) => objectsAt(spec, list).map((one) => textAt(one, 'name'))),
  );
  for (const [index, mapping] of mappings.entries()) {
    const container = textAt(mapping, 'containerName');
    if (names.has(container)) continue;
    const why = 'must match the name of an entry in spec.initContainers.name or spec.containers.name';
    errors.push(invalidValue(`${path}.requestMappings[${index}].containerName`, container, why));
  }
  checkClaimName({ resourceClaimName: textAt(claim, 'resourceClaimName') }, `${path}.resourceClaimName`, errors);
}
