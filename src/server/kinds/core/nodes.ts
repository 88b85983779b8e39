/**
 * Nodes: what kubelets register, and what may change of it. A node keeps the status it is made with. Taints are refused under `metadata`, where they once stood.
 */
import {
  checkLabelValue,
  checkQualifiedName,
  duplicateValue,
  type FieldError,
  forbiddenValue,
  internalFieldError,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
  unsupportedValue,
} from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { roundAmounts } from '../../strategy/validation/amounts.ts';
import { appendAll, faultsOf } from '../../strategy/validation/append-all.ts';
import type { Check } from '../../strategy/validation/field-table.ts';
import {
  isEmpty,
  isNumber,
  objectAt,
  objectsAt,
  sortedEntries,
  textAt,
  textsAt,
} from '../../strategy/validation/fields.ts';
import { ipRange, parseRange, warningsForRange } from '../../strategy/validation/ip-address.ts';
import { checkResourceAmount } from '../../strategy/validation/resource-names.ts';

const FEATURE_CHARACTERS = 253;
const swapCapacity: Check = (value, path) =>
  isNumber(value) && value <= 0 ? [invalidValue(path, value, 'must be greater than zero')] : [];
const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

const specOf = (node: KubeObject): JsonObject => objectAt(node as JsonObject, 'spec') ?? {};
const statusOf = (node: KubeObject): JsonObject => objectAt(node as JsonObject, 'status') ?? {};

export const nodeStrategy: Strategy = {
  setDefaults: (node) => {
    joinRanges(specOf(node));
    const status = objectAt(node as JsonObject, 'status');
    if (!status) return;
    if (status.capacity && isEmpty(status.allocatable)) status.allocatable = structuredClone(status.capacity);
    for (const field of ['capacity', 'allocatable']) roundAmounts(objectAt(status, field));
  },
  prepareCreate: dropConfig,
  prepareUpdate: dropConfig,
  validate: (node, old, context) => {
    const errors: FieldError[] = [];
    const isStatus = context?.subresource === 'status';
    if (!old || isStatus) validateFeatures(statusOf(node), errors);
    if (isStatus) return errors;
    validateTaints(node, errors);
    validateAmounts(node, errors);
    validateSwap(statusOf(node), errors);
    validateRanges(textsAt(specOf(node), 'podCIDRs'), errors);
    return errors;
  },
  validateUpdate: (node, old) => {
    const [spec, before, errors] = [specOf(node), specOf(old), [] as FieldError[]];
    validateAmounts(node, errors);
    validateTaints(node, errors); // a changed node is looked at twice, unless it is its status that is written
    const seen = new Set<string>();
    for (const [index, { type = '', address = '' }] of objectsAt(statusOf(node), 'addresses').entries()) {
      const key = `${type}/${address}`;
      if (seen.has(key)) errors.push(duplicateValue(`status.addresses[${index}]`, { Type: type, Address: address }));
      seen.add(key);
    }
    const [ranges, were] = [textsAt(spec, 'podCIDRs'), textsAt(before, 'podCIDRs')];
    const changed = ranges.length === were.length ? were.filter((one, index) => one !== ranges[index]).length : 1;
    for (let i = 0; i < (were.length > 0 ? changed : 0); i++) errors.push(fixed('podCIDRs', 'podCIDR'));
    if (textAt(before, 'providerID') !== '' && spec.providerID !== before.providerID)
      errors.push(fixed('providerID', 'providerID'));
    if (textAt(spec, 'externalID') !== textAt(before, 'externalID'))
      errors.push(forbiddenValue('spec.externalID', 'may not be updated'));
    return errors;
  },
  warnings: (node, _old, { subresource }) => {
    if (subresource !== '') return [];
    const spec = specOf(node);
    const ranges = faultsOf(textsAt(spec, 'podCIDRs'), (range, index) =>
      warningsForRange(`spec.podCIDRs[${index}]`, range ?? ''),
    );
    return textAt(spec, 'externalID') === '' ? ranges : [externalText, ...ranges];
  },
};

const externalText = 'spec.externalID: this field is deprecated, and is unused by Kubernetes';

function fixed(field: string, shown: string): FieldError {
  return forbiddenValue(`spec.${field}`, `node updates may not change ${shown} except from "" to valid`);
}

