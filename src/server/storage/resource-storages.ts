/**
 * The storages of one server: for each kind of thing that is stored, its objects, with a watch cache or
 * without; for each resource that is served, those objects in its version. They are made when they are first asked for and
 * live as long as the server. The store itself is reached through them only.
 */
import type { Clock } from '../../api/index.ts';
import { keyFromText, type Store } from '../../store/index.ts';
import type { ConvertObjects } from '../registry/custom-kind.ts';
import { factsOf } from '../registry/kind-facts.ts';
import type { Registry } from '../registry/registry.ts';
import { qualifiedName, type Resource } from '../registry/resource.ts';
import { Cacher } from './cacher/cacher.ts';
import type { ObjectSource, SourceTarget } from './cacher/object-source.ts';
import { StoreReflector } from './cacher/store-reflector.ts';
import type { WatchCacheLimits } from './cacher/watch-cache.ts';
import { AsStoredCodec, ConvertingStorage } from './direct/converting-storage.ts';
import { DirectStorage } from './direct/direct-storage.ts';
import { SharedLease } from './direct/shared-lease.ts';
import { type Followed, formOf } from './feed/feed-messages.ts';
import { FeedReflector, type ObjectFeed } from './feed/feed-reflector.ts';
import { type LiveSource, LiveStorage } from './live/live-storage.ts';
import type { ObjectStorage } from './object-storage.ts';
import type { WatchedStorage } from './object-watch.ts';
import { ObjectCodec } from './objects/object-codec.ts';
import { ObjectKeys } from './objects/object-keys.ts';
import { type ObjectMemory, ownMemory } from './objects/object-memory.ts';
import { ResourceStorage } from './resource-storage.ts';

export type ResourceStoragesOptions = {
  readonly registry: Registry;
  readonly store: Store;
  /** The root of all keys, as in `/registry`. */
  readonly root: string;
  readonly clock: Clock;
  /** How many changes the watch cache of a resource keeps; `off`: it has none. */
  readonly watchCacheLimits?: (resource: Resource) => WatchCacheLimits | 'off' | undefined;
  /** How long Events stay, an hour; 0: for ever. */
  readonly eventTtlSeconds?: number | undefined;
  /** Where the bytes of cached objects lie. */
  readonly memory?: ObjectMemory;
  /** The caches of the thread that has the store, where another has it. */
  readonly feed?: ObjectFeed | undefined;
  readonly log: (message: string) => void;
};

/** Objects that the store forgets by itself. */
const EXPIRING: ReadonlySet<string> = new Set(['events', 'events.events.k8s.io']);
const EVENT_TTL_SECONDS = 3600;

export class ResourceStorages {
  readonly registry: Registry;
  readonly #options: ResourceStoragesOptions;
  /** By the prefix of their keys. */
  readonly #storages = new Map<string, Cacher | DirectStorage | LiveStorage>();
  readonly #cachers = new Map<string, Cacher>();
  /** Of versions that a webhook converts, by the same. */
  readonly #converting = new Map<string, ConvertingStorage[]>();
  readonly #served = new WeakMap<Resource, ResourceStorage>();
  /** Of built-in resources by group and plural, as long as nothing else is served: every write asks for some of them. */
  readonly #preferred = new Map<string, Map<string, ResourceStorage>>();
  #preferredAt = -1;

  constructor(options: ResourceStoragesOptions) {
    this.registry = options.registry;
    this.#options = options;
  }

  storageFor(resource: Resource): ResourceStorage {
    let storage = this.#served.get(resource);
    if (!storage) {
      storage = this.#makeStorage(resource);
      this.#served.set(resource, storage);
    }
    return storage;
  }

  /** By group and plural, in the preferred version. */
  storageOf(group: string, plural: string): ResourceStorage {
    if (this.#preferredAt !== this.registry.generation) this.#preferred.clear();
    this.#preferredAt = this.registry.generation;
    const known = this.#preferred.get(group)?.get(plural);
    if (known) return known;
    const storage = this.#findStorage(group, plural);
    if (storage.resource.isCustom) return storage;
    const ofGroup = this.#preferred.get(group) ?? new Map<string, ResourceStorage>();
    this.#preferred.set(group, ofGroup.set(plural, storage));
    return storage;
  }

  #findStorage(group: string, plural: string): ResourceStorage {
    const version = this.registry.preferredVersion(group);
    const resource = version && this.registry.find(group, version, plural);
    if (!resource) throw new Error(`Cannot find resource "${qualifiedName({ group, plural })}"`);
    return this.storageFor(resource);
  }

  /** For who decides from memory and follows changes: undefined where the resource has no watch cache. */
  cachedStorageOf(group: string, plural: string): ResourceStorage<Cacher> | undefined {
    const storage = this.storageOf(group, plural);
    return this.#cachers.get(storage.objects.keys.prefix) === storage.objects
      ? (storage as ResourceStorage<Cacher>)
      : undefined;
  }

  /** The same where there must be one: the server decides by these objects, and always caches them. */
  followedStorageOf(group: string, plural: string): ResourceStorage<Cacher> {
    const storage = this.cachedStorageOf(group, plural);
    if (!storage)
      throw new Error(`Cannot follow resource "${qualifiedName({ group, plural })}": it has no watch cache`);
    return storage;
  }

