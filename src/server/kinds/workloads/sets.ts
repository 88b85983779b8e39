/** Daemon sets (a pod on each node) and stateful sets (pods that are told apart, each with its own storage). */
import {
  checkDnsLabel,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
  unsupportedValue,
} from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { appendAll, mostFaults } from '../../strategy/validation/append-all.ts';
import { countOrPercent, labelSelector, named, notOver100Percent, oneOf } from '../../strategy/validation/checks.ts';
import { checksFrom, type DefaultRow, defaultsFrom } from '../../strategy/validation/field-table.ts';
import { isEmpty, mapAt, numberAt, objectAt, objectsAt, sameStruct, textAt } from '../../strategy/validation/fields.ts';
import { validateAnnotations, validateLabels } from '../../strategy/validation/metadata-validation.ts';
import { validatePodTemplate } from '../pods/pod-validation.ts';
import { templateWarnings } from '../pods/pod-warnings.ts';
import { claimWarnings, roundClaim, validateClaimSpec } from '../storage/claim-spec.ts';
import {
  dropDisabledInTemplate,
  isEmptySelector,
  selectsTemplate,
  specOf,
  unselected,
  validateLasting,
  validateSelected,
  withTemplate,
} from './pod-template.ts';
import { daemonSetStatus, statefulSetStatus } from './replica-counts.ts';
import { isRolling, isStatus, isZero, keepsSelector, notNegative } from './replica-sets.ts';

const daemonSetDefaults: DefaultRow[] = [
  ['spec.updateStrategy', {}],
  ['spec.updateStrategy.type', 'RollingUpdate'],
  ['spec.updateStrategy.rollingUpdate', {}, isRolling],
  ['spec.updateStrategy.rollingUpdate.maxUnavailable', 1],
  ['spec.updateStrategy.rollingUpdate.maxSurge', 0],
  ['spec.revisionHistoryLimit', 10],
];
const checkDaemonSet = checksFrom([
  ['spec.minReadySeconds', notNegative],
  ['spec.revisionHistoryLimit', notNegative],
]);
const generation = 'deprecated.daemonset.template.generation';

export const daemonSetStrategy: Strategy = {
  setDefaults: withTemplate((object) => {
    setDaemonSetDefaults(object);
    // What once counted templates lives on as an annotation, which the server keeps.
    if (object.metadata.annotations?.[generation] === undefined)
      object.metadata.annotations = { ...object.metadata.annotations, [generation]: '0' };
  }),
  prepareCreate: (object) => {
    dropDisabledInTemplate(object);
    object.metadata.annotations = { ...object.metadata.annotations, [generation]: '1' };
  },
  prepareUpdate: (object, old, { subresource }) => {
    dropDisabledInTemplate(object);
    const before = old.metadata.annotations?.[generation] ?? '1';
    const isChanged = subresource === '' && !sameStruct(specOf(object).template, specOf(old).template);
    const next = isChanged ? String(Number(before) + 1) : before;
    object.metadata.annotations = { ...object.metadata.annotations, [generation]: next };
  },
  validate: (object, _old, context) => {
    if (isStatus(context)) return [];
    const spec = specOf(object);
    const [selector, template] = [objectAt(spec, 'selector'), objectAt(spec, 'template')];
    const errors = labelSelector(selector, 'spec.selector', spec);
    if (errors.length === 0 && selectsTemplate(selector, template) === false)
      errors.push(unselected(template, 'spec.template'));
    if (selector && isEmptySelector(selector))
      errors.push(invalidValue('spec.selector', selector, 'empty selector is invalid for daemonset'));
    appendAll(errors, validatePodTemplate(template, 'spec.template'));
    validateLasting(template, 'spec.template', 'DaemonSet', errors);
    appendAll(errors, checkDaemonSet(object));
    validateDaemonStrategy(objectAt(spec, 'updateStrategy') ?? {}, errors);
    return errors;
  },
  validateUpdate: (object, old, context) =>
    isStatus(context) ? daemonSetStatus(object, old) : keepsSelector(object, old),
  warnings: (object, old, { subresource }) =>
    subresource === '' ? templateWarnings(objectAt(specOf(object), 'template'), 'spec.template', object, old) : [],
};
const setDaemonSetDefaults = defaultsFrom(daemonSetDefaults);

