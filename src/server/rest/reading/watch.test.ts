import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../../test/support/eventually.ts';
import { backgroundClock, type KubeObject } from '../../../api/index.ts';
import { openEmbeddedStore, type Store } from '../../../store/index.ts';
import { CreateRight } from '../../auth/create-right.ts';
import { Registry } from '../../registry/registry.ts';
import type { ByteStream, RequestContext } from '../../request/request-context.ts';
import type { StreamEnd } from '../../request/stream-end.ts';
import { defaultWatchCacheLimits } from '../../storage/cacher/watch-cache.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
import { ResourceStorages } from '../../storage/resource-storages.ts';
import { handleWatch, type TrackedWatch, type WatchTracking } from './watch.ts';

let dataDir: string;
let store: Store;
let storages: ResourceStorages;
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'longwatch-handle-watch-'));
  store = await openEmbeddedStore({ dataDir, durability: 'none' });
});
afterEach(async () => {
  await storages.close();
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function open(isKept: boolean): ResourceStorage {
  const watchCacheLimits = () => (isKept ? defaultWatchCacheLimits : ('off' as const));
  const options = { registry: new Registry(), store, root: '/registry', clock: backgroundClock, log: () => {} };
  storages = new ResourceStorages({ ...options, watchCacheLimits });
  return storages.storageOf('', 'configmaps');
}

function configMap(name: string): KubeObject {
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name, namespace: 'ns', uid: 'u' } };
}

type Event = { type: string; object: KubeObject & { code?: number; columnDefinitions?: unknown[] | null } };

/** Asks for a watch and keeps all that comes. */
class Asking implements WatchTracking {
  readonly minTimeoutMs = 1000;
  readonly kept: { watch: TrackedWatch; timeoutMs: number }[] = [];
  isEnded = false;
  #text = '';

  constructor(storage: ResourceStorage, query: string, accept = 'application/json') {
    let close: (why: StreamEnd) => void = () => {};
    const stream: ByteStream = {
      bufferedBytes: 0,
      takenBytes: 0,
      write: (bytes) => {
        this.#text += bytes.toString();
        return true;
      },
      stretchBytes: 1000,
      writeLong: (bytes, fill) => {
        const target = Buffer.alloc(bytes);
        fill(target, 0);
        return stream.write(target);
      },
      onDrain: () => {},
      onClose: (listener) => {
        close = listener;
      },
      end: (why) => {
        this.isEnded = true;
        close(why);
      },
    };
    const context = {
      query: new URLSearchParams(query),
      headers: { accept },
      signal: new AbortController().signal,
      stream: () => stream,
      initialised: () => {},
    } as unknown as RequestContext;
    void handleWatch(context, storage, 'ns', this);
  }

  add(watch: TrackedWatch, timeoutMs: number): void {
    this.kept.push({ watch, timeoutMs });
  }

  get events(): Event[] {
    const lines = this.#text.split('\n').filter(Boolean);
    return lines.map((line) => JSON.parse(line) as Event);
  }

  get shown(): string[] {
    return this.events.map(({ type, object: { metadata, code } }) => {
      if (type === 'ERROR') return `ERROR ${code}`;
      const isEnd = metadata.annotations?.['k8s.io/initial-events-end'] === 'true';
      return `${type} ${isEnd ? 'end' : (metadata.name ?? '')}`.trim();
    });
  }
}

