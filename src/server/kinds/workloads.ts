/**
 * The kinds that keep pods running from a template: deployments, replica sets, stateful sets, daemon sets, replication
 * controllers, and bare pod templates.
 *
 * They differ in few defaults and few refusals, which stand here as rows; what they share is one function. Their
 * selectors are fixed at birth.
 */
import {
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
  unsupportedValue,
} from '../../api/index.ts';
import { appendAll } from './engine/append-all.ts';
import { atLeast, countOrPercent, labelSelector, notOver100Percent, oneOf, percentOf } from './engine/checks.ts';
import { type CheckRow, checksFrom, type DefaultRow, defaultsFrom, immutableFields } from './engine/field-table.ts';
import { ensureObject, fill, isEmpty, mapAt, numberAt, objectAt, sameValue, textAt } from './engine/fields.ts';
import type { KindRules } from './kind-rules.ts';
import { setPodTemplateDefaults } from './pods/pod-defaults.ts';
import { validatePodTemplate, validateTemplateLabels } from './pods/pod-validation.ts';

const isRolling = (owner: JsonObject) => owner.type === 'RollingUpdate';

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
const statefulSetDefaults: DefaultRow[] = [
  ['spec.replicas', 1],
  ['spec.podManagementPolicy', 'OrderedReady'],
  ['spec.updateStrategy', {}],
  ['spec.updateStrategy.type', 'RollingUpdate'],
  ['spec.updateStrategy.rollingUpdate', {}, isRolling],
  ['spec.updateStrategy.rollingUpdate.partition', 0],
  ['spec.revisionHistoryLimit', 10],
  ['spec.persistentVolumeClaimRetentionPolicy', {}],
  ['spec.persistentVolumeClaimRetentionPolicy.whenDeleted', 'Retain'],
  ['spec.persistentVolumeClaimRetentionPolicy.whenScaled', 'Retain'],
  ['spec.volumeClaimTemplates[].apiVersion', 'v1'],
  ['spec.volumeClaimTemplates[].kind', 'PersistentVolumeClaim'],
  ['spec.volumeClaimTemplates[].status', { phase: 'Pending' }, (claim) => isEmpty(claim.status)],
  ['spec.volumeClaimTemplates[].status.phase', 'Pending'],
  ['spec.volumeClaimTemplates[].spec.volumeMode', 'Filesystem'],
];
const daemonSetDefaults: DefaultRow[] = [
  ['spec.updateStrategy', {}],
  ['spec.updateStrategy.type', 'RollingUpdate'],
  ['spec.updateStrategy.rollingUpdate', {}, isRolling],
  ['spec.updateStrategy.rollingUpdate.maxUnavailable', 1],
  ['spec.updateStrategy.rollingUpdate.maxSurge', 0],
  ['spec.revisionHistoryLimit', 10],
];

const notNegative = atLeast(0);
const deploymentChecks: CheckRow[] = [
  ['spec.minReadySeconds', notNegative],
  ['spec.revisionHistoryLimit', notNegative],
  ['spec.progressDeadlineSeconds', notNegative],
];
const statefulSetChecks: CheckRow[] = [
  ['spec.podManagementPolicy', oneOf('OrderedReady', 'Parallel')],
  ['spec.updateStrategy.type', oneOf('RollingUpdate', 'OnDelete')],
  ['spec.updateStrategy.rollingUpdate.partition', notNegative],
  ['spec.persistentVolumeClaimRetentionPolicy.whenDeleted', oneOf('Retain', 'Delete')],
  ['spec.persistentVolumeClaimRetentionPolicy.whenScaled', oneOf('Retain', 'Delete')],
  ['spec.replicas', notNegative],
  ['spec.minReadySeconds', notNegative],
  ['spec.ordinals.start', notNegative],
];
const daemonSetChecks: CheckRow[] = [
  ['spec.minReadySeconds', notNegative],
  ['spec.updateStrategy.type', oneOf('RollingUpdate', 'OnDelete')],
  ['spec.updateStrategy.rollingUpdate.maxUnavailable', countOrPercent, notOver100Percent],
  ['spec.updateStrategy.rollingUpdate.maxSurge', countOrPercent, notOver100Percent],
  ['spec.revisionHistoryLimit', notNegative],
];

const keepsSelector = immutableFields(['spec.selector']);

export const deploymentRules: KindRules = {
  setDefaults: withTemplate(defaultsFrom(deploymentDefaults)),
  prepareUpdate: (object, old, { subresource }) => {
    if (subresource !== 'status') return;
    if (old.metadata.labels) object.metadata.labels = { ...old.metadata.labels };
    else delete object.metadata.labels;
  },
  validate: (object) => {
    const spec = specOf(object);
    const errors = [...validateReplicated(spec, 'deployment'), ...validateStrategy(objectAt(spec, 'strategy') ?? {})];
    appendAll(errors, checkDeployment(object));
    const [deadline, ready] = [numberAt(spec, 'progressDeadlineSeconds'), numberAt(spec, 'minReadySeconds') ?? 0];
    if (deadline !== undefined && deadline <= ready)
      errors.push(invalidValue('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds'));
    return errors;
  },
  validateUpdate: keepsSelector,
};
const checkDeployment = checksFrom(deploymentChecks);

