/**
 * Node selectors: terms of expressions over labels and fields of nodes, of which one must hold. They stand in volumes,
 * device slices and allocations (and, with others, in the affinity of pods).
 */

import {
  checkDnsSubdomain,
  checkLabelValue,
  checkQualifiedName,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
} from '../../../api/index.ts';
import { faultsOf } from './append-all.ts';
import { requiredWith, text } from './checks.ts';
import { type Check, listOf, struct, textsOf } from './field-table.ts';
import { objectsAt, textAt, textsAt } from './fields.ts';

const byLabel: Check = (value, path) => {
  const requirement = value as JsonObject;
  const [operator, values] = [textAt(requirement, 'operator'), textsAt(requirement, 'values')];
  switch (operator) {
    case 'In':
    case 'NotIn':
      return values.length > 0
        ? []
        : [requiredValue(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'")];
    case 'Exists':
    case 'DoesNotExist':
      return values.length === 0
        ? []
        : [forbiddenValue(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
    case 'Gt':
    case 'Lt':
      return values.length === 1
        ? []
        : [requiredValue(`${path}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'")];
    default:
      return [invalidValue(`${path}.operator`, operator, 'not a valid selector operator')];
  }
};

const byField: Check = (value, path) => {
  const requirement = value as JsonObject;
  const [key, operator] = [textAt(requirement, 'key'), textAt(requirement, 'operator')];
  const values = textsAt(requirement, 'values');
  const errors: FieldError[] = [];
  if (operator !== 'In' && operator !== 'NotIn')
    errors.push(invalidValue(`${path}.operator`, operator, 'not a valid selector operator'));
  else if (values.length !== 1) {
    const why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    errors.push(requiredValue(`${path}.values`, why));
  }
  if (key !== 'metadata.name') return [...errors, invalidValue(`${path}.key`, key, 'not a valid field selector key')];
  return [...errors, ...nodeNames(requirement.values, `${path}.values`, requirement)];
};
const nodeNames = textsOf(text(checkDnsSubdomain));

export const nodeSelectorTerm: Check = struct([
  [
    'matchExpressions',
    listOf(
      struct(
        [
          ['key', text(checkQualifiedName)],
          ['values', textsOf(text(checkLabelValue))],
        ],
        byLabel,
      ),
    ),
  ],
  ['matchFields', listOf(byField)],
]);

export const nodeSelector: Check = struct([
  ['nodeSelectorTerms', requiredWith('must have at least one node selector term'), listOf(nodeSelectorTerm)],
]);

/** Labels of nodes that nobody should select by any more. */
const deprecatedLabels: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  'beta.kubernetes.io/os': 'deprecated since v1.14; use "kubernetes.io/os" instead',
  'failure-domain.beta.kubernetes.io/region': 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  'failure-domain.beta.kubernetes.io/zone': 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  'beta.kubernetes.io/instance-type': 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  'app.kubernetes.io/created-by': 'deprecated since v1.9',
  'scheduler.alpha.kubernetes.io/preferAvoidPods': 'deprecated since v1.22; use Taints and Tolerations instead',
  'node-role.kubernetes.io/master': 'use "node-role.kubernetes.io/control-plane" instead',
};

/** What is told about a label of nodes that is selected by. */
export function labelWarning(key: string): string | undefined {
  return Object.hasOwn(deprecatedLabels, key) ? deprecatedLabels[key] : undefined;
}

/** What is told about the expressions of a node selector at `path`. */
export function warningsForTerms(selector: JsonObject | undefined, path: string): string[] {
  return faultsOf(objectsAt(selector, 'nodeSelectorTerms'), (term, index) =>
    warningsForExpressions(term, `${path}.nodeSelectorTerms[${index}]`),
  );
}

/** What is told about values that no label can have: an expression that asks for one matches nothing. */
export function warningsForValues(selector: JsonObject | undefined, path: string): string[] {
  return faultsOf(objectsAt(selector, 'matchExpressions'), (expression, index) =>
    faultsOf(textsAt(expression, 'values'), (value, place) =>
      checkLabelValue(value).map(
        (problem) => `${path}.matchExpressions[${index}].values[${place}]: ${value} is invalid, ${problem}`,
      ),
    ),
  );
}

/** What is told about anything with `matchExpressions`. */
export function warningsForExpressions(selector: JsonObject | undefined, path: string): string[] {
  return faultsOf(objectsAt(selector, 'matchExpressions'), (expression, index) => {
    const key = textAt(expression, 'key');
    const text = labelWarning(key);
    return text ? [`${path}.matchExpressions[${index}].key: ${key} is ${text}`] : [];
  });
}
