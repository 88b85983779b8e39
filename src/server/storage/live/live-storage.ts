/**
 * Objects that are nowhere stored: they are made of the state of the server when somebody asks, and read, listed and
 * watched as any others.
 *
 *   source ─► look: objects, window of changes, version ─► watches
 *
 * Always true: a read begins a look of its own, or waits for one that begins after it. Versions count looks that found
 * something new, from the time of day on, so that those of an earlier process are too old and not misread. While nobody
 * watches, nobody looks; what was seen is forgotten a while after the last one asked, and a watch from before that is
 * told 410. What cannot be changed is refused.
 */
import { type KubeObject, methodNotAllowed } from '../../../api/index.ts';
import { type Revision, StoreError, type Watch } from '../../../store/index.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import type { StreamEnd } from '../../request/stream-end.ts';
import { defaultWatchCacheLimits, WatchCache } from '../cacher/watch-cache.ts';
import type { Instead, ListRequest, ObjectList, ObjectStats, ObjectStorage, WatchRequest } from '../object-storage.ts';
import type { ObjectWatch, WatchedStorage } from '../object-watch.ts';
import type { ObjectCodec } from '../objects/object-codec.ts';
import { ObjectEvent } from '../objects/object-event.ts';
import { type ObjectKeys, objectKey } from '../objects/object-keys.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import { LiveWatch } from './live-watch.ts';

export type LiveItem = {
  readonly object: KubeObject;
  /** What makes a change of it news to watches; all of it, where this is left out. */
  readonly news?: string;
};

export type LiveSource = {
  /** Everything there is now; asked one by one, with others' turns in between. */
  items(): Iterable<LiveItem> | Promise<Iterable<LiveItem>>;
  /** What is removed by a delete; false: there is none of that name any more. Absent: nothing can be deleted. */
  remove?(name: string): boolean | Promise<boolean>;
};

export type LiveStorageOptions = {
  readonly codec: ObjectCodec;
  readonly keys: ObjectKeys;
  readonly source: LiveSource;
  /** How often it is looked while somebody watches. */
  readonly lookMs?: number;
};

type Seen = { readonly stored: StoredObject; readonly value: Buffer; readonly news: string | undefined };

const LOOK_MS = 1000;
/** So much longer than a look takes is the pause before the next: who looks takes a hundredth of the time at most. */
const REST_FACTOR = 100;
const FORGET_MS = 60_000;
/** Lists that are read in pages; an older one is answered 410. */
const KEPT_LISTS = 8;

export class LiveStorage implements ObjectStorage, WatchedStorage {
  readonly codec: ObjectCodec;
  readonly keys: ObjectKeys;
  readonly history: undefined;
  readonly maxObjectBytes: undefined;
  readonly watches: Set<ObjectWatch> = new Set();
  readonly sent: { events: number; bytes: number } = { events: 0, bytes: 0 };
  readonly changes: WatchCache;
  revision: Revision;
  readonly #source: LiveSource;
  readonly #lookMs: number;
  /** In the order of lists. */
  #seen: ReadonlyMap<string, Seen> | undefined;
  readonly #lists = new Map<Revision, readonly StoredObject[]>();
  readonly #readers = new Set<() => void>();
  #queued: Promise<void> | undefined;
  #last: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #usedAt = 0;
  /** Of the last look, without the turns of others. */
  #costMs = 0;
  #isClosed = false;

  constructor({ codec, keys, source, lookMs = LOOK_MS }: LiveStorageOptions) {
    this.codec = codec;
    this.keys = keys;
    this.#source = source;
    this.#lookMs = lookMs;
    this.revision = Date.now();
    this.changes = new WatchCache(this.revision, defaultWatchCacheLimits);
  }

  get direct(): this {
    return this;
  }

