/** What decides whether a job has failed or succeeded before all of its pods have: its policies, and lists of indexes. */
import {
  checkQualifiedName,
  duplicateValue,
  type FieldError,
  invalidValue,
  type JsonObject,
  quote,
  requiredValue,
  tooLong,
  tooMany,
  unsupportedValue,
} from '../../../api/index.ts';
import { numberAt, objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';
import { containersOf } from '../pods/fields/each-container.ts';

const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore'];
const statuses = ['False', 'True', 'Unknown'];
const operators = ['In', 'NotIn'];
const mostRules = 20;
const mostValues = 255;
const indexesLimitBytes = 64 * 1024;

/** One of a few words that must be there. */
function checkWord(
  owner: JsonObject,
  field: string,
  path: string,
  words: readonly string[],
  errors: FieldError[],
): void {
  const word = textAt(owner, field);
  const shown = `valid values: [${words.map(quote).join(' ')}]`;
  if (word === '') errors.push(requiredValue(`${path}.${field}`, shown));
  else if (!words.includes(word)) errors.push(unsupportedValue(`${path}.${field}`, word, words));
}

/** A refusal that shows no value. */
export function invalidRule(path: string, why: string): FieldError {
  return { reason: 'FieldValueInvalid', field: path, message: `Invalid value: ${why}` };
}

export function validateFailurePolicy(spec: JsonObject, path: string, errors: FieldError[]): void {
  const policy = objectAt(spec, 'podFailurePolicy');
  if (!policy) return;
  const at = `${path}.podFailurePolicy.rules`;
  const rules = objectsAt(policy, 'rules');
  if (rules.length > mostRules) errors.push(tooMany(at, rules.length, mostRules));
  const podSpec = objectAt(objectAt(spec, 'template'), 'spec') ?? {};
  const names = new Set(containersOf(podSpec).map((container) => textAt(container, 'name')));
  for (const [index, rule] of rules.entries()) validateFailureRule(rule ?? {}, `${at}[${index}]`, spec, names, errors);
}

function validateFailureRule(
  rule: JsonObject,
  path: string,
  spec: JsonObject,
  names: ReadonlySet<string>,
  errors: FieldError[],
): void {
  checkWord(rule, 'action', path, actions, errors);
  if (rule.action === 'FailIndex' && spec.backoffLimitPerIndex === undefined)
    errors.push(invalidValue(`${path}.action`, 'FailIndex', 'requires the backoffLimitPerIndex to be set'));
  const [codes, conditions] = [objectAt(rule, 'onExitCodes'), objectsAt(rule, 'onPodConditions')];
  if (codes) validateExitCodes(codes, `${path}.onExitCodes`, names, errors);
  if (conditions.length > mostRules) errors.push(tooMany(`${path}.onPodConditions`, conditions.length, mostRules));
  for (const [index, condition] of conditions.entries()) {
    const [at, type] = [`${path}.onPodConditions[${index}]`, textAt(condition, 'type')];
    for (const problem of checkQualifiedName(type)) errors.push(invalidValue(`${at}.type`, type, problem));
    checkWord(condition, 'status', at, statuses, errors);
  }
  if (codes && conditions.length > 0)
    errors.push(invalidRule(path, 'specifying both OnExitCodes and OnPodConditions is not supported'));
  if (!codes && conditions.length === 0)
    errors.push(invalidRule(path, 'specifying one of OnExitCodes and OnPodConditions is required'));
}

function validateExitCodes(codes: JsonObject, path: string, names: ReadonlySet<string>, errors: FieldError[]): void {
  checkWord(codes, 'operator', path, operators, errors);
  const name = codes.containerName;
  if (typeof name === 'string' && !names.has(name)) {
    const why = 'must be one of the container or initContainer names in the pod template';
    errors.push(invalidValue(`${path}.containerName`, name, why));
  }
  const values = Array.isArray(codes.values) ? (codes.values as number[]) : [];
  const at = `${path}.values`;
  if (values.length === 0) errors.push(invalidValue(at, codes.values ?? null, 'at least one value is required'));
  if (values.length > mostValues) errors.push(tooMany(at, values.length, mostValues));
  const seen = new Set<number>();
  let isOrdered = true;
  for (const [index, value] of values.entries()) {
    if (codes.operator === 'In' && value === 0)
      errors.push(invalidValue(`${at}[${index}]`, value, 'must not be 0 for the In operator'));
    if (seen.has(value)) errors.push(duplicateValue(`${at}[${index}]`, value));
    seen.add(value);
    if (index > 0 && values[index - 1]! > value) isOrdered = false;
  }
  if (!isOrdered) errors.push(invalidValue(at, values, 'must be ordered'));
}

export function validateSuccessPolicy(spec: JsonObject, path: string, errors: FieldError[]): void {
  const policy = objectAt(spec, 'successPolicy');
  if (!policy) return;
  const at = `${path}.successPolicy`;
  if (spec.completionMode !== 'Indexed') {
    errors.push(invalidValue(at, policy, 'requires indexed completion mode'));
    return;
  }
  const rules = objectsAt(policy, 'rules');
  if (rules.length === 0) {
    const why = 'at least one rules must be specified when the successPolicy is specified';
    errors.push(requiredValue(`${at}.rules`, why));
  }
  if (rules.length > mostRules) errors.push(tooMany(`${at}.rules`, rules.length, mostRules));
  const completions = numberAt(spec, 'completions') ?? 0;
  for (const [index, rule] of rules.entries())
    validateSuccessRule(rule ?? {}, `${at}.rules[${index}]`, completions, errors);
}

function validateSuccessRule(rule: JsonObject, path: string, completions: number, errors: FieldError[]): void {
  const [count, indexes] = [numberAt(rule, 'succeededCount'), rule.succeededIndexes];
  if (count === undefined && indexes === undefined)
    errors.push(requiredValue(path, 'at least one of succeededCount or succeededIndexes must be specified'));
  let total = 0;
  if (typeof indexes === 'string') {
    const at = `${path}.succeededIndexes`;
    if (indexes.length > indexesLimitBytes) errors.push(tooLong(at, indexesLimitBytes));
    const read = countIndexes(indexes, completions);
    if (typeof read === 'number') total = read;
    else errors.push(invalidValue(at, indexes, `error parsing succeededIndexes: ${read.problem}`));
  }
  if (count === undefined) return;
  const at = `${path}.succeededCount`;
  if (count < 0) errors.push(invalidValue(at, count, 'must be greater than or equal to 0'));
  if (count > completions) {
    const why = `must be less than or equal to ${completions} (the number of specified completions)`;
    errors.push(invalidValue(at, count, why));
  }
  if (indexes !== undefined && count > total) {
    const why = `must be less than or equal to ${total} (the number of indexes in the specified succeededIndexes field)`;
    errors.push(invalidValue(at, count, why));
  }
}

/** How many indexes a text like `1,3-5` names, each below `completions`; or what is wrong with it. */
export function countIndexes(text: string, completions: number): number | { readonly problem: string } {
  if (text === '') return 0;
  let total = 0;
  let last: number | undefined;
  for (const fragment of text.split(',')) {
    const interval = readInterval(fragment, completions);
    if ('problem' in interval) return interval;
    const { from, to } = interval;
    if (last !== undefined && last >= from) return { problem: outOfOrder(last, from) };
    total += to - from + 1;
    last = to;
  }
  return total;
}

/** The first index that two texts name both; what is no interval in one of them names nothing. */
export function sharedIndex(one: string, other: string, completions: number): number | undefined {
  const [left, right] = [one, other].map((text) =>
    text.split(',').flatMap((fragment) => {
      const interval = readInterval(fragment, completions);
      return 'problem' in interval ? [] : [interval];
    }),
  ) as [Interval[], Interval[]];
  for (let i = 0, j = 0; i < left.length && j < right.length; ) {
    const [a, b] = [left[i]!, right[j]!];
    if (a.from <= b.to && b.from <= a.to) return Math.max(a.from, b.from);
    if (a.from <= b.from) i++;
    else j++;
  }
  return undefined;
}

type Interval = { readonly from: number; readonly to: number };

function readInterval(fragment: string, completions: number): Interval | { readonly problem: string } {
  const limits = fragment.split('-');
  if (limits.length > 2) {
    const why = `the fragment ${quote(fragment)} violates the requirement that an index interval can have at most two parts separated by '-'`;
    return { problem: why };
  }
  const indexes: number[] = [];
  for (const limit of limits) {
    const index = /^[+-]?[0-9]{1,18}$/.test(limit) ? Number(limit) : Number.NaN;
    if (Number.isNaN(index)) return { problem: `cannot convert string to integer for index: ${quote(limit)}` };
    if (index >= completions) return { problem: `too large index: ${quote(limit)}` };
    indexes.push(index);
  }
  const [from, to = from] = indexes as [number, number?];
  return limits.length === 2 && from >= to ? { problem: outOfOrder(from, to) } : { from, to };
}

function outOfOrder(previous: number, current: number): string {
  return `non-increasing order, previous: ${previous}, current: ${current}`;
}
