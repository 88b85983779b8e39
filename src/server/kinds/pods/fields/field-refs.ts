/**
 * References to fields of the pod (`fieldRef`) and to resources of a container (`resourceFieldRef`): the downward
 * API, in variables and in files.
 */
import {
  checkQualifiedName,
  type FieldError,
  invalidValue,
  type JsonObject,
  requiredValue,
  unsupportedValue,
} from '../../../../api/index.ts';
import { quantityOf } from '../../../strategy/validation/amounts.ts';
import { textAt } from '../../../strategy/validation/fields.ts';

/** What a variable may show, in the order in which refusals name it. */
export const variableFields: readonly string[] = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
/** What a file may show. */
export const fileFields: readonly string[] = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];
const knownFields: ReadonlySet<string> = new Set([
  ...variableFields,
  ...fileFields,
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
  'spec.host',
]);

export function checkFieldRef(
  reference: JsonObject,
  path: string,
  supported: readonly string[],
  errors: FieldError[],
): void {
  const [version, field] = [textAt(reference, 'apiVersion'), textAt(reference, 'fieldPath')];
  if (version === '') {
    errors.push(requiredValue(`${path}.apiVersion`));
    return;
  }
  if (field === '') {
    errors.push(requiredValue(`${path}.fieldPath`));
    return;
  }
  const subscript = subscriptOf(field);
  const problem = conversionProblem(version, field, subscript?.[0]);
  if (problem !== undefined) {
    errors.push(invalidValue(`${path}.fieldPath`, field, `error converting fieldPath: ${problem}`));
    return;
  }
  if (subscript) {
    const [owner, key] = subscript;
    const name = owner === 'metadata.annotations' ? key.toLowerCase() : key;
    for (const fault of checkQualifiedName(name)) errors.push(invalidValue(path, name, fault));
    return;
  }
  const shown = field === 'spec.host' ? 'spec.nodeName' : field;
  if (!supported.includes(shown)) errors.push(unsupportedValue(`${path}.fieldPath`, shown, supported));
}

/** `metadata.labels['a']`: the map and the key. */
function subscriptOf(field: string): readonly [string, string] | undefined {
  if (!field.endsWith("']")) return undefined;
  const at = field.indexOf("['");
  return at > 0 ? [field.slice(0, at), field.slice(at + 2, -2)] : undefined;
}

function conversionProblem(version: string, field: string, map: string | undefined): string | undefined {
  if (version !== 'v1') return `unsupported pod version: ${version}`;
  if (map !== undefined) {
    const has = map === 'metadata.annotations' || map === 'metadata.labels';
    return has ? undefined : `field label does not support subscript: ${field}`;
  }
  return knownFields.has(field) ? undefined : `field label not supported: ${field}`;
}

const resources: readonly string[] = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
];
const pagePrefixes = ['requests.hugepages-', 'limits.hugepages-'];
const byteDivisors = '1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei';
const bytes: ReadonlySet<string> = new Set(byteDivisors.split(', '));
const cpuText = "only divisor's values 1m and 1 are supported with the cpu resource";

export function checkResourceFieldRef(
  reference: JsonObject,
  path: string,
  needsContainer: boolean,
  errors: FieldError[],
): void {
  const resource = textAt(reference, 'resource');
  const hasPages = pagePrefixes.some((prefix) => resource.startsWith(prefix));
  if (needsContainer && textAt(reference, 'containerName') === '') errors.push(requiredValue(`${path}.containerName`));
  else if (resource === '') errors.push(requiredValue(`${path}.resource`));
  else if (!resources.includes(resource) && !hasPages)
    errors.push(unsupportedValue(`${path}.resource`, resource, resources));
  const divisor = String(reference.divisor ?? '0');
  if (quantityOf(divisor).sign === 0) return;
  const problem = divisorProblem(resource, divisor, hasPages);
  if (problem !== undefined) errors.push(invalidValue(`${path}.divisor`, resource, problem));
}

function divisorProblem(resource: string, divisor: string, hasPages: boolean): string | undefined {
  if (/^(limits|requests)\.cpu$/.test(resource)) return divisor === '1m' || divisor === '1' ? undefined : cpuText;
  if (bytes.has(divisor)) return undefined;
  const text = `only divisor's values ${byteDivisors} are supported with the`;
  if (hasPages) return `${text} hugepages resource`;
  if (/^(limits|requests)\.memory$/.test(resource)) return `${text} memory resource`;
  return /^(limits|requests)\.ephemeral-storage$/.test(resource)
    ? `${text} local ephemeral storage resource`
    : undefined;
}
