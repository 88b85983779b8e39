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
import { whenThere } from '../../event-loop/when-there.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import { strategyOf } from '../../kinds/strategy-of.ts';
import type { RequestContext } from '../../request/request-context.ts';
import { OvertakenError } from '../../storage/object-storage.ts';
import type { StoredObject } from '../../storage/objects/stored-object.ts';
import { type ResourceStorage, untilWritten } from '../../storage/resource-storage.ts';
import { generatedName } from '../../strategy/generated-name.ts';
import { isAnyVersion, versionFault } from '../input/list-options.ts';
import { isShortBody, readBodyObject } from '../input/read-body.ts';
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
  readonly storage: ResourceStorage;
  readonly place: Place;
  readonly options: WriteOptions;
};

/** How an update makes one object of another. */
export type ObjectChange = {
  /** What is there, as far as the caller knows; undefined: nothing. */
  readonly current: StoredObject | undefined;
  readonly change: (old: KubeObject) => KubeObject | Promise<KubeObject>;
  /** Why it cannot be where nothing is there any more; a 404 where nobody says. */
  readonly gone?: (() => Error) | undefined;
  /** Where it is not admitted as an update of the object. */
  readonly admission?: UpdateAdmission;
};

export async function handleCreate(
  rest: Rest,
  context: RequestContext,
  storage: ResourceStorage,
  place: Place,
): Promise<void> {
  const format = negotiate(context.headers, storage.resource);
  const options = { isSmall: isShortBody(context.headers), ...writeOptions(context, 'CreateOptions') };
  const object = await decodeObject(context, storage, options);
  checkNames(storage, object, place.namespace, place.name);
  const created = await createObject({ rest, context, storage, place, options }, object);
  answer(context, 201, format, storage, created);
}

/** What was created, or what would have been; a 403 for who may not create it, whatever the request's own verb is. */
export async function createObject(request: WriteRequest, object: KubeObject): Promise<StoredObject | KubeObject> {
  const { rest, context, storage, place, options } = request;
  const { resource } = storage;
  const admission = admissionOf(rest.admission, context, { operation: 'CREATE', resource, place, options });
  if (!strategyOf(resource).isUniqueAmong) return createOnce(request, object, admission);
  for (;;) {
    try {
      return await createOnce(request, cloneJson(object), admission);
    } catch (err) {
      if (!(err instanceof OvertakenError)) throw err;
      context.signal.throwIfAborted();
    }
  }
}

/** Rejects with an OvertakenError where it was given what another has got meanwhile. */
async function createOnce(
  { rest, context, storage, place, options }: WriteRequest,
  object: KubeObject,
  admission: WriteAdmission,
): Promise<StoredObject | KubeObject> {
  const { resource } = storage;
  const strategyContext = rest.strategyContext(context, '', options.isDryRun);
  let isGenerated = false;
  const prepared = await prepareCreate(storage, object, options, strategyContext, (given) =>
    whenThere(admission.admit(given, undefined, strategyContext), (admitted) => {
      checkNames(storage, admitted, place.namespace, place.name);
      isGenerated = !admitted.metadata.name && !!admitted.metadata.generateName;
      return whenThere(rest.guard(context.user, resource, admitted, undefined, ''), () => admitted);
    }),
  );
  const { name = '', namespace = '' } = prepared.metadata;
  const asked = CreateRight.ask(rest.authorizer, context.user, resource, place);
  const right = asked instanceof Promise ? await asked : asked;
  const validating = admission.validate(prepared, undefined, strategyContext);
  if (validating instanceof Promise) await validating;
  if (options.isDryRun) {
    if (await storage.read(namespace, name)) throw alreadyExists(storage.resource, name);
    return prepared;
  }
  const { isUniqueAmong } = strategyOf(resource);
  const write = () => storage.create(prepared, right, strategyContext.guard);
  const isStillUnique = async () => isUniqueAmong!(prepared, await strategyContext.holdAnew());
  for (let attempt = 1; ; attempt++) {
    try {
      const isHeld = isUniqueAmong && strategyContext.guard;
      const created = await (isHeld ? rest.uniqueWrites.run(context.signal, write, isStillUnique) : write());
      rest.writers.note(created.revision, context.user.username);
      return created;
    } catch (err) {
      if (!isStatusError(err, 'AlreadyExists')) throw err;
      if (isGenerated) {
        if (attempt === NAME_TRIES) throw noUniqueName(storage.resource, prepared.metadata.name!);
        prepared.metadata.name = generatedName(prepared.metadata.generateName!);
        continue;
      }
      const existing = await storage.read(namespace, name);
      throw existing?.parse().metadata.deletionTimestamp ? alreadyExists(storage.resource, name, true) : err;
    }
  }
}

