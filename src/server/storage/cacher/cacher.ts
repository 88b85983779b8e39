/**
 * The watch cache of one resource: its current objects and its recent changes, kept true by one watch of the store.
 *
 *   store watch ─► #apply: objects, window, revision ─► watchers (by index), waiters
 *
 * Always true once ready: `objects` is the state at `revision`; the window holds every change after `window.since`
 * up to it; every live watcher has been given all of them. Everything happens in the turn in which the store's batch
 * arrives, so nobody ever sees half of it.
 *
 * When the store's history is gone (an etcd that was away too long) the state is read anew and the difference becomes
 * events, deletes at the revision of the new state: watchers live on and miss nothing.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../../api/index.ts';
import {
  isStoreError,
  type KeyValue,
  keyFromText,
  keyToText,
  type Revision,
  type Store,
  StoreError,
  type Watch,
  type WatchBatch,
} from '../../../store/index.ts';
import type { ObjectCodec } from '../object-codec.ts';
import { ObjectEvent } from '../object-event.ts';
import { SlabWriter } from '../slab.ts';
import type { StoredObject } from '../stored-object.ts';
import { PackedObjects } from './packed-objects.ts';
import { defaultWatchCacheLimits, WatchCache, type WatchCacheLimits } from './watch-cache.ts';
import { WatchIndex } from './watch-index.ts';

export type CacherOptions = {
  readonly store: Store;
  readonly codec: ObjectCodec;
  /** Of all keys of this resource, with a slash at the end. */
  readonly keyPrefix: string;
  readonly clock: Clock;
  readonly watchCacheLimits?: WatchCacheLimits;
  /** False: nothing is kept, and whoever reads asks the store. */
  readonly isKept?: boolean;
  readonly log: (message: string) => void;
};

const FILL_PAGE = 200;
const FILL_PAGE_BYTES = 1024 * 1024;
const RETRY_MS = 1000;
/** How often progress is asked for while somebody waits. */
const PROGRESS_MS = 100;
/** Long enough for a store that answers questions about its progress. */
const SHORT_WAIT_MS = 50;
/** How long readers go to the store at once after one has waited in vain. */
const IMPATIENT_MS = 30_000;

/** `current` undefined: deleted; `previous` undefined: new to the listener. */
export type ChangeListener = (current: StoredObject | undefined, previous: StoredObject | undefined) => void;

/** What happened so far; whoever does it counts it. */
export type CacheCounts = {
  received: number;
  dispatched: number;
  initializations: number;
  lists: number;
  stale: number;
  bookmarks: number;
};

/** Objects in order, from some place on, and how many there are from there on in all. */
export type ObjectRange = { readonly objects: readonly StoredObject[]; readonly count: number };

type Waiter = { readonly revision: Revision; readonly resolve: () => void };

export class Cacher {
  readonly codec: ObjectCodec;
  readonly store: Store;
  readonly keyPrefix: string;
  /** Whether there is a cache at all; if not, this only knows how objects are stored. */
  readonly isKept: boolean;
  readonly objects: PackedObjects = new PackedObjects();
  readonly watchers: WatchIndex = new WatchIndex();
  /** All watches that read from here, live or behind. */
  readonly watches: Set<{ end(): void; fail(err: unknown): void }> = new Set();
  readonly watchCache: WatchCache;
  revision: Revision = 0;
  readonly counts: CacheCounts = {
    received: 0,
    dispatched: 0,
    initializations: 0,
    lists: 0,
    stale: 0,
    bookmarks: 0,
  };
  readonly #clock: Clock;
  readonly #log: (message: string) => void;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #watch: Watch | undefined;
  readonly #waiters = new Set<Waiter>();
  #impatientUntil = 0;
  #followers: ChangeListener[] = [];
  /** Stretches of revisions whose single changes were missed: the window holds only what became of them. */
  #gaps: { readonly after: Revision; readonly until: Revision }[] = [];
  #progressTimer: NodeJS.Timeout | undefined;

  constructor({
    store,
    codec,
    keyPrefix,
    clock,
    watchCacheLimits = defaultWatchCacheLimits,
    isKept = true,
    log,
  }: CacherOptions) {
    this.store = store;
    this.codec = codec;
    this.keyPrefix = keyPrefix;
    this.watchCache = new WatchCache(0, watchCacheLimits);
    this.#clock = clock;
    this.#log = log;
    this.isKept = isKept;
    this.#running = isKept ? this.#run(this.#stop.signal) : Promise.resolve();
  }

  /** Ends all watches: what they were told of is not served any more, or not in this form. */
  endWatches(): void {
    for (const watch of [...this.watches]) watch.end();
  }

  get isReady(): boolean {
    return this.revision > 0;
  }

