/**
 * Which requests a webhook or a policy is about: rules of operations and resources, and what a policy matches as a
 * whole. The same words for webhooks, policies and bindings; what is wrong comes back in the order of the fields.
 */
import {
  checkPathSegment,
  childPath,
  duplicateValue,
  type FieldError,
  invalidValue,
  type JsonObject,
  requiredValue,
  unsupportedValue,
} from '../../../api/index.ts';
import { appendAll, faultsOf, mostFaults } from '../../strategy/validation/append-all.ts';
import { labelSelector, oneOf } from '../../strategy/validation/checks.ts';
import type { DefaultRow } from '../../strategy/validation/field-table.ts';
import { objectAt, objectsAt, textsAt } from '../../strategy/validation/fields.ts';

const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
/** What is deleted cannot be changed on its way. */
const MUTATING_OPERATIONS = ['*', 'CONNECT', 'CREATE', 'UPDATE'];
const scope = oneOf('*', 'Cluster', 'Namespaced');
const matchPolicy = oneOf('Equivalent', 'Exact');

/** What a policy or a binding matches if its writer does not say. */
export function matchDefaults(path: string): DefaultRow[] {
  return [
    [`${path}.matchPolicy?`, 'Equivalent'],
    [`${path}.namespaceSelector`, {}],
    [`${path}.objectSelector`, {}],
    [`${path}.resourceRules[].scope?`, '*'],
    [`${path}.excludeResourceRules[].scope?`, '*'],
  ];
}

export function checkMatchResources(match: JsonObject, path: string): FieldError[] {
  const errors = matchPolicy(match.matchPolicy ?? undefined, `${path}.matchPolicy`, match);
  for (const field of ['namespaceSelector', 'objectSelector'])
    appendAll(errors, labelSelector(objectAt(match, field), `${path}.${field}`, match));
  for (const field of ['resourceRules', 'excludeResourceRules']) {
    for (const [index, rule] of objectsAt(match, field).entries()) {
      const at = `${path}.${field}[${index}]`;
      appendAll(errors, checkNames(rule, `${at}.resourceNames`));
      appendAll(errors, checkRule(rule ?? {}, at));
      if (errors.length > mostFaults) return errors;
    }
  }
  return errors;
}

/** For policies that change objects. */
export function checkMutatingOperations(match: JsonObject | undefined, path: string): FieldError[] {
  return objectsAt(match, 'resourceRules').flatMap((rule) =>
    entriesOf(rule, 'operations')
      .filter((operation) => !MUTATING_OPERATIONS.includes(operation))
      .map((operation) => unsupportedValue(`${path}.resourceRules.operations`, operation, MUTATING_OPERATIONS)),
  );
}

/** One rule of a webhook, or of what a policy matches. */
export function checkRule(rule: JsonObject, path: string): FieldError[] {
  const errors = checkWildcard(rule, 'operations', path, 'operations');
  for (const [index, operation] of entriesOf(rule, 'operations').entries())
    if (!OPERATIONS.includes(operation))
      errors.push(unsupportedValue(`${path}.operations[${index}]`, operation, OPERATIONS));
  appendAll(errors, checkWildcard(rule, 'apiGroups', path, 'API groups'));
  appendAll(errors, checkWildcard(rule, 'apiVersions', path, 'API versions'));
  for (const [index, version] of entriesOf(rule, 'apiVersions').entries())
    if (version === '') errors.push(requiredValue(`${path}.apiVersions[${index}]`));
  appendAll(errors, checkResources(entriesOf(rule, 'resources'), `${path}.resources`));
  appendAll(errors, scope(rule.scope ?? undefined, `${path}.scope`, rule));
  return errors;
}

/** There must be one, and `*` stands alone. */
function checkWildcard(rule: JsonObject, field: string, path: string, what: string): FieldError[] {
  const entries = entriesOf(rule, field);
  if (entries.length === 0) return [requiredValue(`${path}.${field}`)];
  if (entries.length === 1 || !entries.includes('*')) return [];
  return [invalidValue(`${path}.${field}`, entries, `if '*' is present, must not specify other ${what}`)];
}

function checkResources(resources: readonly string[], path: string): FieldError[] {
  const errors = resources.length === 0 ? [requiredValue(path)] : [];
  const wholeResources = new Set<string>(); // x of `x/*`
  const wholeSubresources = new Set<string>(); // x of `*/x`
  let hasPlain = false;
  for (const [index, text] of resources.entries()) {
    const at = childPath(path, index);
    const slash = text.indexOf('/');
    if (text === '') errors.push(requiredValue(at));
    else if (slash < 0) hasPlain = text !== '*';
    else {
      const [resource, subresource] = [text.slice(0, slash), text.slice(slash + 1)];
      const refuse = (other: string) =>
        errors.push(invalidValue(at, text, `if '${other}' is present, must not specify ${text}`));
      if (wholeResources.has(resource)) refuse(`${resource}/*`);
      if (wholeSubresources.has(subresource)) refuse(`*/${subresource}`);
      if (subresource === '*') wholeResources.add(resource);
      if (resource === '*') wholeSubresources.add(subresource);
    }
  }
  if (resources.length > 1 && resources.includes('*/*'))
    errors.push(invalidValue(path, resources, "if '*/*' is present, must not specify other resources"));
  if (resources.includes('*') && hasPlain) {
    const why = "if '*' is present, must not specify other resources without subresources";
    errors.push(invalidValue(path, resources, why));
  }
  return errors;
}

function checkNames(rule: JsonObject, path: string): FieldError[] {
  const seen = new Set<string>();
  return faultsOf(entriesOf(rule, 'resourceNames'), (name, index) => {
    const at = childPath(path, index);
    const errors = checkPathSegment(name).map((problem) => invalidValue(at, name, problem));
    if (seen.has(name)) errors.push(duplicateValue(at, name));
    seen.add(name);
    return errors;
  });
}

/** Nothing in a list of texts is an empty one. */
function entriesOf(rule: JsonObject, field: string): string[] {
  return textsAt(rule, field).map((text) => text ?? '');
}
