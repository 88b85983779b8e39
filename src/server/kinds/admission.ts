/** Webhooks and admission policies as objects: what they say if their writer does not, and what is refused. */
import {
  checkDnsSubdomain,
  duplicateValue,
  type FieldError,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
  unsupportedValue,
} from '../../api/index.ts';
import { labelSelector, oneOf, required, requiredWith } from './engine/checks.ts';
import { type CheckRow, checksFrom, type DefaultRow, defaultsFrom } from './engine/field-table.ts';
import { isEmpty, numberAt, objectAt, objectsAt, textAt } from './engine/fields.ts';
import type { KindRules } from './kind-rules.ts';

const webhookDefaults: DefaultRow[] = [
  ['webhooks[].failurePolicy', 'Fail'],
  ['webhooks[].matchPolicy', 'Equivalent'],
  ['webhooks[].namespaceSelector', {}],
  ['webhooks[].objectSelector', {}],
  ['webhooks[].timeoutSeconds', 10],
  ['webhooks[].rules[].scope', '*'],
  ['webhooks[].clientConfig.service.port', 443],
];

export const validatingWebhookRules: KindRules = {
  setDefaults: defaultsFrom(webhookDefaults),
  validate: validateWebhooks,
};
export const mutatingWebhookRules: KindRules = {
  setDefaults: defaultsFrom([...webhookDefaults, ['webhooks[].reinvocationPolicy', 'Never']]),
  validate: (object) => [...validateWebhooks(object), ...checkReinvocation(object)],
};
const checkReinvocation = checksFrom([['webhooks[].reinvocationPolicy', oneOf('IfNeeded', 'Never')]]);

const checkPolicies = checksFrom([
  ['webhooks[].failurePolicy', oneOf('Fail', 'Ignore')],
  ['webhooks[].matchPolicy', oneOf('Equivalent', 'Exact')],
  ['webhooks[].namespaceSelector', labelSelector],
  ['webhooks[].objectSelector', labelSelector],
  ['webhooks[].rules[].apiGroups', required],
  ['webhooks[].rules[].apiVersions', required],
  ['webhooks[].rules[].resources', required],
  ['webhooks[].rules[].operations', required],
]);
const sideEffects = ['None', 'NoneOnDryRun'];

function validateWebhooks(object: KubeObject): FieldError[] {
  const names = new Set<string>();
  const errors = objectsAt(object as JsonObject, 'webhooks').flatMap((webhook, index) =>
    validateWebhook(webhook, `webhooks[${index}]`, names),
  );
  return [...errors, ...checkPolicies(object)];
}

function validateWebhook(webhook: JsonObject, path: string, names: Set<string>): FieldError[] {
  const errors: FieldError[] = [];
  const name = textAt(webhook, 'name');
  if (name === '') errors.push(requiredValue(`${path}.name`));
  else {
    for (const problem of checkDnsSubdomain(name)) errors.push(invalidValue(`${path}.name`, name, problem));
    if (name.split('.').length < 3)
      errors.push(
        invalidValue(`${path}.name`, name, 'should be a domain with at least three segments separated by dots'),
      );
    if (names.has(name)) errors.push(duplicateValue(`${path}.name`, name));
    names.add(name);
  }
  const effect = textAt(webhook, 'sideEffects');
  if (effect === '') errors.push(requiredValue(`${path}.sideEffects`, 'must specify one of None, NoneOnDryRun'));
  else if (!sideEffects.includes(effect)) errors.push(unsupportedValue(`${path}.sideEffects`, effect, sideEffects));
  const timeout = numberAt(webhook, 'timeoutSeconds') ?? 10;
  if (timeout < 1 || timeout > 30)
    errors.push(invalidValue(`${path}.timeoutSeconds`, timeout, 'the timeout value must be between 1 and 30 seconds'));
  const client = objectAt(webhook, 'clientConfig');
  if (isEmpty(client?.url) === isEmpty(client?.service))
    errors.push(requiredValue(`${path}.clientConfig`, 'exactly one of url or service is required'));
  if (isEmpty(webhook.admissionReviewVersions))
    errors.push(requiredValue(`${path}.admissionReviewVersions`, 'must specify one of v1, v1beta1'));
  return errors;
}

const matchDefaults = (path: string): DefaultRow[] => [
  [`${path}.matchPolicy`, 'Equivalent'],
  [`${path}.namespaceSelector`, {}],
  [`${path}.objectSelector`, {}],
  [`${path}.resourceRules[].scope`, '*'],
  [`${path}.excludeResourceRules[].scope`, '*'],
];
const policyRows: CheckRow[] = [
  ['spec.failurePolicy', oneOf('Fail', 'Ignore')],
  ['spec.matchConstraints', required],
  ['spec.paramKind.kind', required],
  ['spec.paramKind.apiVersion', required],
];
const setPolicyDefaults = defaultsFrom([['spec.failurePolicy', 'Fail'], ...matchDefaults('spec.matchConstraints')]);

export const validatingPolicyRules: KindRules = {
  setDefaults: setPolicyDefaults,
  validate: checksFrom([...policyRows, ['spec.validations[].expression', requiredWith('expression is not specified')]]),
};
export const mutatingPolicyRules: KindRules = {
  setDefaults: setPolicyDefaults,
  validate: checksFrom([...policyRows, ['spec.mutations', required]]),
};

const setBindingDefaults = defaultsFrom(matchDefaults('spec.matchResources'));

export const validatingPolicyBindingRules: KindRules = {
  setDefaults: setBindingDefaults,
  validate: checksFrom([
    ['spec.policyName', required],
    ['spec.validationActions', required],
    ['spec.validationActions[]', oneOf('Audit', 'Deny', 'Warn')],
  ]),
};
export const mutatingPolicyBindingRules: KindRules = {
  setDefaults: setBindingDefaults,
  validate: checksFrom([['spec.policyName', required]]),
};
