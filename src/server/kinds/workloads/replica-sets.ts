/** Deployments, replica sets and replication controllers: so many pods of one template, none better than the other. */
import {
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
  unsupportedValue,
} from '../../../api/index.ts';
import type { Strategy, StrategyContext } from '../../strategy/strategy.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { atLeast, countOrPercent, notOver100Percent, percentOf } from '../../strategy/validation/checks.ts';
import {
  type Check,
  checksFrom,
  type DefaultRow,
  defaultsFrom,
  immutableFields,
} from '../../strategy/validation/field-table.ts';
import { ensureObject, fill, isEmptyMap, mapAt, numberAt, objectAt, textAt } from '../../strategy/validation/fields.ts';
import { setPodTemplateDefaults } from '../pods/pod-defaults.ts';
import { sameField } from '../pods/pod-update.ts';
import { validatePodTemplate } from '../pods/pod-validation.ts';
import { podNamesWarning, templateWarnings } from '../pods/pod-warnings.ts';
import {
  dropDisabled,
  dropDisabledInTemplate,
  specOf,
  validateReplicaTemplate,
  validateSelected,
  withTemplate,
} from './pod-template.ts';
import { deploymentStatus, replicaSetStatus } from './replica-counts.ts';

export const isRolling = (owner: JsonObject): boolean => owner.type === 'RollingUpdate';
export const notNegative: Check = atLeast(0);
export const keepsSelector: (object: KubeObject, old: KubeObject) => FieldError[] = immutableFields(['spec.selector']);

export const isStatus = (context: StrategyContext | undefined): boolean => context?.subresource === 'status';

const deploymentDefaults: DefaultRow[] = [
  ['spec.replicas', 1],
  ['spec.strategy', {}],
  ['spec.strategy.type', 'RollingUpdate'],
  ['spec.strategy.rollingUpdate', {}, isRolling],
  ['spec.strategy.rollingUpdate.maxUnavailable', '25%'],
  ['spec.strategy.rollingUpdate.maxSurge', '25%'],
  ['spec.revisionHistoryLimit', 10],
  ['spec.progressDeadlineSeconds', 600],
];
const checkDeployment = checksFrom([
  ['spec.replicas', notNegative],
  ['spec.minReadySeconds', notNegative],
  ['spec.revisionHistoryLimit', notNegative],
  ['spec.progressDeadlineSeconds', notNegative],
]);

export const deploymentStrategy: Strategy = {
  setDefaults: withTemplate(defaultsFrom(deploymentDefaults)),
  prepareCreate: dropDisabledInTemplate,
  prepareUpdate: dropDisabledInTemplate,
  validate: (object, _old, context) => {
    if (isStatus(context)) return [];
    const spec = specOf(object);
    const errors = checkDeployment(object);
    const rest = (isSelected: boolean) => validateReplicaTemplate(spec, isSelected, 'ReplicaSet');
    appendAll(errors, validateSelected(spec, 'deployment', 'invalid label selector', rest));
    appendAll(errors, validateStrategy(objectAt(spec, 'strategy') ?? {}));
    const [deadline, ready] = [numberAt(spec, 'progressDeadlineSeconds'), numberAt(spec, 'minReadySeconds') ?? 0];
    if (deadline !== undefined && deadline <= ready)
      errors.push(invalidValue('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds'));
    return errors;
  },
  // Its controller copies annotations to the replica sets it makes.
  isRenewed: ({ metadata }, old) => !sameField(metadata.annotations, old.metadata.annotations),
  validateUpdate: (object, old, context) =>
    isStatus(context) ? deploymentStatus(object, old) : keepsSelector(object, old),
  warnings: (object, old, { subresource }) => warningsOf(object, old, subresource),
};

export const replicaSetStrategy: Strategy = {
  setDefaults: withTemplate(defaultsFrom([['spec.replicas', 1]])),
  prepareCreate: dropDisabledInTemplate,
  prepareUpdate: dropDisabledInTemplate,
  validate: (object, _old, context) => {
    if (isStatus(context)) return [];
    const spec = specOf(object);
    const rest = (isSelected: boolean) => validateReplicaTemplate(spec, isSelected, 'ReplicaSet');
    return [...checkReplicaSet(object), ...validateSelected(spec, 'deployment', 'invalid label selector', rest)];
  },
  validateUpdate: (object, old, context) =>
    isStatus(context) ? replicaSetStatus(object, old) : keepsSelector(object, old),
  warnings: (object, old, { subresource }) => warningsOf(object, old, subresource),
};
const checkReplicaSet = checksFrom([
  ['spec.replicas', notNegative],
  ['spec.minReadySeconds', notNegative],
]);

