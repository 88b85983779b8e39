/**
 * The resources of one server at work: for each kind of thing that is stored, its cache; for each resource that is
 * served, a view of that cache. Caches are made when they are first asked for and live as long as the server.
 */
import type { Clock, KubeObject } from '../../api/index.ts';
import { keyFromText, type Store } from '../../store/index.ts';
import { convertObject } from '../kinds/conversion.ts';
import { factsOf, type KindFacts } from '../registry/kind-facts.ts';
import type { Registry } from '../registry/registry.ts';
import { qualifiedName, type Resource } from '../registry/resource.ts';
import { Cacher } from './cacher/cacher.ts';
import type { WatchCacheLimits } from './cacher/watch-cache.ts';
import { ObjectCodec } from './object-codec.ts';
import type { StoredObject } from './stored-object.ts';

/** How a resource shows what is stored. */
export type View = {
  readonly resource: Resource;
  readonly facts: KindFacts;
  readonly cache: Cacher;
  /** Shown as it is stored: bytes can be sent as they are. */
  readonly isStorageForm: boolean;
  toObject(cached: StoredObject): KubeObject;
  /** An object of this resource, as it is to be stored. */
  toStored(object: KubeObject): KubeObject;
};

export type ResourcesOptions = {
  readonly registry: Registry;
  readonly store: Store;
  /** The root of all keys, as in `/registry`. */
  readonly root: string;
  readonly clock: Clock;
  /** How many changes the cache of a resource keeps; `off`: no cache. */
  readonly watchCacheLimits?: (resource: Resource) => WatchCacheLimits | 'off' | undefined;
  readonly log: (message: string) => void;
};

export class Resources {
  readonly registry: Registry;
  readonly store: Store;
  readonly #options: ResourcesOptions;
  readonly #caches = new Map<string, Cacher>();
  readonly #views = new WeakMap<Resource, View>();

  constructor(options: ResourcesOptions) {
    this.registry = options.registry;
    this.store = options.store;
    this.#options = options;
  }

  view(resource: Resource): View {
    let view = this.#views.get(resource);
    if (!view) {
      view = this.#makeView(resource);
      this.#views.set(resource, view);
    }
    return view;
  }

  /** By group and plural, in the preferred version. */
  viewOf(group: string, plural: string): View {
    const version = this.registry.preferredVersion(group);
    const resource = version && this.registry.find(group, version, plural);
    if (!resource) throw new Error(`Cannot find resource "${qualifiedName({ group, plural })}"`);
    return this.view(resource);
  }

  /** The cache of a resource, if somebody has asked for it before. */
  cacheIfMade(group: string, version: string, plural: string): Cacher | undefined {
    const resource = this.registry.find(group, version, plural);
    return resource && this.#views.get(resource)?.cache;
  }

  caches(): IterableIterator<Cacher> {
    return this.#caches.values();
  }

  /** The cache of a custom resource whose definition has changed or gone, for the caller to close: it is not used any more. */
  forget(resource: Resource): Cacher | undefined {
    const keyPrefix = this.#keyPrefixOf(resource);
    const cache = this.#caches.get(keyPrefix);
    this.#caches.delete(keyPrefix);
    return cache;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#caches.values()].map((cache) => cache.close()));
  }

  #makeView(resource: Resource): View {
    const facts = factsOf(resource);
    const { group, version, plural } = facts.storage;
    const stored = resource.custom?.storedAs() ?? this.registry.find(group, version, plural) ?? resource;
    const cache = this.#cacheOf(stored);
    const isStorageForm = stored === resource;
    return {
      resource,
      facts,
      cache,
      isStorageForm,
      toObject: (cached) => (isStorageForm ? cached.parse() : convertObject(cached.parse(), stored, resource)),
      toStored: (object) => (isStorageForm ? object : convertObject(object, resource, stored)),
    };
  }

  #keyPrefixOf(resource: Resource): string {
    return `${this.#options.root}/${keyFromText(factsOf(resource).keyPrefix)}/`;
  }

  #cacheOf(stored: Resource): Cacher {
    const facts = factsOf(stored);
    const { store, clock, log, watchCacheLimits } = this.#options;
    const keyPrefix = this.#keyPrefixOf(stored);
    let cache = this.#caches.get(keyPrefix);
    if (!cache) {
      const limits = watchCacheLimits?.(stored);
      const codec = new ObjectCodec(stored, facts);
      const kept = limits === 'off' ? { isKept: false } : limits && { watchCacheLimits: limits };
      cache = new Cacher({ store, codec, keyPrefix, clock, log, ...kept });
      this.#caches.set(keyPrefix, cache);
    }
    return cache;
  }
}
