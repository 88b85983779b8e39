/** Roles and the bindings that give them to people. What a binding refers to never changes. */
import {
  checkDnsSubdomain,
  checkPathSegment,
  type FieldError,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
} from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { appendAll, faultsOf } from '../../strategy/validation/append-all.ts';
import { labelSelector, named, oneOf, required } from '../../strategy/validation/checks.ts';
import { checksFrom, type DefaultRow, defaultsFrom } from '../../strategy/validation/field-table.ts';
import { isEmpty, objectAt, objectsAt, sameValue, textAt } from '../../strategy/validation/fields.ts';

const group = 'rbac.authorization.k8s.io';

const bindingDefaults: DefaultRow[] = [
  ['roleRef.apiGroup', group],
  ['subjects[].apiGroup', group, ({ kind }) => kind === 'User' || kind === 'Group'],
];

export const roleStrategy: Strategy = roleStrategyOf(true);
export const clusterRoleStrategy: Strategy = roleStrategyOf(false);
export const roleBindingStrategy: Strategy = bindingStrategyOf('Role', 'ClusterRole');
export const clusterRoleBindingStrategy: Strategy = bindingStrategyOf('ClusterRole');

function roleStrategyOf(isNamespaced: boolean): Strategy {
  return {
    validate: (role) => [
      ...faultsOf(objectsAt(role as JsonObject, 'rules'), (rule, index) =>
        validateRule(rule ?? {}, `rules[${index}]`, isNamespaced),
      ),
      ...validateAggregation(objectAt(role as JsonObject, 'aggregationRule')),
    ],
  };
}

/** A role can be put together out of others, which it selects by their labels. */
function validateAggregation(aggregation: JsonObject | undefined): FieldError[] {
  if (!aggregation) return [];
  const path = 'aggregationRule.clusterRoleSelectors';
  const selectors = objectsAt(aggregation, 'clusterRoleSelectors');
  if (selectors.length === 0)
    return [requiredValue(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil')];
  return faultsOf(selectors, (selector, index) => {
    const at = `${path}[${index}]`;
    const errors = labelSelector(selector ?? {}, at, aggregation);
    return errors.length === 0 ? [] : [...errors, invalidValue(at, null, 'invalid label selector.')];
  });
}

function validateRule(rule: JsonObject, path: string, isNamespaced: boolean): FieldError[] {
  const errors: FieldError[] = [];
  if (isEmpty(rule.verbs)) errors.push(requiredValue(`${path}.verbs`, 'verbs must contain at least one value'));
  if (!isEmpty(rule.nonResourceURLs)) {
    const at = `${path}.nonResourceURLs`;
    const urls = rule.nonResourceURLs;
    if (isNamespaced) errors.push(invalidValue(at, urls, 'namespaced rules cannot apply to non-resource URLs'));
    if (!isEmpty(rule.apiGroups) || !isEmpty(rule.resources) || !isEmpty(rule.resourceNames))
      errors.push(invalidValue(at, urls, 'rules cannot apply to both regular resources and non-resource URLs'));
    return errors;
  }
  if (isEmpty(rule.apiGroups))
    errors.push(requiredValue(`${path}.apiGroups`, 'resource rules must supply at least one api group'));
  if (isEmpty(rule.resources))
    errors.push(requiredValue(`${path}.resources`, 'resource rules must supply at least one resource'));
  return errors;
}

function bindingStrategyOf(...roleKinds: string[]): Strategy {
  const check = checksFrom([
    ['roleRef.apiGroup', oneOf(group)],
    ['roleRef.kind', oneOf(...roleKinds)],
    ['roleRef.name', required, named(checkPathSegment)],
  ]);
  return {
    setDefaults: defaultsFrom(bindingDefaults),
    validate: (binding) => [
      ...check(binding),
      ...faultsOf(objectsAt(binding as JsonObject, 'subjects'), (subject, index) =>
        validateSubject(subject ?? {}, `subjects[${index}]`, roleKinds.length > 1),
      ),
    ],
    validateUpdate: keepsRole,
  };
}

const subjectKinds = oneOf('ServiceAccount', 'User', 'Group');
const [noGroup, ownGroup] = [oneOf(''), oneOf(group)];

/** A binding in a namespace takes its own for accounts that name none. */
function validateSubject(subject: JsonObject, path: string, isNamespaced: boolean): FieldError[] {
  const [name, kind] = [textAt(subject, 'name'), textAt(subject, 'kind')];
  const errors = name === '' ? [requiredValue(`${path}.name`)] : [];
  const given = textAt(subject, 'apiGroup');
  if (kind === 'User' || kind === 'Group') return [...errors, ...ownGroup(given, `${path}.apiGroup`, subject)];
  if (kind !== 'ServiceAccount') return [...errors, ...subjectKinds(kind, `${path}.kind`, subject)];
  for (const problem of name === '' ? [] : checkDnsSubdomain(name))
    errors.push(invalidValue(`${path}.name`, name, problem));
  appendAll(errors, noGroup(given, `${path}.apiGroup`, subject));
  if (!isNamespaced && textAt(subject, 'namespace') === '') errors.push(requiredValue(`${path}.namespace`));
  return errors;
}

function keepsRole(binding: KubeObject, old: KubeObject): FieldError[] {
  if (sameValue(binding.roleRef, old.roleRef)) return [];
  const role = objectAt(binding as JsonObject, 'roleRef');
  const shown = { APIGroup: textAt(role, 'apiGroup'), Kind: textAt(role, 'kind'), Name: textAt(role, 'name') };
  return [invalidValue('roleRef', shown, 'cannot change roleRef')];
}
