/** Autoscalers in both versions, and disruption budgets: rules about how many pods there should be. */
import { checkPathSegment, type FieldError, invalidValue, type JsonObject, type KubeObject } from '../../api/index.ts';
import {
  atLeast,
  countOrPercent,
  labelSelector,
  moreThan,
  named,
  notOver100Percent,
  oneOf,
  required,
} from './engine/checks.ts';
import { checkConditions } from './engine/conditions.ts';
import { type CheckRow, checksFrom, type DefaultRow, defaultsFrom } from './engine/field-table.ts';
import { isEmpty, numberAt, objectAt, objectsAt } from './engine/fields.ts';
import type { KindRules } from './kind-rules.ts';

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
const behaviorDefaults: DefaultRow[] = [
  ['spec.behavior.scaleUp', {}],
  ['spec.behavior.scaleUp.stabilizationWindowSeconds', 0],
  ['spec.behavior.scaleUp.selectPolicy', 'Max'],
  ['spec.behavior.scaleUp.policies', policies.scaleUp],
  ['spec.behavior.scaleDown', {}],
  ['spec.behavior.scaleDown.selectPolicy', 'Max'],
  ['spec.behavior.scaleDown.policies', policies.scaleDown],
];
const targetRows: CheckRow[] = [
  ['spec.scaleTargetRef.kind', required, named(checkPathSegment)],
  ['spec.scaleTargetRef.name', required, named(checkPathSegment)],
];
const checkTarget = checksFrom(targetRows);

export const autoscalerRules: KindRules = {
  setDefaults: (autoscaler) => {
    setReplicaDefaults(autoscaler);
    const spec = objectAt(autoscaler as JsonObject, 'spec');
    if (spec && isEmpty(spec.metrics)) spec.metrics = [structuredClone(cpuMetric)];
  },
  validate: (autoscaler) => [...validateReplicas(autoscaler), ...checkTarget(autoscaler), ...checkMetrics(autoscaler)],
};
const setReplicaDefaults = defaultsFrom([['spec.minReplicas', 1], ...behaviorDefaults]);
const checkMetrics = checksFrom([
  ['spec.metrics[].type', required, oneOf('ContainerResource', 'External', 'Object', 'Pods', 'Resource')],
  ['spec.metrics[].resource.name', required],
  ['spec.metrics[].resource.target.type', required],
]);

/** The older form knows processor time only. */
export const oldAutoscalerRules: KindRules = {
  setDefaults: defaultsFrom([
    ['spec.minReplicas', 1],
    ['spec.targetCPUUtilizationPercentage', 80],
  ]),
  validate: (autoscaler) => [...validateReplicas(autoscaler), ...checkTarget(autoscaler), ...checkOld(autoscaler)],
};
const checkOld = checksFrom([['spec.targetCPUUtilizationPercentage', moreThan(0)]]);

const atLeastOne = atLeast(1);

function validateReplicas(autoscaler: KubeObject): FieldError[] {
  const spec = objectAt(autoscaler as JsonObject, 'spec') ?? {};
  const errors = atLeastOne(spec.minReplicas ?? undefined, 'spec.minReplicas', spec);
  const [least, most] = [numberAt(spec, 'minReplicas') ?? 0, numberAt(spec, 'maxReplicas') ?? 0];
  if (most < 1) errors.push(invalidValue('spec.maxReplicas', most, 'must be greater than 0'));
  if (least > most)
    errors.push(invalidValue('spec.maxReplicas', most, 'must be greater than or equal to `minReplicas`'));
  return errors;
}

export const disruptionBudgetRules: KindRules = {
  validate: (budget) => {
    const spec = objectAt(budget as JsonObject, 'spec') ?? {};
    const errors =
      spec.minAvailable !== undefined && spec.maxUnavailable !== undefined
        ? [invalidValue('spec', spec, 'minAvailable and maxUnavailable cannot be both set')]
        : [];
    const conditions = objectsAt(objectAt(budget as JsonObject, 'status'), 'conditions');
    return [...errors, ...checkBudget(budget), ...checkConditions(conditions, 'status.conditions')];
  },
};
const checkBudget = checksFrom([
  ['spec.minAvailable', countOrPercent, notOver100Percent],
  ['spec.maxUnavailable', countOrPercent, notOver100Percent],
  ['spec.selector', labelSelector],
  ['spec.unhealthyPodEvictionPolicy', oneOf('AlwaysAllow', 'IfHealthyBudget')],
]);
