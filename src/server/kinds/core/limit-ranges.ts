/**
 * Limit ranges: how much of each resource a thing of some type may ask for, and what it gets if it does not say. The
 * amounts of one resource must not contradict each other.
 */

import {
  checkQualifiedName,
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type KubeObject,
  parseQuantity,
  type Quantity,
  requiredValue,
} from '../../../api/index.ts';
import { ownValue } from '../../codec/json/json-objects.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { quantityOf, roundAmounts } from '../../strategy/validation/amounts.ts';
import { faultsOf } from '../../strategy/validation/append-all.ts';
import {
  ensureObject,
  fill,
  isEmpty,
  objectAt,
  objectsAt,
  sortedEntries,
  textAt,
} from '../../strategy/validation/fields.ts';
import {
  checkContainerResourceName,
  checkResourceName,
  isOvercommitAllowed,
} from '../../strategy/validation/resource-names.ts';

const TYPES = ['Pod', 'Container', 'PersistentVolumeClaim'];
const PARTS = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const;
type Part = (typeof PARTS)[number];

export const limitRangeStrategy: Strategy = {
  setDefaults: (range) => {
    for (const limit of limitsOf(range)) {
      for (const part of PARTS) roundAmounts(objectAt(limit, part));
      if (limit?.type !== 'Container') continue;
      const usual = ensureObject(limit, 'default');
      const request = ensureObject(limit, 'defaultRequest');
      fill(usual, objectAt(limit, 'max') ?? {});
      fill(request, usual);
      fill(request, objectAt(limit, 'min') ?? {});
      for (const field of ['default', 'defaultRequest']) if (isEmpty(limit[field])) delete limit[field];
    }
  },
  // The only kind that needs no name.
  prepareCreate: ({ metadata }) => {
    if (!metadata.name) metadata.name = crypto.randomUUID();
  },
  validate: (range) => {
    const seen = new Set<string>();
    return faultsOf(limitsOf(range), (limit, index) => {
      const at = `spec.limits[${index}]`;
      const type = textAt(limit, 'type');
      const errors = checkType(type, `${at}.type`);
      if (seen.has(type)) errors.push(duplicateValue(`${at}.type`, type));
      seen.add(type);
      return [...errors, ...checkNames(limit ?? {}, type, at), ...checkAmounts(limit ?? {}, at)];
    });
  },
};

function limitsOf(range: KubeObject): readonly JsonObject[] {
  return objectsAt(objectAt(range as JsonObject, 'spec'), 'limits');
}

function checkType(type: string, path: string): FieldError[] {
  const problems = checkQualifiedName(type);
  if (problems.length > 0) return problems.map((problem) => invalidValue(path, type, problem));
  if (type.includes('/') || TYPES.includes(type)) return [];
  return [invalidValue(path, type, 'must be a standard limit type or fully qualified')];
}

function checkNames(limit: JsonObject, type: string, path: string): FieldError[] {
  const check = type === 'Pod' || type === 'Container' ? checkContainerResourceName : checkResourceName;
  const errors = PARTS.flatMap((part) => {
    const amounts = objectAt(limit, part);
    if (type === 'Pod' && part.startsWith('default'))
      return isEmpty(amounts) ? [] : [forbiddenValue(`${path}.${part}`, "may not be specified when `type` is 'Pod'")];
    return faultsOf(sortedEntries(amounts), ([name]) => check(name, `${path}.${part}[${name}]`));
  });
  const hasStorage = ['min', 'max'].some((part) => ownValue(objectAt(limit, part) ?? {}, 'storage') !== undefined);
  if (type === 'PersistentVolumeClaim' && !hasStorage) {
    const why = 'either minimum or maximum storage value is required, but neither was provided';
    errors.push(requiredValue(`${path}.limits`, why));
  }
  return errors;
}

type Amounts = { readonly [part in Part]: Quantity | undefined };

function checkAmounts(limit: JsonObject, path: string): FieldError[] {
  const names = new Set(PARTS.flatMap((part) => Object.keys(objectAt(limit, part) ?? {})));
  const isPod = limit.type === 'Pod';
  return faultsOf([...names].sort(), (name) => {
    const amounts = Object.fromEntries(
      PARTS.map((part) => {
        const given = isPod && part.startsWith('default') ? undefined : objectAt(limit, part);
        const amount = given && ownValue(given, name);
        return [part, amount === undefined ? undefined : quantityOf(String(amount ?? '0'))];
      }),
    ) as Amounts;
    return [...checkOrder(amounts, path, name), ...checkRatio(amounts, `${path}.maxLimitRequestRatio[${name}]`)];
  });
}

/** Of each pair the first is never greater: under which field it is told, with which value, in which words. */
const orders: readonly (readonly [
  less: Part,
  more: Part,
  field: Part,
  shown: Part,
  lessWord: string,
  moreWord: string,
])[] = [
  ['min', 'max', 'min', 'min', 'min value', 'max value'],
  ['min', 'defaultRequest', 'defaultRequest', 'defaultRequest', 'min value', 'default request value'],
  ['defaultRequest', 'max', 'defaultRequest', 'defaultRequest', 'default request value', 'max value'],
  ['defaultRequest', 'default', 'defaultRequest', 'defaultRequest', 'default request value', 'default limit value'],
  ['min', 'default', 'default', 'min', 'min value', 'default value'],
  ['default', 'max', 'default', 'max', 'default value', 'max value'],
];

function checkOrder(amounts: Amounts, path: string, name: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [less, more, field, shown, lessWord, moreWord] of orders) {
    const [smaller, greater] = [amounts[less], amounts[more]];
    if (!smaller || !greater || smaller.compare(greater) <= 0) continue;
    const why = `${lessWord} ${smaller} is greater than ${moreWord} ${greater}`;
    errors.push(invalidValue(`${path}.${field}[${name}]`, String(amounts[shown]), why));
  }
  const { default: usual, defaultRequest: request } = amounts;
  if (usual && request && !isOvercommitAllowed(name) && usual.compare(request) !== 0) {
    const why = `default value ${usual} must equal to defaultRequest value ${request} in ${name}`;
    errors.push(invalidValue(`${path}.defaultRequest[${name}]`, String(request), why));
  }
  return errors;
}

const one = parseQuantity('1');
/** Beyond this, thousandths do not fit into 64 bits. */
const MOST_MILLI = (2n ** 63n - 1n) / 1000n;

function checkRatio({ maxLimitRequestRatio: ratio, min, max }: Amounts, path: string): FieldError[] {
  if (!ratio) return [];
  const errors: FieldError[] = [];
  if (ratio.compare(one) < 0) errors.push(invalidValue(path, String(ratio), `ratio ${ratio} is less than 1`));
  if (!min || !max) return errors;
  const isSmall = [ratio, min, max].every((amount) => in64Bits(amount.toBigInt()) < MOST_MILLI);
  const scale = isSmall ? -3 : 0;
  const wanted = Number(in64Bits(ratio.toBigInt(scale))) / (isSmall ? 1000 : 1);
  const most = Number(in64Bits(max.toBigInt(scale))) / Number(in64Bits(min.toBigInt(scale)));
  if (wanted > most)
    errors.push(invalidValue(path, String(ratio), `ratio ${ratio} is greater than max/min = ${most.toFixed(6)}`));
  return errors;
}

/** What is too great wraps around, there as here. */
function in64Bits(value: bigint): bigint {
  return BigInt.asIntN(64, value);
}
