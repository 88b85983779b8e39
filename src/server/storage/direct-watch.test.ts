import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { backgroundClock, type KubeObject, parseLabelSelector } from '../../api/index.ts';
import { openEmbeddedStore, type Store } from '../../store/index.ts';
import { JsonEvents } from '../encodings/json-events.ts';
import { Registry } from '../registry/registry.ts';
import type { ByteStream } from '../request/request-context.ts';
import { DirectWatch, readStore, waitForStore } from './direct-watch.ts';
import { OwnWrites } from './own-writes.testing.ts';
import { Resources, type View } from './resources.ts';
import { Selection } from './selection.ts';
import type { StoredObject } from './stored-object.ts';

let dataDir: string;
let store: Store;
let view: View;
const writes = new OwnWrites();
const never = new AbortController().signal;
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'longwatch-uncached-'));
  store = await openEmbeddedStore({ dataDir, durability: 'none' });
  const options = { registry: new Registry(), store, root: '/registry', clock: backgroundClock, log: () => {} };
  view = new Resources({ ...options, watchCacheLimits: () => 'off' }).viewOf('', 'configmaps');
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
  const outcome = await writes.replace(view, current, configMap(current.key, labels));
  if (!('stored' in outcome)) throw new Error('Cannot relabel: it changed meanwhile');
  return outcome.stored;
}

class Client implements ByteStream {
  text = '';
  ends = 0;
  isSlow = false;
  readonly bufferedBytes = 0;
  #drain: () => void = () => {};
  #close: () => void = () => {};

  write(bytes: Buffer): boolean {
    this.text += bytes.toString();
    return !this.isSlow;
  }

  readonly stretchBytes = 1000;

  writeLong(bytes: number, fill: (target: Buffer, at: number) => void): boolean {
    const target = Buffer.alloc(bytes);
    fill(target, 0);
    return this.write(target);
  }

  take(): void {
    this.isSlow = false;
    this.#drain();
  }

  onDrain(listener: () => void): void {
    this.#drain = listener;
  }

  onClose(listener: () => void): void {
    this.#close = listener;
  }

  end(): void {
    this.ends++;
    this.leave();
  }

  leave(): void {
    this.#close();
  }

  get events(): string[] {
    const lines = this.text.split('\n').filter(Boolean);
    return lines.map((line) => {
      const { type, object } = JSON.parse(line) as { type: string; object: KubeObject };
      return `${type} ${object.metadata.name ?? ''}@${object.metadata.resourceVersion}`;
    });
  }
}

function watchOn(client: Client, after: number, labels = ''): DirectWatch {
  const selection = new Selection({ labels: parseLabelSelector(labels) });
  const errorFrame = (err: unknown) =>
    Buffer.from(`{"type":"ERROR","object":{"metadata":{"name":"${(err as { code: string }).code}"}}}\n`);
  return new DirectWatch(view.cache, client, selection, new JsonEvents(view.cache.codec), after, true, errorFrame);
}

const watchersOfStore = async () => (await store.status()).watchers;

describe('readStore()', () => {
  it('reads a scope from a key on, now or then', async () => {
    for (const key of ['a/1', 'a/2', 'b/1']) await writes.create(view, configMap(key));
    const then = await store.revision();
    await writes.create(view, configMap('a/3'));
    const keys = async (scope: string, start: string, revision?: number) => {
      const state = await readStore(view.cache, scope, start, revision, never);
      return [state.revision, ...state.objects.map(({ key }) => key)];
    };
    expect(await keys('', '')).toEqual([then + 1, 'a/1', 'a/2', 'a/3', 'b/1']);
    expect(await keys('a/', 'a/2', then)).toEqual([then, 'a/2']);
    expect(await keys('a/', 'a/2\0')).toEqual([then + 1, 'a/3']);
  });

  it('asks the store for the scope only', async () => {
    for (const key of ['a/1', 'b/1', 'b/2', 'c/1']) await writes.create(view, configMap(key));
    const range = vi.spyOn(store, 'range');
    await readStore(view.cache, 'a/', 'a/', undefined, never);
    const found = await range.mock.results[0]!.value;
    expect((found as { kvs: unknown[] }).kvs).toHaveLength(1);
  });
});

