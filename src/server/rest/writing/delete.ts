/**
 * DELETE and DELETECOLLECTION. An object that nothing holds goes at once; one with finalizers, or with a time to go
 * gracefully, is marked first and goes when the last of them lets go (write.ts).
 */
import {
  conflict,
  forbidden,
  isStatusError,
  type JsonObject,
  type KubeObject,
  rfc3339,
  successStatus,
} from '../../../api/index.ts';
import { type Format, negotiate } from '../../encodings/negotiation.ts';
import { strategyOf } from '../../kinds/strategy-of.ts';
import type { DependentsRule } from '../../registry/kind-table.ts';
import { qualifiedName } from '../../registry/resource.ts';
import type { RequestContext } from '../../request/request-context.ts';
import type { StoredObject } from '../../storage/objects/stored-object.ts';
import { type ResourceStorage, untilWritten } from '../../storage/resource-storage.ts';
import { type DeleteOptions, deleteOptions } from '../input/delete-options.ts';
import { listOptions } from '../input/list-options.ts';
import { sendJson, sendList } from '../output/answer.ts';
import { listObjects } from '../reading/read.ts';
import { nowInSeconds, type Rest } from '../rest.ts';
import { answer, type Place, withVersion } from './write.ts';
import { admissionOf } from './write-admission.ts';

const ORPHAN = 'orphan';
const FOREGROUND = 'foregroundDeletion';

/** What became of it: still there but marked, or gone. */
export type Deletion = { readonly object: StoredObject | KubeObject; readonly isGone: boolean };

export async function handleDelete(
  rest: Rest,
  context: RequestContext,
  storage: ResourceStorage,
  place: Place,
): Promise<void> {
  const format = negotiate(context.headers, storage.resource);
  const options = await deleteOptions(context, storage.resource);
  warnOfOrphans(context, storage, options);
  const why = strategyOf(storage.resource).whyKept?.(place.name);
  if (why !== undefined) throw forbidden(storage.resource, place.name, why);
  const deletion = await deleteObject(
    storage,
    place,
    options,
    deletionAdmission(rest, context, storage, place, options),
  );
  const { object, isGone } = deletion;
  if (isGone && 'bytes' in object) rest.writers.note((object as StoredObject).revision, context.user.username);
  answerDeletion(context, format, storage, place, options, deletion);
}

export async function handleDeleteCollection(
  rest: Rest,
  context: RequestContext,
  storage: ResourceStorage,
  place: Place,
): Promise<void> {
  const format = negotiate(context.headers, storage.resource, false, true);
  const listed = listOptions(context.query, storage.resource, place.namespace);
  const options = await deleteOptions(context, storage.resource);
  warnOfOrphans(context, storage, options);
  const { items, meta } = await listObjects(storage.objects, listed, context.signal);
  const admitDeletion = deletionAdmission(rest, context, storage, place, options);
  for (const { namespace, name } of items) {
    context.signal.throwIfAborted();
    await deleteObject(storage, { namespace, name, subresource: '' }, options, admitDeletion).catch((err: unknown) => {
      if (!isStatusError(err, 'NotFound')) throw err;
    });
  }
  await sendList(context, format, storage, items, meta);
}

function warnOfOrphans(context: RequestContext, { facts }: ResourceStorage, options: DeleteOptions): void {
  if (facts.dependentsWarning !== undefined && policyOf(options) === undefined) context.warn(facts.dependentsWarning);
}

/** Asked about what is to be deleted, again whenever that has changed; it refuses by throwing. */
export type AdmitDeletion = (old: KubeObject) => Promise<void>;

/** Members of a collection are deleted without their names. */
function deletionAdmission(
  rest: Rest,
  context: RequestContext,
  { resource }: ResourceStorage,
  place: Place,
  options: DeleteOptions,
): AdmitDeletion {
  const admission = admissionOf(rest.admission, context, { operation: 'DELETE', resource, place, options });
  const strategyContext = rest.strategyContext(context, '', options.isDryRun);
  return (old) => admission.admitDeletion(old, strategyContext);
}

