/**
 * Persistent volumes, and the spec of one that stands inside of an attachment. Nothing is bound here: that is the work
 * of controllers, which find volumes as pending as in any cluster.
 *
 * On update kube-apiserver looks at the spec twice, and tells twice what it finds; so do we.
 */
import {
  checkDnsSubdomain,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type KubeObject,
  keyPath,
  requiredValue,
  unsupportedValue,
} from '../../../api/index.ts';
import type { Strategy, StrategyContext } from '../../strategy/strategy.ts';
import { quantityOf, roundAmounts } from '../../strategy/validation/amounts.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { named, oneOf } from '../../strategy/validation/checks.ts';
import { type Check, defaultsFrom, immutable } from '../../strategy/validation/field-table.ts';
import {
  ensureObject,
  isEmpty,
  isObject,
  objectAt,
  objectsAt,
  sameStruct,
  sameValue,
  sortedEntries,
  textAt,
  textsAt,
} from '../../strategy/validation/fields.ts';
import { internalForm } from '../../strategy/validation/internal-text.ts';
import { nodeSelector, warningsForTerms } from '../../strategy/validation/node-selector.ts';
import { setSourceDefaults, sourceFields, validateSource } from './volume-sources.ts';

const modes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
export const volumeModes: Check = oneOf('Block', 'Filesystem');
const reclaimPolicies = oneOf('Delete', 'Recycle', 'Retain');
const className = named(checkDnsSubdomain);
const mountOptions = 'volume.beta.kubernetes.io/mount-options';
export const betaClass = 'volume.beta.kubernetes.io/storage-class';
/** Sources whose mount options may be said in an annotation. */
const mountable: readonly string[] = [
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'nfs',
  'rbd',
  'quobyte',
  'iscsi',
  'cephfs',
  'cinder',
  'azureFile',
  'vsphereVolume',
  'azureDisk',
  'photonPersistentDisk',
];

export const persistentVolumeStrategy: Strategy = {
  setDefaults: (volume) => {
    setVolumeDefaults(volume);
    setSourceDefaults(specOf(volume));
    roundAmounts(objectAt(specOf(volume), 'capacity'));
  },
  prepareCreate: (volume, { now }) => {
    volume.status = { phase: 'Pending', lastPhaseTransitionTime: now };
  },
  prepareUpdate: (volume, old, { subresource, now }) => {
    if (subresource === 'status') keepTransition(volume, old, now);
  },
  validate: (volume, old, context) => {
    if (context?.subresource === 'status') return [];
    const spec = specOf(volume);
    const found = validateVolumeSpec(spec, 'spec', volume.metadata.name ?? '');
    const errors = [...found, ...validateMountOptions(volume, spec)];
    return old ? [...errors, ...found] : errors;
  },
  validateUpdate: (volume, old, context) =>
    context?.subresource === 'status' ? [] : validateVolumeUpdate(specOf(volume), specOf(old)),
  warnings: (volume, _old, context) => warningsForVolume(volume, context),
};
const setVolumeDefaults = defaultsFrom([
  ['spec.persistentVolumeReclaimPolicy', 'Retain'],
  ['spec.volumeMode?', 'Filesystem'],
  ['status.phase', 'Pending'],
]);

function specOf(volume: KubeObject): JsonObject {
  return objectAt(volume as JsonObject, 'spec') ?? {};
}

function keepTransition(volume: KubeObject, old: KubeObject, now: string): void {
  const [status, before] = [ensureObject(volume as JsonObject, 'status'), objectAt(old as JsonObject, 'status')];
  const field = 'lastPhaseTransitionTime';
  if (textAt(status, 'phase') === '') status.phase = 'Pending';
  const isSame = textAt(status, 'phase') === textAt(before, 'phase');
  if (isSame) {
    if (isEmpty(status[field]) && before?.[field]) status[field] = before[field];
  } else if (isEmpty(status[field]) || status[field] === before?.[field]) status[field] = now;
}

