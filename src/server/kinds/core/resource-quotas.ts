/**
 * Quotas: how much a namespace may hold in all, counted for everything or within scopes. A scope goes only with
 * resources of the objects that it tells apart; scopes never change.
 */
import { type FieldError, invalidValue, type JsonObject, type JsonValue, requiredValue } from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { roundAmounts } from '../../strategy/validation/amounts.ts';
import { appendAll, faultsOf } from '../../strategy/validation/append-all.ts';
import { immutable } from '../../strategy/validation/field-table.ts';
import { isObject, objectAt, objectsAt, sortedEntries, textAt, textsAt } from '../../strategy/validation/fields.ts';
import {
  checkQuotaResourceName,
  checkResourceAmount,
  isStandardQuotaResource,
} from '../../strategy/validation/resource-names.ts';

const ofPods = ['pods', 'cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory'];

/** Which resources each scope can be applied to. */
const scopes: Readonly<Record<string, readonly string[]>> = {
  Terminating: ofPods,
  NotTerminating: ofPods,
  BestEffort: ['pods'],
  NotBestEffort: ofPods,
  PriorityClass: ofPods,
  CrossNamespacePodAffinity: ofPods,
  VolumeAttributesClass: ['persistentvolumeclaims', 'requests.storage'],
};
const conflicts = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
];
/** Those that are there or not, and have no values. */
const existing = ['BestEffort', 'NotBestEffort', 'Terminating', 'NotTerminating', 'CrossNamespacePodAffinity'];
const existsText =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, " +
  'ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity';

export const resourceQuotaStrategy: Strategy = {
  setDefaults: (quota) => {
    const [spec, status] = [objectAt(quota as JsonObject, 'spec'), objectAt(quota as JsonObject, 'status')];
    for (const amounts of [spec?.hard, status?.hard, status?.used]) if (isObject(amounts)) roundAmounts(amounts);
  },
  validate: (quota) => {
    const spec = objectAt(quota as JsonObject, 'spec') ?? {};
    const status = objectAt(quota as JsonObject, 'status');
    return [
      ...checkAmounts(objectAt(spec, 'hard'), 'spec.hard'),
      ...checkScopes(spec),
      ...checkSelector(spec),
      ...checkAmounts(objectAt(status, 'hard'), 'status.hard'),
      ...checkAmounts(objectAt(status, 'used'), 'status.used'),
    ];
  },
  validateUpdate: (quota, old) => {
    const next = objectAt(quota as JsonObject, 'spec') ?? {};
    const before = objectAt(old as JsonObject, 'spec') ?? {};
    const [set, known] = [new Set(scopesOf(next)), new Set(scopesOf(before))];
    const isSame = set.size === known.size && [...set].every((scope) => known.has(scope));
    return isSame ? [] : [immutable('spec.scopes', shownList(next, 'scopes'))];
  },
};

function checkAmounts(amounts: JsonObject | undefined, path: string): FieldError[] {
  return faultsOf(sortedEntries(amounts), ([name, amount]) => {
    const at = `${path}[${name}]`;
    return [...checkQuotaResourceName(name, at), ...checkResourceAmount(name, amount, at)];
  });
}

/** How many resources of the quota each scope says nothing about. */
function unfitCounts(spec: JsonObject): (scope: string) => number {
  const names = Object.keys(objectAt(spec, 'hard') ?? {}).filter(isStandardQuotaResource);
  const counts = new Map<string, number>();
  return (scope) => {
    let count = counts.get(scope);
    if (count === undefined) {
      const fit = Object.hasOwn(scopes, scope) ? scopes[scope]! : names;
      count = names.filter((name) => !fit.includes(name)).length;
      counts.set(scope, count);
    }
    return count;
  };
}

/** Each is told as often as it is so, up to a number that nobody reads any more. */
const LIMIT_REPEATED = 100;

function repeat(errors: FieldError[], count: number, error: () => FieldError): void {
  for (let left = Math.min(count, LIMIT_REPEATED - errors.length); left > 0; left--) errors.push(error());
}

function scopesOf(spec: JsonObject): string[] {
  return textsAt(spec, 'scopes').map((scope) => scope ?? '');
}

/** A list that is not there is shown as null, an empty one as it is. */
function shownList(owner: JsonObject, field: string): JsonValue {
  return Array.isArray(owner[field]) ? textsAt(owner, field).map((text) => text ?? '') : null;
}

function checkScopes(spec: JsonObject): FieldError[] {
  const list = scopesOf(spec);
  const unfit = unfitCounts(spec);
  const refuse = (why: string) => shared(() => invalidValue('spec.scopes', list, why));
  const [unsupported, applied] = [refuse('unsupported scope'), refuse('unsupported scope applied to resource')];
  const errors: FieldError[] = [];
  for (const scope of list) {
    if (!Object.hasOwn(scopes, scope)) repeat(errors, 1, unsupported);
    repeat(errors, unfit(scope), applied);
  }
  for (const pair of conflicts)
    if (pair.every((scope) => list.includes(scope))) errors.push(refuse('conflicting scopes')());
  return errors;
}

/** Errors that show the whole list are made once, however often they are told. */
function shared(make: () => FieldError): () => FieldError {
  let made: FieldError | undefined;
  return () => (made ??= make());
}

function checkSelector(spec: JsonObject): FieldError[] {
  const path = 'spec.scopeSelector.matchExpressions';
  const expressions = objectsAt(objectAt(spec, 'scopeSelector'), 'matchExpressions');
  const unfit = unfitCounts(spec);
  const applied = shared(() => invalidValue(path, shownSelector(expressions), 'unsupported scope applied to resource'));
  const errors: FieldError[] = [];
  for (const expression of expressions) {
    const scope = textAt(expression, 'scopeName');
    if (!Object.hasOwn(scopes, scope)) errors.push(invalidValue(`${path}.scopeName`, scope, 'unsupported scope'));
    repeat(errors, unfit(scope), applied);
    appendAll(errors, checkOperator(expression, scope, path));
  }
  const named = new Set(expressions.map((expression) => textAt(expression, 'scopeName')));
  for (const pair of conflicts)
    if (pair.every((scope) => named.has(scope)))
      errors.push(invalidValue(path, shownList(spec, 'scopes'), 'conflicting scopes'));
  return errors;
}

function checkOperator(expression: JsonObject, scope: string, path: string): FieldError[] {
  const operator = textAt(expression, 'operator');
  const values = textsAt(expression, 'values');
  const errors =
    existing.includes(scope) && operator !== 'Exists' ? [invalidValue(`${path}.operator`, operator, existsText)] : [];
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length > 0) return errors;
    const why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
    return [...errors, requiredValue(`${path}.values`, why)];
  }
  if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length === 0) return errors;
    const why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
    return [...errors, invalidValue(`${path}.values`, values, why)];
  }
  return [...errors, invalidValue(`${path}.operator`, operator, 'not a valid selector operator')];
}

/** As its type is printed in a message. */
function shownSelector(expressions: readonly JsonObject[]): JsonObject {
  const shown = expressions.map((expression) => ({
    ScopeName: textAt(expression, 'scopeName'),
    Operator: textAt(expression, 'operator'),
    Values: shownList(expression, 'values'),
  }));
  return { MatchExpressions: shown };
}