export const replicaSetRules: KindRules = {
  setDefaults: withTemplate(defaultsFrom([['spec.replicas', 1]])),
  validate: (object) => [...checkReplicaSet(object), ...validateReplicated(specOf(object), 'deployment')],
  validateUpdate: keepsSelector,
};
const checkReplicaSet = checksFrom([['spec.minReadySeconds', notNegative]]);

const statefulSetMayChange =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', " +
  "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
const statefulSetMutable = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
];

export const statefulSetRules: KindRules = {
  setDefaults: withTemplate(defaultsFrom(statefulSetDefaults)),
  validate: (object) => [
    ...checkStatefulSet(object),
    ...validateSelectedTemplate(specOf(object), 'empty selector is invalid for statefulset'),
  ],
  validateUpdate: (object, old) => {
    const fixed = { ...specOf(object) };
    for (const field of statefulSetMutable) fixed[field] = specOf(old)[field];
    return sameValue(fixed, specOf(old)) ? [] : [forbiddenValue('spec', statefulSetMayChange)];
  },
};
const checkStatefulSet = checksFrom(statefulSetChecks);

export const daemonSetRules: KindRules = {
  setDefaults: withTemplate(defaultsFrom(daemonSetDefaults)),
  validate: (object) => [
    ...validateSelectedTemplate(specOf(object), 'empty selector is invalid for daemonset'),
    ...checkDaemonSet(object),
  ],
  validateUpdate: keepsSelector,
};
const checkDaemonSet = checksFrom(daemonSetChecks);

export const replicationControllerRules: KindRules = {
  setDefaults: (object) => {
    const spec = ensureObject(object as JsonObject, 'spec');
    fill(spec, { replicas: 1 });
    if (spec.template) setPodTemplateDefaults(spec);
    const labels = mapAt(objectAt(objectAt(spec, 'template'), 'metadata'), 'labels');
    if (!labels || isEmpty(labels)) return;
    if (isEmpty(spec.selector)) spec.selector = { ...labels };
    if (isEmpty(object.metadata.labels)) object.metadata.labels = { ...labels };
  },
  validate: (object) => {
    const spec = specOf(object);
    const errors = [...checkController(object)];
    if (isEmpty(spec.selector)) errors.push(requiredValue('spec.selector'));
    if (!objectAt(spec, 'template')) return [...errors, requiredValue('spec.template')];
    const selector = { matchLabels: spec.selector } as JsonObject;
    return [
      ...errors,
      ...validateTemplate(isEmpty(spec.selector) ? undefined : selector, spec, 'ReplicationController'),
    ];
  },
};
const checkController = checksFrom([
  ['spec.minReadySeconds', notNegative],
  ['spec.replicas', notNegative],
]);

export const podTemplateRules: KindRules = {
  setDefaults: (object) => setPodTemplateDefaults(object as JsonObject),
  validate: (object) => validatePodTemplate(objectAt(object as JsonObject, 'template'), 'template'),
};

function specOf(object: KubeObject): JsonObject {
  return objectAt(object as JsonObject, 'spec') ?? {};
}

function withTemplate(setOthers: (object: KubeObject) => void): (object: KubeObject) => void {
  return (object) => {
    setOthers(object);
    setPodTemplateDefaults(ensureObject(object as JsonObject, 'spec'));
  };
}

function validateReplicated(spec: JsonObject, kind: string): FieldError[] {
  return [
    ...notNegative(spec.replicas ?? undefined, 'spec.replicas', spec),
    ...validateSelectedTemplate(spec, `empty selector is invalid for ${kind}`),
  ];
}

function validateSelectedTemplate(spec: JsonObject, emptyText: string): FieldError[] {
  const selector = objectAt(spec, 'selector');
  const errors = selector ? labelSelector(selector, 'spec.selector', spec) : [requiredValue('spec.selector')];
  if (selector && isEmpty(selector)) errors.push(invalidValue('spec.selector', selector, emptyText));
  return [...errors, ...validateTemplate(selector, spec, 'ReplicaSet')];
}

/** A template whose pods must always be restarted and never time out. */
function validateTemplate(selector: JsonObject | undefined, spec: JsonObject, kind: string): FieldError[] {
  const template = objectAt(spec, 'template');
  const path = 'spec.template';
  const errors = selector && isEmpty(selector) ? [] : validateTemplateLabels(selector, template, path);
  appendAll(errors, validatePodTemplate(template, path));
  const podSpec = objectAt(template, 'spec');
  const policy = textAt(podSpec, 'restartPolicy');
  if (policy !== 'Always') errors.push(unsupportedValue(`${path}.spec.restartPolicy`, policy, ['Always']));
  if (podSpec?.activeDeadlineSeconds !== undefined) {
    const why = `activeDeadlineSeconds in ${kind} is not Supported`;
    errors.push(forbiddenValue(`${path}.spec.activeDeadlineSeconds`, why));
  }
  return errors;
}

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
  const isZero = (value: unknown) => value === 0 || percentOf(value as string) === 0;
  if (isZero(maxUnavailable) && isZero(maxSurge)) {
    const why = 'may not be 0 when `maxSurge` is 0';
    errors.push(invalidValue(`${path}.rollingUpdate.maxUnavailable`, maxUnavailable, why));
  }
  appendAll(errors, notOver100Percent(maxUnavailable ?? undefined, `${path}.rollingUpdate.maxUnavailable`, rolling));
  return errors;
}
