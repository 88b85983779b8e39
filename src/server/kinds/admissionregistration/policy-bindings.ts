/** Bindings of admission policies: which policy, with which parameters, where, and what happens when it refuses. */
import {
  checkDnsSubdomain,
  checkPathSegment,
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
  unsupportedValue,
} from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { appendAll, faultsOf } from '../../strategy/validation/append-all.ts';
import { labelSelector, named, oneOf, required } from '../../strategy/validation/checks.ts';
import { checksFrom, defaultsFrom } from '../../strategy/validation/field-table.ts';
import { isEmpty, objectAt, textAt, textsAt } from '../../strategy/validation/fields.ts';
import { checkParamRefRight } from './param-rights.ts';
import { checkMatchResources, checkMutatingOperations, matchDefaults } from './resource-rules.ts';
import { staticNameWarnings } from './static-names.ts';

const ACTIONS = ['Audit', 'Deny', 'Warn'];
const setDefaults = defaultsFrom(matchDefaults('spec.matchResources'));
const checkRows = checksFrom([['spec.policyName', required, named(checkDnsSubdomain)]]);

export const validatingPolicyBindingStrategy: Strategy = {
  setDefaults,
  validate: async (binding, _old, context) => {
    const errors = validateCommon(binding);
    const actions = textsAt(specOf(binding), 'validationActions').map((action) => action ?? '');
    appendAll(errors, checkActions(actions, 'spec.validationActions'));
    return errors.length > 0 ? errors : checkParamRefRight(binding, context, 'validatingadmissionpolicies');
  },
  warnings: staticNameWarnings,
};

export const mutatingPolicyBindingStrategy: Strategy = {
  setDefaults,
  validate: async (binding, _old, context) => {
    const errors = validateCommon(binding);
    appendAll(errors, checkMutatingOperations(objectAt(specOf(binding), 'matchResources'), 'spec.matchResources'));
    return errors.length > 0 ? errors : checkParamRefRight(binding, context, 'mutatingadmissionpolicies');
  },
  warnings: staticNameWarnings,
};

function specOf(binding: KubeObject): JsonObject {
  return objectAt(binding as JsonObject, 'spec') ?? {};
}

function validateCommon(binding: KubeObject): FieldError[] {
  const spec = specOf(binding);
  const [params, match] = [objectAt(spec, 'paramRef'), objectAt(spec, 'matchResources')];
  return [
    ...checkRows(binding),
    ...(params ? checkParams(params, 'spec.paramRef') : []),
    ...(match ? checkMatchResources(match, 'spec.matchResources') : []),
  ];
}

const notFoundAction = oneOf('Deny', 'Allow');

/** By name or by labels, never both. */
function checkParams(params: JsonObject, path: string): FieldError[] {
  const [name, selector] = [textAt(params, 'name'), objectAt(params, 'selector')];
  const exclusive = 'name and selector are mutually exclusive';
  const errors =
    name === '' ? [] : checkPathSegment(name).map((problem) => invalidValue(`${path}.name`, name, problem));
  if (selector) appendAll(errors, labelSelector(selector, `${path}.selector`, params));
  if (name !== '' && selector)
    errors.push(forbiddenValue(`${path}.name`, exclusive), forbiddenValue(`${path}.selector`, exclusive));
  if (name === '' && !selector) errors.push(requiredValue(path, 'one of name or selector must be specified'));
  const at = `${path}.parameterNotFoundAction`;
  if (isEmpty(params.parameterNotFoundAction)) return [...errors, requiredValue(at)];
  return [...errors, ...notFoundAction(params.parameterNotFoundAction!, at, params)];
}

function checkActions(actions: readonly string[], path: string): FieldError[] {
  if (actions.length === 0) return [requiredValue(path, 'at least one validation action is required')];
  const seen = new Set<string>();
  const errors = faultsOf(actions, (action, index) => {
    const at = `${path}[${index}]`;
    const found = ACTIONS.includes(action) ? [] : [unsupportedValue(at, action, ACTIONS)];
    if (seen.has(action)) found.push(duplicateValue(at, action));
    seen.add(action);
    return found;
  });
  if (seen.has('Deny') && seen.has('Warn')) {
    const why =
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)';
    errors.push(invalidValue(path, actions, why));
  }
  return errors;
}
