/**
 * What the server does to every object that is written, whatever its kind: defaults and who owns which field; then
 * whatever the caller puts in between (admission); then its strategy: the metadata the server owns, the parts that only a
 * subresource may change, the generation, the rules of the kind, and the verdict. Each is a step of its own: between two
 * of them others have their turn, if the one before took long. A writer owns what it sent and what that defaults to; what
 * admission and the rules of the kind decide afterwards (a priority, an address, a finalizer) is nobody's.
 */
import {
  badRequest,
  bodyTooLarge,
  checkDnsLabel,
  checkDnsSubdomain,
  checkPathSegment,
  type FieldError,
  invalid,
  type JsonObject,
  type KubeObject,
  type ManagedFieldsEntry,
  type NameCheck,
  type ObjectMeta,
  plainError,
} from '../../../api/index.ts';
import { cloneJson, jsonEqual, leastBytes, withNulls } from '../../codec/index.ts';
import { isObject } from '../../codec/json/json-objects.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import { convertObject, isOtherForm } from '../../kinds/conversion.ts';
import { withoutClusterPolicy } from '../../kinds/pods/security/cluster-policy.ts';
import { strategyOf } from '../../kinds/strategy-of.ts';
import {
  areReadable,
  type EntryVersions,
  emptySet,
  type FieldPattern,
  type FieldSet,
  leastOwnedBytes,
  patternOf,
  setOfPaths,
  trackUpdate,
} from '../../managed-fields/index.ts';
import { builtInResources } from '../../registry/built-in-resources.ts';
import type { KindFacts } from '../../registry/kind-facts.ts';
import type { MetadataField, NameRule } from '../../registry/kind-table.ts';
import { qualifiedName, type Resource } from '../../registry/resource.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
import { generatedName } from '../../strategy/generated-name.ts';
import type { StrategyContext } from '../../strategy/strategy.ts';
import { checkIpAddress } from '../../strategy/validation/ip-address.ts';
import {
  repeatedChecksOf,
  validateObjectMeta,
  validateReplacedMeta,
} from '../../strategy/validation/metadata-validation.ts';

/** For a store that does not say what it takes: no body is longer. */
const LIMIT_BODY_BYTES = 3 * 1024 * 1024;
/** What may be counted and is not owned after all: fields that an empty object has as well. */
const UNCOUNTED_BYTES = 4 * 1024;
/** What is owned of so small an object is soon found, and counting it first would be half of that work again. */
const SMALL_BYTES = 16 * 1024;
/** With all its defaults and what is owned of it an object of a built-in kind from a short body has less. */
const MOST_OF_SMALL_BYTES = 1024 * 1024;

/** Who writes, whether the object carries its owners already, and whether it is too small to be counted. */
export type Tracking = { readonly manager: string; readonly isTracked?: boolean; readonly isSmall?: boolean };

/** Between defaults and strategy: the object as it goes on, which may be another one. */
export type Admit = (object: KubeObject) => KubeObject | Promise<KubeObject>;

/** The object as it will be created; the caller's is not used any more. */
export async function prepareCreate(
  storage: ResourceStorage,
  given: KubeObject,
  { manager, isTracked, isSmall }: Tracking,
  context: StrategyContext,
  admit?: Admit,
): Promise<KubeObject> {
  const strategy = strategyOf(storage.resource);
  const slices = new WorkSlices(context);
  wipeSystemMetadata(given, isTracked);
  mergeOwners(given, context);
  strategy.setDefaults?.(given);
  if (slices.isOver) await slices.pause();
  // Defaults of a custom kind may be as long as a definition is, and come once for each element of a list.
  const isSurelySmall = isSmall === true && !storage.resource.isCustom && mostBytes(storage) >= MOST_OF_SMALL_BYTES;
  const fits = isSurelySmall || canFit(storage, given, { isTracked, isNew: true });
  if (!isTracked && fits) track(storage, undefined, given, manager, context);
  if (slices.isOver) await slices.pause();
  const owned = given.metadata.managedFields;
  const admitted = admit ? admit(given) : given;
  const object = admitted instanceof Promise ? await admitted : admitted;
  if (object !== given) {
    wipeSystemMetadata(object, true);
    tidyReplacement(object, owned, context);
  }
  setSystemMetadata(storage, object, context);
  const preparing = strategy.prepareCreate?.(object, context);
  if (preparing instanceof Promise) await preparing;
  if (slices.isOver) await slices.pause();
  const faults = validateObjectMeta(object.metadata, metaRules(storage));
  if (slices.isOver) await slices.pause();
  const found = strategy.validate?.(object, undefined, context) ?? [];
  refuse(storage, object, context, [...faults, ...(found instanceof Promise ? await found : found)]);
  for (const text of strategy.warnings?.(object, undefined, context) ?? []) context.warn(text);
  if (!fits) throw bodyTooLarge(mostBytes(storage));
  if (slices.isOver) await slices.pause();
  return asWritten(storage, object);
}