  /** True once the cache has reached `revision`; false if it has not within the time. */
  async waitFor(revision: Revision, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    if (this.revision >= revision) return true;
    signal.throwIfAborted();
    const isReached = await new Promise<boolean>((resolve) => {
      const settle = (isDone: boolean) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        this.#waiters.delete(waiter);
        resolve(isDone);
      };
      const giveUp = () => settle(false);
      const timer = setTimeout(giveUp, timeoutMs);
      const waiter: Waiter = { revision, resolve: () => settle(true) };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiters.add(waiter);
      this.askForProgress();
    });
    signal.throwIfAborted();
    return isReached;
  }

  /**
   * Waits until the cache has everything that was acknowledged before the call. A store that does not answer questions
   * about its progress (an old etcd) is asked once in a while only: otherwise every reader would wait in vain.
   */
  async waitForNow(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const revision = await this.store.revision({ signal });
    if (this.revision >= revision) return true;
    if (this.#clock.now() < this.#impatientUntil) return false;
    if (await this.waitFor(revision, SHORT_WAIT_MS, signal)) return true;
    if (this.#watch?.answersProgress === false) return false;
    const isReached = await this.waitFor(revision, timeoutMs, signal);
    if (!isReached && this.isReady) this.#impatientUntil = this.#clock.now() + IMPATIENT_MS;
    return isReached;
  }

  /** Tells of every object that is there, and of every change from now on, in the turn in which it happens. */
  follow(listener: ChangeListener): void {
    for (const object of this.objects.values()) listener(object, undefined);
    this.#followers.push(listener);
  }

  /** Asks the store how far it is; again and again while somebody waits. */
  askForProgress(): void {
    this.#watch?.requestProgress();
    if (this.#progressTimer || this.#waiters.size === 0) return;
    this.#progressTimer = setTimeout(() => {
      this.#progressTimer = undefined;
      if (this.#waiters.size > 0) this.askForProgress();
    }, PROGRESS_MS);
  }

  /**
   * The objects as they were at a revision, in order, at most `limit`: the present with the changes since then undone.
   * Undefined if the window does not reach back so far.
   */
  valuesAt(revision: Revision, prefix: string, start: string, limit?: number): ObjectRange | undefined {
    if (revision > this.revision || revision < this.watchCache.since || this.isMissed(revision)) return undefined;
    const undone = new Map<string, StoredObject | undefined>();
    if (revision < this.revision)
      for (const event of this.watchCache.after(revision)) {
        const { key } = event.object;
        if (key.startsWith(prefix) && key >= start && !undone.has(key)) undone.set(key, event.previous);
      }
    let count = this.objects.count(prefix, start);
    if (undone.size === 0) return { objects: this.objects.values(prefix, start, limit), count };
    for (const [key, object] of undone)
      count += Number(object !== undefined) - Number(this.objects.get(key) !== undefined);
    // Every object that is undone may take one of the places: so many more are looked at.
    const present = this.objects.values(prefix, start, limit && limit + undone.size);
    const objects = present.filter(({ key }) => !undone.has(key));
    for (const object of undone.values()) if (object) objects.push(object);
    objects.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
    return { objects: limit === undefined ? objects : objects.slice(0, limit), count };
  }

  /** Whether the state at this revision, and so the changes after it, are not known here. */
  isMissed(revision: Revision): boolean {
    return this.#gaps.some(({ after, until }) => after < revision && revision < until);
  }

  /** What a pair of the store is in the cache. */
  read(kv: KeyValue, take?: (size: number) => Buffer): StoredObject {
    const { namespace, name } = this.#nameOf(kv.key);
    return this.codec.decode(namespace, name, kv.modRevision, kv.value, take);
  }

  storeKey(namespace: string, name: string): string {
    return this.keyPrefix + keyFromText(namespace === '' ? name : `${namespace}/${name}`);
  }

  trim(): void {
    this.watchCache.trim(this.#clock.now());
    this.#gaps = this.#gaps.filter(({ until }) => until > this.watchCache.since);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    clearTimeout(this.#progressTimer);
    this.objects.close();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const revision = await this.#fill(signal);
        this.#watch = this.store.watch(
          { prefix: this.keyPrefix },
          { fromRevision: revision + 1, progress: true, signal },
        );
        for await (const batch of this.#watch) this.#apply(batch);
      } catch (err) {
        if (signal.aborted || isStoreError(err, 'Closed')) return;
        this.#log(`watch cache of ${this.codec.resource.plural}: ${(err as Error).message}; reading anew`);
        if (!isStoreError(err, 'Compacted')) await delay(RETRY_MS, undefined, { signal }).catch(() => {});
      } finally {
        this.#watch = undefined;
      }
    }
  }

  /** Reads the state of the store; the first time as it is, later as changes of what was known. */
  async #fill(signal: AbortSignal): Promise<Revision> {
    const found = new Map<string, StoredObject>();
    const slabs = this.isReady ? undefined : new SlabWriter();
    const memory = Buffer.allocUnsafeSlow(FILL_PAGE_BYTES);
    let revision: Revision | undefined;
    let start = this.keyPrefix;
    const end = `${this.keyPrefix.slice(0, -1)}0`; // the character after the slash
    for (;;) {
      const page = await this.store.range(
        { start, end },
        { limit: FILL_PAGE, take: pageMemory(memory), signal, ...(revision && { revision }) },
      );
      revision ??= page.revision;
      for (const kv of page.kvs) {
        const object = this.#readIfAble(kv, slabs);
        if (object) found.set(object.key, object);
      }
      if (!page.more) break;
      start = `${page.kvs[page.kvs.length - 1]!.key}\0`;
    }
    this.counts.initializations++;
    if (revision < this.revision) this.#startOver();
    if (this.isReady) this.#replace(found, revision);
    else {
      this.objects.load([...found.values()]);
      for (const object of found.values()) this.#tell(object, undefined);
      this.watchCache.clear(revision);
      this.#advance(revision);
    }
    return revision;
  }

  /** The store was set back, to a backup perhaps: what clients have seen is not its history any more. */
  #startOver(): void {
    this.#log(
      `watch cache of ${this.codec.resource.plural}: the store is behind revision ${this.revision}; starting over`,
    );
    for (const previous of this.objects.values()) this.#tell(undefined, previous);
    this.objects.clear();
    this.#gaps = []; // of the other history
    this.revision = 0;
    for (const watch of [...this.watches])
      watch.fail(new StoreError('Compacted', 'Cannot go on: the store was set back'));
  }

  #replace(found: ReadonlyMap<string, StoredObject>, revision: Revision): void {
    const events: ObjectEvent[] = [];
    this.#gaps.push({ after: this.revision, until: revision });
    for (const previous of this.objects.values())
      if (!found.has(previous.key)) events.push(new ObjectEvent(revision, undefined, previous, this.#clock.now()));
    for (const current of found.values()) {
      const previous = this.objects.get(current.key);
      if (previous?.revision !== current.revision)
        events.push(new ObjectEvent(current.revision, current, previous, this.#clock.now()));
    }
    this.#publish(
      events.sort((a, b) => a.revision - b.revision),
      revision,
    );
  }

  #apply({ revision, events: changes }: WatchBatch): void {
    const events: ObjectEvent[] = [];
    const now = this.#clock.now();
    const changed = new Map<string, StoredObject | undefined>();
    for (const { type, kv } of changes) {
      const { namespace, name } = this.#nameOf(kv.key);
      const key = namespace === '' ? name : `${namespace}/${name}`;
      const previous = changed.has(key) ? changed.get(key) : this.objects.get(key);
      const current = type === 'put' ? this.#readIfAble(kv) : undefined;
      changed.set(key, current);
      if (current || previous) events.push(new ObjectEvent(kv.modRevision, current, previous, now));
    }
    this.#publish(events, revision);
  }

  #publish(events: readonly ObjectEvent[], revision: Revision): void {
    for (const event of events) {
      if (event.current) this.objects.set(event.current);
      else this.objects.delete(event.object.key);
      this.watchCache.push(event);
      this.#tell(event.current, event.previous);
    }
    this.counts.received += events.length;
    this.revision = Math.max(this.revision, revision);
    this.counts.dispatched += this.watchers.publish(events, this.revision);
    this.#advance(revision);
  }

  /** A follower that fails harms nobody but itself. */
  #tell(current: StoredObject | undefined, previous: StoredObject | undefined): void {
    for (const follower of this.#followers) {
      try {
        follower(current, previous);
      } catch (err) {
        const { key } = (current ?? previous)!;
        this.#log(`cannot follow ${this.codec.resource.plural} "${key}": ${(err as Error).message}`);
      }
    }
  }

  /** A value that is no object is as good as absent: it must not stop all others. */
  #readIfAble(kv: KeyValue, slabs?: SlabWriter): StoredObject | undefined {
    try {
      return slabs ? slabs.placed((take) => this.read(kv, take)) : this.read(kv);
    } catch (err) {
      this.#log(`watch cache of ${this.codec.resource.plural}: ${(err as Error).message}; left out`);
      return undefined;
    }
  }

  #advance(revision: Revision): void {
    this.revision = Math.max(this.revision, revision);
    for (const waiter of [...this.#waiters]) if (waiter.revision <= this.revision) waiter.resolve();
  }

  #nameOf(storeKey: string): { namespace: string; name: string } {
    const relative = storeKey.slice(this.keyPrefix.length);
    const text = /[^\0-\x7f]/.test(relative) ? keyToText(relative) : relative;
    const slash = this.codec.resource.isNamespaced ? text.indexOf('/') : -1;
    return slash < 0 ? { namespace: '', name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
  }
}

/** Room in the same memory for every page: what is read there is copied before the next page comes. */
function pageMemory(memory: Buffer): (bytes: number) => Buffer {
  let used = 0;
  return (bytes) => {
    if (used + bytes > memory.length) return Buffer.allocUnsafeSlow(bytes);
    used += bytes;
    return memory.subarray(used - bytes, used);
  };
}
