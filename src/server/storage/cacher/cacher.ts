/**
 * Stored objects with a cache before the store: the current ones and their recent changes, kept true by one watch of the
 * store. Reads and watches are served from here; writes, and reads that cannot wait, go to the storage behind.
 *
 *   store watch ─► #apply: objects, watchCache, revision ─► watchers (by index), waiters
 *
 * Always true once ready: `objects` is the state at `revision`; `watchCache` holds every change after its `since` up
 * to it; every live watcher has been given all of them. Everything happens in the turn in which the store's batch
 * arrives, so nobody ever sees half of it.
 *
 * When the store's history is gone (an etcd that was away too long) the state is read anew and the difference becomes
 * events, deletes at the revision of the new state: watchers live on and miss nothing.
 */
import {
  type Clock,
  type KubeObject,
  type StatusError,
  tooLargeResourceVersion,
  tooManyRequests,
} from '../../../api/index.ts';
import { isStoreError, type Revision, type Store } from '../../../store/index.ts';
import type { StoreHistory } from '../../../store/kv.ts';
import type { StreamEnd } from '../../request/stream-end.ts';
import type { DirectStorage } from '../direct/direct-storage.ts';
import {
  type GetOptions,
  type Instead,
  isNumbered,
  type ListRequest,
  type ObjectList,
  type ObjectRange,
  type ObjectStats,
  type ObjectStorage,
  scopeOf,
  WAIT_MS,
  type WatchRequest,
  type WriteGuard,
} from '../object-storage.ts';
import type { ObjectCodec } from '../objects/object-codec.ts';
import { ObjectEvent } from '../objects/object-event.ts';
import { type ObjectKeys, objectKey } from '../objects/object-keys.ts';
import { type ObjectMemory, ownMemory } from '../objects/object-memory.ts';
import type { Pin, Selection } from '../objects/selection.ts';
import type { Slab } from '../objects/slab.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import { SetBackError } from '../set-back-error.ts';
import { CacheCounts } from './cache-counts.ts';
import { CacheWatcher } from './cache-watcher.ts';
import { ValueIndexes } from './indexes/value-indexes.ts';
import { WatchIndex } from './indexes/watch-index.ts';
import { KnownPast } from './known-past.ts';
import type { CacheFollower, ObjectChange, ObjectSource, SourceTarget } from './object-source.ts';
import { RevisionWaiters } from './revision-waiters.ts';
import { PackedObjects } from './state/packed-objects.ts';
import { pinnedRange } from './state/pinned-range.ts';
import { StoreReflector } from './store-reflector.ts';
import { defaultWatchCacheLimits, WatchCache, type WatchCacheLimits } from './watch-cache.ts';

export type CacherOptions = {
  readonly store: Store;
  /** What lies behind: it takes the writes, and reads that cannot wait for the cache. */
  readonly direct: DirectStorage;
  readonly clock: Clock;
  readonly limits?: WatchCacheLimits;
  /** Where the bytes of its objects lie. */
  readonly memory?: ObjectMemory;
  /** Where its objects come from, if not from the store. */
  readonly source?: (target: SourceTarget, cacher: Cacher) => ObjectSource;
  readonly log: (message: string) => void;
};

/** Long enough for a store that answers questions about its progress. */
const SHORT_WAIT_MS = 50;
/** How long readers go to the store at once after one has waited in vain. */
const IMPATIENT_MS = 30_000;
const never = new AbortController().signal;

/** `current` undefined: deleted; `previous` undefined: new to the listener. */
export type ChangeListener = (current: StoredObject | undefined, previous: StoredObject | undefined) => void;

export class Cacher implements ObjectStorage {
  readonly direct: DirectStorage;
  readonly codec: ObjectCodec;
  readonly keys: ObjectKeys;
  readonly objects: PackedObjects;
  readonly watchers: WatchIndex = new WatchIndex();
  readonly watchCache: WatchCache;
  revision: Revision = 0;
  readonly counts: CacheCounts = new CacheCounts();
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: (message: string) => void;
  readonly #source: ObjectSource;
  readonly #waiters = new RevisionWaiters(() => this.#source.requestProgress());
  #impatientUntil = 0;
  #unreadySince: number;
  #followers: ChangeListener[] = [];
  readonly #copies = new Set<CacheFollower>();
  readonly #indexes: ValueIndexes;
  readonly #past: KnownPast;