/** What a writer cannot say of a new object. */
function wipeSystemMetadata({ metadata }: KubeObject, isTracked = false): void {
  if (metadata.resourceVersion) throw plainError('resourceVersion should not be set on objects to be created');
  // To remove what is not there costs more than to look for it.
  for (const field of saidByServer)
    if ((metadata as JsonObject)[field] !== undefined) delete (metadata as JsonObject)[field];
  if (!isTracked && metadata.managedFields !== undefined) delete metadata.managedFields;
}

const saidByServer = [
  'resourceVersion',
  'selfLink',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'uid',
  'creationTimestamp',
] as const;

/** What the server says of a new object. */
function setSystemMetadata({ facts }: ResourceStorage, object: KubeObject, { now }: StrategyContext): void {
  const { metadata } = object;
  metadata.uid = crypto.randomUUID();
  metadata.creationTimestamp = now;
  if (facts.hasGeneration) metadata.generation = 1;
  if (!metadata.name && metadata.generateName) metadata.name = generatedName(metadata.generateName);
}

/** Of an object that admission put in the place of the one that was sent: owners once, and only entries that can be read. */
function tidyReplacement(object: KubeObject, owned: ManagedFieldsEntry[] | undefined, { warn }: StrategyContext): void {
  const { metadata } = object;
  mergeOwners(object, { warn: () => {} });
  if (areReadable(metadata.managedFields)) return;
  warn(
    '.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating ' +
      'admission controller; please fix your requests',
  );
  if (owned) metadata.managedFields = owned;
  else delete metadata.managedFields;
}

/** The object that will take the place of `old`. */
export async function prepareUpdate(
  storage: ResourceStorage,
  old: KubeObject,
  given: KubeObject,
  { manager, isTracked }: Tracking,
  context: StrategyContext,
  admit?: Admit,
): Promise<KubeObject> {
  const { resource, facts } = storage;
  const strategy = strategyOf(resource);
  const slices = new WorkSlices(context);
  keepSystemMetadata(given, old);
  mergeOwners(given, context);
  const { status } = given;
  const sent = context.subresource === 'status' ? { ...given } : undefined;
  keepOtherPart(storage, given, old, context.subresource);
  const discarded = given.status !== status && isObject(status) ? { status } : undefined;
  strategy.setDefaults?.(given);
  if (slices.isOver) await slices.pause();
  const fits = canFit(storage, given, { isTracked, isNew: false });
  if (!isTracked && fits) track(storage, old, given, manager, context, { ...(discarded && { discarded }), sent });
  if (slices.isOver) await slices.pause();
  const owned = given.metadata.managedFields;
  const admitted = admit ? admit(given) : given;
  const object = admitted instanceof Promise ? await admitted : admitted;
  if (object !== given) {
    keepSystemMetadata(object, old);
    tidyReplacement(object, owned, context);
    keepOtherPart(storage, object, old, context.subresource);
  }
  const preparing = strategy.prepareUpdate?.(object, old, context);
  if (preparing instanceof Promise) await preparing;
  if (slices.isOver) await slices.pause();
  const isRenewed = context.subresource === '' && strategy.isRenewed?.(object, old);
  if (facts.hasGeneration && context.subresource !== 'binding')
    object.metadata.generation = nextGeneration(storage, object, old, isRenewed);
  const repeated = repeatedChecksOf(qualifiedName(resource), resource.isCustom);
  const faults = validateReplacedMeta(object.metadata, old.metadata, metaRules(storage), repeated);
  if (slices.isOver) await slices.pause();
  const found = strategy.validate?.(object, old, context) ?? [];
  refuse(storage, object, context, [
    ...faults,
    ...(found instanceof Promise ? await found : found),
    // A binding is what may change a pod's node, which nobody else may.
    ...(context.subresource === 'binding' ? [] : (strategy.validateUpdate?.(object, old, context) ?? [])),
  ]);
  for (const text of strategy.warnings?.(object, old, context) ?? []) context.warn(text);
  if (!fits) throw bodyTooLarge(mostBytes(storage));
  if (slices.isOver) await slices.pause();
  return asWritten(storage, object);
}

