/**
 * Objects of a custom kind in a version that a webhook converts to and from: read past any cache, converted as they come,
 * so that whoever reads has them as the webhook makes them now, or learns why it cannot.
 *
 * Always true: in the store an object has the version it was last written in, whichever that was; here all have the one
 * of the resource. What is asked for together is converted together. A watch converts each change once, however many
 * watch: what was converted last is kept for a while, within bytes.
 */
import type { KubeObject } from '../../../api/index.ts';
import type { WatchEvent } from '../../../store/index.ts';
import { restoreObject } from '../../apiextensions/restore.ts';
import type { ConvertObjects } from '../../registry/custom-kind.ts';
import type { Resource } from '../../registry/resource.ts';
import type { GetOptions, Instead, ListRequest, ObjectList, WriteGuard } from '../object-storage.ts';
import { headText, ObjectCodec } from '../objects/object-codec.ts';
import { ObjectEvent } from '../objects/object-event.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import { DirectStorage, type DirectStorageOptions } from './direct-storage.ts';

const KEPT_BYTES = 8 * 1024 * 1024;
const never = new AbortController().signal;

type Kept = { readonly shown: Promise<StoredObject>; readonly bytes: number };

export type ConvertingStorageOptions = Omit<DirectStorageOptions, 'codec'> & {
  readonly codec: AsStoredCodec;
  /** In whose version objects are written. */
  readonly stored: Resource;
  readonly convert: ConvertObjects;
};

/** Leaves objects in the version that they say they have. */
export class AsStoredCodec extends ObjectCodec {
  protected override storedHead({ kind, apiVersion }: KubeObject): string {
    return headText({ kind: kind ?? this.type.kind, apiVersion: apiVersion ?? this.type.apiVersion });
  }

  protected override upToDate(stored: Buffer): Buffer {
    return stored;
  }
}

export class ConvertingStorage extends DirectStorage {
  readonly #stored: Resource;
  readonly #convert: ConvertObjects;
  /** What is in the store, of what was made of it. */
  readonly #origins = new WeakMap<StoredObject, StoredObject>();
  /** Of watches, by key and revision, the oldest first. */
  readonly #recent = new Map<string, Kept>();
  #recentBytes = 0;

  constructor({ stored, convert, ...options }: ConvertingStorageOptions) {
    super(options);
    this.#stored = stored;
    this.#convert = convert;
  }

  override async get(namespace: string, name: string, options?: GetOptions): Promise<StoredObject | undefined> {
    return this.#one(await super.get(namespace, name, options), options?.signal);
  }

  override async list(request: ListRequest): Promise<ObjectList> {
    const { objects, ...rest } = await super.list(request);
    return { ...rest, objects: await this.#shown(objects, request.signal) };
  }

  override async create(object: KubeObject, guard?: WriteGuard): Promise<StoredObject | undefined> {
    return this.#one(await super.create(await this.#toStored(object), guard));
  }

  override async update(
    current: StoredObject,
    object: KubeObject,
    guard?: WriteGuard,
  ): Promise<{ stored: StoredObject } | Instead> {
    const origin = this.#originOf(current);
    const outcome = await super.update(origin, await this.#toStored(object), guard);
    if ('instead' in outcome) return { instead: await this.#one(outcome.instead) };
    return { stored: outcome.stored === origin ? current : (await this.#one(outcome.stored))! };
  }

  override async delete(current: StoredObject, guard?: WriteGuard): Promise<{ deleted: StoredObject } | Instead> {
    const outcome = await super.delete(this.#originOf(current), guard);
    if ('instead' in outcome) return { instead: await this.#one(outcome.instead) };
    return { deleted: current.withRevision(outcome.deleted.revision) };
  }

  override async readEvent(event: WatchEvent): Promise<ObjectEvent> {
    const { revision, current, previous, at } = this.toEvent(event);
    const [now, before] = await Promise.all([this.#kept(current), this.#kept(previous)]);
    return new ObjectEvent(revision, now, before, at);
  }

  #originOf(object: StoredObject): StoredObject {
    return this.#origins.get(object) ?? object;
  }

  async #toStored(object: KubeObject): Promise<KubeObject> {
    const [converted] = await this.#convert([object], this.#stored.groupVersion, never);
    return converted!;
  }

  async #one(object: StoredObject | undefined, signal: AbortSignal = never): Promise<StoredObject | undefined> {
    return object && (await this.#shown([object], signal))[0];
  }

  async #shown(objects: readonly StoredObject[], signal: AbortSignal): Promise<StoredObject[]> {
    if (objects.length === 0) return [];
    const { resource } = this.codec;
    const converted = await this.#convert(
      objects.map((object) => object.parse()),
      resource.groupVersion,
      signal,
    );
    return objects.map((object, index) => {
      const { namespace, name, revision } = object;
      const value = this.codec.encode(restoreObject(converted[index]!, resource));
      const shown = this.codec.decode(namespace, name, revision, value);
      this.#origins.set(shown, object);
      return shown;
    });
  }

  #kept(object: StoredObject | undefined): Promise<StoredObject> | undefined {
    if (!object) return undefined;
    const key = `${object.revision} ${object.key}`;
    const known = this.#recent.get(key);
    if (known) return known.shown;
    const made = { shown: this.#one(object) as Promise<StoredObject>, bytes: object.bytes.length };
    this.#recent.set(key, made);
    this.#recentBytes += made.bytes;
    made.shown.catch(() => this.#forget(key, made)); // the next who asks may have more luck
    for (const [oldest, one] of this.#recent) {
      if (this.#recentBytes <= KEPT_BYTES) break;
      if (one !== made) this.#forget(oldest, one);
    }
    return made.shown;
  }

  #forget(key: string, made: Kept): void {
    if (this.#recent.get(key) !== made) return;
    this.#recent.delete(key);
    this.#recentBytes -= made.bytes;
  }
}