export async function handleUpdate(
  rest: Rest,
  context: RequestContext,
  storage: ResourceStorage,
  place: Place,
): Promise<void> {
  const format = negotiate(context.headers, storage.resource);
  const options = writeOptions(context, 'UpdateOptions');
  const object = await decodeObject(context, storage, options);
  checkNames(storage, object, place.namespace, place.name);
  const { facts } = storage;
  const current = await storage.read(place.namespace, place.name);
  const gone = goneFor(storage, place, options, object.metadata.uid);
  if (!current && gone) throw gone();
  if (!current && facts.createsOnUpdate && place.subresource === '') {
    delete object.metadata.resourceVersion;
    answer(context, 201, format, storage, await createObject({ rest, context, storage, place, options }, object));
    return;
  }
  const change = (old: KubeObject) => {
    const { uid } = object.metadata;
    if (uid && uid !== old.metadata.uid)
      throw conflict(storage.resource, place.name, uidMismatch(storage, place, options, uid, old.metadata.uid!));
    // Preparing changes the object. One that names its version mostly gets no second attempt, and needs no whole copy.
    const { resourceVersion } = object.metadata;
    const isOnlyAttempt = !isAnyVersion(resourceVersion ?? '') && !strategyOf(storage.resource).isUniqueAmong;
    return isOnlyAttempt ? { ...object } : cloneJson(object);
  };
  const updated = await updateObject({ rest, context, storage, place, options }, { current, change, gone });
  answer(context, 200, format, storage, updated);
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
  { rest, context, storage, place, options }: WriteRequest,
  { current: first, change, gone, admission: given }: ObjectChange,
): Promise<StoredObject | KubeObject> {
  const { resource } = storage;
  const admission = given ?? admissionOf(rest.admission, context, { operation: 'UPDATE', resource, place, options });
  return untilWritten<StoredObject | KubeObject>(
    storage,
    first,
    place.name,
    async (current) => {
      const slices = new WorkSlices(context);
      const old = withoutNulls(
        storage.toObject(current) as unknown as JsonObject,
        storage.resource.schema,
      ) as unknown as KubeObject;
      const changed = change(old);
      const object = changed instanceof Promise ? await changed : changed;
      if (slices.isOver) await slices.pause();
      const strategyContext = rest.strategyContext(context, place.subresource, options.isDryRun);
      // Not removed from what is there: an object that something is taken out of is a slow one ever after.
      const { resourceVersion: seen, ...metadata } = object.metadata;
      object.metadata = metadata;
      const prepared = await prepareUpdate(storage, old, object, options, strategyContext, (given) => {
        if (seen !== undefined) given.metadata.resourceVersion = seen;
        return whenThere(admission.admit(given, old, strategyContext), (admitted) =>
          whenThere(rest.guard(context.user, resource, admitted, old, place.subresource), () => {
            checkVersionSeen(storage, admitted, current, place.name);
            delete admitted.metadata.resourceVersion;
            return admitted;
          }),
        );
      });
      const validating = admission.validate(withVersion(prepared, current.revision), old, strategyContext);
      if (validating instanceof Promise) await validating;
      if (isFinished(prepared)) return finishDeletion(storage, current, prepared, options);
      if (options.isDryRun) return { done: withVersion(prepared, current.revision) };
      const outcome = await storage.update(current, prepared, strategyContext.guard);
      if (!('stored' in outcome)) return outcome;
      if (outcome.stored !== current) rest.writers.note(outcome.stored.revision, context.user.username);
      return { done: outcome.stored };
    },
    gone,
  );
}