/** What a volume of that name says of itself; it has none where it stands in an attachment. */
export function validateVolumeSpec(spec: JsonObject, path: string, name?: string): FieldError[] {
  const errors = name === undefined ? validateInline(spec, path) : validateOwn(spec, path);
  if (isEmpty(spec.accessModes)) errors.push(requiredValue(`${path}.accessModes`));
  appendAll(errors, checkAccessModes(spec, path));
  appendAll(errors, validateSource(spec, path, name ?? ''));
  if (objectAt(spec, 'local') && !spec.nodeAffinity && firstSource(spec) === 'local')
    errors.push(requiredValue(`${path}.nodeAffinity`, 'Local volume requires node affinity'));
  const hostPath = objectAt(spec, 'hostPath');
  if (hostPath && isRoot(textAt(hostPath, 'path')) && spec.persistentVolumeReclaimPolicy === 'Recycle') {
    const why = "may not be 'recycle' for a hostPath mount of '/'";
    errors.push(forbiddenValue(`${path}.persistentVolumeReclaimPolicy`, why));
  }
  return errors;
}

function validateOwn(spec: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const capacity = objectAt(spec, 'capacity') ?? {};
  const amounts = sortedEntries(capacity);
  const at = `${path}.capacity`;
  if (amounts.length === 0) errors.push(requiredValue(at));
  if (amounts.length !== 1 || capacity.storage === undefined)
    errors.push(unsupportedValue(at, spec.capacity ?? null, ['storage']));
  for (const [name, amount] of amounts) {
    appendAll(errors, notNegative(amount, keyPath(at, name)));
    appendAll(errors, positiveQuantity(amount, keyPath(at, name)));
  }
  appendAll(
    errors,
    reclaimPolicies(spec.persistentVolumeReclaimPolicy ?? undefined, `${path}.persistentVolumeReclaimPolicy`, spec),
  );
  const affinity = objectAt(spec, 'nodeAffinity');
  if (affinity) {
    const place = `${path}.nodeAffinity.required`;
    if (isObject(affinity.required)) appendAll(errors, nodeSelector(affinity.required, place, affinity));
    else errors.push(requiredValue(place, 'must specify required node constraints'));
  }
  appendAll(errors, className(spec.storageClassName ?? undefined, `${path}.storageClassName`, spec));
  appendAll(errors, volumeModes(spec.volumeMode ?? undefined, `${path}.volumeMode`, spec));
  const attributes = spec.volumeAttributesClassName;
  if (typeof attributes !== 'string') return errors;
  const place = `${path}.volumeAttributesClassName`;
  if (attributes === '') errors.push(requiredValue(place, 'an empty string is disallowed'));
  appendAll(errors, className(attributes, place, spec));
  if (!objectAt(spec, 'csi'))
    errors.push(requiredValue(`${path}.csi`, 'has to be specified when using volumeAttributesClassName'));
  return errors;
}

function validateInline(spec: JsonObject, path: string): FieldError[] {
  const context = 'in the context of inline volumes';
  const errors: FieldError[] = [];
  const refuse = (field: string, why = 'may not be specified') =>
    errors.push(forbiddenValue(`${path}.${field}`, `${why} ${context}`));
  for (const field of ['claimRef', 'nodeAffinity']) if (isObject(spec[field])) refuse(field);
  for (const field of ['capacity', 'storageClassName']) if (!isEmpty(spec[field])) refuse(field);
  if (!objectAt(spec, 'csi')) errors.push(requiredValue(`${path}.csi`, `has to be specified ${context}`));
  if (!['', 'Retain'].includes(textAt(spec, 'persistentVolumeReclaimPolicy')))
    refuse('persistentVolumeReclaimPolicy', 'may only be Retain');
  if (typeof spec.volumeMode === 'string' && spec.volumeMode !== 'Filesystem')
    refuse('volumeMode', 'may not specify volumeMode other than Filesystem');
  return errors;
}

export function checkAccessModes(spec: JsonObject, path: string): FieldError[] {
  const found = textsAt(spec, 'accessModes').map((mode) => mode ?? '');
  const errors = found
    .filter((mode) => !modes.includes(mode))
    .map((mode) => unsupportedValue(`${path}.accessModes`, mode, modes));
  const known = found.filter((mode) => modes.includes(mode));
  if (known.includes('ReadWriteOncePod') && known.some((mode) => mode !== 'ReadWriteOncePod'))
    errors.push(forbiddenValue(`${path}.accessModes`, 'may not use ReadWriteOncePod with other access modes'));
  return errors;
}

/** A null amount is none at all. */
export function positiveQuantity(amount: unknown, path: string): FieldError[] {
  const quantity = quantityOf(String(amount ?? '0'));
  return quantity.sign > 0 ? [] : [invalidValue(path, `${quantity}`, 'must be greater than zero')];
}

