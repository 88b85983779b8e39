import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { eventually } from '../../../../test/support/eventually.ts';
import { backgroundClock, type KubeObject, parseLabelSelector } from '../../../api/index.ts';
import { openEmbeddedStore, type Store } from '../../../store/index.ts';
import { CreateRight } from '../../auth/create-right.ts';
import { JsonEvents } from '../../encodings/json-events.ts';
import { Registry } from '../../registry/registry.ts';
import { Selection } from '../objects/selection.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { ResourceStorage } from '../resource-storage.ts';
import { ResourceStorages } from '../resource-storages.ts';
import { StreamClient } from '../stream-client.testing.ts';
import type { DirectStorage } from './direct-storage.ts';
import { DirectWatch } from './direct-watch.ts';

let dataDir: string;
let store: Store;
let configMaps: ResourceStorage;
let storage: DirectStorage;
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'longwatch-uncached-'));
  store = await openEmbeddedStore({ dataDir, durability: 'none' });
  const options = { registry: new Registry(), store, root: '/registry', clock: backgroundClock, log: () => {} };
  configMaps = new ResourceStorages({ ...options, watchCacheLimits: () => 'off' }).storageOf('', 'configmaps');
  storage = configMaps.objects as DirectStorage;
});
afterEach(async () => {
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function configMap(key: string, labels: Record<string, string> = {}): KubeObject {
  const [namespace = '', name = ''] = key.split('/');
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name, namespace, uid: 'u', labels } };
}

async function relabel(current: StoredObject, labels: Record<string, string>): Promise<StoredObject> {
  const outcome = await configMaps.update(current, configMap(current.key, labels));
  if (!('stored' in outcome)) throw new Error('Cannot relabel: it changed meanwhile');
  return outcome.stored;
}

function watchOn(client: StreamClient, after: number, labels = '', initial?: readonly StoredObject[]): DirectWatch {
  const selection = new Selection({ labels: parseLabelSelector(labels) });
  const encoding = new JsonEvents(storage.codec);
  return new DirectWatch(storage, { stream: client, selection, encoding, after, allowsBookmarks: true, initial });
}

const watchersOfStore = async () => (await store.status()).watchers;

it('a DirectStorage counts its lists, and what they fetch', async () => {
  for (const name of ['a/one', 'a/two', 'b/three']) await configMaps.create(configMap(name), CreateRight.ofServer);
  const before = { ...storage.listed };
  const { signal } = new AbortController();
  for (const scope of ['', 'a/']) await storage.list({ scope, start: scope, at: { resourceVersion: '' }, signal });
  const { lists, fetched } = storage.listed;
  expect({ lists: lists - before.lists, fetched: fetched - before.fetched }).toEqual({ lists: 2, fetched: 5 });
});

describe('DirectWatch', () => {
  it('gives the state, a bookmark, and then what happens to whoever selects it', async () => {
    const one = await configMaps.create(configMap('a/one', { color: 'red' }), CreateRight.ofServer);
    await configMaps.create(configMap('a/two'), CreateRight.ofServer);
    const everything = { scope: '', start: '', at: { resourceVersion: '' }, signal: new AbortController().signal };
    const { objects, revision } = await storage.list(everything);
    const client = new StreamClient();
    const watch = watchOn(client, revision, 'color=red', objects);
    void watch.start();
    await nextTurn();
    const left = await relabel(one, {});
    const back = await relabel(left, { color: 'red' });
    const removal = await configMaps.delete(back);
    const gone = 'deleted' in removal ? removal.deleted.revision : 0;
    await eventually(() =>
      expect(client.events).toEqual([
        `ADDED a/one@${one.revision}`,
        `BOOKMARK @${revision} end`,
        `DELETED a/one@${left.revision}`,
        `ADDED a/one@${back.revision}`,
        `DELETED a/one@${gone}`,
      ]),
    );
    await eventually(() => expect(watch.sendBookmark()).toBe(true));
    expect(client.events.at(-1)).toBe(`BOOKMARK @${gone}`);
    watch.end('client-left');
  });

  it('waits for a slow client, sends it no bookmark meanwhile, and loses nothing', async () => {
    const after = await store.revision();
    const client = new StreamClient();
    const watch = watchOn(client, after);
    void watch.start();
    await nextTurn();
    const { revision } = await configMaps.create(configMap('a/first'), CreateRight.ofServer);
    await eventually(() => expect(client.events).toEqual([`ADDED a/first@${revision}`]));
    await eventually(() => expect(watch.sendBookmark()).toBe(true));
    client.text = '';
    client.room = 0;
    const want: string[] = [];
    await nextTurn();
    for (let at = 0; at < 10; at++)
      want.push(`ADDED a/${at}@${(await configMaps.create(configMap(`a/${at}`), CreateRight.ofServer)).revision}`);
    await nextTurn();
    expect([client.events.length, watch.sendBookmark()]).toEqual([1, false]);
    client.take(1e9);
    await eventually(() => expect(client.events).toEqual(want));
    watch.end('client-left');
  });

  it('says so when its history is gone', async () => {
    const start = await store.revision();
    const first = await configMaps.create(configMap('a/1'), CreateRight.ofServer);
    await store.compact((await relabel(first, { x: 'y' })).revision);
    const client = new StreamClient();
    await watchOn(client, start - 1).start();
    expect([client.events, client.ends]).toEqual([[expect.stringContaining('ERROR too old resource version')], 1]);
  });

  it.each(['end', 'client'])('ends once and leaves no watch of the store behind (%s)', async (way) => {
    const before = await watchersOfStore();
    const client = new StreamClient();
    const watch = watchOn(client, await store.revision());
    const ended = vi.fn();
    watch.onEnd(ended);
    const running = watch.start();
    await nextTurn();
    expect(await watchersOfStore()).toBe((before ?? 0) + 1);
    if (way === 'client') client.leave();
    else watch.end('client-left');
    watch.end('client-left');
    await running;
    expect([await watchersOfStore(), client.ends, ended.mock.calls.length]).toEqual([before, 1, 1]);
    expect(watch.sendBookmark()).toBe(false);
  });

  it('lets others have their turn while nothing of a long state matches', async () => {
    const one = await configMaps.create(configMap('a/1'), CreateRight.ofServer);
    let passed = 0;
    let isOver = false;
    const count = () => {
      passed++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const client = new StreamClient();
    const { codec } = storage;
    const stored = codec.encode(configMap('a/1', { x: 'y'.repeat(500) }));
    const many = Array.from({ length: 5000 }, (_, at) => codec.decode('a', `n${at}`, 5, stored));
    const watch = watchOn(client, one.revision, 'color=red', many);
    const running = watch.start();
    await eventually(() => expect(client.text).not.toBe(''));
    isOver = true;
    watch.end('client-left');
    await running;
    expect(passed).toBeGreaterThanOrEqual(3);
  });
});
