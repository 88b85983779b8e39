/**
 * Garbage collection by owner references, over every kind the cluster serves, also those that are defined later.
 *
 *   background  an object goes when all its owners are gone
 *   foreground  an owner waits (finalizer `foregroundDeletion`) until those that block it are gone, and they go first
 *   orphan      an owner waits (finalizer `orphan`) until its dependents have forgotten it, and they stay
 *
 * Only metadata is watched and held. An owner that the cache does not know is looked up on the server before anything is
 * deleted, and every deletion names the uid and version that were judged: nothing is deleted by mistake. This is no
 * controller of one kind, so it stands on what controllers are made of: informers, a queue, workers.
 */
import {
  type AnyObject,
  defineResourceOf,
  type Informer,
  type InformerEvent,
  type InformerFactory,
  type InformerHandle,
  isApiError,
  type KubeClient,
  mergePatch,
  metadataOf,
  type PartialObjectMetadata,
  type Resource,
} from 'longwatch/client';
import type { DiscoveredResource } from 'longwatch/client/advanced';
import { hasFinalizer, isBeingDeleted, WorkerPool, WorkQueue } from 'longwatch/controller';
import { nameOf, servedKinds } from './served-kinds.ts';

const FOREGROUND = 'foregroundDeletion';
const ORPHAN = 'orphan';
const VERBS = ['list', 'watch', 'delete', 'patch'];
/** Kept for an hour by servers themselves, and there are many of them. */
const IGNORED = ['events', 'events.events.k8s.io'];
const DEFINITIONS = 'customresourcedefinitions.apiextensions.k8s.io';
const REFRESH = 'which kinds there are';

type OwnerReference = NonNullable<AnyObject['metadata']['ownerReferences']>[number];
type Kind = {
  readonly resource: Resource<PartialObjectMetadata>;
  readonly handle: InformerHandle<PartialObjectMetadata>;
};
/** What becomes of an object depends on its owners: there, gone, or waiting for it to go. */
type Owners = Record<'solid' | 'absent' | 'waiting', OwnerReference[]>;

export type GarbageCollectorOptions = {
  readonly onError: (error: unknown, key: string) => void;
  readonly onDelete?: (kind: string, key: string) => void;
};

export class GarbageCollector implements AsyncDisposable {
  readonly #client: KubeClient;
  readonly #options: GarbageCollectorOptions;
  readonly #informers: InformerFactory;
  readonly #kinds = new Map<string, Kind>();
  readonly #queue = new WorkQueue<string>();
  #pool: WorkerPool<string> | undefined;

  constructor(client: KubeClient, options: GarbageCollectorOptions) {
    this.#client = client;
    this.#options = options;
    this.#informers = client.informers();
  }

  /** Resolves when everything there is has been seen: before that nothing is collected. */
  async start(signal: AbortSignal): Promise<void> {
    await this.#refresh(signal);
    this.#pool = new WorkerPool({
      queue: this.#queue,
      workers: 8,
      handler: (key, context) => (key === REFRESH ? this.#refresh(context.signal) : this.#process(key, context.signal)),
      onOutcome: ({ key, error }) => error !== undefined && this.#options.onError(error, key),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#queue.close();
    await this.#pool?.stop();
    await this.#informers[Symbol.asyncDispose]();
  }

  // ---- what there is ----

  async #refresh(signal: AbortSignal): Promise<void> {
    const served = servedKinds(await this.#client.discovery.resources(0), VERBS);
    const wanted = new Map(served.map((kind) => [nameOf(kind), kind]));
    for (const [name, { handle }] of this.#kinds)
      if (!wanted.has(name)) {
        this.#kinds.delete(name);
        await handle[Symbol.asyncDispose]();
      }
    for (const [name, kind] of wanted) if (!this.#kinds.has(name) && !IGNORED.includes(name)) this.#watch(name, kind);
    await this.#informers.synced(signal);
  }

  #watch(name: string, kind: DiscoveredResource): void {
    const resource = metadataOf(defineResourceOf(kind));
    const indexers = { byOwner: ownerUids };
    const handle = this.#informers.acquire(resource, { allNamespaces: true, indexers });
    this.#kinds.set(name, { resource, handle });
    handle.informer.subscribe((event) => this.#onEvent(name, event));
  }

  #onEvent(kind: string, event: InformerEvent<PartialObjectMetadata>): void {
    const { object } = event;
    const before = event.type === 'updated' ? event.old : undefined;
    if (kind === DEFINITIONS) this.#queue.add(REFRESH);
    if (event.type !== 'deleted' && (ownersOf(object).length > 0 || isBeingDeleted(object)))
      this.#queue.add(queueKey(kind, event.key));
    if (event.type === 'deleted' || (isBeingDeleted(object) && hasFinalizer(object, FOREGROUND)))
      this.#addDependents(object);
    // Owners that wait for it may have one thing less to wait for.
    for (const owner of [...ownersOf(object), ...(before ? ownersOf(before) : [])]) {
      const found = this.#locate(owner, object.metadata.namespace);
      if (found && isBeingDeleted(found.object)) this.#queue.add(queueKey(found.kind, found.key));
    }
  }

  #addDependents({ metadata: { uid } }: AnyObject): void {
    for (const { kind, informer, object } of this.#dependentsOf(uid))
      this.#queue.add(queueKey(kind, keyIn(informer, object)));
  }

  // ---- what becomes of one object ----

  async #process(queued: string, signal: AbortSignal): Promise<void> {
    const [kind = '', key = ''] = queued.split(' ');
    const found = this.#kinds.get(kind);
    const object = found?.handle.informer.get(key);
    if (!found || !object) return;
    if (isBeingDeleted(object)) {
      if (hasFinalizer(object, ORPHAN)) await this.#orphan(found.resource, object, signal);
      else if (hasFinalizer(object, FOREGROUND)) await this.#finishForeground(found.resource, object, signal);
      return;
    }
    if (ownersOf(object).length === 0) return;
    const owners = await this.#judge(object, signal);
    const goners = [...owners.absent, ...owners.waiting];
    if (owners.solid.length === 0) await this.#delete(found.resource, object, owners.waiting.length > 0, signal);
    else if (goners.length > 0) await this.#forget(found.resource, object, goners, signal);
  }

  async #judge(object: PartialObjectMetadata, signal: AbortSignal): Promise<Owners> {
    const owners: Owners = { solid: [], absent: [], waiting: [] };
    for (const reference of ownersOf(object)) owners[await this.#stateOf(reference, object, signal)].push(reference);
    return owners;
  }

  async #stateOf(reference: OwnerReference, { metadata }: AnyObject, signal: AbortSignal): Promise<keyof Owners> {
    const kind = this.#kindOf(reference);
    if (!kind) return 'solid'; // a kind that nobody serves: not knowing is no reason to delete
    const { resource } = kind;
    const cached = this.#locate(reference, metadata.namespace)?.object;
    const owner =
      cached?.metadata.uid === reference.uid
        ? cached
        : await this.#client.resource(resource, metadata.namespace).find(reference.name, { signal });
    if (owner?.metadata.uid !== reference.uid) return 'absent';
    return isBeingDeleted(owner) && hasFinalizer(owner, FOREGROUND) ? 'waiting' : 'solid';
  }

