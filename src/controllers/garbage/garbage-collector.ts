/**
 * Garbage collection by owner references, over every kind the cluster serves, also those that are defined later.
 *
 *   background  an object goes when all its owners are gone
 *   foreground  an owner waits (finalizer `foregroundDeletion`) until those that block it are gone, and they go first
 *   orphan      an owner waits (finalizer `orphan`) until its dependents have forgotten it, and they stay
 *
 * Only metadata is watched and held (watched-kinds.ts). An owner that the cache does not know is looked up on the server
 * before anything is deleted, and every deletion names the uid and version that were judged: nothing that has a living
 * owner is deleted. Whose dependents are to stay is asked of the server, too: those the cache has not heard of would
 * be taken for garbage later. What cannot be judged, such as an owner of a kind that nobody serves, is kept, and judged
 * again when there are other kinds.
 */
import { systemClock } from '../../api/index.ts';
import {
  type AnyObject,
  type InformerEvent,
  isApiError,
  type KubeClient,
  mergePatch,
  type PartialObjectMetadata,
  type Resource,
} from '../../client/index.ts';
import { WorkerPool, WorkQueue } from '../../controller/advanced.ts';
import { type EventRecorder, hasFinalizer, isBeingDeleted } from '../../controller/index.ts';
import { AbsentOwners } from './absent-owners.ts';
import { type Dependent, WatchedKinds } from './watched-kinds.ts';

const FOREGROUND = 'foregroundDeletion';
const ORPHAN = 'orphan';
const DEFINITIONS = ['customresourcedefinitions.apiextensions.k8s.io', 'apiservices.apiregistration.k8s.io'];
const REFRESH = 'which kinds there are';
/** As often as kinds are looked at without a reason: those of other servers come without one. */
const REFRESH_MS = 30_000;
const WORKERS = 16;
const NOT_WHOLE_MS = 500;

type OwnerReference = NonNullable<AnyObject['metadata']['ownerReferences']>[number];
/** What becomes of an object depends on its owners: there, gone, waiting for it to go, or nobody can say. */
type OwnerState = 'solid' | 'absent' | 'waiting' | 'unknown';

export type GarbageCollectorOptions = {
  readonly onError: (error: unknown, key: string) => void;
  readonly recorder?: EventRecorder | undefined;
};

export class GarbageCollector implements AsyncDisposable {
  readonly #client: KubeClient;
  readonly #options: GarbageCollectorOptions;
  readonly #kinds: WatchedKinds;
  readonly #absent = new AbsentOwners();
  readonly #queue = new WorkQueue<string>({ namespaceOf: (key) => key.slice(key.indexOf(' ') + 1).split('/')[0]! });
  readonly #stop = new AbortController();
  #pool: WorkerPool<string> | undefined;

  constructor(client: KubeClient, options: GarbageCollectorOptions) {
    this.#client = client;
    this.#options = options;
    const onError = (error: unknown) => options.onError(error, 'watching');
    this.#kinds = new WatchedKinds(client, (kind, event) => this.#onEvent(kind, event), onError);
  }

