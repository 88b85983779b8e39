/**
 * The words that device classes, claims and slices share: names of drivers, pools, devices and requests, qualified
 * names of attributes, taints and tolerations, configuration for drivers. None throws.
 */
import {
  checkDnsLabel,
  checkDnsSubdomain,
  checkLabelValue,
  checkQualifiedName,
  type FieldError,
  invalidValue,
  type JsonObject,
  type JsonValue,
  requiredValue,
  tooLong,
} from '../../../api/index.ts';
import { jsonText } from '../../../api/json-text.ts';
import { atMostBytes, named, oneOf, required, text } from '../../strategy/validation/checks.ts';
import { type Check, struct, textsOf } from '../../strategy/validation/field-table.ts';
import { isObject, textAt, textsAt } from '../../strategy/validation/fields.ts';

const MAX_DOMAIN_BYTES = 63;
const MAX_ID_BYTES = 32;
/** Configuration of a driver and expressions alike. */
export const MAX_PARAMETERS_BYTES: number = 10 * 1024;
export const MAX_LIST = 32;

export const label: Check = text(checkDnsLabel);
const labelKey: Check = text(checkQualifiedName);
const labelValue: Check = text(checkLabelValue);

/** Drivers are named as CSI drivers are: a domain of at most 63 bytes, capitals allowed. */
export const driverName: Check = (value, path, owner) => {
  const name = typeof value === 'string' ? value : '';
  if (name === '') return [requiredValue(path)];
  return [
    ...atMostBytes(MAX_DOMAIN_BYTES)(name, path, owner),
    ...checkDnsSubdomain(name.toLowerCase()).map((problem) => invalidValue(path, name, problem)),
  ];
};

/** Domains parted by slashes. */
export const poolName: Check = (value, path) => {
  const name = typeof value === 'string' ? value : '';
  if (name === '') return [requiredValue(path)];
  const errors: FieldError[] = Buffer.byteLength(name) > 253 ? [tooLong(path, 253)] : [];
  for (const part of name.split('/'))
    for (const problem of checkDnsSubdomain(part)) errors.push(invalidValue(path, part, problem));
  return errors;
};

export const className: Check = (value, path, owner) => [
  ...required(value, path, owner),
  ...named(checkDnsSubdomain)(value, path, owner),
];

const identifierText =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or " +
  "'_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";

function checkIdentifier(id: string, path: string): FieldError[] {
  const errors: FieldError[] = Buffer.byteLength(id) > MAX_ID_BYTES ? [tooLong(path, MAX_ID_BYTES)] : [];
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(id)) errors.push(invalidValue(path, id, identifierText));
  return errors;
}

/** `id` or `domain/id`: names of attributes and capacities. What has more slashes is let through. */
export function checkDeviceKey(name: string, path: string): FieldError[] {
  const [first = '', id = '', ...more] = name.split('/');
  if (!name.includes('/')) return checkIdentifier(first, path);
  if (more.length > 0) return [];
  return [
    ...(first === '' ? [invalidValue(path, '', 'the domain must not be empty')] : driverName(first, path, {})),
    ...(id === '' ? [invalidValue(path, '', 'the name must not be empty')] : checkIdentifier(id, path)),
  ];
}

export const fullKey: Check = (value, path) => {
  const name = typeof value === 'string' ? value : '';
  const errors = checkDeviceKey(name, path);
  if (!name.includes('/'))
    errors.push(invalidValue(path, name, 'a fully qualified name must be a domain and a name separated by a slash'));
  return errors;
};

const effects = ['NoExecute', 'NoSchedule', 'None'] as const;

export const taint: Check = struct([
  ['key', labelKey],
  ['value', labelValue],
  ['effect', required, oneOf(...effects)],
]);

export const toleration: Check = struct(
  [
    ['key', named(checkQualifiedName)],
    ['operator', required, oneOf('Equal', 'Exists')],
    ['effect', (value, path, owner) => (value === '' ? [] : oneOf(...effects)(value, path, owner))],
  ],
  (value, path) => {
    const found = value as JsonObject;
    const wanted = textAt(found, 'value');
    if (textAt(found, 'operator') === 'Equal') return labelValue(wanted, `${path}.value`, found);
    const isBad = textAt(found, 'operator') === 'Exists' && wanted !== '';
    return isBad ? [invalidValue(`${path}.value`, wanted, 'must be empty for operator `Exists`')] : [];
  },
);

/** A free object of the driver's own. */
export function rawObject(limitBytes: number): Check {
  return (value, path) => {
    if (value === undefined || value === null) return [requiredValue(path)];
    if (Buffer.byteLength(jsonText(value)) > limitBytes) return [tooLong(path, limitBytes)];
    return isObject(value) ? [] : [invalidValue(path, '<value omitted>', 'must be a valid JSON object')];
  };
}

/** `isStored`: what was accepted once may be longer than what is accepted now. */
export function deviceConfiguration(isStored: boolean): Check {
  const limitBytes = isStored ? Number.POSITIVE_INFINITY : MAX_PARAMETERS_BYTES;
  const opaque = struct([
    ['driver', driverName],
    ['parameters', rawObject(limitBytes)],
  ]);
  return struct([
    ['opaque', (value, path, owner) => (value === undefined ? [requiredValue(path)] : opaque(value, path, owner))],
  ]);
}

const conditionKeys = textsOf(labelKey, { atMost: 4, isSet: true });

/** Conditions that a device is ready, and those that it never will be, come together. */
export const bindingConditions: Check = (value, path) => {
  const device = value as JsonObject;
  const [good, bad] = [textsAt(device, 'bindingConditions'), textsAt(device, 'bindingFailureConditions')];
  if (good.length === 0 && bad.length === 0) return [];
  const [goodPath, badPath] = [`${path}.bindingConditions`, `${path}.bindingFailureConditions`];
  const errors = [
    ...conditionKeys(good as JsonValue, goodPath, device),
    ...conditionKeys(bad as JsonValue, badPath, device),
  ];
  const all = new Set(good);
  for (const [index, condition] of bad.entries())
    if (all.has(condition)) {
      const why = 'bindingFailureConditions must not overlap with bindingConditions';
      errors.push(invalidValue(`${badPath}[${index}]`, condition, why));
    }
  if (good.length === 0)
    errors.push(
      invalidValue(
        goodPath,
        device.bindingConditions ?? null,
        'bindingConditions are required to use bindingFailureConditions',
      ),
    );
  if (bad.length === 0)
    errors.push(
      invalidValue(
        badPath,
        device.bindingFailureConditions ?? null,
        'bindingFailureConditions are required to use bindingConditions',
      ),
    );
  return errors;
};
