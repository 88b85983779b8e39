/**
 * Lists the objects of one kind in the store, and watches it from there, for as long as it is let: what it reads goes to a
 * target, first the state and then every batch of changes, in the turn in which it comes.
 *
 * Always true: no change falls between the state and the batches after it. When the watch ends (an etcd that was away
 * too long, a history that is compacted) it begins again with a new state; until then the target keeps the old one.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  isStoreError,
  type KeyValue,
  type Revision,
  type Store,
  type Watch,
  type WatchBatch,
} from '../../../store/index.ts';
import type { DirectStorage } from '../direct/direct-storage.ts';
import { objectKey } from '../objects/object-keys.ts';
import { type ObjectMemory, ownMemory } from '../objects/object-memory.ts';
import { SlabWriter } from '../objects/slab.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import { WrittenObjects } from '../objects/written-objects.ts';
import type { ObjectChange, ObjectSource, SourceTarget } from './object-source.ts';

/** What an object may be longer by than what is stored of it: its version. */
const VERSION_BYTES = 48;
const PAGE = 200;
const PAGE_BYTES = 1024 * 1024;
const RETRY_MS = 1000;

export type StoreReflectorOptions = {
  readonly store: Store;
  readonly direct: DirectStorage;
  readonly memory: ObjectMemory;
  readonly target: SourceTarget;
  readonly log: (message: string) => void;
};

export class StoreReflector implements ObjectSource {
  readonly #store: Store;
  readonly #direct: DirectStorage;
  readonly #memory: ObjectMemory;
  readonly #target: SourceTarget;
  readonly #log: (message: string) => void;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #watch: Watch | undefined;

  constructor({ store, direct, memory, target, log }: StoreReflectorOptions) {
    this.#store = store;
    this.#direct = direct;
    this.#memory = memory;
    this.#target = target;
    this.#log = log;
    this.#running = this.#run(this.#stop.signal);
  }

  requestProgress(): void {
    this.#watch?.requestProgress();
  }

  get answersProgress(): boolean | undefined {
    return this.#watch?.answersProgress;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { prefix } = this.#direct.keys;
    while (!signal.aborted) {
      try {
        const revision = await this.#list(signal);
        this.#watch = this.#store.watch({ prefix }, { fromRevision: revision + 1, progress: true, signal });
        for await (const batch of this.#watch) this.#apply(batch);
      } catch (err) {
        if (signal.aborted || isStoreError(err, 'Closed')) return;
        this.#tell(`${(err as Error).message}; reading anew`);
        if (!isStoreError(err, 'Compacted')) await delay(RETRY_MS, undefined, { signal }).catch(() => {});
      } finally {
        this.#watch = undefined;
      }
    }
  }

  #apply({ revision, events }: WatchBatch): void {
    const keys = events.map(({ kv }) => {
      const { namespace, name } = this.#direct.keys.nameOf(kv.key);
      return objectKey(namespace, name);
    });
    let bytes = 0;
    for (const [at, { type, kv }] of events.entries())
      bytes += (type === 'put' ? kv.value.length + VERSION_BYTES : 0) + this.#target.packedBytes(keys[at]!);
    this.#memory.expect(bytes);
    const changes = events.map(
      ({ type, kv }, at): ObjectChange => ({
        key: keys[at]!,
        revision: kv.modRevision,
        current:
          type === 'put' ? (this.#direct.written?.take(keys[at]!, kv.modRevision) ?? this.#decode(kv)) : undefined,
      }),
    );
    this.#direct.written?.heard(revision);
    this.#target.apply(changes, revision);
    this.#memory.expect(0); // what is left of it
  }

  /** A value that is no object is as good as absent: it must not stop all others. */
  #decode(kv: KeyValue, slabs?: SlabWriter): StoredObject | undefined {
    try {
      if (slabs) return slabs.placed((take) => this.#direct.decode(kv, take));
      return this.#direct.decode(kv, (size) => this.#memory.take(size));
    } catch (err) {
      this.#tell(`${(err as Error).message}; left out`);
      return undefined;
    }
  }

  /** The state of one revision, in pages. */
  async #list(signal: AbortSignal): Promise<Revision> {
    const found = new Map<string, StoredObject>();
    const slabs = this.#target.isReady() ? undefined : new SlabWriter(this.#memory);
    const memory = Buffer.allocUnsafeSlow(PAGE_BYTES);
    let revision: Revision | undefined;
    let range = this.#direct.keys.range('', '');
    for (;;) {
      const options = { limit: PAGE, take: pageMemory(memory), signal, ...(revision && { revision }) };
      const page = await this.#store.range(range, options);
      revision ??= page.revision;
      for (const kv of page.kvs) {
        const object = this.#decode(kv, slabs);
        if (object) found.set(object.key, object);
      }
      if (!page.more) break;
      range = { ...range, start: `${page.kvs[page.kvs.length - 1]!.key}\0` };
    }
    if (this.#memory === ownMemory) this.#direct.written = new WrittenObjects(revision);
    this.#target.replace(found, revision, false);
    return revision;
  }

  #tell(what: string): void {
    this.#log(`watch cache of ${this.#direct.codec.resource.plural}: ${what}`);
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