/** Without `admitDeletion` nobody is asked: what the server itself deletes, and what was admitted as something else. */
export async function deleteObject(
  storage: ResourceStorage,
  place: Place,
  options: DeleteOptions,
  admitDeletion?: AdmitDeletion,
): Promise<Deletion> {
  const { resource, facts } = storage;
  const first = await storage.read(place.namespace, place.name);
  return untilWritten<Deletion>(storage, first, place.name, async (current) => {
    const object = storage.toObject(current);
    checkPreconditions(storage, object, options);
    await admitDeletion?.(object);
    const marked = mark(storage, object, options, facts.hasGeneration);
    const stays =
      (marked.metadata.finalizers ?? []).length > 0 ||
      isHeldBySpec(storage, marked, object) ||
      gracePeriodOf(marked) > 0;
    if (stays) {
      if (options.isDryRun) return { done: { object: withVersion(marked, current.revision), isGone: false } };
      const outcome = await storage.update(current, marked);
      return 'stored' in outcome ? { done: { object: outcome.stored, isGone: false } } : outcome;
    }
    if (options.isDryRun) return { done: { object: withVersion(marked, current.revision), isGone: true } };
    let last = current;
    if (strategyOf(resource).gracePeriodSeconds) {
      // Whoever looks after the object sees first that it must stop, and then that it is gone.
      const outcome = await storage.update(current, marked);
      if (!('stored' in outcome)) return outcome;
      last = outcome.stored;
    }
    const outcome = await storage.delete(last);
    return 'deleted' in outcome ? { done: { object: outcome.deleted, isGone: true } } : outcome;
  });
}

function answerDeletion(
  context: RequestContext,
  format: Format,
  storage: ResourceStorage,
  { name }: Place,
  { orphanDependents }: DeleteOptions,
  { object, isGone }: Deletion,
): void {
  const { resource, facts } = storage;
  if (!isGone || facts.answersDeleted) {
    answer(context, !isGone && orphanDependents === false ? 202 : 200, format, storage, object);
    return;
  }
  const { uid } = ('bytes' in object ? (object as StoredObject).parse() : object).metadata;
  const { group, plural } = resource;
  const status = successStatus({ name, ...(group && { group }), kind: plural, ...(uid && { uid }) });
  sendJson(context, 200, { ...format, shape: 'object' }, status as unknown as JsonObject);
}

/** Throws a Conflict where the object is not the one, or not as it was, that is to go. */
export function checkPreconditions(
  { resource }: ResourceStorage,
  { metadata }: KubeObject,
  { preconditions = {} }: Pick<DeleteOptions, 'preconditions'>,
): void {
  const { uid, resourceVersion } = preconditions;
  const what = { group: resource.group, plural: resource.kind }; // here kube-apiserver names the kind
  const name = metadata.name!;
  if (uid !== undefined && uid !== metadata.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`;
    throw conflict(what, name, why);
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`;
    throw conflict(what, name, why);
  }
}

/** The object with what its deletion sets: when, how long, and who must let go of it first. */
function mark(
  storage: ResourceStorage,
  object: KubeObject,
  options: DeleteOptions,
  hasGeneration: boolean,
): KubeObject {
  const { metadata } = object;
  const finalizers = finalizersFor(metadata.finalizers ?? [], options, storage.facts.dependents);
  const strategy = strategyOf(storage.resource);
  const isNew = metadata.deletionTimestamp === undefined;
  const left = metadata.deletionGracePeriodSeconds ?? 0;
  if (!isNew && left !== 0 && !isShorter(options, left)) return object; // it goes on as it was decided
  const grace =
    strategy.gracePeriodSeconds?.(
      object,
      options.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: options.gracePeriodSeconds },
    ) ?? 0;
  const marked: KubeObject = { ...object, metadata: { ...metadata } };
  if (!isNew && left !== 0) Object.assign(marked.metadata, shortened(metadata, options));
  if (finalizers.length > 0) marked.metadata.finalizers = finalizers;
  else delete marked.metadata.finalizers;
  if (!isNew) return marked;
  marked.metadata.deletionTimestamp = rfc3339(Date.parse(nowInSeconds()) + millisecondsOf(grace));
  if (hasOwnGracePeriod(storage)) marked.metadata.deletionGracePeriodSeconds = grace;
  strategy.markDeleted?.(marked, nowInSeconds());
  if (hasGeneration && !strategy.markDeleted && (metadata.generation ?? 0) > 0)
    marked.metadata.generation = metadata.generation! + 1;
  if (storage.resource.plural === 'namespaces' && storage.resource.group === '')
    marked.status = { ...(object.status as JsonObject | undefined), phase: 'Terminating' };
  return marked;
}

