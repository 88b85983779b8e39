/**
 * What an autoscaler goes by: each metric is of one type, has the source of that type and no other, and a target that
 * fits it. Sources are looked into one at a time, as kube-apiserver does: the first of several.
 */
import {
  checkDnsLabel,
  checkPathSegment,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
  unsupportedValue,
} from '../../../api/index.ts';
import { quantityOf } from '../../strategy/validation/amounts.ts';
import { appendAll, faultsOf } from '../../strategy/validation/append-all.ts';
import { numberAt, objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';
import { checkContainerResourceName } from '../../strategy/validation/resource-names.ts';

type Check = (source: JsonObject, path: string, groups: Groups) => FieldError[];
/** Which groups a reference may name in its version: none at all as well, or whatever it says. */
type Groups = 'named' | 'any' | 'unasked';

/** By type: the field of its source. Checked in this order. */
const sources: readonly (readonly [type: string, field: string, check: Check])[] = [
  ['Object', 'object', checkObject],
  ['External', 'external', checkExternal],
  ['Pods', 'pods', checkPods],
  ['Resource', 'resource', checkResource],
  ['ContainerResource', 'containerResource', checkContainerResource],
];
const TYPES = sources.map(([type]) => type).sort();
const TARGETS = ['Utilization', 'Value', 'AverageValue'];

/** `before` is the spec as it was: where a metric was about an unreadable version already, others may be as well. */
export function checkMetrics(spec: JsonObject, path: string, before: JsonObject | undefined): FieldError[] {
  const metrics = objectsAt(spec, 'metrics');
  const groups = objectsAt(before, 'metrics').some(isUnreadable) ? 'unasked' : 'any';
  const errors = faultsOf(metrics, (metric, index) => checkMetric(metric ?? {}, `${path}.metrics[${index}]`, groups));
  const scalesToZero = metrics.some((metric) => metric?.type === 'Object' || metric?.type === 'External');
  if (numberAt(spec, 'minReplicas') === 0 && !scalesToZero) {
    const why = 'must specify at least one Object or External metric to support scaling to zero replicas';
    errors.push(forbiddenValue(`${path}.metrics`, why));
  }
  return errors;
}

function isUnreadable(metric: JsonObject): boolean {
  const source = metric?.type === 'Object' ? objectAt(metric, 'object') : undefined;
  return source !== undefined && versionFault(objectAt(source, 'describedObject'), 'any') !== undefined;
}

function checkMetric(metric: JsonObject, path: string, groups: Groups): FieldError[] {
  const errors: FieldError[] = [];
  const type = textAt(metric, 'type');
  const known = sources.find(([one]) => one === type);
  const present = sources.filter(([, field]) => objectAt(metric, field));
  const unknown = unsupportedValue(`${path}.type`, type, TYPES);
  if (type === '') errors.push(requiredValue(`${path}.type`, 'must specify a metric source type'));
  if (!known) errors.push(unknown);
  const [first] = present;
  if (first) appendAll(errors, first[2](objectAt(metric, first[1])!, `${path}.${first[1]}`, groups));
  if (!known)
    errors.push(unknown); // there is no source to ask for, which is told in the same words
  else if (!present.includes(known))
    errors.push(requiredValue(`${path}.${known[1]}`, 'must populate information for the given metric source'));
  if (present.length === 1) return errors;
  for (const source of present)
    if (source !== known)
      errors.push(forbiddenValue(`${path}.${source[1]}`, 'must populate the given metric source only'));
  return errors;
}

function checkObject(source: JsonObject, path: string, groups: Groups): FieldError[] {
  const target = objectAt(source, 'target');
  const errors = [
    ...checkReference(objectAt(source, 'describedObject'), `${path}.describedObject`, groups),
    ...checkName(source, path),
    ...checkTarget(target, `${path}.target`),
  ];
  if (!has(target, 'value') && !has(target, 'averageValue'))
    errors.push(requiredValue(`${path}.target.averageValue`, 'must set either a target value or averageValue'));
  return errors;
}

function checkExternal(source: JsonObject, path: string): FieldError[] {
  const target = objectAt(source, 'target');
  const errors = [...checkName(source, path), ...checkTarget(target, `${path}.target`)];
  const [hasValue, hasAverage] = [has(target, 'value'), has(target, 'averageValue')];
  if (!hasValue && !hasAverage) {
    const why = 'must set either a target value for metric or a per-pod target';
    errors.push(requiredValue(`${path}.target.averageValue`, why));
  }
  if (hasValue && hasAverage) {
    const why = 'may not set both a target value for metric and a per-pod target';
    errors.push(forbiddenValue(`${path}.target.value`, why));
  }
  return errors;
}

function checkPods(source: JsonObject, path: string): FieldError[] {
  const target = objectAt(source, 'target');
  const errors = [...checkName(source, path), ...checkTarget(target, `${path}.target`)];
  if (!isPositive(target, 'averageValue'))
    errors.push(requiredValue(`${path}.target.averageValue`, 'must specify a positive target averageValue'));
  return errors;
}

function checkResource(source: JsonObject, path: string): FieldError[] {
  const errors = textAt(source, 'name') === '' ? [requiredValue(`${path}.name`, 'must specify a resource name')] : [];
  return [...errors, ...checkUsage(objectAt(source, 'target'), `${path}.target`)];
}

function checkContainerResource(source: JsonObject, path: string): FieldError[] {
  const [name, container] = [textAt(source, 'name'), textAt(source, 'container')];
  const errors =
    name === ''
      ? [requiredValue(`${path}.name`, 'must specify a resource name')]
      : checkContainerResourceName(name, `${path}.name`);
  if (container === '') errors.push(requiredValue(`${path}.container`, 'must specify a container'));
  else
    for (const problem of checkDnsLabel(container)) errors.push(invalidValue(`${path}.container`, container, problem));
  return [...errors, ...checkUsage(objectAt(source, 'target'), `${path}.target`)];
}

/** Of a resource: an amount, or a share of what was asked for. */
function checkUsage(target: JsonObject | undefined, path: string): FieldError[] {
  const errors = checkTarget(target, path);
  const [hasShare, hasAverage] = [has(target, 'averageUtilization'), has(target, 'averageValue')];
  if (!hasShare && !hasAverage) {
    const why = 'must set either a target raw value or a target utilization';
    errors.push(requiredValue(`${path}.averageUtilization`, why));
  }
  if (hasShare && hasAverage) {
    const why = 'may not set both a target raw value and a target utilization';
    errors.push(forbiddenValue(`${path}.averageValue`, why));
  }
  return errors;
}

function checkTarget(target: JsonObject | undefined, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const type = textAt(target, 'type');
  if (type === '') errors.push(requiredValue(`${path}.type`, 'must specify a metric target type'));
  if (!TARGETS.includes(type))
    errors.push(invalidValue(`${path}.type`, type, 'must be either Utilization, Value, or AverageValue'));
  for (const field of ['value', 'averageValue'])
    if (has(target, field) && !isPositive(target, field))
      errors.push(invalidValue(`${path}.${field}`, target![field], 'must be positive'));
  const share = numberAt(target, 'averageUtilization');
  if (share !== undefined && share < 1)
    errors.push(invalidValue(`${path}.averageUtilization`, share, 'must be greater than 0'));
  return errors;
}

function checkName(source: JsonObject, path: string): FieldError[] {
  const name = textAt(objectAt(source, 'metric'), 'name');
  const at = `${path}.metric.name`;
  if (name === '') return [requiredValue(at, 'must specify a metric name')];
  return checkPathSegment(name).map((problem) => invalidValue(at, name, problem));
}

/** What an autoscaler scales, or a metric is about. */
export function checkReference(reference: JsonObject | undefined, path: string, groups: Groups): FieldError[] {
  const errors = ['kind', 'name'].flatMap((field) => {
    const value = textAt(reference, field);
    if (value === '') return [requiredValue(`${path}.${field}`)];
    return checkPathSegment(value).map((problem) => invalidValue(`${path}.${field}`, value, problem));
  });
  const fault = versionFault(reference, groups);
  if (fault) errors.push(invalidValue(`${path}.apiVersion`, textAt(reference, 'apiVersion'), fault));
  return errors;
}

/** What is wrong with the version of a reference. */
function versionFault(reference: JsonObject | undefined, groups: Groups): string | undefined {
  if (groups === 'unasked') return undefined;
  const version = textAt(reference, 'apiVersion');
  const parts = version.split('/');
  if (parts.length > 2) return `unexpected GroupVersion string: ${version}`;
  return groups === 'named' && (parts.length === 1 || parts[0] === '')
    ? 'apiVersion must specify API group'
    : undefined;
}

function has(target: JsonObject | undefined, field: string): boolean {
  return target?.[field] !== undefined && target[field] !== null;
}

function isPositive(target: JsonObject | undefined, field: string): boolean {
  return has(target, field) && quantityOf(String(target![field])).sign > 0;
}
