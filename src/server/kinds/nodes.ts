/** Nodes: what kubelets register, and what may change of it. */
import {
  checkLabelValue,
  checkQualifiedName,
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  unsupportedValue,
} from '../../api/index.ts';
import { ensureObject, isEmpty, objectAt, objectsAt, sameValue, textAt } from './engine/fields.ts';
import type { KindRules } from './kind-rules.ts';

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const notReady: JsonObject = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
const nodeMayChange =
  'node updates may only change labels, taints, or capacity (or configSource, if the DynamicKubeletConfig feature gate is enabled)';

export const nodeRules: KindRules = {
  setDefaults: (node) => {
    const status = objectAt(node as JsonObject, 'status');
    if (status?.capacity && isEmpty(status.allocatable)) status.allocatable = structuredClone(status.capacity);
  },
  // A node keeps the status it is made with, which is how kubelets register; it is tainted until somebody sees it ready.
  prepareCreate: (node) => {
    const spec = ensureObject(node as JsonObject, 'spec');
    const taints = objectsAt(spec, 'taints');
    if (!taints.some(({ key, effect }) => key === notReady.key && effect === notReady.effect))
      spec.taints = [...taints, { ...notReady }];
  },
  validate: (node) => {
    const errors: FieldError[] = [];
    const seen = new Set<string>();
    for (const [index, taint] of objectsAt(objectAt(node as JsonObject, 'spec'), 'taints').entries()) {
      validateTaint(taint, `spec.taints[${index}]`, seen, errors);
    }
    return errors;
  },
  validateUpdate: (node, old) => {
    const [spec, before] = [objectAt(node as JsonObject, 'spec') ?? {}, objectAt(old as JsonObject, 'spec') ?? {}];
    const errors: FieldError[] = [];
    if (textAt(before, 'providerID') !== '' && spec.providerID !== before.providerID)
      errors.push(forbiddenValue('spec.providerID', 'node updates may not change providerID except from "" to valid'));
    const mayChange = ['taints', 'unschedulable', 'podCIDR', 'podCIDRs', 'providerID', 'configSource'];
    const kept = { ...spec };
    for (const field of mayChange) kept[field] = before[field];
    if (!sameValue(kept, before)) errors.push(forbiddenValue('spec', nodeMayChange));
    return errors;
  },
};

function validateTaint(taint: JsonObject, path: string, seen: Set<string>, errors: FieldError[]): void {
  const { key, value, effect } = {
    key: textAt(taint, 'key'),
    value: textAt(taint, 'value'),
    effect: textAt(taint, 'effect'),
  };
  for (const problem of checkQualifiedName(key)) errors.push(invalidValue(`${path}.key`, key, problem));
  const problems = checkLabelValue(value);
  if (problems.length > 0) errors.push(invalidValue(`${path}.value`, value, problems.join(';')));
  if (!effects.includes(effect)) errors.push(unsupportedValue(`${path}.effect`, effect, effects));
  const identity = `${key}:${effect}`;
  if (seen.has(identity))
    errors.push(duplicateValue(path, { Key: key, Value: value, Effect: effect, TimeAdded: null }));
  seen.add(identity);
}
