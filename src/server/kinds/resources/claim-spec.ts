/**
 * What a claim asks for: requests for devices, each exactly one or the first that can be had of several; constraints
 * between them; configuration for their drivers. Claims and templates of claims hold the same.
 */

import { type FieldError, invalidValue, type JsonObject, type KubeObject, requiredValue } from '../../../api/index.ts';
import type { StrategyContext } from '../../strategy/strategy.ts';
import { faultsOf } from '../../strategy/validation/append-all.ts';
import { oneOf } from '../../strategy/validation/checks.ts';
import { always, type Check, listOf, struct, textsOf } from '../../strategy/validation/field-table.ts';
import { fill, isObject, numberAt, objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';
import { className, deviceConfiguration, fullKey, label, MAX_LIST, toleration } from './device-checks.ts';
import { selectors, type Verdicts } from './device-selectors.ts';

const MAX_ALTERNATIVES = 8;
const refText = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
const unionText = 'exactly one of `exactly` or `firstAvailable` is required';
const adminText =
  'admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace';
const adminLabel = 'resource.kubernetes.io/admin-access';

export function setClaimDefaults(spec: JsonObject | undefined): void {
  for (const request of objectsAt(objectAt(spec, 'devices'), 'requests')) {
    const exactly = objectAt(request, 'exactly');
    for (const one of [...(exactly ? [exactly] : []), ...objectsAt(request, 'firstAvailable')]) {
      if (!isObject(one)) continue;
      fill(one, { allocationMode: 'ExactCount' });
      if (one.allocationMode === 'ExactCount' && !numberAt(one, 'count')) one.count = 1;
      setTolerationDefaults(one);
    }
  }
}

export function setTolerationDefaults(owner: JsonObject): void {
  for (const one of objectsAt(owner, 'tolerations')) if (isObject(one)) fill(one, { operator: 'Equal' });
}

const allocationMode: Check = (value, path) => {
  const request = value as JsonObject;
  const [mode, count] = [textAt(request, 'allocationMode'), numberAt(request, 'count') ?? 0];
  const countPath = `${path}.count`;
  if (mode === 'All')
    return count === 0
      ? []
      : [invalidValue(countPath, request.count, `must not be specified when allocationMode is '${mode}'`)];
  if (mode === 'ExactCount')
    return count > 0 ? [] : [invalidValue(countPath, request.count ?? 0, 'must be greater than zero')];
  return oneOf('All', 'ExactCount')(mode, `${path}.allocationMode`, request);
};

const requestFields = (verdicts?: Verdicts) =>
  [
    ['deviceClassName', className],
    ['selectors', selectors(verdicts)],
    ['tolerations', listOf(toleration, { atMost: 16 })],
  ] as const;

function deviceRequests(verdicts?: Verdicts): Check {
  const exact = struct(requestFields(verdicts), allocationMode);
  const alternative = struct([['name', label], ...requestFields(verdicts)], allocationMode);
  const alternatives = listOf(alternative, { atMost: MAX_ALTERNATIVES, key: (one) => textAt(one, 'name') });
  const one = struct([['name', label]], (value, path) => {
    const request = value as JsonObject;
    const [exactly, first] = [objectAt(request, 'exactly'), objectsAt(request, 'firstAvailable')];
    if (exactly && first.length > 0) return [invalidValue(path, null, `${unionText}, but multiple fields are set`)];
    if (exactly) return exact(exactly, `${path}.exactly`, request);
    return first.length > 0
      ? alternatives(request.firstAvailable ?? undefined, `${path}.firstAvailable`, request)
      : [requiredValue(path, unionText)];
  });
  return listOf(one, { atMost: MAX_LIST, key: (request) => textAt(request, 'name') });
}

/** The names by which a claim's requests can be spoken of: `request`, `request/alternative`. */
export function requestNames(devices: JsonObject | undefined): ReadonlySet<string> {
  const names = new Set<string>();
  for (const request of objectsAt(devices, 'requests')) {
    const name = textAt(request, 'name');
    names.add(name);
    for (const one of objectsAt(request, 'firstAvailable')) names.add(`${name}/${textAt(one, 'name')}`);
  }
  return names;
}

export function requestRef(names: ReadonlySet<string>): Check {
  return (value, path, owner) => {
    const name = typeof value === 'string' ? value : '';
    const parts = name.split('/');
    if (parts.length > 2) return [invalidValue(path, name, refText)];
    const errors = faultsOf(parts, (part) => label(part, path, owner));
    if (!names.has(name)) errors.push(invalidValue(path, name, refText));
    return errors;
  };
}

export function requestRefs(names: ReadonlySet<string>): Check {
  return textsOf(requestRef(names), { atMost: MAX_LIST, isSet: true });
}

const oneAttribute: Check = (value, path, owner) => {
  const { matchAttribute, distinctAttribute } = value as JsonObject;
  if (typeof matchAttribute === 'string') return fullKey(matchAttribute, `${path}.matchAttribute`, owner);
  if (typeof distinctAttribute === 'string') return fullKey(distinctAttribute, `${path}.distinctAttribute`, owner);
  const why = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set';
  return [requiredValue(path, why)];
};

const plainRequests = deviceRequests();
const configurations = [deviceConfiguration(false), deviceConfiguration(true)];

/** Without verdicts on its selectors it has been accepted before: only what cannot have changed its meaning is looked at. */
export function validateClaimSpec(spec: JsonObject | undefined, path: string, verdicts?: Verdicts): FieldError[] {
  const devices = objectAt(spec, 'devices');
  if (!devices) return [];
  const refs = requestRefs(requestNames(devices));
  const configuration = configurations[Number(verdicts === undefined)]!;
  const check = struct([
    ['requests', verdicts?.size ? deviceRequests(verdicts) : plainRequests],
    ['constraints', listOf(struct([['requests', refs]], oneAttribute), { atMost: MAX_LIST })],
    ['config', listOf(struct([['requests', refs]], always(configuration)), { atMost: MAX_LIST })],
  ]);
  return check(devices, `${path}.devices`, {});
}

/** Who may look into devices of others is decided by the namespace. */
export async function validateAdminAccess(
  spec: JsonObject | undefined,
  { metadata }: KubeObject,
  context: StrategyContext | undefined,
): Promise<FieldError[]> {
  const requests = objectsAt(objectAt(spec, 'devices'), 'requests');
  const index = requests.findIndex((request) => objectAt(request, 'exactly')?.adminAccess === true);
  if (index < 0 || !context) return [];
  const namespaces = await context.listKnown('', 'namespaces');
  const found = namespaces.find((one) => one.metadata.name === metadata.namespace);
  if (found?.metadata.labels?.[adminLabel] === 'true') return [];
  const path = `spec.devices.requests[${index}].adminAccess`;
  return [{ reason: 'FieldValueForbidden', field: path, message: `Forbidden: ${adminText}` }];
}