/** What is left of the time may only become shorter. */
function isShorter({ gracePeriodSeconds }: DeleteOptions, left: number): boolean {
  return gracePeriodSeconds !== undefined && periodOf(gracePeriodSeconds) < left;
}

function periodOf(seconds: number): number {
  return seconds < 0 ? 1 : seconds;
}

/** The time runs from the first deletion on; who asks for time that is over gets a second, as long as it is not none. */
function shortened(
  { deletionTimestamp, deletionGracePeriodSeconds = 0 }: KubeObject['metadata'],
  { gracePeriodSeconds = 0 }: DeleteOptions,
): Partial<KubeObject['metadata']> {
  const period = periodOf(gracePeriodSeconds);
  const end = Date.parse(deletionTimestamp!) - millisecondsOf(deletionGracePeriodSeconds) + millisecondsOf(period);
  const now = Date.parse(nowInSeconds());
  if (end >= now) return { deletionTimestamp: rfc3339(end), deletionGracePeriodSeconds: period };
  return { deletionTimestamp: rfc3339(now), deletionGracePeriodSeconds: Math.min(period, 1) };
}

/** As Go's durations have it: nanoseconds in 64 bits, and what is beyond them comes round again. */
function millisecondsOf(seconds: number): number {
  return Number(BigInt.asIntN(64, BigInt(seconds) * 1_000_000_000n) / 1_000_000n);
}

/** Namespaces and definitions go when their finalizers do; nobody waits for a time. */
function hasOwnGracePeriod({ resource }: ResourceStorage): boolean {
  return !['namespaces', 'customresourcedefinitions.apiextensions.k8s.io'].includes(qualifiedName(resource));
}

/** A Namespace is only marked by its first deletion, and then held by the finalizers of its spec. */
function isHeldBySpec({ resource }: ResourceStorage, { spec }: KubeObject, { metadata }: KubeObject): boolean {
  if (resource.group !== '' || resource.plural !== 'namespaces') return false;
  if (metadata.deletionTimestamp === undefined) return true;
  return ((spec as { finalizers?: unknown[] } | undefined)?.finalizers ?? []).length > 0;
}

function gracePeriodOf({ metadata }: KubeObject): number {
  return metadata.deletionGracePeriodSeconds ?? 0;
}

/** What a deletion says of dependents; undefined: nothing. */
function policyOf({ propagationPolicy, orphanDependents }: DeleteOptions): DeleteOptions['propagationPolicy'] {
  return propagationPolicy ?? (orphanDependents === undefined ? undefined : orphanDependents ? 'Orphan' : 'Background');
}

/** What was decided before stays so, unless this deletion decides; only then it is the kind's to say. */
function finalizersFor(
  known: readonly string[],
  options: DeleteOptions,
  dependents: DependentsRule | undefined,
): string[] {
  const policy = dependents === 'ignore' ? 'Background' : policyOf(options);
  const others = known.filter((finalizer) => finalizer !== ORPHAN && finalizer !== FOREGROUND);
  if (policy === undefined && (others.length < known.length || dependents !== 'orphan')) return [...known];
  if (policy === 'Foreground') return [...others, FOREGROUND];
  return policy === 'Background' ? others : [...others, ORPHAN];
}