  constructor({ store, direct, clock, limits = defaultWatchCacheLimits, memory = ownMemory, ...rest }: CacherOptions) {
    const { source, log } = rest;
    this.#store = store;
    this.direct = direct;
    this.codec = direct.codec;
    this.keys = direct.keys;
    this.watchCache = new WatchCache(0, limits);
    this.#past = new KnownPast(this.watchCache);
    this.#clock = clock;
    this.#unreadySince = clock.now();
    this.#log = log;
    this.objects = new PackedObjects(memory);
    this.#indexes = new ValueIndexes(this.codec.fieldNames, this.objects);
    this.objects.onPacked = (slab, objects) => {
      for (const copy of this.#copies) copy.packed(slab, objects);
    };
    const target: SourceTarget = {
      isReady: () => this.isReady,
      replace: (found, at, isPackedElsewhere) => this.#replace(found, at, isPackedElsewhere),
      apply: (changes, at) => this.#apply(changes, at),
      packedBytes: (key) => this.objects.packedBytes(key),
      move: (key, at, slab, place) => this.#move(key, at, slab, place),
    };
    this.#source = source?.(target, this) ?? new StoreReflector({ store, direct, memory, target, log });
  }

  get history(): StoreHistory | undefined {
    return this.direct.history;
  }

  get maxObjectBytes(): number | undefined {
    return this.direct.maxObjectBytes;
  }

  get stats(): ObjectStats | 'filling' {
    if (!this.isReady) return 'filling';
    const { size, bytes } = this.objects;
    return { count: size, averageBytes: size === 0 ? 0 : bytes / size };
  }

  async get(namespace: string, name: string, options: GetOptions = {}): Promise<StoredObject | undefined> {
    const { resourceVersion = '', signal = never } = options;
    if (await this.#isFreshEnough(resourceVersion, { signal })) return this.objects.get(objectKey(namespace, name));
    return this.direct.get(namespace, name, { signal });
  }

  peek(namespace: string, name: string, resourceVersion = '0'): StoredObject | undefined {
    return this.#isKnownFresh(resourceVersion) ? this.objects.get(objectKey(namespace, name)) : undefined;
  }

  /** Whether it is as new as a read demands, and nobody has to be asked or waited for. */
  #isKnownFresh(resourceVersion: string): boolean {
    if (resourceVersion === '') {
      const { knownRevision } = this.#store;
      return knownRevision !== undefined && this.revision >= knownRevision;
    }
    return this.revision >= Number(resourceVersion);
  }

  async list(request: ListRequest): Promise<ObjectList> {
    const { scope, start, at, limit } = request;
    if ('revision' in at) return this.#listExactly(request, at.revision);
    if (!(await this.#isFreshEnough(at.resourceVersion, request))) {
      if (request.isPatient && !this.isReady && limit === undefined) throw this.#notReady();
      return this.direct.list({ scope, start, limit, at: { resourceVersion: '' }, signal: request.signal });
    }
    return this.#listPinned(request) ?? this.#listRange(request);
  }

  peekList(request: Omit<ListRequest, 'signal'>): ObjectList | undefined {
    const { at, pinned } = request;
    if (!this.isReady) return undefined;
    if ('revision' in at) return this.#isKnownReadable(at.revision) ? this.#listKnown(request, at.revision) : undefined;
    if (!this.#isKnownFresh(at.resourceVersion)) return undefined;
    return pinned && pinned.length > 0 ? this.#listPinned(request) : this.#listRange(request);
  }

  #listPinned({ scope, start, limit, pinned = [] }: Omit<ListRequest, 'signal'>): ObjectList | undefined {
    const found = this.#indexes.find(pinned, scope, start);
    if (!found) return undefined;
    const range = pinnedRange(found, undefined, scope, start, limit);
    this.counts.list(range.objects.length, found.pin);
    return { revision: this.revision, ...range };
  }

  #listRange({ scope, start, limit }: Omit<ListRequest, 'signal'>): ObjectList {
    const { values: objects, weight: bytes } = this.objects.range(scope, start, limit);
    this.counts.list(objects.length);
    return { objects, bytes, count: this.objects.count(scope, start), revision: this.revision };
  }

  async watch(request: WatchRequest): Promise<void> {
    const { selection, encoding, allowsBookmarks, resourceVersion, sendsInitialEvents, client } = request;
    const isFresh = await this.#isFreshEnough(sendsInitialEvents && resourceVersion === '' ? '' : '0', client);
    if (!isFresh && !this.isReady) throw this.#notReady();
    if (!isFresh) return this.direct.watch(request);
    const asked = Number(resourceVersion || '0');
    const isTooNew = sendsInitialEvents && asked > 0 && !(await this.waitFor(asked, WAIT_MS, client.signal));
    const watcher = new CacheWatcher(this, {
      stream: client.stream(encoding.contentType),
      selection,
      encoding,
      allowsBookmarks,
      after: sendsInitialEvents || asked === 0 ? this.revision : asked,
      initial: sendsInitialEvents && !isTooNew ? this.#candidatesOf(selection) : undefined,
      account: client.account,
    });
    request.onOpen(watcher);
    if (isTooNew) watcher.fail(tooLargeResourceVersion(asked, this.revision));
    else await watcher.start();
  }

  create(object: KubeObject, guard?: WriteGuard): Promise<StoredObject | undefined> {
    return this.direct.create(object, guard);
  }

  update(current: StoredObject, object: KubeObject, guard?: WriteGuard): Promise<{ stored: StoredObject } | Instead> {
    return this.direct.update(current, object, guard);
  }

  delete(current: StoredObject, guard?: WriteGuard): Promise<{ deleted: StoredObject } | Instead> {
    return this.direct.delete(current, guard);
  }

  endWatches(why: StreamEnd): void {
    this.direct.endWatches(why);
  }

  get isReady(): boolean {
    return this.revision > 0;
  }

  /** By the clock that its events have their times from. */
  now(): number {
    return this.#clock.now();
  }

  /** True once the cache has reached `revision`; false if it has not within the time. */
  async waitFor(revision: Revision, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    return this.revision >= revision || this.#waiters.wait(revision, timeoutMs, signal);
  }

  /**
   * Waits until the cache has everything that was acknowledged before the call. A store that does not answer questions
   * about its progress (an old etcd) is asked once in a while only: otherwise every reader would wait in vain.
   */
  async catchUp(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const revision = await this.#store.revision({ signal });
    if (this.revision >= revision) return true;
    if (this.#clock.now() < this.#impatientUntil) return false;
    if (await this.waitFor(revision, SHORT_WAIT_MS, signal)) return true;
    if (this.#source.answersProgress === false) return false;
    const isReached = await this.waitFor(revision, timeoutMs, signal);
    if (!isReached && this.isReady) this.#impatientUntil = this.#clock.now() + IMPATIENT_MS;
    return isReached;
  }

  /** Tells of every object that is there, and of every change from now on, in the turn in which it happens. */
  follow(listener: ChangeListener): void {
    for (const object of this.objects.values()) listener(object, undefined);
    this.#followers.push(listener);
  }

  /** For another thread, until the returned function is called. */
  copyTo(follower: CacheFollower): () => void {
    this.#copies.add(follower);
    return () => void this.#copies.delete(follower);
  }

  get answersProgress(): boolean | undefined {
    return this.#source.answersProgress;
  }

  /** Asks the store how far it is, once. */
  requestProgress(): void {
    this.#source.requestProgress();
  }

  /** Asks the store how far it is; again and again while somebody waits. */
  askForProgress(): void {
    this.#waiters.ask();
  }

  /**
   * The objects as they were at a revision, in order, at most `limit`: the present with the changes since then undone.
   * Undefined if the window does not reach back so far.
   */
  valuesAt(
    revision: Revision,
    prefix: string,
    start: string,
    limit?: number,
    pinned?: readonly Pin[],
  ): ObjectRange | undefined {
    const past = this.#past.at(revision, this.revision);
    if (!past) return undefined;
    const found = pinned && this.#indexes.find(pinned, prefix, start);
    if (!found) return past.range(this.objects, prefix, start, limit);
    return pinnedRange(found, past, prefix, start, limit);
  }

  /** When changes of an object came that are still in the window, by their revision; milliseconds ago. */
  agesOf(key: string): ReadonlyMap<Revision, number> {
    return this.#past.agesOf(key, this.now());
  }

  /** Whether the state at this revision, and so the changes after it, are not known here. */
  isMissed(revision: Revision): boolean {
    return this.#past.isMissed(revision);
  }

  trim(): void {
    this.#past.trim(this.now());
  }

  async close(): Promise<void> {
    this.#indexes.close();
    this.#waiters.close();
    this.objects.close();
    for (const copy of [...this.#copies]) copy.closed();
    await this.#source.close();
  }

  /** The state of the store; the first time as it is, later as changes of what was known. */
  #replace(found: ReadonlyMap<string, StoredObject>, revision: Revision, isPackedElsewhere: boolean): void {
    this.counts.initializations++;
    if (revision < this.revision) this.#startOver();
    this.objects.packs = !isPackedElsewhere;
    if (this.isReady) this.#publishDifference(found, revision);
    else {
      this.objects.load([...found.values()]);
      for (const object of found.values()) this.#tell(object, undefined);
      this.watchCache.clear(revision);
      this.#advance(revision);
    }
    for (const copy of this.#copies) copy.replaced();
  }

  #move(key: string, revision: Revision, slab: Slab, place: Buffer): void {
    const object = this.objects.get(key);
    if (object?.revision === revision) this.objects.move(object, slab, place);
  }

  /** The store was set back, to a backup perhaps: what clients have seen is not its history any more. */
  #startOver(): void {
    this.#log(
      `watch cache of ${this.codec.resource.plural}: the store is behind revision ${this.revision}; starting over`,
    );
    for (const previous of this.objects.values()) this.#tell(undefined, previous);
    this.objects.clear();
    this.#past.startOver();
    this.revision = 0;
    this.#unreadySince = this.#clock.now();
    for (const watch of [...this.direct.watches]) watch.fail(new SetBackError());
  }

  #publishDifference(found: ReadonlyMap<string, StoredObject>, revision: Revision): void {
    const events: ObjectEvent[] = [];
    this.#past.miss(this.revision, revision);
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

  #apply(changes: readonly ObjectChange[], revision: Revision): void {
    const events: ObjectEvent[] = [];
    const now = this.#clock.now();
    const changed = new Map<string, StoredObject | undefined>();
    const moved: boolean[] = [];
    for (const { key, revision: changedAt, current, previousBytes } of changes) {
      const previous = changed.has(key) ? changed.get(key) : this.objects.get(key);
      changed.set(key, current);
      if (!current && !previous) continue;
      events.push(new ObjectEvent(changedAt, current, previous, now));
      moved.push(previous?.slab !== undefined);
      if (previous && previousBytes) this.objects.moveOut(previous, previousBytes);
    }
    this.#publish(events, revision);
    for (const copy of this.#copies) copy.published(events, moved, revision);
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
    this.#indexes.change(current, previous);
    for (const follower of this.#followers) {
      try {
        follower(current, previous);
      } catch (err) {
        const { key } = (current ?? previous)!;
        this.#log(`cannot follow ${this.codec.resource.plural} "${key}": ${(err as Error).message}`);
      }
    }
  }

  #advance(revision: Revision): void {
    this.revision = Math.max(this.revision, revision);
    this.#waiters.reach(this.revision);
  }

  async #listExactly(request: ListRequest, revision: Revision): Promise<ObjectList> {
    await this.#isFreshEnough(String(revision), request);
    // The cache may still know what the store has compacted; whether a token is too old must not depend on that.
    await this.direct.mustKnow(revision, request.signal).catch((err: unknown) => {
      if (isStoreError(err, 'Compacted')) this.counts.stale++;
      throw err;
    });
    return this.#listKnown(request, revision) ?? this.direct.list(request);
  }