  get stats(): ObjectStats | 'filling' {
    if (!this.#seen) return 'filling';
    let bytes = 0;
    for (const { value } of this.#seen.values()) bytes += value.length;
    return { count: this.#seen.size, averageBytes: this.#seen.size === 0 ? 0 : bytes / this.#seen.size };
  }

  async get(namespace: string, name: string): Promise<StoredObject | undefined> {
    await this.look();
    return this.peek(namespace, name);
  }

  /** As it was seen last; who wants the newest has to look. */
  peek(namespace: string, name: string, resourceVersion = '0'): StoredObject | undefined {
    if (resourceVersion === '' || this.revision < Number(resourceVersion)) return undefined;
    return this.#seen?.get(objectKey(namespace, name))?.stored;
  }

  peekList(): undefined {
    return undefined;
  }

  async list({ scope, start, limit, at }: ListRequest): Promise<ObjectList> {
    if (!('revision' in at)) await this.look();
    const revision = 'revision' in at ? at.revision : this.revision;
    const all = this.#lists.get(revision) ?? (revision === this.revision ? this.values() : undefined);
    if (!all) throw forgotten(this.changes.since);
    const objects = all.filter(({ key }) => key.startsWith(scope) && key >= start);
    if (limit && objects.length > limit) this.#keep(revision, all);
    return { objects: limit ? objects.slice(0, limit) : objects, count: objects.length, revision };
  }

  async watch(request: WatchRequest): Promise<void> {
    const { selection, encoding, allowsBookmarks, resourceVersion, sendsInitialEvents, client, onOpen } = request;
    await this.look();
    const asked = Number(resourceVersion || '0');
    const watch = new LiveWatch(
      this,
      {
        stream: client.stream(encoding.contentType),
        selection,
        encoding,
        allowsBookmarks,
        after: sendsInitialEvents || asked === 0 ? this.revision : asked,
        initial: sendsInitialEvents ? this.values() : undefined,
        account: client.account,
      },
      () => client.initialised(),
    );
    onOpen(watch);
    this.#keepLooking();
    await watch.start();
  }

  async create(): Promise<never> {
    throw methodNotAllowed();
  }

  async update(): Promise<never> {
    throw methodNotAllowed();
  }

  async delete(current: StoredObject): Promise<{ deleted: StoredObject } | Instead> {
    if (!this.#source.remove) throw methodNotAllowed();
    if (!(await this.#source.remove(current.name))) return { instead: undefined };
    await this.look();
    return { deleted: current.withRevision(this.revision) };
  }

  async catchUp(): Promise<boolean> {
    await this.look();
    return true;
  }

  endWatches(why: StreamEnd): void {
    for (const watch of [...this.watches]) watch.end(why);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.endWatches('server-stopping');
    await this.#last;
  }

  /** There is no log: the window is all the history there is. */
  openLog(fromRevision: Revision): Watch {
    throw forgotten(fromRevision);
  }

  readEvent(): never {
    throw forgotten(this.changes.since);
  }

  values(): readonly StoredObject[] {
    return [...(this.#seen ?? new Map<string, Seen>()).values()].map(({ stored }) => stored);
  }

  /** Calls back when there is something new, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#readers.add(listener);
    return () => void this.#readers.delete(listener);
  }

  /** Looks now. Who asks while a look is under way gets the next one, with all others who do. */
  look(): Promise<void> {
    this.#usedAt = Date.now();
    this.#queued ??= this.#last.then(async () => {
      this.#queued = undefined;
      await this.#lookNow();
    });
    this.#last = this.#queued.catch(() => {});
    this.#keepLooking();
    return this.#queued;
  }

  async #lookNow(): Promise<void> {
    const next = Math.max(this.revision + 1, Date.now());
    const before = this.#seen;
    const found: [key: string, seen: Seen][] = [];
    const events: ObjectEvent[] = [];
    const now = performance.now();
    const gone = new Map(before);
    const slices = new WorkSlices();
    let beganMs = now;
    let costMs = 0;
    for (const { object, news } of await this.#source.items()) {
      const { namespace = '', name = '' } = object.metadata;
      const key = objectKey(namespace, name);
      const value = this.codec.encode(object);
      const old = before?.get(key);
      gone.delete(key);
      const isSame = old !== undefined && value.equals(old.value);
      const isNews = !isSame && (old === undefined || news === undefined || news !== old.news);
      const stored = isSame
        ? old.stored
        : this.codec.decode(namespace, name, isNews ? next : old!.stored.revision, value);
      found.push([key, { stored, value, news }]);
      if (isNews && before) events.push(new ObjectEvent(next, stored, old?.stored, now));
      if (!slices.isOver) continue;
      costMs += performance.now() - beganMs;
      await slices.pause();
      beganMs = performance.now();
    }
    if (before) for (const { stored } of gone.values()) events.push(new ObjectEvent(next, undefined, stored, now));
    found.sort(([a], [b]) => (a < b ? -1 : 1));
    this.#seen = new Map(found);
    this.#costMs = costMs + performance.now() - beganMs;
    if (before && events.length === 0) return;
    this.revision = next;
    if (!before) this.changes.clear(next);
    for (const event of events) this.changes.push(event);
    this.changes.trim(now);
    for (const reader of [...this.#readers]) reader();
  }

  #keep(revision: Revision, all: readonly StoredObject[]): void {
    this.#lists.delete(revision);
    this.#lists.set(revision, all);
    for (const oldest of this.#lists.keys()) {
      if (this.#lists.size <= KEPT_LISTS) break;
      this.#lists.delete(oldest);
    }
  }

  #keepLooking(): void {
    if (this.#isClosed || this.#timer) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        if (this.watches.size > 0) this.look().catch(() => {});
        else if (Date.now() - this.#usedAt < FORGET_MS) this.#keepLooking();
        else this.#forget();
      },
      Math.max(this.#lookMs, this.#costMs * REST_FACTOR),
    );
    this.#timer.unref();
  }

  /** Nothing is known of the time until the next look: no watch goes on across it. */
  #forget(): void {
    this.#seen = undefined;
    this.#lists.clear();
    this.revision = Math.max(this.revision + 1, Date.now());
    this.changes.clear(this.revision);
  }
}

function forgotten(oldest: Revision): StoreError {
  return new StoreError('Compacted', 'Cannot go on: what was before is not kept', { compactRevision: oldest });
}