  /** In the foreground if an owner waits for it and it has dependents of its own: they go first, then it, then the owner. */
  async #delete(
    resource: Resource<PartialObjectMetadata>,
    object: PartialObjectMetadata,
    isAwaited: boolean,
    signal: AbortSignal,
  ) {
    const { name, namespace, uid, resourceVersion } = object.metadata;
    const hasDependents = this.#dependentsOf(uid).length > 0;
    const propagationPolicy = hasFinalizer(object, ORPHAN)
      ? 'Orphan'
      : hasFinalizer(object, FOREGROUND) || (isAwaited && hasDependents)
        ? 'Foreground'
        : 'Background';
    const preconditions = { uid, resourceVersion };
    await this.#client
      .resource(resource, namespace)
      .delete(name, { propagationPolicy, preconditions, signal })
      .catch(ignoreGone);
    this.#options.onDelete?.(resource.kind, namespace ? `${namespace}/${name}` : name);
  }

  async #finishForeground(
    resource: Resource<PartialObjectMetadata>,
    owner: PartialObjectMetadata,
    signal: AbortSignal,
  ): Promise<void> {
    const { uid } = owner.metadata;
    const isBlocked = this.#dependentsOf(uid).some(({ object }) =>
      ownersOf(object).some((reference) => reference.uid === uid && reference.blockOwnerDeletion),
    );
    if (isBlocked) this.#addDependents(owner);
    else await this.#removeFinalizer(resource, owner, FOREGROUND, signal);
  }

  async #orphan(
    resource: Resource<PartialObjectMetadata>,
    owner: PartialObjectMetadata,
    signal: AbortSignal,
  ): Promise<void> {
    const references = [{ uid: owner.metadata.uid }];
    for (const { informer, object } of this.#dependentsOf(owner.metadata.uid))
      await this.#forget(informer.resource, object, references, signal);
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
  ) {
    const left = object.metadata.finalizers?.filter((finalizer) => finalizer !== name) ?? [];
    await this.#patch(resource, object, { finalizers: left.length > 0 ? left : null }, signal);
  }

  /** Only if it is still the version we have judged; otherwise the attempt is repeated with a newer one. */
  async #patch(
    resource: Resource<PartialObjectMetadata>,
    { metadata }: AnyObject,
    change: object,
    signal: AbortSignal,
  ) {
    const { name, namespace, uid, resourceVersion } = metadata;
    const patch = mergePatch<PartialObjectMetadata>({ metadata: { uid, resourceVersion, ...change } });
    await this.#client
      .resource(resource, namespace)
      .patch(name, patch, { signal })
      .catch((err: unknown) => {
        if (!isApiError(err, 'NotFound')) throw err;
      });
  }

  // ---- the graph, as the informers have it ----

  #dependentsOf(uid: string) {
    return [...this.#kinds].flatMap(
      ([
        kind,
        {
          handle: { informer },
        },
      ]) => informer.by('byOwner', uid).map((object) => ({ kind, informer, object })),
    );
  }

  #kindOf({ apiVersion, kind }: OwnerReference): Kind | undefined {
    const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
    for (const found of this.#kinds.values())
      if (found.resource.kind === kind && found.resource.group === group) return found;
    return undefined;
  }

  #locate(reference: OwnerReference, namespace: string | undefined) {
    const kind = this.#kindOf(reference);
    if (!kind) return undefined;
    const { resource, handle } = kind;
    const key = resource.isNamespaced ? `${namespace}/${reference.name}` : reference.name;
    const object = handle.informer.get(key);
    return object && { kind: nameOf(resource), key, object };
  }
}

function ownersOf({ metadata }: AnyObject): readonly OwnerReference[] {
  return metadata.ownerReferences ?? [];
}

function ownerUids(object: AnyObject): string[] {
  return ownersOf(object).map(({ uid }) => uid);
}

/** Neither half can contain a space. */
function queueKey(kind: string, key: string): string {
  return `${kind} ${key}`;
}

function keyIn({ resource }: Informer<PartialObjectMetadata>, { metadata: { namespace, name } }: AnyObject): string {
  return resource.isNamespaced ? `${namespace}/${name}` : name;
}

function ignoreGone(err: unknown): void {
  if (!isApiError(err, 'NotFound')) throw err;
}