describe('waitForStore()', () => {
  it('waits for the store, and says 504 if it does not get there', async () => {
    const now = await store.revision();
    const waiting = waitForStore(view.cache, now + 1, 3000, never);
    await writes.create(view, configMap('a/1'));
    await waiting;
    await expect(waitForStore(view.cache, now + 100, 10, never)).rejects.toThrow(
      `Too large resource version: ${now + 100}`,
    );
  });
});

describe('DirectWatch', () => {
  it('gives the state, a bookmark, and then what happens to whoever selects it', async () => {
    const one = await writes.create(view, configMap('a/one', { color: 'red' }));
    await writes.create(view, configMap('a/two'));
    const { objects, revision } = await readStore(view.cache, '', '', undefined, never);
    const client = new Client();
    const watch = watchOn(client, revision, 'color=red');
    void watch.run(objects);
    await nextTurn();
    const left = await relabel(one, {});
    const back = await relabel(left, { color: 'red' });
    const removal = await writes.remove(view, back);
    await nextTurn();
    const gone = 'removed' in removal ? removal.removed.revision : 0;
    expect(client.events).toEqual([
      `ADDED one@${one.revision}`,
      `BOOKMARK @${revision}`,
      `DELETED one@${left.revision}`,
      `ADDED one@${back.revision}`,
      `DELETED one@${gone}`,
    ]);
    expect(watch.sendBookmark()).toBe(true);
    expect(client.events.at(-1)).toBe(`BOOKMARK @${gone}`);
    watch.end();
  });

  it('waits for a slow client, sends it no bookmark meanwhile, and loses nothing', async () => {
    const after = await store.revision();
    const client = new Client();
    const watch = watchOn(client, after);
    void watch.run(undefined);
    await nextTurn();
    const { revision } = await writes.create(view, configMap('a/first'));
    await vi.waitFor(() => expect(client.events).toEqual([`ADDED first@${revision}`]));
    expect(watch.sendBookmark()).toBe(true);
    client.text = '';
    client.isSlow = true;
    const want: string[] = [];
    await nextTurn();
    for (let at = 0; at < 10; at++)
      want.push(`ADDED ${at}@${(await writes.create(view, configMap(`a/${at}`))).revision}`);
    await nextTurn();
    expect([client.events.length, watch.sendBookmark()]).toEqual([1, false]);
    client.take();
    await vi.waitFor(() => expect(client.events).toEqual(want));
    watch.end();
  });

  it('says so when its history is gone', async () => {
    const start = await store.revision();
    const first = await writes.create(view, configMap('a/1'));
    await store.compact((await relabel(first, { x: 'y' })).revision);
    const client = new Client();
    await watchOn(client, start - 1).run(undefined);
    expect([client.events, client.ends]).toEqual([['ERROR Compacted@undefined'], 1]);
  });

  it.each(['end', 'client'])('ends once and leaves no watch of the store behind (%s)', async (way) => {
    const before = await watchersOfStore();
    const client = new Client();
    const watch = watchOn(client, await store.revision());
    const ended = vi.fn();
    watch.onEnd(ended);
    const running = watch.run(undefined);
    await nextTurn();
    expect(await watchersOfStore()).toBe((before ?? 0) + 1);
    if (way === 'client') client.leave();
    else watch.end();
    watch.end();
    await running;
    expect([await watchersOfStore(), client.ends, ended.mock.calls.length]).toEqual([before, 1, 1]);
    expect(watch.sendBookmark()).toBe(false);
  });

  it('lets others have their turn while nothing of a long state matches', async () => {
    const one = await writes.create(view, configMap('a/1'));
    let passed = 0;
    let isOver = false;
    const count = () => {
      passed++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const client = new Client();
    const watch = watchOn(client, one.revision, 'color=red');
    const { codec } = view.cache;
    const stored = codec.encode(configMap('a/1', { x: 'y'.repeat(500) }));
    const many = Array.from({ length: 5000 }, (_, at) => codec.decode('a', `n${at}`, 5, stored));
    const running = watch.run(many);
    await vi.waitFor(() => expect(client.text).not.toBe(''), { timeout: 20_000 });
    isOver = true;
    watch.end();
    await running;
    expect(passed).toBeGreaterThanOrEqual(3);
  });
});
