/**
 * The checks that tables of rules are made of, in the words of kube-apiserver.
 *
 * Except for `required` every check lets an absent value pass. None throws.
 */
import {
  checkDnsSubdomain,
  checkLabelValue,
  checkQualifiedName,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type JsonValue,
  type LabelSelectorObject,
  labelSelectorFromObject,
  requiredValue,
  tooLong,
  unsupportedValue,
} from '../../../api/index.ts';
import { appendAll } from './append-all.ts';
import type { Check } from './field-table.ts';
import { isEmpty, isNumber, isObject, objectsAt, textAt, textsAt } from './fields.ts';
import { validateLabels } from './metadata-validation.ts';

const asking = new WeakSet<Check>();

export const required: Check = requiredWith();

export function requiredWith(detail = ''): Check {
  const check: Check = (value, path) => (isEmpty(value) ? [requiredValue(path, detail)] : []);
  return asksAbsent(check);
}

/** Marks a check that has something to say of a value that is not there. */
export function asksAbsent(check: Check): Check {
  asking.add(check);
  return check;
}

/** Whether a check is one of those. */
export function seesAbsent(check: Check): boolean {
  return asking.has(check);
}

/** `supported` in the order in which the message names it. */
export function oneOf(...supported: readonly string[]): Check {
  return (value, path) =>
    value === undefined || supported.includes(value as string) ? [] : [unsupportedValue(path, value, supported)];
}

export function atLeast(least: number): Check {
  return (value, path) =>
    isNumber(value) && value < least ? [invalidValue(path, value, `must be greater than or equal to ${least}`)] : [];
}

export function moreThan(bound: number): Check {
  return (value, path) =>
    isNumber(value) && value <= bound ? [invalidValue(path, value, `must be greater than ${bound}`)] : [];
}

export function between(least: number, most: number): Check {
  return (value, path) =>
    isNumber(value) && (value < least || value > most)
      ? [invalidValue(path, value, `must be between ${least} and ${most}, inclusive`)]
      : [];
}

/** A text that must pass a check of names; an empty one is the business of `required`. */
export function named(check: (name: string) => readonly string[]): Check {
  return (value, path) =>
    typeof value === 'string' && value !== '' ? check(value).map((problem) => invalidValue(path, value, problem)) : [];
}

/** The same, and an empty or absent text is looked at as well. */
export function text(check: (name: string) => readonly string[]): Check {
  return (value, path) => {
    const found = typeof value === 'string' ? value : '';
    return check(found).map((problem) => invalidValue(path, found, problem));
  };
}

export function atMostBytes(limitBytes: number): Check {
  return (value, path) =>
    typeof value === 'string' && Buffer.byteLength(value) > limitBytes ? [tooLong(path, limitBytes)] : [];
}

/** All of these are asked, where a row stops at the first that has something to say. */
export function allOf(...checks: readonly Check[]): Check {
  return (value, path, owner) => checks.flatMap((check) => check(value, path, owner));
}

const labels: Check = (value, path) => (isObject(value) ? validateLabels(value as Labels, path) : []);
type Labels = Record<string, string>;

export const portNumber: Check = between(1, 65535);

const portNameRules: readonly (readonly [(name: string) => boolean, string])[] = [
  [(name) => name.length <= 15, 'must be no more than 15 characters'],
  [(name) => /^[-a-z0-9]+$/.test(name), 'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)'],
  [(name) => /[a-z]/.test(name), 'must contain at least one letter (a-z)'],
  [(name) => !name.includes('--'), 'must not contain consecutive hyphens'],
  [(name) => !/^-|-$/.test(name), 'must not begin or end with a hyphen'],
];

/** The name of a port (IANA service name). */
export function checkPortName(name: string): string[] {
  return portNameRules.filter(([holds]) => !holds(name)).map(([, problem]) => problem);
}

/** A port by number or by name. */
export const portOrName: Check = (value, path, owner) =>
  typeof value === 'string'
    ? checkPortName(value).map((problem) => invalidValue(path, value, problem))
    : portNumber(value, path, owner);

const percentText = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%'";

/** A count or a share: `2`, `25%`. */
export const countOrPercent: Check = (value, path) => {
  if (isNumber(value)) {
    return value < 0 ? [invalidValue(path, value, 'must be greater than or equal to 0')] : [];
  }
  if (typeof value !== 'string' || /^[0-9]+%$/.test(value)) return [];
  return [invalidValue(path, value, `${percentText}, regex used for validation is '[0-9]+%')`)];
};

/** The share in percent, if it is one. */
export function percentOf(value: JsonValue | undefined): number | undefined {
  return typeof value === 'string' && /^[0-9]+%$/.test(value) ? Number(value.slice(0, -1)) : undefined;
}

export const notOver100Percent: Check = (value, path) =>
  (percentOf(value) ?? 0) > 100 ? [invalidValue(path, value, 'must not be greater than 100%')] : [];

/** A label selector in its object form. */
export const labelSelector: Check = (value, path) => {
  if (!isObject(value)) return [];
  const errors = labels(value.matchLabels, `${path}.matchLabels`, value);
  for (const [index, expression] of objectsAt(value, 'matchExpressions').entries()) {
    appendAll(errors, checkExpression(expression, `${path}.matchExpressions[${index}]`));
  }
  return errors;
};

function checkExpression(expression: JsonObject, path: string): FieldError[] {
  const [key, operator] = [textAt(expression, 'key'), textAt(expression, 'operator')];
  const values = textsAt(expression, 'values');
  const errors: FieldError[] = [];
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0)
      errors.push(requiredValue(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0)
      errors.push(
        forbiddenValue(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
      );
  } else errors.push(invalidValue(`${path}.operator`, operator, 'not a valid selector operator'));
  for (const problem of checkQualifiedName(key)) errors.push(invalidValue(`${path}.key`, key, problem));
  for (const [index, value] of values.entries())
    for (const problem of checkLabelValue(value)) errors.push(invalidValue(`${path}.values[${index}]`, value, problem));
  return errors;
}

/** Whether labels are selected; a selector that is no valid one selects nothing. */
export function selects(
  selector: JsonObject | undefined,
  found: Readonly<Record<string, string>> | undefined,
): boolean {
  try {
    return labelSelectorFromObject(selector as LabelSelectorObject | undefined).matches(found);
  } catch {
    return false;
  }
}

/** `acme.io/foo`. */
export const domainPath: Check = (value, path) => {
  const found = String(value);
  const at = found.indexOf('/');
  const [host, rest] = at < 0 ? [found, ''] : [found.slice(0, at), found.slice(at + 1)];
  if (host === '' || rest === '')
    return [invalidValue(path, found, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  const errors = checkDnsSubdomain(host).map((problem) => invalidValue(path, host, problem));
  if (!/^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(rest)) {
    const why = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
    errors.push(invalidValue(path, rest, why));
  }
  return errors;
};