function asWritten({ resource }: ResourceStorage, object: KubeObject): KubeObject {
  return withNulls(object as unknown as JsonObject, resource.schema) as unknown as KubeObject;
}

/** Name and namespace of the body must be those of the path. */
export function checkNames(storage: ResourceStorage, object: KubeObject, namespace: string, name: string): void {
  object.metadata ??= {};
  const { metadata } = object;
  placeIn(namespace, metadata, storage.resource);
  if (name === '') return;
  if (!metadata.name)
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  if (metadata.name !== name)
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
}

/** A missing namespace is that of the path, another one is refused, and what lies in none has none. */
export function placeIn(
  namespace: string,
  metadata: ObjectMeta,
  { isNamespaced }: Pick<Resource, 'isNamespaced'>,
): void {
  if (!isNamespaced) delete metadata.namespace;
  else if (metadata.namespace && metadata.namespace !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  else metadata.namespace = namespace;
}

/** What no update changes; what it must not change either is left for validation to find. */
function keepSystemMetadata({ metadata }: KubeObject, { metadata: old }: KubeObject): void {
  metadata.uid ??= old.uid!;
  for (const field of ['creationTimestamp', 'generation'] as const) {
    if (old[field] === undefined) delete metadata[field];
    else (metadata as JsonObject)[field] = old[field];
  }
  if (old.deletionTimestamp !== undefined) metadata.deletionTimestamp = old.deletionTimestamp;
  if (old.deletionGracePeriodSeconds !== undefined)
    metadata.deletionGracePeriodSeconds ??= old.deletionGracePeriodSeconds;
  if (old.generateName !== undefined) metadata.generateName = old.generateName;
}

/** An owner named twice is one owner; the client is told, since it may be refused one day. */
export function mergeOwners({ metadata }: KubeObject, { warn }: Pick<StrategyContext, 'warn'>): void {
  const owners = metadata.ownerReferences;
  if (!owners || owners.length < 2) return;
  const seen = new Set<string>();
  const uids = new Set<string>();
  const kept = owners.filter((owner) => {
    const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = owner;
    const text = JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion]);
    if (!seen.has(text)) return seen.add(text);
    uids.add(uid);
    return false;
  });
  if (kept.length === owners.length) return;
  warn(
    '.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject ' +
      `such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${[...uids].join(', ')}`,
  );
  metadata.ownerReferences = kept;
}

