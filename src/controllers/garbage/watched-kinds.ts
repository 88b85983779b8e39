/**
 * What the garbage collector knows: the metadata of every object of every kind that can be watched and deleted, found by
 * key, and dependents by the uid of their owner; and every kind that is served, so that an owner of any can be asked for.
 *
 * Of an object only what decides is kept: names, versions, owners, finalizers. A kind whose own server is away is not
 * taken for gone. Kinds are filled a few at a time, so that a server that has just started is not asked everything at
 * once.
 */
import { systemClock } from '../../api/index.ts';
import type { DiscoveredResource } from '../../client/advanced.ts';
import {
  type AnyObject,
  defineResourceOf,
  type Informer,
  type InformerEvent,
  type InformerFactory,
  type InformerHandle,
  type KubeClient,
  metadataOf,
  type PartialObjectMetadata,
  type Resource,
} from '../../client/index.ts';
import { discoverKinds, nameOf, preferredKinds } from '../served-kinds.ts';

type OwnerReference = NonNullable<AnyObject['metadata']['ownerReferences']>[number];

export type Dependent = { readonly kind: string; readonly key: string; readonly object: PartialObjectMetadata };

type Kind = {
  readonly resource: Resource<PartialObjectMetadata>;
  readonly handle: InformerHandle<PartialObjectMetadata>;
};

const VERBS = ['list', 'watch', 'delete'];
/** Kept for an hour by servers themselves, and there are many of them. */
const IGNORED = ['events', 'events.events.k8s.io'];
const FILLED_AT_ONCE = 2;
const PAUSE_MS = 10;
/** A kind that cannot be read holds up the others for no longer. */
const FILL_MS = 5_000;

export class WatchedKinds implements AsyncDisposable {
  readonly #client: KubeClient;
  readonly #informers: InformerFactory;
  readonly #onEvent: (kind: string, event: InformerEvent<PartialObjectMetadata>) => void;
  readonly #kinds = new Map<string, Kind>();
  /** By `apiVersion kind`, in every version. */
  #served = new Map<string, Resource<PartialObjectMetadata>>();

  constructor(
    client: KubeClient,
    onEvent: (kind: string, event: InformerEvent<PartialObjectMetadata>) => void,
    onError: (error: unknown) => void,
  ) {
    this.#client = client;
    // Nobody else reads what is kept, and of every object that is written something is.
    this.#informers = client.informers({ onError, auditMs: 0, freeze: false });
    this.#onEvent = onEvent;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#informers[Symbol.asyncDispose]();
  }

  /** Looks what there is now; true if that is not what there was. Resolves when everything new has been asked for. */
  async refresh(signal: AbortSignal): Promise<boolean> {
    const { all, failing } = await discoverKinds(this.#client, signal);
    const groupsAway = new Set(failing.map((version) => version.slice(0, version.indexOf('/'))));
    this.#served = new Map(
      all.map((kind) => [`${apiVersionOf(kind)} ${kind.kind}`, metadataOf(defineResourceOf(kind))]),
    );
    const wanted = new Map(preferredKinds(all, VERBS).map((kind) => [nameOf(kind), kind]));
    let isNew = false;
    for (const [name, { handle, resource }] of this.#kinds) {
      if (wanted.has(name) || groupsAway.has(resource.group)) continue;
      this.#kinds.delete(name);
      isNew = true;
      await handle[Symbol.asyncDispose]();
    }
    const missing = [...wanted].filter(([name]) => !this.#kinds.has(name) && !IGNORED.includes(name));
    const fill = async () => {
      for (let next = missing.shift(); next; next = missing.shift()) {
        signal.throwIfAborted();
        const limit = AbortSignal.any([signal, AbortSignal.timeout(FILL_MS)]);
        await this.#watch(...next)
          .synced(limit)
          .catch(() => {}); // its state says so: see isWhole
        await systemClock.sleep(PAUSE_MS, signal); // others want the processor, too
      }
    };
    isNew ||= missing.length > 0;
    await Promise.all(Array.from({ length: FILLED_AT_ONCE }, fill));
    return isNew;
  }

  /** Whether what it shows is everything: each kind has been read and is being watched. */
  get isWhole(): boolean {
    return [...this.#kinds.values()].every(({ handle }) => handle.informer.freshness.state === 'current');
  }

  get watched(): readonly Resource<PartialObjectMetadata>[] {
    return [...this.#kinds.values()].map(({ resource }) => resource);
  }

  get(
    kind: string,
    key: string,
  ): { resource: Resource<PartialObjectMetadata>; object: PartialObjectMetadata } | undefined {
    const found = this.#kinds.get(kind);
    const object = found?.handle.informer.get(key);
    return found && object && { resource: found.resource, object };
  }

  /** The kind that a reference speaks of, if it is served in that version. */
  servedAs({ apiVersion, kind }: OwnerReference): Resource<PartialObjectMetadata> | undefined {
    return this.#served.get(`${apiVersion} ${kind}`);
  }

  /** The object that a reference speaks of, by name, as it is known. */
  locate(reference: OwnerReference, namespace: string | undefined): Dependent | undefined {
    const resource = this.servedAs(reference);
    if (!resource || (resource.isNamespaced && !namespace)) return undefined;
    const kind = nameOf(resource);
    const key = resource.isNamespaced ? `${namespace}/${reference.name}` : reference.name;
    const object = this.#kinds.get(kind)?.handle.informer.get(key);
    return object && { kind, key, object };
  }

  dependentsOf(uid: string): Dependent[] {
    const found: Dependent[] = [];
    for (const [kind, { handle }] of this.#kinds)
      for (const object of handle.informer.by('byOwner', uid))
        found.push({ kind, key: keyIn(handle.informer, object), object });
    return found;
  }

  /** All that have owners, such as to judge them anew when there are kinds that were not known before. */
  *owned(): Generator<Dependent> {
    for (const [kind, { handle }] of this.#kinds)
      for (const object of handle.informer.list())
        if (object.metadata.ownerReferences?.length) yield { kind, key: keyIn(handle.informer, object), object };
  }

  #watch(name: string, kind: DiscoveredResource): Informer<PartialObjectMetadata> {
    const resource = metadataOf(defineResourceOf(kind));
    const handle = this.#informers.acquire(resource, {
      allNamespaces: true,
      indexers: { byOwner: ownerUids },
      transform: whatDecides,
    });
    this.#kinds.set(name, { resource, handle });
    handle.informer.subscribe((event) => this.#onEvent(name, event));
    return handle.informer;
  }
}

/** The rest of the metadata, managed fields above all, is most of it. */
function whatDecides({ apiVersion, kind, metadata }: PartialObjectMetadata): PartialObjectMetadata {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const { ownerReferences, finalizers, deletionTimestamp } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      uid,
      resourceVersion,
      creationTimestamp,
      ...(namespace !== undefined && { namespace }),
      ...(ownerReferences && { ownerReferences }),
      ...(finalizers && { finalizers }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    },
  };
}

function ownerUids({ metadata }: AnyObject): string[] {
  return (metadata.ownerReferences ?? []).map(({ uid }) => uid);
}

function keyIn({ resource }: Informer<PartialObjectMetadata>, { metadata: { namespace, name } }: AnyObject): string {
  return resource.isNamespaced ? `${namespace}/${name}` : name;
}

function apiVersionOf({ group, version }: DiscoveredResource): string {
  return group === '' ? version : `${group}/${version}`;
}