export function notNegative(amount: unknown, path: string): FieldError[] {
  const quantity = quantityOf(String(amount ?? '0'));
  return quantity.sign < 0 ? [invalidValue(path, quantity.toBigInt(), 'must be a valid resource quantity')] : [];
}

function firstSource(spec: JsonObject): string | undefined {
  return sourceFields.find((field) => objectAt(spec, field));
}

function isRoot(path: string): boolean {
  return path.startsWith('/') && path.split('/').every((part) => part === '' || part === '.' || part === '..');
}

function validateMountOptions({ metadata }: KubeObject, spec: JsonObject): FieldError[] {
  if (metadata.annotations?.[mountOptions] === undefined || mountable.some((field) => objectAt(spec, field))) return [];
  return [forbiddenValue(`metadata.annotations.${mountOptions}`, 'may not specify mount options for this volume type')];
}

function validateVolumeUpdate(spec: JsonObject, before: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  const [csi, had] = [objectAt(spec, 'csi'), objectAt(before, 'csi')];
  const isFirstExpandSecret = csi?.controllerExpandSecretRef && had && !had.controllerExpandSecretRef;
  const kept = isFirstExpandSecret ? { ...csi, controllerExpandSecretRef: null } : csi;
  const isSame = sourceFields.every((field) => sameStruct(field === 'csi' ? kept : spec[field], before[field]));
  const path = 'spec.persistentvolumesource';
  if (!isSame) errors.push(forbiddenValue(path, 'spec.persistentvolumesource is immutable after creation'));
  if (!sameValue(spec.volumeMode, before.volumeMode)) errors.push(immutable('volumeMode', spec.volumeMode));
  if (isObject(before.nodeAffinity) && !sameAffinity(spec.nodeAffinity, before.nodeAffinity)) {
    const why = 'field is immutable, except for updating from beta label to GA';
    const shown = isObject(spec.nodeAffinity) ? internalForm(spec.nodeAffinity, 'VolumeNodeAffinity') : null;
    errors.push(invalidValue('nodeAffinity', shown, why));
  }
  if (typeof before.volumeAttributesClassName === 'string' && typeof spec.volumeAttributesClassName !== 'string')
    errors.push(forbiddenValue('spec.volumeAttributesClassName', 'update from non-nil value to nil is forbidden'));
  return errors;
}

/** Labels of nodes that have another name today. */
const renamedLabels: ReadonlyMap<string, string> = new Map([
  ['beta.kubernetes.io/arch', 'kubernetes.io/arch'],
  ['beta.kubernetes.io/os', 'kubernetes.io/os'],
  ['failure-domain.beta.kubernetes.io/region', 'topology.kubernetes.io/region'],
  ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['beta.kubernetes.io/instance-type', 'node.kubernetes.io/instance-type'],
]);

function sameAffinity(affinity: unknown, before: JsonObject): boolean {
  if (!isObject(affinity)) return false;
  if (sameStruct(affinity, before)) return true;
  const renamed = structuredClone(before);
  for (const term of objectsAt(objectAt(renamed, 'required'), 'nodeSelectorTerms'))
    for (const expression of objectsAt(term, 'matchExpressions'))
      expression.key = renamedLabels.get(textAt(expression, 'key')) ?? expression.key ?? '';
  return sameStruct(affinity, renamed);
}

const retired: readonly (readonly [field: string, name: string, since: string])[] = [
  ['cephfs', 'cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['photonPersistentDisk', 'photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['scaleIO', 'scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['storageos', 'storageOS', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['rbd', 'rbd', 'deprecated in v1.28, non-functional in v1.31+'],
];

function warningsForVolume({ metadata, ...rest }: KubeObject, { subresource }: StrategyContext): string[] {
  if (subresource === 'status') return [];
  const spec = objectAt(rest as JsonObject, 'spec') ?? {};
  const warnings: string[] = [];
  if (metadata.annotations?.[betaClass] !== undefined) warnings.push(betaClassWarning);
  if (spec.persistentVolumeReclaimPolicy === 'Recycle')
    warnings.push(
      'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
    );
  const selector = objectAt(objectAt(spec, 'nodeAffinity'), 'required');
  appendAll(warnings, warningsForTerms(selector, 'spec.nodeAffinity.required'));
  for (const [field, name, since] of retired) if (objectAt(spec, field)) warnings.push(`spec.${name}: ${since}`);
  return warnings;
}
export const betaClassWarning: string = `metadata.annotations[${betaClass}]: deprecated since v1.8; use "storageClassName" attribute instead`;
