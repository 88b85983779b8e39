/**
 * What containers and pods request and may use at most: names of resources, amounts, and claims of devices.
 *
 * Resources of the cluster itself (`cpu`) may be promised more than once; those of others (`example.com/gpu`) and huge
 * pages may not, so their request is their limit.
 */
import {
  checkDnsLabel,
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
  unsupportedValue,
  valueNotFound,
} from '../../../../api/index.ts';
import { ownValue } from '../../../codec/json/json-objects.ts';
import { quantityOf } from '../../../strategy/validation/amounts.ts';
import { appendAll } from '../../../strategy/validation/append-all.ts';
import { objectAt, objectsAt, sortedEntries, textAt } from '../../../strategy/validation/fields.ts';
import {
  checkContainerResourceName,
  checkPagesAmount,
  checkResourceAmount,
  checkResourceName,
  isHugePages,
  isOvercommitAllowed,
} from '../../../strategy/validation/resource-names.ts';

/** Resources that a pod can have as a whole. */
export function isOfPods(name: string): boolean {
  return name === 'cpu' || name === 'memory' || isHugePages(name);
}

/** Whether a pod says something of itself as a whole. */
export function hasWholeResources(resources: JsonObject | undefined): boolean {
  return ['limits', 'requests'].some((part) => Object.keys(objectAt(resources, part) ?? {}).some(isOfPods));
}

type NameCheck = (name: string, path: string) => FieldError[];

const checkPodName: NameCheck = (name, path) => {
  const errors = checkResourceName(name, path);
  if (errors.length > 0 || isOfPods(name)) return errors;
  return [unsupportedValue(path, name, ['cpu', 'hugepages-', 'memory'])];
};

export function validateContainerResources(
  resources: JsonObject,
  path: string,
  claims: readonly string[],
  errors: FieldError[],
): void {
  validateResources(resources, path, checkContainerResourceName, claims, errors);
}

export function validatePodResources(
  resources: JsonObject,
  path: string,
  claims: readonly string[],
  errors: FieldError[],
): void {
  if (resources.claims !== undefined)
    errors.push(forbiddenValue(`${path}.claims`, 'claims may not be set for Resources at pod-level'));
  validateResources(resources, path, checkPodName, claims, errors);
}

function validateResources(
  resources: JsonObject,
  path: string,
  checkName: NameCheck,
  claims: readonly string[],
  errors: FieldError[],
): void {
  const limits = objectAt(resources, 'limits') ?? {};
  let [hasPages, hasUsual] = [false, false];
  for (const part of ['limits', 'requests']) {
    const amounts = objectAt(resources, part);
    if (!amounts) continue;
    for (const [name, amount] of sortedEntries(amounts)) {
      const at = `${path}.${part}[${name}]`;
      if (name !== 'cpu' && name !== 'memory') appendAll(errors, checkName(name, at));
      appendAll(errors, checkResourceAmount(name, amount, at));
      if (part === 'requests') checkRequest(name, String(amount), ownValue(limits, name), path, errors);
      if (isHugePages(name)) {
        hasPages = true;
        appendAll(errors, checkPagesAmount(name, amount, at));
      }
      hasUsual ||= name === 'cpu' || name === 'memory';
    }
  }
  if (hasPages && !hasUsual) errors.push(forbiddenValue(path, 'HugePages require cpu or memory'));
  if (resources.claims) validateClaims(objectsAt(resources, 'claims'), `${path}.claims`, claims, errors);
}

function checkRequest(name: string, amount: string, limit: unknown, path: string, errors: FieldError[]): void {
  if (limit === undefined) {
    if (!isOvercommitAllowed(name))
      errors.push(requiredValue(`${path}.limits`, 'Limit must be set for non overcommitable resources'));
    return;
  }
  const difference = quantityOf(amount).compare(quantityOf(String(limit)));
  if (difference !== 0 && !isOvercommitAllowed(name))
    errors.push(invalidValue(`${path}.requests`, amount, `must be equal to ${name} limit of ${limit}`));
  else if (difference > 0)
    errors.push(invalidValue(`${path}.requests`, amount, `must be less than or equal to ${name} limit of ${limit}`));
}

function validateClaims(
  claims: readonly JsonObject[],
  path: string,
  known: readonly string[],
  errors: FieldError[],
): void {
  const seen = new Set<string>();
  const asked = new Map<string, number>(); // requests of a claim that were named before
  const names = new Set(known);
  for (const [index, claim] of claims.entries()) {
    const at = `${path}[${index}]`;
    const [name, request] = [textAt(claim, 'name'), textAt(claim, 'request')];
    if (name === '') {
      errors.push(requiredValue(at));
      continue;
    }
    if (seen.has(name)) errors.push(duplicateValue(at, name));
    else {
      if (request !== '')
        for (const problem of checkDnsLabel(request)) errors.push(invalidValue(`${at}.request`, request, problem));
      const key = request === '' ? name : `${name}/${request}`;
      if (seen.has(key)) errors.push(duplicateValue(at, key));
      else if (request === '') for (let i = asked.get(name) ?? 0; i > 0; i--) errors.push(duplicateValue(at, name));
      if (request !== '' && !seen.has(key)) asked.set(name, (asked.get(name) ?? 0) + 1);
      seen.add(key);
    }
    if (!names.has(name)) {
      const listed = known.length === 0 ? ' which is empty' : `: ${known.join(', ')}`;
      const error = valueNotFound(at, name);
      const message = `${error.message}: must be one of the names in pod.spec.resourceClaims${listed}`;
      errors.push({ ...error, message });
    }
  }
}
