/**
 * Claims of persistent volumes. Nothing is bound or provisioned here: claims stay pending until a controller says
 * otherwise, and their spec is fixed but for what a bound claim may grow or change.
 *
 * What a volume is made from is said in two fields, of which the older is kept the same as the newer.
 */
import {
  checkQualifiedName,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type JsonValue,
  type KubeObject,
  keyPath,
  unsupportedValue,
} from '../../../api/index.ts';
import { cloneJson } from '../../codec/json/json-objects.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { quantityOf } from '../../strategy/validation/amounts.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { defaultsFrom, immutable } from '../../strategy/validation/field-table.ts';
import {
  ensureObject,
  isObject,
  objectAt,
  sameStruct,
  sameValue,
  sortedEntries,
  textAt,
} from '../../strategy/validation/fields.ts';
import { claimSpecText } from '../../strategy/validation/internal-text.ts';
import { lineDiff } from '../../strategy/validation/line-diff.ts';
import { claimWarnings, roundClaim, validateClaimSpec } from './claim-spec.ts';
import { betaClass, betaClassWarning, notNegative } from './persistent-volumes.ts';

const resizeStates = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
].sort();

export const persistentVolumeClaimStrategy: Strategy = {
  setDefaults: (claim) => {
    setClaimDefaults(claim);
    roundClaim(claim as JsonObject);
  },
  prepareCreate: (claim) => {
    claim.status = { phase: 'Pending' };
    joinSources(ensureObject(claim as JsonObject, 'spec'), undefined);
  },
  prepareUpdate: (claim, old, { subresource }) => {
    if (subresource === 'status') return;
    joinSources(ensureObject(claim as JsonObject, 'spec'), objectAt(old as JsonObject, 'spec') ?? {});
  },
  validate: (claim, old, context) => {
    if (context?.subresource === 'status') return validateStatus(objectAt(claim as JsonObject, 'status') ?? {});
    const before = objectAt(old as JsonObject | undefined, 'spec');
    return validateClaimSpec(objectAt(claim as JsonObject, 'spec') ?? {}, 'spec', before);
  },
  validateUpdate: (claim, old, context) => (context?.subresource === 'status' ? [] : validateClaimUpdate(claim, old)),
  warnings: (claim, _old, { subresource }) => (subresource === 'status' ? [] : warningsForClaim(claim)),
};

const setClaimDefaults = defaultsFrom([
  ['spec.volumeMode?', 'Filesystem'],
  ['status.phase', 'Pending'],
]);

/** Only claims and snapshots may be named in the older field; others are forgotten, as they always were. */
function joinSources(spec: JsonObject, before: JsonObject | undefined): void {
  const hadRef = isObject(before?.dataSourceRef);
  if (textAt(objectAt(spec, 'dataSourceRef'), 'namespace') !== '' && !hadRef) delete spec.dataSourceRef;
  const [source, ref] = [objectAt(spec, 'dataSource'), objectAt(spec, 'dataSourceRef')];
  if (source && !ref && !hadRef && !isObject(before?.dataSource) && !isClaimOrSnapshot(source)) delete spec.dataSource;
  if (objectAt(spec, 'dataSource') && !ref) spec.dataSourceRef = cloneJson(spec.dataSource!);
  else if (ref && !source && textAt(ref, 'namespace') === '') {
    const { namespace: _none, ...same } = ref;
    spec.dataSource = cloneJson(same) as JsonObject;
  }
}

function isClaimOrSnapshot(source: JsonObject): boolean {
  const [group, kind] = [textAt(source, 'apiGroup'), textAt(source, 'kind')];
  return group === ''
    ? kind === 'PersistentVolumeClaim'
    : `${group}/${kind}` === 'snapshot.storage.k8s.io/VolumeSnapshot';
}