function validateDaemonStrategy(strategy: JsonObject, errors: FieldError[]): void {
  const [type, rolling] = [textAt(strategy, 'type'), objectAt(strategy, 'rollingUpdate')];
  if (type === 'OnDelete') return;
  const path = 'spec.updateStrategy';
  if (type !== 'RollingUpdate') {
    const shown = { Type: type, RollingUpdate: strategy.rollingUpdate ?? null };
    errors.push(unsupportedValue(path, shown, ['RollingUpdate', 'OnDelete']));
    return;
  }
  if (!rolling) {
    errors.push(requiredValue(`${path}.rollingUpdate`));
    return;
  }
  for (const field of ['maxUnavailable', 'maxSurge']) {
    const [value, at] = [rolling[field] ?? undefined, `${path}.rollingUpdate.${field}`];
    appendAll(errors, countOrPercent(value, at, rolling));
    appendAll(errors, notOver100Percent(value, at, rolling));
  }
  const { maxUnavailable, maxSurge } = rolling;
  const [hasNone, hasNoSurge] = [isZero(maxUnavailable), isZero(maxSurge)];
  if (!hasNone && !hasNoSurge) {
    const why = 'may not be set when maxUnavailable is non-zero';
    errors.push(invalidValue(`${path}.rollingUpdate.maxSurge`, maxSurge, why));
  } else if (hasNone && hasNoSurge)
    errors.push(requiredValue(`${path}.rollingUpdate.maxUnavailable`, 'cannot be 0 when maxSurge is 0'));
}

const statefulSetDefaults: DefaultRow[] = [
  ['spec.replicas', 1],
  ['spec.podManagementPolicy', 'OrderedReady'],
  ['spec.updateStrategy', {}],
  ['spec.updateStrategy.rollingUpdate', {}, (strategy) => isEmpty(strategy.type)],
  ['spec.updateStrategy.type', 'RollingUpdate'],
  ['spec.updateStrategy.rollingUpdate.partition', 0],
  ['spec.revisionHistoryLimit', 10],
  ['spec.persistentVolumeClaimRetentionPolicy', {}],
  ['spec.persistentVolumeClaimRetentionPolicy.whenDeleted', 'Retain'],
  ['spec.persistentVolumeClaimRetentionPolicy.whenScaled', 'Retain'],
  ['spec.volumeClaimTemplates[].status', { phase: 'Pending' }, (claim) => isEmpty(claim.status)],
  ['spec.volumeClaimTemplates[].status.phase', 'Pending'],
  ['spec.volumeClaimTemplates[].spec', {}],
  ['spec.volumeClaimTemplates[].spec.volumeMode?', 'Filesystem'],
];
const checkStatefulSet = checksFrom([
  ['spec.persistentVolumeClaimRetentionPolicy.whenDeleted', oneOf('Retain', 'Delete')],
  ['spec.persistentVolumeClaimRetentionPolicy.whenScaled', oneOf('Retain', 'Delete')],
  ['spec.replicas', notNegative],
  ['spec.minReadySeconds', notNegative],
  ['spec.ordinals.start', notNegative],
]);
const checkNewStatefulSet = checksFrom([['spec.serviceName', named(checkDnsLabel)]]);
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

export const statefulSetStrategy: Strategy = {
  setDefaults: withTemplate((object) => {
    setStatefulSetDefaults(object);
    for (const claim of objectsAt(specOf(object), 'volumeClaimTemplates')) {
      claim.apiVersion = 'v1'; // whatever was written: they can be nothing else
      claim.kind = 'PersistentVolumeClaim';
      roundClaim(claim);
    }
  }),
  prepareCreate: dropStatefulSet,
  prepareUpdate: dropStatefulSet,
  validate: (object, old, context) => {
    if (isStatus(context)) return [];
    const spec = specOf(object);
    const errors: FieldError[] = [];
    validateStatefulStrategy(spec, errors);
    appendAll(errors, checkStatefulSet(object));
    if (!old) appendAll(errors, checkNewStatefulSet(object)); // neither it nor the claims can change
    for (const [index, claim] of (old ? [] : objectsAt(spec, 'volumeClaimTemplates')).entries()) {
      appendAll(errors, validateClaimSpec(objectAt(claim, 'spec') ?? {}, `spec.volumeClaimTemplates[${index}].spec`));
      if (errors.length > mostFaults) return errors;
    }
    appendAll(
      errors,
      validateSelected(spec, 'statefulset', '', (isSelected) => validateStatefulTemplate(spec, isSelected)),
    );
    return errors;
  },
  validateUpdate: (object, old, context) => {
    if (isStatus(context)) return statefulSetStatus(object, old);
    const fixed = { ...specOf(object) };
    for (const field of statefulSetMutable) fixed[field] = specOf(old)[field];
    return sameStruct(fixed, specOf(old)) ? [] : [forbiddenValue('spec', statefulSetMayChange)];
  },
  warnings: (object, old, { subresource }) => (subresource === '' ? statefulWarnings(object, old) : []),
};
const setStatefulSetDefaults = defaultsFrom(statefulSetDefaults);

