/**
 * Slices: the devices that a driver offers, on one node, on some or on all; each with its attributes, capacities,
 * taints and the counters it draws upon.
 *
 * Attributes that are lists, and mappings to the resources of nodes, are not served: they are dropped as they come in.
 */
import {
  checkDnsLabel,
  checkDnsSubdomain,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type KubeObject,
  keyPath,
  requiredValue,
  tooLong,
  tooMany,
} from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { required, text } from '../../strategy/validation/checks.ts';
import { always, type Check, immutable, listOf, struct } from '../../strategy/validation/field-table.ts';
import {
  isEmpty,
  isObject,
  objectAt,
  objectsAt,
  sameStruct,
  sameValue,
  sortedEntries,
  textAt,
} from '../../strategy/validation/fields.ts';
import { nodeSelector } from '../../strategy/validation/node-selector.ts';
import { bindingConditions, checkDeviceKey, driverName, label, MAX_LIST, poolName, taint } from './device-checks.ts';
import { validateRequestPolicy } from './request-policy.ts';

const MAX_DEVICES = 128;
const MAX_ADVANCED_DEVICES = 64;
const MAX_KEY_CHARACTERS = 63 + 1 + 32;
const MAX_VALUE_BYTES = 64;
const MAX_COUNTER_SETS = 8;
const MAX_CONSUMPTIONS = 2;
const scalars = ['bool', 'int', 'string', 'version'];
const lists = ['bools', 'ints', 'strings', 'versions'];
const nodeName = text(checkDnsSubdomain);
const semver =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$/;

export const resourceSliceStrategy: Strategy = {
  prepareCreate: (slice, { now }) => prepare(slice, now),
  prepareUpdate: (slice, _old, { now }) => prepare(slice, now),
  validate: (slice, old) => validateSlice(specOf(slice), old && specOf(old)),
};

function specOf(slice: KubeObject): JsonObject {
  return objectAt(slice as JsonObject, 'spec') ?? {};
}

function prepare(slice: KubeObject, now: string): void {
  for (const device of objectsAt(specOf(slice), 'devices')) {
    if (!isObject(device)) continue;
    delete device.nodeAllocatableResourceMappings;
    for (const attribute of Object.values(objectAt(device, 'attributes') ?? {}))
      if (isObject(attribute)) for (const name of lists) delete attribute[name];
    for (const one of objectsAt(device, 'taints')) if (isObject(one)) one.timeAdded ??= now;
  }
}

const positive: Check = (value, path) =>
  Number(value ?? 0) > 0 ? [] : [invalidValue(path, value ?? 0, 'must be greater than zero')];

const pool = always(
  struct([
    ['name', poolName],
    ['resourceSliceCount', positive],
    [
      'generation',
      (value, path) =>
        Number(value ?? 0) < 0 ? [invalidValue(path, value, 'must be greater than or equal to zero')] : [],
    ],
  ]),
);

function validateSlice(spec: JsonObject, before: JsonObject | undefined): FieldError[] {
  const errors = [
    ...driverName(spec.driver ?? undefined, 'spec.driver', spec),
    ...pool(spec.pool ?? undefined, 'spec.pool', spec),
  ];
  if (before) {
    const [name, had] = [objectAt(spec, 'pool')?.name, objectAt(before, 'pool')?.name];
    if (!sameValue(name, had)) errors.push(immutable('spec.pool.name', name ?? ''));
    for (const field of ['driver', 'nodeName'])
      if (!sameStruct(spec[field], before[field])) errors.push(immutable(`spec.${field}`, spec[field]));
  }
  appendAll(errors, validateNodes(spec));
  if (Array.isArray(spec.sharedCounters) && Array.isArray(spec.devices))
    errors.push(invalidValue('spec', '', 'only one of `sharedCounters` or `devices` is allowed'));
  const devices = objectsAt(spec, 'devices');
  const isAdvanced = devices.some((device) => !isEmpty(device?.taints) || !isEmpty(device?.consumesCounters));
  const olds = new Map(objectsAt(before, 'devices').map((device) => [textAt(device, 'name'), device]));
  const check: Check = (value, path) => {
    const device = value as JsonObject;
    return validateDevice(device, olds.get(textAt(device, 'name')), path, spec.perDeviceNodeSelection === true);
  };
  const all = listOf(check, {
    atMost: isAdvanced ? MAX_ADVANCED_DEVICES : MAX_DEVICES,
    key: (device) => textAt(device, 'name'),
  });
  appendAll(errors, all(spec.devices ?? undefined, 'spec.devices', spec));
  appendAll(errors, counterSets(spec.sharedCounters ?? undefined, 'spec.sharedCounters', spec));
  return errors;
}