export const replicationControllerStrategy: Strategy = {
  setDefaults: (object) => {
    const spec = ensureObject(object as JsonObject, 'spec');
    fill(spec, { replicas: 1 });
    if (spec.minReadySeconds === 0) delete spec.minReadySeconds;
    if (spec.template) setPodTemplateDefaults(spec);
    const labels = mapAt(objectAt(objectAt(spec, 'template'), 'metadata'), 'labels');
    if (isEmptyMap(labels)) return;
    if (isEmptyMap(spec.selector)) spec.selector = { ...labels };
    if (isEmptyMap(object.metadata.labels)) object.metadata.labels = { ...labels };
  },
  prepareCreate: dropDisabledInTemplate,
  prepareUpdate: dropDisabledInTemplate,
  validate: (object, _old, context) => {
    if (isStatus(context)) return [];
    const spec = specOf(object);
    const errors = checkReplicaSet(object);
    const selector = mapAt(spec, 'selector') ?? {};
    if (Object.keys(selector).length === 0) errors.push(requiredValue('spec.selector'));
    const template = objectAt(spec, 'template');
    if (!template) return [...errors, requiredValue('spec.template')];
    const labels = mapAt(objectAt(template, 'metadata'), 'labels') ?? {};
    const isSelected = Object.entries(selector).every(([key, value]) => labels[key] === value);
    return [...errors, ...validateReplicaTemplate(spec, isSelected, 'ReplicationController')];
  },
  validateUpdate: (object, old, context) => (isStatus(context) ? replicaSetStatus(object, old) : []),
  warnings: (object, old, { subresource }) => (old ? [] : warningsOf(object, old, subresource)),
};

/** Pods are named after these kinds, so their own name should be one for a host. */
function warningsOf(object: KubeObject, old: KubeObject | undefined, subresource: string): string[] {
  if (subresource !== '') return [];
  return [
    ...(old ? [] : podNamesWarning(object.metadata.name ?? '')),
    ...templateWarnings(objectAt(specOf(object), 'template'), 'spec.template', object, old),
  ];
}

export const podTemplateStrategy: Strategy = {
  setDefaults: (object) => setPodTemplateDefaults(object as JsonObject),
  prepareCreate: (object) => dropDisabled(object as JsonObject),
  prepareUpdate: (object) => dropDisabled(object as JsonObject),
  validate: (object) => validatePodTemplate(objectAt(object as JsonObject, 'template'), 'template'),
  warnings: (object, old) => templateWarnings(objectAt(object as JsonObject, 'template'), 'template', object, old),
};

const strategies = ['Recreate', 'RollingUpdate'];

function validateStrategy(strategy: JsonObject): FieldError[] {
  const path = 'spec.strategy';
  const type = textAt(strategy, 'type');
  const rolling = objectAt(strategy, 'rollingUpdate');
  if (!strategies.includes(type))
    return [unsupportedValue(path, { Type: type, RollingUpdate: strategy.rollingUpdate ?? null }, strategies)];
  if (type === 'Recreate') {
    const why = "may not be specified when strategy `type` is 'Recreate'";
    return rolling ? [forbiddenValue(`${path}.rollingUpdate`, why)] : [];
  }
  if (!rolling) return [requiredValue(`${path}.rollingUpdate`, 'this should be defaulted and never be nil')];
  const { maxUnavailable, maxSurge } = rolling;
  const errors = [
    ...countOrPercent(maxUnavailable ?? undefined, `${path}.rollingUpdate.maxUnavailable`, rolling),
    ...countOrPercent(maxSurge ?? undefined, `${path}.rollingUpdate.maxSurge`, rolling),
  ];
  if (isZero(maxUnavailable) && isZero(maxSurge)) {
    const why = 'may not be 0 when `maxSurge` is 0';
    errors.push(invalidValue(`${path}.rollingUpdate.maxUnavailable`, maxUnavailable, why));
  }
  appendAll(errors, notOver100Percent(maxUnavailable ?? undefined, `${path}.rollingUpdate.maxUnavailable`, rolling));
  return errors;
}

/** A count or a share of nothing; what is neither is none, too. */
export function isZero(value: unknown): boolean {
  return typeof value === 'number' ? value === 0 : (percentOf(value as string) ?? 0) === 0;
}
