/**
 * Stored objects straight from the store: a read is a read of the store, a list a range of it, a watch a watch of it. It
 * is all there is for a resource without a watch cache, and what the cacher reads and writes through.
 *
 * Always true: nothing is kept but the watches that are open. A value that is no object is an error.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type KubeObject, tooLargeResourceVersion } from '../../../api/index.ts';
import {
  type Compare,
  isStoreError,
  type KeyValue,
  type Op,
  type RangeResult,
  type Revision,
  type Store,
  StoreError,
  type Watch,
  type WatchEvent,
} from '../../../store/index.ts';
import type { StoreHistory } from '../../../store/kv.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import type { StreamEnd } from '../../request/stream-end.ts';
import {
  type GetOptions,
  type Instead,
  isNumbered,
  type ListRequest,
  type ObjectList,
  type ObjectStorage,
  OvertakenError,
  scopeOf,
  WAIT_MS,
  type WatchRequest,
  type WriteGuard,
} from '../object-storage.ts';
import type { ObjectWatch } from '../object-watch.ts';
import type { ObjectCodec } from '../objects/object-codec.ts';
import { ObjectEvent } from '../objects/object-event.ts';
import type { ObjectKeys } from '../objects/object-keys.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { WrittenObjects } from '../objects/written-objects.ts';
import { DirectWatch } from './direct-watch.ts';
import type { SharedLease } from './shared-lease.ts';

export type DirectStorageOptions = {
  readonly store: Store;
  readonly codec: ObjectCodec;
  readonly keys: ObjectKeys;
  /** Of objects that the store forgets by itself. */
  readonly lease?: SharedLease | undefined;
};

/** How often the store is asked whether it has reached a revision. */
const POLL_MS = 50;
const NEWEST: GetOptions = {};

export class DirectStorage implements ObjectStorage {
  readonly codec: ObjectCodec;
  readonly keys: ObjectKeys;
  readonly stats = 'uncounted';
  /** All that are open, wherever they read from. */
  readonly watches: Set<ObjectWatch> = new Set();
  readonly listed: { lists: number; fetched: number } = { lists: 0, fetched: 0 };
  readonly sent: { events: number; bytes: number } = { events: 0, bytes: 0 };
  /** For a cache that keeps its objects where they are made here. */
  written: WrittenObjects | undefined;
  readonly #store: Store;
  readonly #lease: SharedLease | undefined;

  constructor({ store, codec, keys, lease }: DirectStorageOptions) {
    this.#store = store;
    this.codec = codec;
    this.keys = keys;
    this.#lease = lease;
  }

  get direct(): this {
    return this;
  }

  get history(): StoreHistory | undefined {
    return this.#store.history;
  }

  get maxObjectBytes(): number | undefined {
    return this.#store.maxPutBytes;
  }

  async get(namespace: string, name: string, options: GetOptions = NEWEST): Promise<StoredObject | undefined> {
    const { resourceVersion = '', signal } = options;
    if (isNumbered(resourceVersion)) await this.#waitFor(Number(resourceVersion), signal);
    const { kv } = await this.#store.get(this.keys.of(namespace, name), options);
    return kv && this.decode(kv);
  }

  peek(): undefined {
    return undefined;
  }

  peekList(): undefined {
    return undefined;
  }