const unset = 'must be either unset or set to true';

/** Exactly one way to say which nodes. */
function validateNodes(spec: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  const found: string[] = [];
  const fields = '`nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection`';
  if (typeof spec.nodeName === 'string') {
    if (spec.nodeName === '')
      errors.push(invalidValue('spec.nodeName', '', 'must be either unset or set to a non-empty string'));
    else {
      found.push('`nodeName`');
      appendAll(errors, nodeName(spec.nodeName, 'spec.nodeName', spec));
    }
  }
  const selector = objectAt(spec, 'nodeSelector');
  if (selector) {
    found.push('`nodeSelector`');
    appendAll(errors, nodeSelector(selector, 'spec.nodeSelector', spec));
    if (objectsAt(selector, 'nodeSelectorTerms').length !== 1)
      errors.push(
        invalidValue(
          'spec.nodeSelector.nodeSelectorTerms',
          selector.nodeSelectorTerms ?? null,
          'must have exactly one node selector term',
        ),
      );
  }
  for (const field of ['allNodes', 'perDeviceNodeSelection']) {
    if (spec[field] === true) found.push(`\`${field}\``);
    else if (spec[field] === false) errors.push(invalidValue(`spec.${field}`, false, unset));
  }
  const why = `exactly one of ${fields} is required`;
  if (found.length === 0) errors.push(requiredValue('spec', why));
  else if (found.length > 1)
    errors.push(invalidValue('spec', `{${found.join(', ')}}`, `${why}, but multiple fields are set`));
  return errors;
}

function validateDevice(
  device: JsonObject,
  old: JsonObject | undefined,
  path: string,
  isPerDevice: boolean,
): FieldError[] {
  const errors = label(device.name ?? undefined, `${path}.name`, device);
  const [attributes, capacity] = [objectAt(device, 'attributes') ?? {}, objectAt(device, 'capacity') ?? {}];
  const count = Object.keys(attributes).length + Object.keys(capacity).length;
  if (count > MAX_LIST) {
    const why = `the total number of attributes and capacities must not exceed ${MAX_LIST}`;
    errors.push(invalidValue(path, count, why));
  }
  appendAll(errors, validateMap(attributes, `${path}.attributes`, checkDeviceKey, validateAttribute));
  if (!old || !sameStruct(old.capacity, device.capacity)) {
    const isShared = device.allowMultipleAllocations === true;
    const check = (value: JsonObject, at: string): FieldError[] => {
      if (!isObject(value.requestPolicy)) return [];
      return isShared
        ? validateRequestPolicy(value, `${at}.requestPolicy`)
        : [forbiddenValue(`${at}.requestPolicy`, 'allowMultipleAllocations must be true')];
    };
    appendAll(errors, validateMap(capacity, `${path}.capacity`, checkDeviceKey, check));
  }
  if (!old || !sameStruct(old.taints, device.taints))
    appendAll(errors, taints(device.taints ?? undefined, `${path}.taints`, device));
  appendAll(errors, consumptions(device.consumesCounters ?? undefined, `${path}.consumesCounters`, device));
  appendAll(errors, validateDeviceNodes(device, path, isPerDevice));
  return [...errors, ...bindingConditions(device, path, device)];
}
const taints = listOf(taint, { atMost: 16 });