  /** Whether the store has it still, and nobody has to be asked. */
  #isKnownReadable(revision: Revision): boolean {
    const { knownCompaction } = this.#store;
    return knownCompaction !== undefined && knownCompaction <= revision;
  }

  #listKnown(request: Omit<ListRequest, 'signal'>, revision: Revision): ObjectList | undefined {
    const { scope, start, limit, pinned } = request;
    const known = this.valuesAt(revision, scope, start, limit, pinned);
    if (!known) return undefined;
    this.counts.list(known.objects.length, known.pin);
    return { revision, ...known };
  }

  /**
   * Waits until the cache is as new as a read demands. False: it does not get there in time for a read of the present,
   * and the store must be asked itself. A future that does not come is a 504.
   */
  async #isFreshEnough(resourceVersion: string, asking: { readonly signal: AbortSignal }): Promise<boolean> {
    if (!isNumbered(resourceVersion))
      return (resourceVersion !== '' && this.isReady) || this.catchUp(WAIT_MS, asking.signal);
    if (await this.waitFor(Number(resourceVersion), WAIT_MS, asking.signal)) return true;
    throw tooLargeResourceVersion(resourceVersion.replace(/^0+/, ''), this.revision);
  }

  /** The longer it takes, the later those who wait should come again. */
  #notReady(): StatusError {
    const seconds = (this.#clock.now() - this.#unreadySince) / 1000;
    return tooManyRequests(
      'storage is (re)initializing',
      Math.trunc(Math.min(30, Math.max(1, Math.exp(0.06 * seconds)))),
    );
  }

  /** What a selection can match at all: one object, if it names it. */
  #candidatesOf(selection: Selection): readonly StoredObject[] {
    const { namespace, name } = selection;
    const isOne = name !== '' && (namespace !== '' || !this.codec.resource.isNamespaced);
    if (!isOne) {
      const scope = scopeOf(selection);
      return this.#indexes.find(selection.pinned, scope, '')?.objects ?? this.objects.values(scope);
    }
    const found = this.peek(namespace, name);
    return found ? [found] : [];
  }
}