/** A write to the object leaves its status alone, a write to the status everything else. */
function keepOtherPart(storage: ResourceStorage, object: KubeObject, old: KubeObject, subresource: string): void {
  if (!storage.facts.hasStatus) return;
  if (subresource === '') {
    if (old.status === undefined) delete object.status;
    else object.status = cloneJson(old.status);
    return;
  }
  if (subresource !== 'status') {
    strategyOf(storage.resource).keepOther?.(object, old, subresource);
    return;
  }
  for (const field of Object.keys(object))
    if (!['kind', 'apiVersion', 'metadata', 'status'].includes(field)) delete object[field];
  for (const [field, value] of Object.entries(old))
    if (!['kind', 'apiVersion', 'metadata', 'status'].includes(field)) object[field] = cloneJson(value);
  if (storage.facts.statusKeeps.length > 0) object.metadata = keptOf(storage.facts.statusKeeps, object, old);
  if (!storage.resource.isCustom) return;
  // The version is what the writer has seen, or nothing.
  const { resourceVersion: _version, ...metadata } = old.metadata;
  object.metadata = { ...cloneJson(metadata), ...managedOf(object) };
}

function keptOf(fields: readonly MetadataField[], { metadata }: KubeObject, old: KubeObject): KubeObject['metadata'] {
  const kept: JsonObject = { ...(metadata as JsonObject) };
  for (const field of fields) {
    const value = old.metadata[field];
    if (value === undefined) delete kept[field];
    else kept[field] = cloneJson(value as JsonObject);
  }
  return kept as KubeObject['metadata'];
}

function managedOf({ metadata }: KubeObject): Pick<KubeObject['metadata'], 'managedFields'> {
  return metadata.managedFields ? { managedFields: metadata.managedFields } : {};
}

function nextGeneration(
  storage: ResourceStorage,
  object: KubeObject,
  old: KubeObject,
  isRenewed: boolean | undefined,
): number {
  const generation = old.metadata.generation ?? 0;
  return !isRenewed && jsonEqual(wanted(storage, object), wanted(storage, old)) ? generation : generation + 1;
}

/** A custom kind without a status of its own may call anything so: then it is a field like others. */
function wanted({ resource, facts }: ResourceStorage, object: KubeObject): JsonObject {
  const { kind: _kind, apiVersion: _version, metadata: _metadata, status, ...rest } = object;
  return (resource.isCustom && !facts.hasStatus ? { ...rest, status } : rest) as JsonObject;
}

/**
 * Whether the store can take the object, and what is owned of it if it is new. Of one that it cannot take nothing more is
 * made; what else is wrong with it is told first. The status of a new one is not kept.
 */
function canFit(
  storage: ResourceStorage,
  { metadata, status, ...rest }: KubeObject,
  { isTracked = false, isNew }: { isTracked: boolean | undefined; isNew: boolean },
): boolean {
  const { managedFields: _entries, ...others } = metadata;
  const isStatusKept = !(isNew && storage.facts.hasStatus);
  const counted = { ...rest, metadata: isTracked ? metadata : others, ...(isStatusKept && { status }) };
  const limit = mostBytes(storage) + UNCOUNTED_BYTES;
  const room = limit - leastBytes(counted as unknown as JsonObject, limit);
  if (room < 0 || isTracked || !isNew) return room >= 0;
  if (limit - room <= SMALL_BYTES) return true;
  const parts = Object.keys(rest).filter((field) => field !== 'kind' && field !== 'apiVersion');
  return leastOwnedBytes(rest as unknown as JsonObject, storage.resource.schema, parts, room) <= room;
}

function mostBytes({ objects }: ResourceStorage): number {
  return objects.maxObjectBytes ?? LIMIT_BODY_BYTES;
}

/** The versions that entries of an object may be in. */
export function entryVersions({ resource, facts }: ResourceStorage): EntryVersions {
  if (resource.isCustom || facts.versions.size === 1) return { known: facts.versions, isCustom: resource.isCustom };
  const otherForm = (apiVersion: string) => {
    const isIt = ({ kind, groupVersion }: Resource) => kind === resource.kind && groupVersion === apiVersion;
    const other = builtInResources().find(isIt);
    if (!other || !isOtherForm(resource, other)) return undefined;
    const convert = (object: JsonObject) =>
      convertObject(object as unknown as KubeObject, resource, other) as unknown as JsonObject;
    return { schema: other.schema, convert };
  };
  return { known: facts.versions, isCustom: false, otherForm };
}