function validateDeviceNodes(device: JsonObject, path: string, isPerDevice: boolean): FieldError[] {
  const { nodeName: name, nodeSelector: selector, allNodes } = device;
  const isSet = typeof name === 'string' || isObject(selector) || typeof allNodes === 'boolean';
  const place = 'is set to true in the ResourceSlice spec';
  if (!isPerDevice)
    return isSet
      ? [
          invalidValue(
            path,
            null,
            `\`nodeName\`, \`nodeSelector\` and \`allNodes\` can only be set if \`perDeviceNodeSelection\` ${place}`,
          ),
        ]
      : [];
  const errors: FieldError[] = [];
  const found: string[] = [];
  if (name === '') errors.push(invalidValue(`${path}.nodeName`, '', 'must not be empty'));
  else if (typeof name === 'string') {
    found.push('`nodeName`');
    appendAll(errors, nodeName(name, `${path}.nodeName`, device));
  }
  if (isObject(selector)) {
    found.push('`nodeSelector`');
    appendAll(errors, nodeSelector(selector, `${path}.nodeSelector`, device));
  }
  if (allNodes === true) found.push('`allNodes`');
  else if (allNodes === false) errors.push(invalidValue(`${path}.allNodes`, false, unset));
  const why = `exactly one of \`nodeName\`, \`nodeSelector\`, or \`allNodes\` is required when \`perDeviceNodeSelection\` ${place}`;
  if (found.length === 0) errors.push(requiredValue(path, why));
  else if (found.length > 1) errors.push(invalidValue(path, `{${found.join(', ')}}`, why));
  return errors;
}

function validateAttribute(attribute: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { string, version } = attribute;
  if (typeof string === 'string' && Buffer.byteLength(string) > MAX_VALUE_BYTES)
    errors.push(tooLong(`${path}.string`, MAX_VALUE_BYTES));
  if (typeof version === 'string') {
    if (Buffer.byteLength(version) > MAX_VALUE_BYTES) errors.push(tooLong(`${path}.version`, MAX_VALUE_BYTES));
    if (version.length > 1000 || !semver.test(version))
      errors.push(invalidValue(`${path}.version`, version, 'must be a string compatible with semver.org spec 2.0.0'));
  }
  const found = scalars.filter((name) => attribute[name] !== undefined && attribute[name] !== null).length;
  if (found !== 1) errors.push(invalidValue(path, found === 0 ? '' : attribute, 'exactly one value must be specified'));
  return errors;
}

/** Bad keys are told at the map, bad values at their key, which is shortened in the middle if it is long. */
function validateMap(
  map: JsonObject,
  path: string,
  checkKey: (key: string, path: string) => FieldError[],
  check: (value: JsonObject, path: string) => FieldError[],
): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of sortedEntries(map)) {
    appendAll(errors, checkKey(key, path));
    appendAll(errors, check(isObject(value) ? value : {}, keyPath(path, shortKey(key))));
  }
  return errors;
}

function shortKey(key: string): string {
  if (key.length <= MAX_KEY_CHARACTERS) return key;
  const rest = MAX_KEY_CHARACTERS - 3;
  return `${key.slice(0, Math.floor((rest + 1) / 2))}...${key.slice(key.length - Math.floor(rest / 2))}`;
}

const counters: Check = (value, path) => {
  const map = isObject(value) ? value : {};
  const count = Object.keys(map).length;
  if (count === 0) return [requiredValue(path)];
  if (count > MAX_LIST) return [tooMany(path, count, MAX_LIST)];
  const checkKey = (key: string) => checkDnsLabel(key).map((problem) => invalidValue(path, key, problem));
  return validateMap(map, path, checkKey, () => []);
};
const counterSet = (field: string): Check =>
  struct([
    [field, required, label],
    ['counters', counters],
  ]);
const counterSets = listOf(counterSet('name'), { atMost: MAX_COUNTER_SETS, key: (set) => textAt(set, 'name') });
const consumptions = listOf(counterSet('counterSet'), {
  atMost: MAX_CONSUMPTIONS,
  key: (set) => textAt(set, 'counterSet'),
});
