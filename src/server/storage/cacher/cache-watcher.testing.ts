/** What tests of watches are played on: a client that takes as much as it is told to, and a cache over a real store. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { parseFieldSelector, parseLabelSelector } from '../../../api/index.ts';
import { type Op, openEmbeddedStore, type Store } from '../../../store/index.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { JsonEvents } from '../../encodings/json-events.ts';
import { factsOf } from '../../registry/kind-facts.ts';
import { Registry } from '../../registry/registry.ts';
import type { ByteStream } from '../../request/request-context.ts';
import { DirectStorage } from '../direct-storage.ts';
import { ObjectCodec } from '../object-codec.ts';
import { ObjectKeys } from '../object-keys.ts';
import type { ObjectWatchOptions } from '../object-watch.ts';
import { Selection } from '../selection.ts';
import { CacheWatcher } from './cache-watcher.ts';
import { Cacher } from './cacher.ts';
import { defaultWatchCacheLimits, type WatchCacheLimits } from './watch-cache.ts';

const pods = new Registry().find('', 'v1', 'pods')!;
const codec = new ObjectCodec(pods, factsOf(pods));
const encoding = new JsonEvents(codec);
export const never = new AbortController().signal;
/** As the front's: a client for which more than this waits is cut off. */
const CUT_OFF_BYTES = 16 * 1024 * 1024;

/** A client that takes what it is given, or takes nothing until it is told to. */
export class Client implements ByteStream {
  text = '';
  ends = 0;
  isCutOff = false;
  largestWrite = 0;
  /** Bytes it takes before it is slow. */
  room = Number.POSITIVE_INFINITY;
  onWrite: () => void = () => {};
  #waiting = 0;
  #drain: () => void = () => {};
  readonly #closeListeners: (() => void)[] = [];

  write(bytes: Buffer): boolean {
    if (this.ends > 0 || this.isCutOff) return true;
    this.text += bytes.toString();
    this.largestWrite = Math.max(this.largestWrite, bytes.length);
    this.#waiting += bytes.length;
    if (this.#waiting > CUT_OFF_BYTES) {
      this.isCutOff = true;
      queueMicrotask(() => this.leave());
    }
    this.onWrite();
    return this.#waiting <= this.room;
  }

  readonly stretchBytes = 256 * 1024;

  writeLong(bytes: number, fill: (target: Buffer, at: number) => void): boolean {
    const margin = 7; // whoever fills it must keep to its place
    const target = Buffer.alloc(bytes + 2 * margin);
    fill(target, margin);
    expect(target.subarray(0, margin).equals(Buffer.alloc(margin))).toBe(true);
    expect(target.subarray(margin + bytes).equals(Buffer.alloc(margin))).toBe(true);
    return this.write(target.subarray(margin, margin + bytes));
  }

  get bufferedBytes(): number {
    return this.#waiting;
  }

  /** Takes all that waits, and is told of more. */
  take(room = this.room): void {
    this.#waiting = 0;
    this.room = room;
    this.#drain();
  }

  /** In every turn, as a good connection does. */
  takeAlways(): () => void {
    const timer = setInterval(() => this.take(Number.POSITIVE_INFINITY), 0);
    return () => clearInterval(timer);
  }

  onDrain(listener: () => void): void {
    this.#drain = listener;
  }

  onClose(listener: () => void): void {
    if (this.ends > 0) listener();
    else this.#closeListeners.push(listener);
  }

  end(): void {
    this.ends++;
    this.leave();
  }

  leave(): void {
    for (const listener of this.#closeListeners.splice(0)) listener();
  }

  /** `ADDED ns/a@5`, one for each event. */
  get events(): string[] {
    return this.text
      .split('\n')
      .filter(Boolean)
      .map((line) => {
        const { type, object } = JSON.parse(line) as { type: string; object: Shown };
        const { namespace, name, resourceVersion, annotations } = object.metadata;
        if (type === 'ERROR') return `ERROR ${object.message}`;
        if (type === 'BOOKMARK') return `BOOKMARK @${resourceVersion}${annotations ? ' end' : ''}`;
        return `${type} ${namespace}/${name}@${resourceVersion}`;
      });
  }
}

type Shown = {
  message?: string;
  metadata: { namespace?: string; name?: string; resourceVersion?: string; annotations?: object };
};

let dataDir: string;
/** Open while tests run. */
export let store: Store;
let prefixes = 0;
const closers: (() => Promise<void>)[] = [];
/** A store for the tests of a file, and everything that they open closed after each of them. */
export function useStore(): void {
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'longwatch-watch-'));
    store = await openEmbeddedStore({ dataDir, durability: 'none' });
  });
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });
  afterAll(async () => {
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
}

export class Ground {
  readonly prefix = `/registry/ground-${prefixes++}/`;
  readonly cache: Cacher;

  constructor(limits: Partial<WatchCacheLimits> = {}, over: Store = store) {
    const watchCacheLimits = { ...defaultWatchCacheLimits, minEvents: 1, ...limits };
    const clock = new FakeClock();
    const direct = new DirectStorage({ store: over, codec, keys: new ObjectKeys(this.prefix, true) });
    this.cache = new Cacher({ store: over, direct, clock, limits: watchCacheLimits, log: () => {} });
    closers.push(() => this.cache.close());
  }

  put(key: string, { labels = {}, node = 'n1', text = '' } = {}): Op {
    const [namespace = '', name = ''] = key.split('/');
    const metadata = { name, namespace, uid: `uid-of-${key}`, labels, annotations: { text } };
    return {
      kind: 'put',
      key: this.prefix + key,
      value: codec.encode({ ...codec.type, metadata, spec: { nodeName: node } }),
    };
  }

  remove(key: string): Op {
    return { kind: 'delete', range: { key: this.prefix + key } };
  }

  async write(...ops: Op[]): Promise<number> {
    const { revision } = await store.txn({ then: ops });
    return revision;
  }

  async settled(): Promise<number> {
    expect(await this.cache.catchUp(3000, never)).toBe(true);
    return this.cache.revision;
  }

  watch(client: Client, options: Partial<ObjectWatchOptions> = {}): CacheWatcher {
    return new CacheWatcher(this.cache, {
      stream: client,
      selection: new Selection({}),
      encoding,
      after: this.cache.revision,
      allowsBookmarks: true,
      ...options,
    });
  }
}

export const labelled = (labels: string, fields = '') =>
  new Selection({ labels: parseLabelSelector(labels), fields: parseFieldSelector(fields) });

export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn();
}

/** In a function of its own, so that nothing here keeps the state alive. */
export async function startWeakly(ground: Ground): Promise<{ watch: CacheWatcher; initial: WeakRef<object> }> {
  const initial = ground.cache.objects.values();
  const watch = ground.watch(new Client(), { initial });
  await watch.start();
  return { watch, initial: new WeakRef(initial) };
}
