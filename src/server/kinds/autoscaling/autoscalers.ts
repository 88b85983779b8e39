/**
 * Autoscalers in both versions. The older one is judged as the newer one that it stands for, so that faults are told
 * under the names of the newer one, as by kube-apiserver.
 */
import { isGivenEmpty } from '../../../api/given-empty.ts';
import { type FieldError, invalidValue, type JsonObject, type KubeObject, requiredValue } from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { quantityOf } from '../../strategy/validation/amounts.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { atLeast, oneOf } from '../../strategy/validation/checks.ts';
import { checksFrom, type DefaultRow, defaultsFrom } from '../../strategy/validation/field-table.ts';
import { isEmpty, numberAt, objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';
import { toNewAutoscaler } from './autoscaler-conversion.ts';
import { checkMetrics, checkReference } from './metrics.ts';

const cpuMetric = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
};
const policies = {
  scaleUp: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
  scaleDown: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
};
/** An empty list is one, which is refused. */
const hasNoPolicies = (rules: JsonObject) => !isGivenEmpty(rules, 'policies');
const behaviorDefaults: DefaultRow[] = [
  ['spec.behavior.scaleUp', {}],
  ['spec.behavior.scaleUp.stabilizationWindowSeconds', 0],
  ['spec.behavior.scaleUp.selectPolicy?', 'Max'],
  ['spec.behavior.scaleUp.policies', policies.scaleUp, hasNoPolicies],
  ['spec.behavior.scaleDown', {}],
  ['spec.behavior.scaleDown.selectPolicy?', 'Max'],
  ['spec.behavior.scaleDown.policies', policies.scaleDown, hasNoPolicies],
];
const setDefaults = defaultsFrom([['spec.minReplicas', 1], ...behaviorDefaults]);
const checkStatus = checksFrom([
  ['status.currentReplicas', atLeast(0)],
  ['status.desiredReplicas', atLeast(0)],
]);

export const autoscalerStrategy: Strategy = {
  setDefaults: (autoscaler) => {
    setDefaults(autoscaler);
    const spec = objectAt(autoscaler as JsonObject, 'spec');
    if (spec && isEmpty(spec.metrics)) spec.metrics = [structuredClone(cpuMetric)];
  },
  validate: (autoscaler, old) => validateAutoscaler(autoscaler, old),
};

/** It knows processor time only. */
export const oldAutoscalerStrategy: Strategy = {
  setDefaults: defaultsFrom([
    ['spec.minReplicas', 1],
    ['spec.targetCPUUtilizationPercentage', 80],
  ]),
  validate: (autoscaler, old) => validateAutoscaler(toNewAutoscaler(autoscaler), old && toNewAutoscaler(old)),
};

function validateAutoscaler(autoscaler: KubeObject, old: KubeObject | undefined): FieldError[] {
  const spec = objectAt(autoscaler as JsonObject, 'spec') ?? {};
  const before = objectAt(old as JsonObject | undefined, 'spec');
  const behavior = objectAt(spec, 'behavior');
  return [
    ...checkReplicas(spec),
    ...checkTarget(objectAt(spec, 'scaleTargetRef'), 'spec.scaleTargetRef', objectAt(before, 'scaleTargetRef')),
    ...checkMetrics(spec, 'spec', before),
    ...['scaleUp', 'scaleDown'].flatMap((field) => {
      const rules = objectAt(behavior, field);
      return rules ? checkScaling(rules, `spec.behavior.${field}`) : [];
    }),
    ...checkStatus(autoscaler),
  ];
}

const atLeastOne = atLeast(1);

function checkReplicas(spec: JsonObject): FieldError[] {
  const errors = atLeastOne(spec.minReplicas ?? undefined, 'spec.minReplicas', spec);
  const [least, most] = [numberAt(spec, 'minReplicas'), numberAt(spec, 'maxReplicas') ?? 0];
  if (most === 0) errors.push(requiredValue('spec.maxReplicas', 'must be set and greater than 0'));
  appendAll(errors, most < 0 ? atLeastOne(most, 'spec.maxReplicas', spec) : []);
  if (least !== undefined && least > most)
    errors.push(invalidValue('spec.maxReplicas', most, 'must be greater than or equal to `minReplicas`'));
  return errors;
}

/** Only one kind without a group can be scaled; what stays the kind it was is not asked again. */
function checkTarget(reference: JsonObject | undefined, path: string, before: JsonObject | undefined): FieldError[] {
  const isKept = before && ['apiVersion', 'kind'].every((field) => textAt(before, field) === textAt(reference, field));
  const groups = textAt(reference, 'kind') === 'ReplicationController' ? 'any' : 'named';
  return checkReference(reference, path, isKept ? 'unasked' : groups);
}

const MOST_STABLE_SECONDS = 3600;
const LONGEST_PERIOD_SECONDS = 1800;
const selectPolicy = oneOf('Disabled', 'Max', 'Min');
const policyType = oneOf('Percent', 'Pods');

function checkScaling(rules: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const at = `${path}.stabilizationWindowSeconds`;
  const seconds = numberAt(rules, 'stabilizationWindowSeconds') ?? 0;
  if (seconds < 0) errors.push(invalidValue(at, seconds, 'must be greater than or equal to zero'));
  if (seconds > MOST_STABLE_SECONDS)
    errors.push(invalidValue(at, seconds, `must be less than or equal to ${MOST_STABLE_SECONDS}`));
  if (typeof rules.tolerance === 'string') {
    const tolerance = quantityOf(rules.tolerance);
    if (tolerance.sign < 0)
      errors.push(invalidValue(`${path}.tolerance`, `${tolerance}`, 'must be greater or equal to zero'));
  }
  appendAll(errors, selectPolicy(rules.selectPolicy ?? undefined, `${path}.selectPolicy`, rules));
  const list = objectsAt(rules, 'policies');
  if (list.length === 0) errors.push(requiredValue(`${path}.policies`, 'must specify at least one Policy'));
  for (const [index, policy] of list.entries())
    appendAll(errors, checkPolicy(policy ?? {}, `${path}.policies[${index}]`));
  return errors;
}

function checkPolicy(policy: JsonObject, path: string): FieldError[] {
  const errors = policyType(policy.type ?? '', `${path}.type`, policy);
  for (const field of ['value', 'periodSeconds']) {
    const value = numberAt(policy, field) ?? 0;
    if (value <= 0) errors.push(invalidValue(`${path}.${field}`, value, 'must be greater than zero'));
  }
  const period = numberAt(policy, 'periodSeconds') ?? 0;
  if (period > LONGEST_PERIOD_SECONDS) {
    const why = `must be less than or equal to ${LONGEST_PERIOD_SECONDS}`;
    errors.push(invalidValue(`${path}.periodSeconds`, period, why));
  }
  return errors;
}