  /** Resolves when everything there is has been looked at: before that nothing is collected. */
  async start(signal: AbortSignal): Promise<void> {
    const starting = AbortSignal.any([signal, this.#stop.signal]);
    for (let tries = 1; ; tries++) {
      try {
        await this.#refresh(starting);
        break;
      } catch (err) {
        starting.throwIfAborted();
        this.#options.onError(err, REFRESH);
        await systemClock.sleep(Math.min(100 * 2 ** tries, REFRESH_MS), starting);
      }
    }
    this.#queue.addAfter(REFRESH, REFRESH_MS);
    this.#pool = new WorkerPool({
      queue: this.#queue,
      workers: WORKERS,
      graceMs: 0,
      handler: (key, context) => (key === REFRESH ? this.#refresh(context.signal) : this.#process(key, context.signal)),
      onOutcome: ({ key, error, result }) => {
        if (error !== undefined && result !== 'stopped') this.#options.onError(error, key);
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('The garbage collector was stopped'));
    this.#queue.close();
    await this.#pool?.stop();
    await this.#kinds[Symbol.asyncDispose]();
  }

  // ---- what there is ----

  async #refresh(signal: AbortSignal): Promise<{ requeueAfterMs: number }> {
    if (await this.#kinds.refresh(signal)) for (const { kind, key } of this.#kinds.owned()) this.#add(kind, key);
    return { requeueAfterMs: REFRESH_MS };
  }

  #onEvent(kind: string, event: InformerEvent<PartialObjectMetadata>): void {
    const { object } = event;
    const before = event.type === 'updated' ? event.old : undefined;
    if (DEFINITIONS.includes(kind)) this.#queue.add(REFRESH);
    const isAwaited = event.type === 'deleted' || (isBeingDeleted(object) && hasFinalizer(object, FOREGROUND));
    const dependents = isAwaited ? this.#kinds.dependentsOf(object.metadata.uid) : [];
    if (event.type === 'deleted') {
      if (dependents.length > 0) this.#absent.add(object.metadata.uid);
    } else {
      this.#absent.forget(object.metadata.uid); // it may be back, from a backup
      if (ownersOf(object).length > 0 || isBeingDeleted(object)) this.#add(kind, event.key);
    }
    for (const one of dependents) this.#add(one.kind, one.key);
    // An object of that name, but another: what belonged to the one before has lost it.
    if (before && before.metadata.uid !== object.metadata.uid)
      for (const one of this.#kinds.dependentsOf(before.metadata.uid)) this.#add(one.kind, one.key);
    // Owners that wait for it may have one thing less to wait for.
    for (const owner of [...ownersOf(object), ...(before ? ownersOf(before) : [])]) {
      const found = this.#kinds.locate(owner, object.metadata.namespace);
      if (found && isBeingDeleted(found.object)) this.#add(found.kind, found.key);
    }
  }

  /** Neither half can contain a space. */
  #add(kind: string, key: string): void {
    this.#queue.add(`${kind} ${key}`);
  }

  // ---- what becomes of one object ----

  async #process(queued: string, signal: AbortSignal): Promise<{ requeueAfterMs: number } | undefined> {
    const at = queued.indexOf(' ');
    const kind = queued.slice(0, at);
    const found = this.#kinds.get(kind, queued.slice(at + 1));
    if (!found) return undefined;
    const { resource, object } = found;
    if (isBeingDeleted(object)) {
      if (hasFinalizer(object, ORPHAN)) return this.#orphan(resource, object, signal);
      if (hasFinalizer(object, FOREGROUND)) return this.#finishForeground(resource, object, signal);
      return undefined;
    }
    if (ownersOf(object).length === 0) return undefined;
    const owners = await this.#judge(resource, object, signal);
    const goners = [...owners.absent, ...owners.waiting];
    if (owners.solid.length + owners.unknown.length === 0)
      await this.#delete(resource, object, owners.waiting.length > 0, signal);
    else if (owners.solid.length > 0 && goners.length > 0) await this.#forget(resource, object, goners, signal);
    return undefined;
  }

  async #judge(
    { apiVersion, kind }: Resource,
    object: PartialObjectMetadata,
    signal: AbortSignal,
  ): Promise<Record<OwnerState, OwnerReference[]>> {
    const owners: Record<OwnerState, OwnerReference[]> = { solid: [], absent: [], waiting: [], unknown: [] };
    const whole = { ...object, apiVersion, kind };
    for (const reference of ownersOf(object)) owners[await this.#stateOf(reference, whole, signal)].push(reference);
    return owners;
  }

  async #stateOf(reference: OwnerReference, object: AnyObject, signal: AbortSignal): Promise<OwnerState> {
    const { namespace } = object.metadata;
    const resource = this.#kinds.servedAs(reference);
    if (resource?.isNamespaced && !namespace) {
      this.#warnOfNamespace(reference, object);
      return 'unknown'; // nobody can say in which namespace it would be
    }
    if (this.#absent.has(reference.uid) && (resource || namespace)) return 'absent';
    if (!resource) return 'unknown'; // a kind that nobody serves: not knowing is no reason to delete
    const cached = this.#kinds.locate(reference, namespace)?.object;
    const owner =
      cached?.metadata.uid === reference.uid ? cached : await this.#find(resource, reference, namespace, signal);
    if (owner === 'unknown') return owner;
    if (owner?.metadata.uid !== reference.uid) return 'absent';
    return isBeingDeleted(owner) && hasFinalizer(owner, FOREGROUND) ? 'waiting' : 'solid';
  }

  async #find(
    resource: Resource<PartialObjectMetadata>,
    { name }: OwnerReference,
    namespace: string | undefined,
    signal: AbortSignal,
  ): Promise<PartialObjectMetadata | 'unknown' | undefined> {
    try {
      return await this.#client.resource(resource, namespace).find(name, { signal });
    } catch (err) {
      if (!isApiError(err, 'NotFound') && !isApiError(err, 'MethodNotAllowed')) throw err;
      this.#queue.add(REFRESH); // it is not the object but the kind that is gone
      return 'unknown';
    }
  }