describe.each([
  ['with a cache', true],
  ['without a cache', false],
])('handleWatch() %s', (_claim, isKept) => {
  it.each<[query: string, want: string[]]>([
    ['', ['ADDED a', 'ADDED b']],
    ['resourceVersion=0', ['ADDED a', 'ADDED b']],
    ['resourceVersion=00', ['ADDED a', 'ADDED b']],
    ['allowWatchBookmarks=true', ['ADDED a', 'ADDED b', 'BOOKMARK end']],
    ['resourceVersion=0&allowWatchBookmarks=true', ['ADDED a', 'ADDED b', 'BOOKMARK end']],
    ['resourceVersion=FIRST', ['ADDED b']],
    ['resourceVersion=FIRST&allowWatchBookmarks=true', ['ADDED b']],
    ['resourceVersion=LAST', []],
    ['sendInitialEvents=true&resourceVersionMatch=NotOlderThan', ['ADDED a', 'ADDED b']],
    [
      'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1',
      ['ADDED a', 'ADDED b', 'BOOKMARK end'],
    ],
    [
      'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1&resourceVersion=FIRST',
      ['ADDED a', 'ADDED b', 'BOOKMARK end'],
    ],
    ['sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1', []],
    ['sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=FIRST', ['ADDED b']],
    ['fieldSelector=metadata.name%3Db', ['ADDED b']],
  ])('begins "%s" where it should, and goes on from there', async (query, want) => {
    const storage = open(isKept);
    const { revision: first } = await storage.create(configMap('a'), CreateRight.ofServer);
    const { revision: last } = await storage.create(configMap('b'), CreateRight.ofServer);
    await storage.objects.catchUp(3000, new AbortController().signal);
    const asking = new Asking(storage, query.replace('FIRST', String(first)).replace('LAST', String(last)));
    await eventually(() => expect(asking.shown).toEqual(want));
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    await storage.create(configMap('later'), CreateRight.ofServer);
    const isOthers = query.startsWith('fieldSelector');
    await eventually(() => expect(asking.shown).toEqual(isOthers ? want : [...want, 'ADDED later']));
    asking.kept[0]!.watch.end('client-left');
    expect(asking.isEnded).toBe(true);
  });

  it('lives as long as it says, or as long as the server wants', async () => {
    const storage = open(isKept);
    const asked = new Asking(storage, 'timeoutSeconds=7');
    const plain = new Asking(storage, '');
    await eventually(() => expect([asked.kept.length, plain.kept.length]).toEqual([1, 1]));
    expect(asked.kept[0]!.timeoutMs).toBe(7000);
    expect(plain.kept[0]!.timeoutMs).toBeGreaterThanOrEqual(1000);
    expect(plain.kept[0]!.timeoutMs).toBeLessThan(2000);
    for (const { kept } of [asked, plain]) kept[0]!.watch.end('client-left');
  });

  it('names the columns of a table in the first event only', async () => {
    const storage = open(isKept);
    for (const name of ['a', 'b']) await storage.create(configMap(name), CreateRight.ofServer);
    const asking = new Asking(storage, '', 'application/json;as=Table;g=meta.k8s.io;v=v1');
    await eventually(() => expect(asking.events).toHaveLength(2));
    expect(asking.events.map(({ object }) => Array.isArray(object.columnDefinitions))).toEqual([true, false]);
    asking.kept[0]!.watch.end('client-left');
  });
});

it('handleWatch() does not keep what it made for one reader only', async () => {
  open(true);
  const storage = storages.followedStorageOf('', 'configmaps');
  const signal = new AbortController().signal;
  await storage.objects.catchUp(3000, signal);
  const accept = 'application/json;as=Table;g=meta.k8s.io;v=v1';
  const readers = Array.from({ length: 20 }, () => new Asking(storage, 'resourceVersion=0', accept));
  await eventually(() => expect(storage.objects.watchers.size).toBe(20));
  for (let at = 0; at < 5; at++) await storage.create(configMap(`n${at}`), CreateRight.ofServer);
  await eventually(() => expect(readers.every(({ events }) => events.length === 5)).toBe(true));
  const frames = storage.objects.watchCache
    .after(storage.objects.watchCache.since)
    .map((event) => event.frames?.size ?? 0);
  expect(Math.max(...frames)).toBeLessThanOrEqual(1);
  for (const { kept } of readers) kept[0]!.watch.end('client-left');
});
