/**
 * Names of resources that can be asked for and limited: those Kubernetes knows, those with a domain of somebody else's in
 * front, and what may stand where. In the words of kube-apiserver.
 */
import { checkQualifiedName, type FieldError, invalidValue, type JsonValue } from '../../../api/index.ts';
import { quantityOf } from './amounts.ts';

const container: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage']);
const counted: ReadonlySet<string> = new Set([
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
]);
const quota: ReadonlySet<string> = new Set([
  ...container,
  ...[...container, 'storage'].map((name) => `requests.${name}`),
  ...[...container].map((name) => `limits.${name}`),
  ...counted,
]);

const pages = 'hugepages-';

export function isHugePages(name: string): boolean {
  return name.startsWith(pages);
}

function isQuotaHugePages(name: string): boolean {
  return isHugePages(name) || name.startsWith('requests.hugepages-');
}

export function isStandardQuotaResource(name: string): boolean {
  return quota.has(name) || isQuotaHugePages(name);
}

function isStandardResource(name: string): boolean {
  return name === 'storage' || isStandardQuotaResource(name);
}

/** Of Kubernetes itself, with its domain or without one. */
export function isNative(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/');
}

export function isExtendedResource(name: string): boolean {
  return !isNative(name) && !name.startsWith('requests.') && checkQualifiedName(`requests.${name}`).length === 0;
}

/** Whether more of it may be promised than there is. */
export function isOvercommitAllowed(name: string): boolean {
  return isNative(name) && !isHugePages(name);
}

/** Any resource, also of another's domain. */
export function checkResourceName(name: string, path: string): FieldError[] {
  const problems = checkQualifiedName(name);
  if (problems.length > 0) return problems.map((problem) => invalidValue(path, name, problem));
  if (name.includes('/') || isStandardResource(name)) return [];
  return [invalidValue(path, name, 'must be a standard resource type or fully qualified')];
}

export function checkContainerResourceName(name: string, path: string): FieldError[] {
  const errors = checkResourceName(name, path);
  if (!name.includes('/')) {
    if (container.has(name) || isHugePages(name)) return errors;
    return [...errors, invalidValue(path, name, 'must be a standard resource for containers')];
  }
  if (isNative(name) || isExtendedResource(name)) return errors;
  return [...errors, invalidValue(path, name, "doesn't follow extended resource name standard")];
}

export function checkQuotaResourceName(name: string, path: string): FieldError[] {
  const errors = checkResourceName(name, path);
  if (name.includes('/') || isStandardQuotaResource(name)) return errors;
  return [...errors, invalidValue(path, name, 'must be a standard resource for quota')];
}

/** Never less than nothing, and whole where it counts things. */
export function checkResourceAmount(name: string, amount: JsonValue | undefined, path: string): FieldError[] {
  const quantity = quantityOf(String(amount ?? '0'));
  const errors: FieldError[] = [];
  if (quantity.sign < 0) errors.push(invalidValue(path, amount, 'must be greater than or equal to 0'));
  const isOfThings = counted.has(name) || isExtendedResource(name);
  if (isOfThings && quantity.toBigInt(-3) % 1000n !== 0n) errors.push(invalidValue(path, amount, 'must be an integer'));
  return errors;
}

/** Of huge pages there are whole ones only: the size of a page is in the name. */
export function checkPagesAmount(name: string, amount: JsonValue | undefined, path: string): FieldError[] {
  if (!isHugePages(name) || isDivisible(name, String(amount))) return [];
  return [invalidValue(path, amount, `${amount} is not positive integer multiple of ${name}`)];
}

function isDivisible(name: string, amount: string): boolean {
  try {
    const size = quantityOf(name.slice(pages.length)).toBigInt(0);
    return size > 0n && quantityOf(amount).toBigInt(0) % size === 0n;
  } catch {
    return false;
  }
}