  /** In the foreground if an owner waits for it and it has dependents of its own: they go first, then it, then the owner. */
  async #delete(
    resource: Resource<PartialObjectMetadata>,
    object: PartialObjectMetadata,
    isAwaited: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const { name, namespace, uid } = object.metadata;
    let { resourceVersion } = object.metadata;
    const dependents = isAwaited ? this.#kinds.dependentsOf(uid) : [];
    if (dependents.some(isDeletingDependents)) {
      // They wait for it, and it is to wait for them: in a ring nobody would ever be first.
      const ownerReferences = ownersOf(object).map((owner) => ({ ...owner, blockOwnerDeletion: false }));
      const unblocked = await this.#patch(resource, object, { ownerReferences }, signal);
      if (!unblocked) return;
      ({ resourceVersion } = unblocked.metadata);
    }
    const propagationPolicy =
      dependents.length > 0 || hasFinalizer(object, FOREGROUND)
        ? 'Foreground'
        : hasFinalizer(object, ORPHAN)
          ? 'Orphan'
          : 'Background';
    const preconditions = { uid, resourceVersion };
    await this.#client
      .resource(resource, namespace)
      .delete(name, { propagationPolicy, preconditions, signal })
      .catch(ignoreGone);
  }

  async #finishForeground(
    resource: Resource<PartialObjectMetadata>,
    owner: PartialObjectMetadata,
    signal: AbortSignal,
  ): Promise<{ requeueAfterMs: number } | undefined> {
    const { uid } = owner.metadata;
    const dependents = this.#kinds.dependentsOf(uid);
    const isBlocked = dependents.some(({ object }) =>
      ownersOf(object).some((reference) => reference.uid === uid && reference.blockOwnerDeletion),
    );
    if (isBlocked) {
      for (const { kind, key, object } of dependents) if (!isBeingDeleted(object)) this.#add(kind, key);
      return undefined;
    }
    if (!this.#kinds.isWhole) return { requeueAfterMs: NOT_WHOLE_MS };
    await this.#removeFinalizer(resource, owner, FOREGROUND, signal);
    return undefined;
  }

  async #orphan(
    resource: Resource<PartialObjectMetadata>,
    owner: PartialObjectMetadata,
    signal: AbortSignal,
  ): Promise<undefined> {
    const { uid, namespace } = owner.metadata;
    for (const kind of this.#kinds.watched) {
      if (resource.isNamespaced && !kind.isNamespaced) continue;
      const options = { allNamespaces: !resource.isNamespaced, limit: 500, signal };
      for await (const object of this.#client.resource(kind, namespace).listAll(options))
        if (ownersOf(object).some((reference) => reference.uid === uid))
          await this.#forget(kind, object, [owner.metadata], signal);
    }
    await this.#removeFinalizer(resource, owner, ORPHAN, signal);
  }

  /** Takes references to these owners off the object. */
  async #forget(
    resource: Resource<PartialObjectMetadata>,
    object: PartialObjectMetadata,
    goners: readonly { readonly uid: string }[],
    signal: AbortSignal,
  ): Promise<void> {
    const left = ownersOf(object).filter(({ uid }) => !goners.some((goner) => goner.uid === uid));
    await this.#patch(resource, object, { ownerReferences: left.length > 0 ? left : null }, signal);
  }

  async #removeFinalizer(
    resource: Resource<PartialObjectMetadata>,
    object: PartialObjectMetadata,
    name: string,
    signal: AbortSignal,
  ): Promise<void> {
    const left = object.metadata.finalizers?.filter((finalizer) => finalizer !== name) ?? [];
    await this.#patch(resource, object, { finalizers: left.length > 0 ? left : null }, signal);
  }

  /** Only if it is still the version we have judged; otherwise the attempt is repeated with a newer one. */
  async #patch(
    resource: Resource<PartialObjectMetadata>,
    { metadata }: AnyObject,
    change: object,
    signal: AbortSignal,
  ): Promise<PartialObjectMetadata | undefined> {
    const { name, namespace, uid, resourceVersion } = metadata;
    const patch = mergePatch<PartialObjectMetadata>({ metadata: { uid, resourceVersion, ...change } });
    return this.#client.resource(resource, namespace).patch(name, patch, { signal }).catch(ignoreGone);
  }

  #warnOfNamespace({ apiVersion, kind, name, uid }: OwnerReference, object: AnyObject): void {
    const reference = `[${apiVersion}/${kind}, namespace: , name: ${name}, uid: ${uid}]`;
    this.#options.recorder?.record('garbage-collector-controller', object, {
      type: 'Warning',
      reason: 'OwnerRefInvalidNamespace',
      message: `ownerRef ${reference} does not exist in namespace ""`,
    });
  }
}

function ownersOf({ metadata }: AnyObject): readonly OwnerReference[] {
  return metadata.ownerReferences ?? [];
}

function isDeletingDependents({ object }: Dependent): boolean {
  return isBeingDeleted(object) && hasFinalizer(object, FOREGROUND);
}

function ignoreGone(err: unknown): undefined {
  if (!isApiError(err, 'NotFound')) throw err;
}
