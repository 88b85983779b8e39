/** What tests of cached watches are played on: a cacher over a real store. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { parseFieldSelector, parseLabelSelector } from '../../../api/index.ts';
import { type Op, openEmbeddedStore, type Store } from '../../../store/index.ts';
import { FakeClock } from '../../../testing/clocks/fake-clock.ts';
import { JsonEvents } from '../../encodings/json-events.ts';
import { factsOf } from '../../registry/kind-facts.ts';
import { Registry } from '../../registry/registry.ts';
import { DirectStorage } from '../direct/direct-storage.ts';
import type { ObjectWatchOptions } from '../object-watch.ts';
import { ObjectCodec } from '../objects/object-codec.ts';
import { ObjectKeys } from '../objects/object-keys.ts';
import { Selection } from '../objects/selection.ts';
import { StreamClient } from '../stream-client.testing.ts';
import { CacheWatcher } from './cache-watcher.ts';
import { Cacher } from './cacher.ts';
import { defaultWatchCacheLimits, type WatchCacheLimits } from './watch-cache.ts';

const pods = new Registry().find('', 'v1', 'pods')!;
const codec = new ObjectCodec(pods, factsOf(pods));
const encoding = new JsonEvents(codec);
export const never = new AbortController().signal;
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

  watch(client: StreamClient, options: Partial<ObjectWatchOptions> = {}): CacheWatcher {
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
  const watch = ground.watch(new StreamClient(), { initial });
  await watch.start();
  return { watch, initial: new WeakRef(initial) };
}
