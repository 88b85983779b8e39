/**
 * CREATE and UPDATE: from the body of a request to what is stored, or to what would be (dry run).
 *
 * An update never loses another's write: it is prepared on what the store has and put in its place only if that is
 * still there; if not, it is judged anew on what is there now, unless the client named the version it had seen.
 */

import {
  alreadyExists,
  conflict,
  invalid,
  invalidValue,
  isStatusError,
  type JsonObject,
  type KubeObject,
  notFound,
  noUniqueName,
  plainError,
  staleVersion,
} from '../../../api/index.ts';
import { CreateRight } from '../../auth/create-right.ts';
import { cloneJson, withoutNulls } from '../../codec/index.ts';
import { type Format, negotiate } from '../../encodings/negotiation.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import type { RequestContext } from '../../request/request-context.ts';
import type { StoredObject } from '../../storage/stored-object.ts';
import { untilWritten, type View } from '../../storage/view.ts';
import { generatedName } from '../../strategy/generated-name.ts';
import { isAnyVersion, versionFault } from '../input/list-options.ts';
import { readBodyObject } from '../input/read-body.ts';
import { type WriteOptions, writeOptions } from '../input/write-options.ts';
import { sendCached, sendObject } from '../output/answer.ts';
import type { Rest } from '../rest.ts';
import { checkNames, prepareCreate, prepareUpdate } from './prepare.ts';
import { admissionOf, type WriteAdmission } from './write-admission.ts';

const NAME_TRIES = 8;

export type Place = { readonly namespace: string; readonly name: string; readonly subresource: string };

/** One request that writes: what it is on, and how the client wants it. */
export type WriteRequest = {
  readonly rest: Rest;
  readonly context: RequestContext;
  readonly view: View;
  readonly place: Place;
  readonly options: WriteOptions;
};

/** How an update makes one object of another. */
export type ObjectChange = {
  /** What is there, as far as the caller knows; undefined: nothing. */
  readonly current: StoredObject | undefined;
  readonly change: (old: KubeObject) => KubeObject | Promise<KubeObject>;
  /** Where it is not admitted as an update of the object. */
  readonly admission?: UpdateAdmission;
};

export async function handleCreate(rest: Rest, context: RequestContext, view: View, place: Place): Promise<void> {
  const format = negotiate(context.headers, view.resource);
  const options = writeOptions(context, 'CreateOptions');
  const object = await decodeObject(context, view, options);
  checkNames(view, object, place.namespace, place.name);
  const created = await createObject({ rest, context, view, place, options }, object);
  answer(context, 201, format, view, created);
}

/** What was created, or what would have been; a 403 for who may not create it, whatever the request's own verb is. */
export async function createObject(
  { rest, context, view, place, options }: WriteRequest,
  object: KubeObject,
): Promise<StoredObject | KubeObject> {
  const { resource } = view;
  const strategyContext = rest.strategyContext(context, '', options.isDryRun);
  const admission = admissionOf(rest.admission, context, { operation: 'CREATE', resource, place, options });
  let isGenerated = false;
  const prepared = await prepareCreate(view, object, options, strategyContext, async (given) => {
    const admitted = await admission.admit(given, undefined, strategyContext);
    checkNames(view, admitted, place.namespace, place.name);
    isGenerated = !admitted.metadata.name && !!admitted.metadata.generateName;
    await rest.guard(context.user, resource, admitted, undefined, '');
    return admitted;
  });
  const { name = '', namespace = '' } = prepared.metadata;
  const right = await CreateRight.ask(rest.authorizer, context.user, resource, place);
  await admission.validate(prepared, undefined, strategyContext);
  if (options.isDryRun) {
    if (await view.read(namespace, name)) throw alreadyExists(view.resource, name);
    return prepared;
  }
  for (let attempt = 1; ; attempt++) {
    try {
      return await view.create(prepared, right);
    } catch (err) {
      if (!isStatusError(err, 'AlreadyExists')) throw err;
      if (isGenerated) {
        if (attempt === NAME_TRIES) throw noUniqueName(view.resource, prepared.metadata.name!);
        prepared.metadata.name = generatedName(prepared.metadata.generateName!);
        continue;
      }
      const existing = await view.read(namespace, name);
      throw existing?.parse().metadata.deletionTimestamp ? alreadyExists(view.resource, name, true) : err;
    }
  }
}

export async function handleUpdate(rest: Rest, context: RequestContext, view: View, place: Place): Promise<void> {
  const format = negotiate(context.headers, view.resource);
  const options = writeOptions(context, 'UpdateOptions');
  const object = await decodeObject(context, view, options);
  checkNames(view, object, place.namespace, place.name);
  const { facts } = view;
  const current = await view.read(place.namespace, place.name);
  if (!current && facts.createsOnUpdate && place.subresource === '') {
    delete object.metadata.resourceVersion;
    answer(context, 201, format, view, await createObject({ rest, context, view, place, options }, object));
    return;
  }
  const change = (old: KubeObject) => {
    const { uid } = object.metadata;
    if (uid && uid !== old.metadata.uid)
      throw conflict(view.resource, place.name, uidMismatch(view, place, options, uid, old.metadata.uid!));
    // Preparing changes the object. One that names its version gets no second attempt, and needs no whole copy.
    const { resourceVersion } = object.metadata;
    const isConditional = !isAnyVersion(resourceVersion ?? '');
    return isConditional ? { ...object, metadata: { ...object.metadata } } : cloneJson(object);
  };
  const updated = await updateObject({ rest, context, view, place, options }, { current, change });
  answer(context, 200, format, view, updated);
}

