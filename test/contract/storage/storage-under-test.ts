/**
 * What the suite of stored objects needs: a storage of one kind over a store, and the few words its tests are written in.
 * A test has a root of keys of its own, so several may share one server one after the other.
 */
import { backgroundClock, type KubeObject, parseLabelSelector } from '../../../src/api/index.ts';
import { readStructural } from '../../../src/schemas/structural/structural.ts';
import { JsonEvents } from '../../../src/server/encodings/json-events.ts';
import type { CustomKind } from '../../../src/server/registry/custom-kind.ts';
import { factsOf } from '../../../src/server/registry/kind-facts.ts';
import { Registry } from '../../../src/server/registry/registry.ts';
import type { Resource } from '../../../src/server/registry/resource.ts';
import { defaultWatchCacheLimits } from '../../../src/server/storage/cacher/watch-cache.ts';
import { AsStoredCodec, ConvertingStorage } from '../../../src/server/storage/direct/converting-storage.ts';
import { openFollowed } from '../../../src/server/storage/feed/followed-storages.testing.ts';
import type { ListRequest, ObjectStorage, WatchRequest } from '../../../src/server/storage/object-storage.ts';
import type { ObjectWatch } from '../../../src/server/storage/object-watch.ts';
import type { ObjectKeys } from '../../../src/server/storage/objects/object-keys.ts';
import { Selection } from '../../../src/server/storage/objects/selection.ts';
import type { StoredObject } from '../../../src/server/storage/objects/stored-object.ts';
import { ResourceStorages, type ResourceStoragesOptions } from '../../../src/server/storage/resource-storages.ts';
import { StreamClient } from '../../../src/server/storage/stream-client.testing.ts';
import type { Store } from '../../../src/store/kv.ts';
import type { Open } from '../../support/store/store-under-test.ts';

/**
 * `short`: with a watch cache that forgets nearly everything, so that history is read from the store. `converted`: stored
 * in another version, in which texts are backwards. `followed`: by a thread that has the store from another.
 */
export type Implementation = 'direct' | 'cached' | 'followed' | 'short' | 'converted';

export type StorageUnderTest = AsyncDisposable & {
  readonly store: Store;
  /** Of config maps. */
  readonly storage: ObjectStorage;
  /** Of another kind over the same store. */
  storageOf(group: string, plural: string): ObjectStorage;
};

export type OpenStorage = () => Promise<StorageUnderTest>;

export function opening(open: Open, implementation: Implementation): OpenStorage {
  return async () => {
    const under = await open();
    const limits = { ...defaultWatchCacheLimits, ...(implementation === 'short' && { minEvents: 1, maxEvents: 2 }) };
    const options: ResourceStoragesOptions = {
      registry: new Registry(),
      store: under.store,
      root: `${under.prefix}registry`,
      clock: backgroundClock,
      log: () => {},
      watchCacheLimits: () => (implementation === 'direct' || implementation === 'converted' ? 'off' : limits),
    };
    const followed = implementation === 'followed' ? await openFollowed(options, under.store) : undefined;
    const storages = followed?.worker ?? new ResourceStorages(options);
    const storageOf = (group: string, plural: string) => storages.storageOf(group, plural).objects;
    const storage =
      implementation === 'converted'
        ? converted(under.store, storageOf('', 'configmaps').keys)
        : storageOf('', 'configmaps');
    return {
      store: under.store,
      storage,
      storageOf,
      async [Symbol.asyncDispose]() {
        storage.endWatches('server-stopping');
        await (followed ?? storages).close();
        await under[Symbol.asyncDispose]();
      },
    };
  };
}

/** Config maps as a kind that is defined by somebody, in a version that is not the stored one. */
function converted(store: Store, keys: ObjectKeys): ObjectStorage {
  const structural = readStructural({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true });
  const custom = { structural, definedAt: 0 } as unknown as CustomKind;
  const resource: Resource = { ...new Registry().find('', 'v1', 'configmaps')!, isCustom: true, custom };
  const stored: Resource = { ...resource, version: 'v0', groupVersion: 'v0' };
  const turn = (object: KubeObject, apiVersion: string): KubeObject => {
    if (object.apiVersion === apiVersion) return object;
    const { text = '' } = object.data as { text?: string };
    return { ...object, apiVersion, data: { ...(object.data as object), text: [...text].reverse().join('') } };
  };
  return new ConvertingStorage({
    store,
    keys,
    codec: new AsStoredCodec(resource, factsOf(resource)),
    stored,
    convert: async (objects, apiVersion) => objects.map((object) => turn(object, apiVersion)),
  });
}

export const never: AbortSignal = new AbortController().signal;

/** `NAMESPACE/NAME`, or a name alone. */
export function configMap(key: string, text = '', labels: Record<string, string> = {}): KubeObject {
  const at = key.indexOf('/');
  const metadata = { name: key.slice(at + 1), namespace: key.slice(0, at), uid: `uid-of-${key}`, labels };
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { text } };
}

export async function put(storage: ObjectStorage, object: KubeObject): Promise<StoredObject> {
  const created = await storage.create(object);
  if (!created) throw new Error(`Cannot create ${object.metadata.name}: it is there`);
  return created;
}

export async function change(storage: ObjectStorage, current: StoredObject, object: KubeObject): Promise<StoredObject> {
  const outcome = await storage.update(current, object);
  if (!('stored' in outcome)) throw new Error(`Cannot update ${current.key}: it has changed`);
  return outcome.stored;
}

export async function remove(storage: ObjectStorage, current: StoredObject): Promise<StoredObject> {
  const outcome = await storage.delete(current);
  if (!('deleted' in outcome)) throw new Error(`Cannot delete ${current.key}: it has changed`);
  return outcome.deleted;
}

/** All there is now, unless the request says otherwise. */
export const everything: ListRequest = { scope: '', start: '', at: { resourceVersion: '' }, signal: never };

/** `KEY@REVISION TEXT`. */
export function shown(objects: readonly StoredObject[]): string[] {
  return objects.map((object) => `${object.key}@${object.revision} ${textOf(object)}`);
}

export function textOf(object: StoredObject | undefined): string | undefined {
  return (object?.parse().data as { text?: string } | undefined)?.text;
}

export type Watching = { readonly client: StreamClient; readonly watch: ObjectWatch; readonly done: Promise<void> };

/** Opens a watch, and waits until it has begun. */
export async function watching(
  storage: ObjectStorage,
  labels = '',
  options: Partial<WatchRequest> = {},
): Promise<Watching> {
  const client = new StreamClient();
  let opened: (watch: ObjectWatch) => void = () => {};
  const begun = new Promise<ObjectWatch>((resolve) => {
    opened = resolve;
  });
  const done = storage.watch({
    selection: new Selection({ labels: parseLabelSelector(labels) }),
    encoding: new JsonEvents(storage.codec),
    resourceVersion: '',
    sendsInitialEvents: true,
    allowsBookmarks: true,
    client: { signal: never, stream: () => client, initialised: () => {} },
    onOpen: opened,
    ...options,
  });
  const watch = await Promise.race([begun, done.then(() => begun)]);
  return { client, watch, done };
}