function validateClaimUpdate(claim: KubeObject, old: KubeObject): FieldError[] {
  const [spec, before] = [objectAt(claim as JsonObject, 'spec') ?? {}, objectAt(old as JsonObject, 'spec') ?? {}];
  const [next, kept] = [structuredClone(spec), structuredClone(before)];
  const errors: FieldError[] = [];
  if (textAt(before, 'volumeName') === '') kept.volumeName = next.volumeName ?? null; // a claim is bound once
  joinClasses(claim, old, next, kept, errors);
  const isBound = textAt(objectAt(claim as JsonObject, 'status'), 'phase') === 'Bound';
  const [requests, had] = [objectAt(objectAt(next, 'resources'), 'requests'), storageOf(before)];
  if (isBound && requests) requests.storage = had ?? '0';
  if (isBound) next.volumeAttributesClassName = kept.volumeAttributesClassName ?? null;
  if (!sameStruct(next, kept)) {
    const why =
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';
    errors.push(forbiddenValue('spec', `${why}\n${lineDiff(claimSpecText(kept), claimSpecText(next))}`));
  }
  const [size, oldSize] = [quantityOf(String(storageOf(spec) ?? '0')), quantityOf(String(had ?? '0'))];
  if (size.compare(oldSize) < 0) {
    const capacity = objectAt(objectAt(old as JsonObject, 'status'), 'capacity')?.storage;
    if (size.compare(quantityOf(String(capacity ?? '0'))) <= 0)
      errors.push(forbiddenValue('spec.resources.requests.storage', 'field can not be less than status.capacity'));
  }
  if (!sameValue(spec.volumeMode, before.volumeMode)) errors.push(immutable('volumeMode', spec.volumeMode));
  validateAttributes(spec, before, objectAt(old as JsonObject, 'status'), errors);
  return errors;
}

/** A class of attributes may be another once it was applied, and not none. */
function validateAttributes(
  spec: JsonObject,
  before: JsonObject,
  status: JsonObject | undefined,
  errors: FieldError[],
): void {
  const next = spec.volumeAttributesClassName ?? undefined;
  if (next === (before.volumeAttributesClassName ?? undefined)) return;
  if (typeof status?.currentVolumeAttributesClassName !== 'string' || (next !== undefined && next !== '')) return;
  const why = 'is forbidden when status.currentVolumeAttributesClassName is not nil';
  const path = 'spec.volumeAttributesClassName';
  errors.push(forbiddenValue(path, `update to ${next === undefined ? 'nil' : 'empty string'} ${why}`));
}

function storageOf(spec: JsonObject): JsonValue | undefined {
  return objectAt(objectAt(spec, 'resources'), 'requests')?.storage;
}

/** A claim without a class may be given one once; the annotation of old says the same as the field. */
function joinClasses(
  claim: KubeObject,
  old: KubeObject,
  next: JsonObject,
  kept: JsonObject,
  errors: FieldError[],
): void {
  const [now, was] = [claim.metadata.annotations?.[betaClass], old.metadata.annotations?.[betaClass]];
  const isNewField = typeof next.storageClassName === 'string' && typeof kept.storageClassName !== 'string';
  const isSameClass = was === undefined || next.storageClassName === was;
  if (isNewField && was !== undefined && isSameClass && (now === undefined || now === was)) {
    delete next.storageClassName;
    return;
  }
  if ((now ?? '') !== (was ?? ''))
    errors.push(invalidValue(keyPath('metadata.annotations', betaClass), now ?? '', 'field is immutable'));
  if (isNewField && isSameClass) delete next.storageClassName;
}

function validateStatus(status: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  for (const [name, amount] of sortedEntries(objectAt(status, 'capacity')))
    appendAll(errors, notNegative(amount, keyPath('status.capacity', name)));
  const states = 'status.allocatedResourceStatuses';
  for (const [name, state] of sortedEntries(objectAt(status, 'allocatedResourceStatuses'))) {
    appendAll(errors, checkResourceKey(name, states));
    if (!resizeStates.includes(String(state))) errors.push(unsupportedValue(states, name, resizeStates));
  }
  const allocated = 'status.allocatedResources';
  for (const [name, amount] of sortedEntries(objectAt(status, 'allocatedResources'))) {
    const wrong = checkResourceKey(name, allocated);
    appendAll(errors, wrong.length > 0 ? wrong : notNegative(amount, keyPath(allocated, name)));
  }
  return errors;
}

/** Of the names without a domain of their own only `storage` means something. */
function checkResourceKey(name: string, path: string): FieldError[] {
  const problems = checkQualifiedName(name);
  if (problems.length > 0) return problems.map((problem) => invalidValue(path, name, problem));
  const isNative = !name.includes('/') || name.includes('kubernetes.io/');
  return isNative && name !== 'storage' ? [unsupportedValue(path, name, ['storage'])] : [];
}

function warningsForClaim(claim: KubeObject): string[] {
  const warnings = claim.metadata.annotations?.[betaClass] === undefined ? [] : [betaClassWarning];
  return [...warnings, ...claimWarnings(objectAt(claim as JsonObject, 'spec') ?? {}, 'spec')];
}