export function answer(
  context: RequestContext,
  status: number,
  format: Format,
  storage: ResourceStorage,
  object: StoredObject | KubeObject,
): void {
  if ('bytes' in object) sendCached(context, status, format, storage, object as StoredObject);
  else sendObject(context, status, format, storage, object);
}

function decodeObject(
  context: RequestContext,
  { resource }: ResourceStorage,
  options: WriteOptions,
): Promise<KubeObject> {
  return readBodyObject(context, resource, options.fieldValidation) as Promise<unknown> as Promise<KubeObject>;
}

function checkVersionSeen(storage: ResourceStorage, object: KubeObject, current: StoredObject, name: string): void {
  const seen = object.metadata.resourceVersion ?? '';
  const why = versionFault(seen);
  if (why !== undefined) throw plainError(why);
  if (isAnyVersion(seen)) {
    if (storage.facts.allowsUnconditionalUpdate) return;
    const fault = invalidValue('metadata.resourceVersion', 0, 'must be specified for an update');
    const { plural, group } = storage.resource;
    throw invalid({ kind: plural, group }, name, [fault]); // here kube-apiserver names the resource
  }
  if (Number(seen) !== current.revision) throw staleVersion(storage.resource, name);
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
async function finishDeletion(
  storage: ResourceStorage,
  current: StoredObject,
  object: KubeObject,
  options: WriteOptions,
) {
  const done = withVersion(object, current.revision);
  if (options.isDryRun || holdsSpecFinalizers(object)) {
    if (options.isDryRun) return { done };
    const outcome = await storage.update(current, object);
    return 'stored' in outcome ? { done: outcome.stored } : outcome;
  }
  const outcome = await storage.delete(current);
  return 'deleted' in outcome ? { done } : outcome;
}

/** A Namespace is also held by the finalizers of its spec. */
function holdsSpecFinalizers({ kind, apiVersion, spec }: KubeObject): boolean {
  if (kind !== 'Namespace' || apiVersion !== 'v1') return false;
  return ((spec as { finalizers?: unknown[] } | undefined)?.finalizers ?? []).length > 0;
}

export function withVersion(object: KubeObject, revision: number): KubeObject {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata: Object.assign(metadata, { resourceVersion: String(revision) }) };
}

/** As of a write that is not to the object that it means: by its uid, or by its version. */
export function uidMismatch(
  { objects, facts }: ResourceStorage,
  { namespace, name }: Place,
  { isDryRun }: WriteOptions,
  asked: string,
  found: string,
  field = 'UID',
): string {
  const storeKey = objects.keys.of(namespace, name);
  // What is not written is not looked up below the root of all keys either.
  const key = isDryRun ? storeKey.slice(storeKey.indexOf(`/${facts.keyPrefix}/`)) : storeKey;
  return (
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ` +
    `Precondition failed: ${field} in precondition: ${asked}, ${field} in object meta: ${found}`
  );
}

/**
 * Where an update may create an object, who means a certain one and finds none meets a conflict, as if another had its
 * place. Elsewhere it is not found.
 */
function goneFor(
  storage: ResourceStorage,
  place: Place,
  options: WriteOptions,
  uid: string | undefined,
): (() => Error) | undefined {
  if (!uid || !storage.facts.createsOnUpdate) return undefined;
  return () => conflict(storage.resource, place.name, uidMismatch(storage, place, options, uid, ''));
}

/** The object or a 404. */
export async function mustRead(storage: ResourceStorage, { namespace, name }: Place): Promise<StoredObject> {
  const found = await storage.read(namespace, name);
  if (!found) throw notFound(storage.resource, name);
  return found;
}
