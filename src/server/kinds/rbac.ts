/** Roles and the bindings that give them to people. What a binding refers to never changes. */
import { type FieldError, invalidValue, type JsonObject, type KubeObject, requiredValue } from '../../api/index.ts';
import { appendAll } from './engine/append-all.ts';
import { oneOf, required } from './engine/checks.ts';
import { checksFrom, type DefaultRow, defaultsFrom } from './engine/field-table.ts';
import { isEmpty, objectAt, objectsAt, sameValue, textAt } from './engine/fields.ts';
import type { KindRules } from './kind-rules.ts';

const group = 'rbac.authorization.k8s.io';

const bindingDefaults: DefaultRow[] = [
  ['roleRef.apiGroup', group],
  ['subjects[].apiGroup', group, ({ kind }) => kind === 'User' || kind === 'Group'],
];

export const roleRules: KindRules = roleRulesOf(true);
export const clusterRoleRules: KindRules = roleRulesOf(false);
export const roleBindingRules: KindRules = bindingRulesOf('Role', 'ClusterRole');
export const clusterRoleBindingRules: KindRules = bindingRulesOf('ClusterRole');

function roleRulesOf(isNamespaced: boolean): KindRules {
  return {
    validate: (role) =>
      objectsAt(role as JsonObject, 'rules').flatMap((rule, index) =>
        validateRule(rule, `rules[${index}]`, isNamespaced),
      ),
  };
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

function bindingRulesOf(...roleKinds: string[]): KindRules {
  const check = checksFrom([
    ['roleRef.apiGroup', oneOf(group)],
    ['roleRef.kind', oneOf(...roleKinds)],
    ['roleRef.name', required],
  ]);
  return {
    setDefaults: defaultsFrom(bindingDefaults),
    validate: (binding) => [
      ...check(binding),
      ...objectsAt(binding as JsonObject, 'subjects').flatMap((subject, index) =>
        validateSubject(subject, `subjects[${index}]`),
      ),
    ],
    validateUpdate: keepsRole,
  };
}

const subjectKinds = oneOf('ServiceAccount', 'User', 'Group');

function validateSubject(subject: JsonObject, path: string): FieldError[] {
  const errors = textAt(subject, 'name') === '' ? [requiredValue(`${path}.name`)] : [];
  appendAll(errors, subjectKinds(subject.kind ?? '', `${path}.kind`, subject));
  if (subject.kind === 'ServiceAccount' && textAt(subject, 'namespace') === '')
    errors.push(requiredValue(`${path}.namespace`));
  const wanted = subject.kind === 'User' || subject.kind === 'Group' ? group : '';
  if (errors.length === 0) appendAll(errors, oneOf(wanted)(subject.apiGroup ?? '', `${path}.apiGroup`, subject));
  return errors;
}

function keepsRole(binding: KubeObject, old: KubeObject): FieldError[] {
  if (sameValue(binding.roleRef, old.roleRef)) return [];
  const role = objectAt(binding as JsonObject, 'roleRef');
  const shown = { APIGroup: textAt(role, 'apiGroup'), Kind: textAt(role, 'kind'), Name: textAt(role, 'name') };
  return [invalidValue('roleRef', shown, 'cannot change roleRef')];
}