function dropStatefulSet(object: KubeObject): void {
  dropDisabledInTemplate(object);
  const rolling = objectAt(objectAt(specOf(object), 'updateStrategy'), 'rollingUpdate');
  if (rolling) delete rolling.maxUnavailable;
}

function validateStatefulStrategy(spec: JsonObject, errors: FieldError[]): void {
  const policy = textAt(spec, 'podManagementPolicy');
  if (policy === '') errors.push(requiredValue('spec.podManagementPolicy'));
  else if (policy !== 'OrderedReady' && policy !== 'Parallel')
    errors.push(invalidValue('spec.podManagementPolicy', policy, "must be 'OrderedReady' or 'Parallel'"));
  const strategy = objectAt(spec, 'updateStrategy') ?? {};
  const [type, rolling, path] = [textAt(strategy, 'type'), objectAt(strategy, 'rollingUpdate'), 'spec.updateStrategy'];
  if (type === '') errors.push(requiredValue(path));
  else if (type === 'OnDelete') {
    if (rolling)
      errors.push(invalidValue(`${path}.rollingUpdate`, rolling, "only allowed for updateStrategy 'RollingUpdate'"));
  } else if (type !== 'RollingUpdate') {
    const shown = { Type: type, RollingUpdate: strategy.rollingUpdate ?? null };
    errors.push(invalidValue(path, shown, "must be 'RollingUpdate' or 'OnDelete'"));
  } else if (rolling)
    appendAll(errors, notNegative(rolling.partition ?? undefined, `${path}.rollingUpdate.partition`, rolling));
}

/**
 * The template as its pods will be: with a volume for each claim before those of its own, and with names for hosts that
 * the set gives them. Labels and annotations are looked at twice, as kube-apiserver does it.
 */
function validateStatefulTemplate(spec: JsonObject, isSelected: boolean): FieldError[] {
  const template = objectAt(spec, 'template') ?? {};
  const path = 'spec.template';
  const errors = isSelected ? [] : [unselected(template, path)];
  const metadata = objectAt(template, 'metadata');
  appendAll(errors, validateLabels(mapAt(metadata, 'labels'), `${path}.labels`));
  appendAll(errors, validateAnnotations(mapAt(metadata, 'annotations'), `${path}.annotations`));
  const { hostname: _hostname, subdomain: _subdomain, ...podSpec } = objectAt(template, 'spec') ?? {};
  const claimed = objectsAt(spec, 'volumeClaimTemplates').map((claim) => {
    const name = textAt(objectAt(claim, 'metadata'), 'name');
    return { name, persistentVolumeClaim: { claimName: name } };
  });
  const names = new Set(claimed.map(({ name }) => name));
  const own = objectsAt(podSpec, 'volumes').filter((volume) => !names.has(textAt(volume, 'name')));
  const made = { ...template, spec: { ...podSpec, volumes: [...claimed, ...own] } };
  appendAll(errors, validatePodTemplate(made, path));
  validateLasting(template, path, 'StatefulSet', errors);
  return errors;
}

function statefulWarnings(object: KubeObject, old: KubeObject | undefined): string[] {
  const spec = specOf(object);
  if (old && old.metadata.generation === object.metadata.generation) return [];
  const warnings = templateWarnings(objectAt(spec, 'template'), 'spec.template', object, old);
  for (const [index, claim] of objectsAt(spec, 'volumeClaimTemplates').entries()) {
    const path = `spec.volumeClaimTemplates[${index}].spec`;
    appendAll(warnings, claimWarnings(objectAt(claim, 'spec') ?? {}, path));
  }
  if ((numberAt(spec, 'revisionHistoryLimit') ?? 0) < 0)
    warnings.push(
      'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
    );
  return warnings;
}