/** The two phases of admission of an update, each on the object as it is then and on what it takes the place of. */
export type UpdateAdmission = Pick<WriteAdmission, 'admit' | 'validate'>;

/** For what is admitted as something else (a Binding, an Eviction). */
export const admittedBefore: UpdateAdmission = { admit: async (object) => object, validate: async () => {} };

/**
 * Replaces what is there by what `change` makes of it. A resourceVersion in the result is what the client has seen
 * and must be what is there; without one the newest is taken, again if it changes meanwhile. Each attempt is admitted
 * anew.
 */
export function updateObject(
  { rest, context, view, place, options }: WriteRequest,
  { current: first, change, admission: given }: ObjectChange,
): Promise<StoredObject | KubeObject> {
  const { resource } = view;
  const admission = given ?? admissionOf(rest.admission, context, { operation: 'UPDATE', resource, place, options });
  return untilWritten<StoredObject | KubeObject>(view, first, place.name, async (current) => {
    const slices = new WorkSlices(context.signal);
    const old = withoutNulls(
      view.toObject(current) as unknown as JsonObject,
      view.resource.schema,
    ) as unknown as KubeObject;
    const object = await change(old);
    if (slices.isOver) await slices.pause();
    const strategyContext = rest.strategyContext(context, place.subresource, options.isDryRun);
    const seen = object.metadata.resourceVersion;
    delete object.metadata.resourceVersion;
    const prepared = await prepareUpdate(view, old, object, options, strategyContext, async (given) => {
      if (seen !== undefined) given.metadata.resourceVersion = seen;
      const admitted = await admission.admit(given, old, strategyContext);
      await rest.guard(context.user, resource, admitted, old, place.subresource);
      checkVersionSeen(view, admitted, current, place.name);
      delete admitted.metadata.resourceVersion;
      return admitted;
    });
    await admission.validate(withVersion(prepared, current.revision), old, strategyContext);
    if (isFinished(prepared)) return finishDeletion(view, current, prepared, options);
    if (options.isDryRun) return { done: withVersion(prepared, current.revision) };
    const outcome = await view.update(current, prepared);
    return 'stored' in outcome ? { done: outcome.stored } : outcome;
  });
}

export function answer(
  context: RequestContext,
  status: number,
  format: Format,
  view: View,
  object: StoredObject | KubeObject,
): void {
  if ('bytes' in object) sendCached(context, status, format, view, object as StoredObject);
  else sendObject(context, status, format, view, object);
}

async function decodeObject(context: RequestContext, { resource }: View, options: WriteOptions): Promise<KubeObject> {
  return (await readBodyObject(context, resource, options.fieldValidation)) as unknown as KubeObject;
}

function checkVersionSeen(view: View, object: KubeObject, current: StoredObject, name: string): void {
  const seen = object.metadata.resourceVersion ?? '';
  const why = versionFault(seen);
  if (why !== undefined) throw plainError(why);
  if (isAnyVersion(seen)) {
    if (view.facts.allowsUnconditionalUpdate) return;
    const fault = invalidValue('metadata.resourceVersion', 0, 'must be specified for an update');
    const { plural, group } = view.resource;
    throw invalid({ kind: plural, group }, name, [fault]); // here kube-apiserver names the resource
  }
  if (Number(seen) !== current.revision) throw staleVersion(view.resource, name);
}

/** Marked for deletion, and nothing holds it any more. */
function isFinished({ metadata }: KubeObject): boolean {
  return (
    metadata.deletionTimestamp !== undefined &&
    (metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
    (metadata.finalizers ?? []).length === 0
  );
}

/** The answer shows the object without its finalizers under its old version; watchers see it as it was stored last. */
async function finishDeletion(view: View, current: StoredObject, object: KubeObject, options: WriteOptions) {
  const done = withVersion(object, current.revision);
  if (options.isDryRun || holdsSpecFinalizers(object)) {
    if (options.isDryRun) return { done };
    const outcome = await view.update(current, object);
    return 'stored' in outcome ? { done: outcome.stored } : outcome;
  }
  const outcome = await view.delete(current);
  return 'deleted' in outcome ? { done } : outcome;
}

/** A Namespace is also held by the finalizers of its spec. */
function holdsSpecFinalizers({ kind, apiVersion, spec }: KubeObject): boolean {
  if (kind !== 'Namespace' || apiVersion !== 'v1') return false;
  return ((spec as { finalizers?: unknown[] } | undefined)?.finalizers ?? []).length > 0;
}

export function withVersion(object: KubeObject, revision: number): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}

function uidMismatch(
  { storage, facts }: View,
  { namespace, name }: Place,
  { isDryRun }: WriteOptions,
  asked: string,
  found: string,
): string {
  const storeKey = storage.keys.of(namespace, name);
  // What is not written is not looked up below the root of all keys either.
  const key = isDryRun ? storeKey.slice(storeKey.indexOf(`/${facts.keyPrefix}/`)) : storeKey;
  return (
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ` +
    `Precondition failed: UID in precondition: ${asked}, UID in object meta: ${found}`
  );
}

/** The object or a 404. */
export async function mustRead(view: View, { namespace, name }: Place): Promise<StoredObject> {
  const found = await view.read(namespace, name);
  if (!found) throw notFound(view.resource, name);
  return found;
}