  /** The storage of a resource, if somebody has asked for it before. */
  storageIfMade(group: string, version: string, plural: string): ObjectStorage | undefined {
    const resource = this.registry.find(group, version, plural);
    return resource && this.#served.get(resource)?.objects;
  }

  /** Answers a resource from what the server knows now, and not from the store. */
  serveLive(resource: Resource, source: LiveSource): void {
    const prefix = this.#keyPrefixOf(resource);
    const facts = factsOf(resource);
    const codec = new ObjectCodec(resource, facts);
    const storage = new LiveStorage({ codec, keys: new ObjectKeys(prefix, resource.isNamespaced), source });
    this.#storages.set(prefix, storage);
    this.#served.set(resource, new ResourceStorage(resource, facts, storage));
    this.registry.add(resource);
  }

  /** Whether a resource is answered so. */
  isLive(group: string, version: string, plural: string): boolean {
    return this.registry.find(group, version, plural)?.isLive ?? false;
  }

  /** Everything that can be watched and has been asked for, with the watches on it. */
  *watched(): Generator<WatchedStorage & { readonly codec: ObjectCodec }> {
    for (const storage of this.#storages.values()) yield storage.direct;
    for (const storages of this.#converting.values()) yield* storages;
  }

  cachers(): IterableIterator<Cacher> {
    return this.#cachers.values();
  }

  /** The cache of what is stored as a resource, in just this form; made, if nobody has asked for it before. */
  cacherOf({ group, plural, form }: Followed): Cacher | undefined {
    for (const version of this.registry.group(group)?.versions ?? []) {
      const resource = this.registry.find(group, version, plural);
      const objects = resource && this.storageFor(resource).objects;
      if (objects instanceof Cacher && formOf(objects.codec) === form) return objects;
    }
    return undefined;
  }

  /** The storage of a custom resource whose definition has changed or gone, for the caller to close: it is not used any more. */
  forget(resource: Resource): ObjectStorage | undefined {
    const prefix = this.#keyPrefixOf(resource);
    const storage = this.#storages.get(prefix);
    this.#storages.delete(prefix);
    this.#cachers.delete(prefix);
    for (const converting of this.#converting.get(prefix) ?? []) converting.endWatches('resource-changed');
    this.#converting.delete(prefix);
    return storage;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#storages.values()].map((storage) => storage.close()));
  }

  #makeStorage(resource: Resource): ResourceStorage {
    const facts = factsOf(resource);
    const { group, version, plural } = facts.storage;
    const stored = resource.custom?.storedAs() ?? this.registry.find(group, version, plural) ?? resource;
    const { convert, hasOtherVersions = false } = resource.custom ?? {};
    if (convert && (resource !== stored || hasOtherVersions))
      return new ResourceStorage(resource, facts, this.#convertingStorage(resource, stored, convert));
    return new ResourceStorage(resource, facts, this.#objectsOf(stored));
  }

  #convertingStorage(resource: Resource, stored: Resource, convert: ConvertObjects): ConvertingStorage {
    const prefix = this.#keyPrefixOf(stored);
    const { store } = this.#options;
    const keys = new ObjectKeys(prefix, stored.isNamespaced);
    const codec = new AsStoredCodec(resource, factsOf(resource));
    const storage = new ConvertingStorage({ store, keys, codec, stored, convert });
    this.#converting.set(prefix, [...(this.#converting.get(prefix) ?? []), storage]);
    return storage;
  }

  #keyPrefixOf(resource: Resource): string {
    return `${this.#options.root}/${keyFromText(factsOf(resource).keyPrefix)}/`;
  }

  #objectsOf(stored: Resource): Cacher | DirectStorage | LiveStorage {
    const prefix = this.#keyPrefixOf(stored);
    let storage = this.#storages.get(prefix);
    if (!storage) {
      storage = this.#makeObjects(stored, prefix);
      this.#storages.set(prefix, storage);
    }
    return storage;
  }

  #makeObjects(stored: Resource, prefix: string): Cacher | DirectStorage {
    const { store, clock, log, watchCacheLimits, memory = ownMemory, feed } = this.#options;
    const { eventTtlSeconds = EVENT_TTL_SECONDS } = this.#options;
    const ttlSeconds = EXPIRING.has(qualifiedName(stored)) ? eventTtlSeconds : 0;
    const direct = new DirectStorage({
      store,
      codec: new ObjectCodec(stored, factsOf(stored)),
      keys: new ObjectKeys(prefix, stored.isNamespaced),
      lease: ttlSeconds === 0 ? undefined : new SharedLease(store, ttlSeconds),
    });
    const limits = watchCacheLimits?.(stored);
    if (limits === 'off') return direct;
    const source = (target: SourceTarget, cacher: Cacher): ObjectSource => {
      const fromStore = () => new StoreReflector({ store, direct, memory, target, log });
      return feed ? new FeedReflector({ feed, cacher, target, instead: fromStore }) : fromStore();
    };
    const cacher = new Cacher({ store, direct, clock, source, memory, log, ...(limits && { limits }) });
    this.#cachers.set(prefix, cacher);
    return cacher;
  }
}
