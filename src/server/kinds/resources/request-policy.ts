/** How much of a device's capacity one request may take: one of some amounts, or a range in steps. */
import {
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type Quantity,
  requiredValue,
  tooMany,
} from '../../../api/index.ts';
import { quantityOf } from '../../strategy/validation/amounts.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { objectAt } from '../../strategy/validation/fields.ts';

const MAX_OPTIONS = 10;
const largest = 2n ** 63n - 1n;

/** `capacity` holds the `value` and its `requestPolicy`, which is at `path`. */
export function validateRequestPolicy(capacity: JsonObject, path: string): FieldError[] {
  const policy = objectAt(capacity, 'requestPolicy') ?? {};
  const most = amount(capacity.value) ?? quantityOf('0');
  const options = Array.isArray(policy.validValues) ? policy.validValues.map((one) => amount(one)!) : [];
  const range = objectAt(policy, 'validRange');
  if (options.length > 0 && range) {
    const why = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time';
    return [forbiddenValue(path, why)];
  }
  const standard = amount(policy.default);
  if (options.length > 0) {
    if (!standard) return [requiredValue(`${path}.default`, 'required when validValues is defined')];
    return validateOptions(options, standard, most, `${path}.validValues`);
  }
  if (!range) return [];
  if (!standard) return [requiredValue(`${path}.default`, 'required when validRange is defined')];
  return validateRange(range, standard, most, `${path}.validRange`);
}

function amount(value: unknown): Quantity | undefined {
  return value === undefined || value === null ? undefined : quantityOf(String(value));
}

function validateOptions(options: readonly Quantity[], standard: Quantity, most: Quantity, path: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [index, option] of options.entries()) {
    const next = options[index + 1];
    if (next && option.compare(next) > 0)
      errors.push(invalidValue(`${path}[${index + 1}]`, `${next}`, 'values must be sorted in ascending order'));
  }
  if (options.length > MAX_OPTIONS) errors.push(tooMany(path, options.length, MAX_OPTIONS));
  else {
    const seen = new Set<bigint>();
    for (const [index, option] of options.entries()) {
      const at = `${path}[${index}]`;
      if (option.compare(most) > 0)
        errors.push(invalidValue(at, `${option}`, `option is larger than capacity value: ${most}`));
      const whole = option.toBigInt();
      if (seen.has(whole)) errors.push(duplicateValue(at, `${whole}`));
      seen.add(whole);
    }
    if (options.some((option) => option.compare(standard) === 0)) return errors;
  }
  return [...errors, invalidValue(path, `${standard}`, 'default value is not valid according to the requestPolicy')];
}

function validateRange(range: JsonObject, standard: Quantity, most: Quantity, path: string): FieldError[] {
  const [min, max, step] = [amount(range.min), amount(range.max), amount(range.step)];
  const errors: FieldError[] = [];
  const refuse = (field: string, value: Quantity, why: string) =>
    errors.push(invalidValue(`${path}.${field}`, `${value}`, why));
  if (!min) return [requiredValue(`${path}.min`, 'required when validRange is defined')];
  if (min.compare(most) > 0) refuse('min', min, `min is larger than capacity value: ${most}`);
  if (standard.compare(min) < 0) refuse('min', standard, `default is less than min: ${min}`);
  if (max) {
    if (min.compare(max) > 0) refuse('max', min, `min is larger than max: ${max}`);
    if (max.compare(most) > 0) refuse('max', max, `max is larger than capacity value: ${most}`);
    if (standard.compare(max) > 0) refuse('max', standard, `default is more than max: ${max}`);
  }
  if (!step) return errors;
  if (step.sign <= 0) {
    refuse('step', step, 'must be greater than zero');
    return errors;
  }
  const one = min.add(step);
  if (one.compare(most) > 0) refuse('step', step, `one step ${one} is larger than capacity value: ${most}`);
  const bounds = [standard, min, step, ...(max ? [max] : [])];
  if (bounds.every((bound) => bound.sign >= 0 && bound.toBigInt() <= largest))
    appendAll(errors, offStep([standard, ...(max ? [max] : [])], min, step, `${path}.step`));
  return errors;
}

function offStep(values: readonly Quantity[], min: Quantity, step: Quantity, path: string): FieldError[] {
  const off = values.filter((value) => (value.toBigInt() - min.toBigInt()) % step.toBigInt() !== 0n);
  return off.map((value) =>
    invalidValue(path, `${value}`, `value is not a multiple of a given step (${step}) from (${min})`),
  );
}