  async list(request: ListRequest): Promise<ObjectList> {
    const { signal, at } = request;
    const exact = 'revision' in at ? at.revision : undefined;
    if ('resourceVersion' in at && isNumbered(at.resourceVersion))
      await this.#waitFor(Number(at.resourceVersion), signal);
    const { kvs, count, revision } = await this.#range(request, exact).catch(async (err: unknown) => {
      if (exact === undefined || !isStoreError(err, 'FutureRevision')) throw err;
      await this.#waitFor(exact, signal);
      return this.#range(request, exact);
    });
    const objects: StoredObject[] = [];
    const slices = new WorkSlices(signal);
    for (const kv of kvs) {
      if (slices.isOver) await slices.pause();
      objects.push(this.decode(kv));
    }
    this.listed.lists++;
    this.listed.fetched += objects.length;
    return { objects, count, revision: exact ?? revision };
  }

  async watch({ selection, encoding, allowsBookmarks, client, ...request }: WatchRequest): Promise<void> {
    const { signal } = client;
    const { resourceVersion, sendsInitialEvents, onOpen } = request;
    const scope = scopeOf(selection);
    const asked = Number(resourceVersion || '0');
    let refusal: unknown;
    const state = sendsInitialEvents
      ? await this.list({ scope, start: scope, at: { resourceVersion }, signal }).catch((err: unknown) => {
          signal.throwIfAborted();
          refusal = err;
          return undefined;
        })
      : undefined;
    const after = state?.revision ?? (asked || (await this.#store.revision({ signal })));
    const stream = client.stream(encoding.contentType);
    const watch = new DirectWatch(
      this,
      { stream, selection, encoding, after, allowsBookmarks, initial: state?.objects, account: client.account },
      () => client.initialised(),
    );
    onOpen(watch);
    if (refusal) watch.fail(refusal);
    else await watch.start();
  }

  async create(object: KubeObject, guard?: WriteGuard): Promise<StoredObject | undefined> {
    const { namespace = '', name = '' } = object.metadata;
    const key = this.keys.of(namespace, name);
    const slices = new WorkSlices();
    const value = this.codec.encode(object);
    if (slices.isOver) await slices.pause(); // what is large takes long
    const lease = this.#lease ? await this.#lease.id() : 0n;
    const compare: Compare[] = [{ range: { key }, target: 'modRevision', is: '=', than: 0 }];
    if (guard) compare.push(comparing(guard));
    const { succeeded, revision, results } = await this.#store.txn({
      compare,
      then: [{ kind: 'put', key, value, lease }],
      ...(guard && { else: [{ kind: 'range', range: { key }, options: { keysOnly: true } }] }),
    });
    if (succeeded) return this.#stored(namespace, name, revision, value);
    if (guard && (results[0] as RangeResult).count === 0) throw new OvertakenError();
    return undefined;
  }

  async update(
    current: StoredObject,
    object: KubeObject,
    guard?: WriteGuard,
  ): Promise<{ stored: StoredObject } | Instead> {
    const { namespace, name } = current;
    const slices = new WorkSlices();
    const value = this.codec.encode(object);
    if (slices.isOver) await slices.pause();
    if (this.codec.isStoredAs(current, value)) return { stored: current };
    const key = this.keys.of(namespace, name);
    const lease = this.#lease ? await this.#lease.id() : 0n;
    const done = await this.#swap(current, { kind: 'put', key, value, lease }, guard);
    if ('instead' in done) return done;
    return { stored: this.#stored(namespace, name, done.revision, value) };
  }

  #stored(namespace: string, name: string, revision: Revision, value: Buffer): StoredObject {
    const stored = this.codec.decode(namespace, name, revision, value);
    this.written?.note(stored);
    return stored;
  }

  async delete(current: StoredObject, guard?: WriteGuard): Promise<{ deleted: StoredObject } | Instead> {
    const range = { key: this.keys.of(current.namespace, current.name) };
    const done = await this.#swap(current, { kind: 'delete', range }, guard);
    return 'instead' in done ? done : { deleted: current.withRevision(done.revision) };
  }

  async catchUp(): Promise<boolean> {
    return true;
  }

  endWatches(why: StreamEnd): void {
    for (const watch of [...this.watches]) watch.end(why);
  }

  async close(): Promise<void> {}

  /** The store's log of these objects, or of one; what was before is attached to each change. */
  openLog(fromRevision: Revision, only?: { readonly namespace: string; readonly name: string }): Watch {
    const range = only ? { key: this.keys.of(only.namespace, only.name) } : { prefix: this.keys.prefix };
    return this.#store.watch(range, { fromRevision, prevKv: true, progress: true });
  }

  /** A change of the store as one of an object; fails where what was before is compacted. */
  toEvent({ type, kv, prevKv }: WatchEvent): ObjectEvent {
    if (!prevKv && kv.createRevision !== kv.modRevision)
      throw new StoreError(
        'Compacted',
        `Cannot tell what ${JSON.stringify(kv.key)} was before revision ${kv.modRevision}: that is compacted`,
        { compactRevision: kv.modRevision },
      );
    const current = type === 'put' ? this.decode(kv) : undefined;
    return new ObjectEvent(kv.modRevision, current, prevKv && this.decode(prevKv), 0);
  }

  /** The same for who can wait: it may have to be converted. */
  readEvent(event: WatchEvent): ObjectEvent | Promise<ObjectEvent> {
    return this.toEvent(event);
  }

  /** `take` gives the room for its bytes. */
  decode(kv: KeyValue, take?: (size: number) => Buffer): StoredObject {
    const { namespace, name } = this.keys.nameOf(kv.key);
    return this.codec.decode(namespace, name, kv.modRevision, kv.value, take);
  }

  /** Fails where the state at a revision is compacted. */
  async mustKnow(revision: Revision, signal: AbortSignal): Promise<void> {
    await this.#store.get(this.keys.prefix, { revision, signal });
  }

  #range({ scope, start, limit = 0, signal }: ListRequest, revision: Revision | undefined): Promise<RangeResult> {
    const options = { signal, limit, ...(revision !== undefined && { revision }) };
    return this.#store.range(this.keys.range(scope, start), options);
  }

  /** Waits until the store itself has reached a revision; 504 if it does not get there. */
  async #waitFor(revision: Revision, signal: AbortSignal | undefined): Promise<void> {
    const options = signal && { signal };
    for (const until = Date.now() + WAIT_MS; ; ) {
      const current = await this.#store.revision(options);
      if (current >= revision) return;
      if (Date.now() > until) throw tooLargeResourceVersion(revision, current);
      await delay(POLL_MS, undefined, options);
    }
  }

  async #swap(current: StoredObject, op: Op, guard: WriteGuard | undefined): Promise<{ revision: Revision } | Instead> {
    const range = { key: this.keys.of(current.namespace, current.name) };
    const compare: Compare[] = [{ range, target: 'modRevision', is: '=', than: current.revision }];
    if (guard) compare.push(comparing(guard));
    const { succeeded, revision, results } = await this.#store.txn({
      compare,
      then: [op],
      else: [{ kind: 'range', range }],
    });
    if (succeeded) return { revision };
    const kv = (results[0] as { kvs: readonly KeyValue[] }).kvs[0];
    return { instead: kv && this.decode(kv) };
  }
}

function comparing(guard: WriteGuard): Compare {
  if ('whileNone' in guard)
    return { range: { prefix: guard.whileNone.prefix }, target: 'modRevision', is: '=', than: 0 };
  return { range: { prefix: guard.unchanged.prefix }, target: 'modRevision', is: '<', than: guard.since + 1 };
}