/** What was sent, with the defaults of its status. */
function withStatusOf({ status }: KubeObject, { status: _sent, ...rest }: KubeObject): Omit<KubeObject, 'status'> {
  return status === undefined ? rest : { ...rest, status };
}

/** What was sent that is not in the object: of a status that goes elsewhere, or all of what came with one. */
type Sent = { readonly discarded?: JsonObject; readonly sent?: KubeObject | undefined };

function track(
  storage: ResourceStorage,
  old: KubeObject | undefined,
  object: KubeObject,
  manager: string,
  context: StrategyContext,
  { discarded, sent }: Sent = {},
): void {
  const { schema, groupVersion } = storage.resource;
  if (untracked.has(qualifiedName(storage.resource))) {
    delete object.metadata.managedFields;
    return;
  }
  const managedFields = trackUpdate({
    after: (sent ? withStatusOf(object, sent) : object) as unknown as JsonObject,
    schema,
    manager,
    apiVersion: groupVersion,
    subresource: context.subresource,
    versions: entryVersions(storage),
    now: context.now,
    ignored: ignoredFields(storage, context.subresource),
    ...(old && { before: old as unknown as JsonObject }),
    ...(discarded && { discarded }),
  });
  if (managedFields) object.metadata.managedFields = managedFields;
  else delete object.metadata.managedFields;
}

/** Kinds whose fields kube-apiserver does not track: it cannot tell their lists' elements apart. */
const untracked: ReadonlySet<string> = new Set(['certificatesigningrequests.certificates.k8s.io']);

const STATUS: FieldSet = setOfPaths([['f:status']]);
const disowned = new WeakMap<KindFacts, FieldSet>();

/** What a write to this part of the object does not own, whatever its body says. */
export function ignoredFields({ facts }: ResourceStorage, subresource: string): FieldSet {
  if (!facts.hasStatus) return emptySet;
  if (subresource === '' || subresource === 'finalize') return STATUS;
  if (subresource !== 'status') return emptySet;
  let fields = disowned.get(facts);
  if (!fields) {
    fields = setOfPaths(facts.statusDisowns.map((path) => path.map((name) => `f:${name}`)));
    disowned.set(facts, fields);
  }
  return fields;
}

const parts = new WeakMap<KindFacts, Map<string, FieldPattern>>();

/** All that a write to this part of the object may own; undefined where that is not said. */
export function ownableFields({ facts }: ResourceStorage, subresource: string): FieldPattern | undefined {
  if (facts.partFields[subresource] === undefined) return undefined;
  let known = parts.get(facts);
  if (!known) {
    known = new Map(Object.entries(facts.partFields).map(([part, paths]) => [part, patternOf(paths)]));
    parts.set(facts, known);
  }
  return known.get(subresource);
}

/** Events are the same kind in both groups, and are refused under its older name. */
function refuse(
  { resource }: ResourceStorage,
  { metadata }: KubeObject,
  { allowsPrivileged }: StrategyContext,
  found: readonly FieldError[],
): void {
  if (found.length === 0) return;
  const faults = allowsPrivileged ? withoutClusterPolicy(found) : found;
  if (faults.length === 0) return;
  const isEvent = resource.group === 'events.k8s.io';
  throw invalid(isEvent ? { kind: resource.kind, group: '' } : resource, metadata.name ?? '', faults);
}

function metaRules({ resource, facts }: ResourceStorage) {
  return {
    isNamespaced: resource.isNamespaced,
    validateName: nameChecks[facts.nameRule],
    allowsPlainFinalizers: resource.isCustom,
  };
}

const nameChecks: Readonly<Record<NameRule, NameCheck>> = {
  subdomain: checkDnsSubdomain,
  subdomain52: (name, isPrefix) => [
    ...checkDnsSubdomain(name, isPrefix),
    ...(name.length > 52 ? ['must be no more than 52 characters'] : []),
  ],
  label: checkDnsLabel,
  segment: checkPathSegment,
  crd: checkDnsSubdomain,
  apiService: checkPathSegment,
  ip: (name) => checkIpAddress(name, true),
};
