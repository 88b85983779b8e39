/** The status of a pod, which kubelets write: addresses, conditions, and how its containers do. */
import {
  checkDnsLabel,
  checkDnsSubdomain,
  checkQualifiedName,
  duplicateValue,
  type FieldError,
  forbiddenValue,
  internalFieldError,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
} from '../../../api/index.ts';
import { roundAmounts, roundResources } from '../../strategy/validation/amounts.ts';
import { appendAll, faultsOf } from '../../strategy/validation/append-all.ts';
import type { Check } from '../../strategy/validation/field-table.ts';
import { isNumber, numberAt, objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';
import { ipAddress, parseAddress, warningsForAddress } from '../../strategy/validation/ip-address.ts';
import { validateContainerStatuses, validateTransitions } from './container-statuses.ts';
import { specOf, validateAnnotations } from './pod-update.ts';

/** The one address and the first of the list are the same; the one is believed where they differ. */
export function joinAddresses(status: JsonObject | undefined): void {
  if (!status) return;
  const one = textAt(status, 'podIP');
  const first = textAt(objectsAt(status, 'podIPs')[0], 'ip');
  if (one !== '' && one !== first) status.podIPs = [{ ip: one }];
  else if (one === '' && first !== '') status.podIP = first;
}

/** What containers, and the pod as a whole, were given. */
export function roundObserved(status: JsonObject | undefined): void {
  if (!status) return;
  const containers = ['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses'];
  for (const one of [status, ...containers.flatMap((list) => objectsAt(status, list))]) {
    roundAmounts(objectAt(one, 'allocatedResources'));
    roundResources(objectAt(one, 'resources'));
  }
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

export function validateStatusUpdate(pod: KubeObject, old: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  validateAnnotations(pod, old, errors);
  const [status, before] = [objectAt(pod as JsonObject, 'status') ?? {}, objectAt(old as JsonObject, 'status') ?? {}];
  const spec = specOf(old);
  for (const [index, condition] of objectsAt(status, 'conditions').entries()) {
    const path = `status.conditions[${index}]`;
    appendAll(errors, seen(condition.observedGeneration ?? undefined, `${path}.observedGeneration`, condition));
    for (const problem of checkQualifiedName(textAt(condition, 'type')))
      errors.push(invalidValue(`${path}.Type`, textAt(condition, 'type'), problem));
  }
  validateNominated(textAt(status, 'nominatedNodeName'), textAt(before, 'nominatedNodeName'), spec, errors);
  appendAll(errors, seen(status.observedGeneration ?? undefined, 'status.observedGeneration', status));
  if (textAt(status, 'qosClass') !== textAt(before, 'qosClass'))
    errors.push(invalidValue('status.qosClass', textAt(status, 'qosClass'), 'field is immutable'));
  validateTransitions(status, before, spec, errors);
  validateClaimStatuses(objectsAt(status, 'resourceClaimStatuses'), spec, errors);
  validateExtendedClaim(objectAt(status, 'extendedResourceClaimStatus'), spec, errors);
  validateAddresses(status, 'podIPs', errors);
  const hosts = objectsAt(status, 'hostIPs');
  if (hosts.length > 0 && textAt(status, 'hostIP') !== textAt(hosts[0], 'ip'))
    errors.push(invalidValue('status.hostIPs[0].ip', textAt(hosts[0], 'ip'), 'must be equal to `hostIP`'));
  validateAddresses(status, 'hostIPs', errors);
  validateContainerStatuses(status, spec, errors);
  return errors;
}

const seen: Check = (value, path) =>
  isNumber(value) && value < 0 ? [invalidValue(path, value, 'must be a non-negative integer')] : [];

/** A node the scheduler has in mind, of a pod that runs on none yet. */
function validateNominated(node: string, was: string, spec: JsonObject, errors: FieldError[]): void {
  if (node === '' || node === was) return;
  const path = 'status.nominatedNodeName';
  for (const problem of checkDnsSubdomain(node)) errors.push(invalidValue(path, node, problem));
  if (textAt(spec, 'nodeName') !== '')
    errors.push(forbiddenValue(path, 'may not be set on pods that are already bound to a node'));
}

function validateAddresses(status: JsonObject, field: string, errors: FieldError[]): void {
  const list = objectsAt(status, field);
  const addresses = list.map((one) => textAt(one, 'ip'));
  const path = `status.${field}`;
  for (const [index, address] of addresses.entries())
    appendAll(errors, ipAddress(address, `${path}[${index}]`, status));
  if (addresses.length < 2) return;
  const families = new Set(addresses.map((address) => parseAddress(address)?.bytes.length));
  const bad = addresses.findIndex((address) => !parseAddress(address));
  if (bad >= 0) {
    const why = `invalid IP[${bad}]: ${addresses[bad]}`;
    errors.push(internalFieldError(path, `failed to check for dual stack with error:${why}`));
  }
  if (families.size < 2 || addresses.length > 2 || families.has(undefined))
    errors.push(invalidValue(path, list, 'may specify no more than one IP for each IP family'));
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

type Named = readonly [field: string, value: string];

const noContainer = 'must match the name of an entry in spec.initContainers.name or spec.containers.name';
const noRequest =
  'must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests';

/** A claim that was made for resources of others, and which request of it serves which container. */
function validateExtendedClaim(claim: JsonObject | undefined, spec: JsonObject, errors: FieldError[]): void {
  if (!claim) return;
  const path = 'status.extendedResourceClaimStatus';
  const mappings = objectsAt(claim, 'requestMappings');
  if (mappings.length === 0)
    errors.push(requiredValue(`${path}.requestMappings`, 'at least one request mapping is required'));
  const containers = new Map(
    ['initContainers', 'containers'].flatMap((list) => objectsAt(spec, list).map((one) => [textAt(one, 'name'), one])),
  );
  const known = new Set<string>();
  for (const [index, mapping] of mappings.entries()) {
    const at = `${path}.requestMappings[${index}]`;
    const names = ['containerName', 'resourceName', 'requestName'].map(
      (field) => [field, textAt(mapping, field)] as const,
    );
    const [[, name], [, resource], [, request]] = names as [Named, Named, Named];
    const container = containers.get(name);
    if (!container) errors.push(invalidValue(`${at}.containerName`, name, noContainer));
    else if (!Object.hasOwn(objectAt(objectAt(container, 'resources'), 'requests') ?? {}, resource))
      errors.push(invalidValue(`${at}.resourceName`, resource, noRequest));
    for (const problem of checkDnsLabel(request)) errors.push(invalidValue(`${path}.requestName`, request, problem));
    const key = JSON.stringify(names);
    if (known.has(key)) for (const [field, value] of names) errors.push(duplicateValue(`${at}.${field}`, value));
    known.add(key);
  }
  if (textAt(claim, 'resourceClaimName') === '') errors.push(requiredValue(`${path}.resourceClaimName`));
  else checkClaimName(claim, `${path}.resourceClaimName`, errors);
}