/** The one range and the first of the list are the same; the one is believed where they differ. */
function joinRanges(spec: JsonObject): void {
  const one = textAt(spec, 'podCIDR');
  const [first = ''] = textsAt(spec, 'podCIDRs');
  if (one !== '' && one !== first) spec.podCIDRs = [one];
  else if (one === '' && first !== '') spec.podCIDR = first;
}

/** Kubelets were once configured through these. */
function dropConfig(node: KubeObject): void {
  delete specOf(node).configSource;
  delete statusOf(node).config;
}

function validateTaints(node: KubeObject, errors: FieldError[]): void {
  const seen = new Set<string>();
  for (const [index, taint] of objectsAt(specOf(node), 'taints').entries()) {
    const path = `metadata.taints[${index}]`;
    const [key, value, effect] = [textAt(taint, 'key'), textAt(taint, 'value'), textAt(taint, 'effect')];
    for (const problem of checkQualifiedName(key)) errors.push(invalidValue(`${path}.key`, key, problem));
    const problems = checkLabelValue(value);
    if (problems.length > 0) errors.push(invalidValue(`${path}.value`, value, problems.join(';')));
    if (effect === '') errors.push(requiredValue(`${path}.effect`));
    else if (!effects.includes(effect)) errors.push(unsupportedValue(`${path}.effect`, effect, effects));
    const identity = `${key}:${effect}`;
    if (seen.has(identity)) {
      const error = duplicateValue(path, { Key: key, Value: value, Effect: effect, TimeAdded: null });
      errors.push({ ...error, message: `${error.message}: taints must be unique by key and effect pair` });
    }
    seen.add(identity);
  }
}

function validateAmounts(node: KubeObject, errors: FieldError[]): void {
  for (const field of ['capacity', 'allocatable'])
    for (const [name, amount] of sortedEntries(objectAt(statusOf(node), field)))
      appendAll(errors, checkResourceAmount(name, amount, `status.${field}.${name}`));
}

/** Refused where it does not stand, too. */
function validateSwap(status: JsonObject, errors: FieldError[]): void {
  const capacity = objectAt(objectAt(status, 'nodeInfo'), 'swap')?.capacity ?? undefined;
  appendAll(errors, swapCapacity(capacity, 'metadata.nodeSwapStatus.capacity', status));
}

function validateRanges(ranges: readonly string[], errors: FieldError[]): void {
  const path = 'spec.podCIDRs';
  for (const [index, range] of ranges.entries()) appendAll(errors, ipRange(range, `${path}[${index}]`, {}));
  if (ranges.length < 2) return;
  const bad = ranges.findIndex((range) => !parseRange(range));
  if (bad >= 0) {
    const why = `invalid CIDR[${bad}]: <nil> (invalid CIDR address: ${ranges[bad]})`;
    errors.push(internalFieldError(path, `invalid PodCIDRs. failed to check with dual stack with error:${why}`));
  }
  const families = new Set(ranges.map((range) => parseRange(range)?.address.bytes.length));
  if (bad >= 0 || families.size < 2 || ranges.length > 2)
    errors.push(invalidValue(path, ranges, 'may specify no more than one CIDR for each IP family'));
}

const featureText =
  "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes";

/** Sorted, and each named once. */
function validateFeatures(status: JsonObject, errors: FieldError[]): void {
  const names = textsAt(status, 'declaredFeatures');
  for (const [index, name] of names.entries()) {
    const at = `status.declaredFeatures[${index}]`;
    const [first = '', ...rest] = name.split('/');
    const refuse = (why: string): number =>
      errors.push(invalidValue(at, name, `invalid feature name "${name}": ${why}`));
    if (name.length > FEATURE_CHARACTERS) refuse(`must be no more than ${FEATURE_CHARACTERS} characters`);
    else if (!/^[A-Z][A-Za-z0-9]*$/.test(first) || !rest.every((part) => /^[A-Za-z][A-Za-z0-9]*$/.test(part)))
      refuse(featureText);
    const previous = names[index - 1];
    if (previous === name) errors.push(duplicateValue(at, name));
    else if (previous !== undefined && previous > name)
      errors.push(invalidValue(at, name, 'list must be sorted alphabetically'));
  }
}
