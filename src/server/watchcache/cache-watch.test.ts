import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { parseFieldSelector, parseLabelSelector } from '../../api/index.ts';
import { type Op, openEmbeddedStore, type Store, StoreError } from '../../store/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import type { ByteStream } from '../http/exchange.ts';
import { factsOf } from '../registry/kind-facts.ts';
import { Registry } from '../registry/registry.ts';
import { CacheWatch, type CacheWatchOptions } from './cache-watch.ts';
import { ObjectForm } from './cached-object.ts';
import { JsonEncoding } from './encoding.ts';
import { defaultWindowLimits, type WindowLimits } from './event-window.ts';
import { ResourceCache } from './resource-cache.ts';
import { Selection } from './selection.ts';

const pods = new Registry().find('', 'v1', 'pods')!;
const form = new ObjectForm(pods, factsOf(pods));
const encoding = new JsonEncoding(form);
const never = new AbortController().signal;
/** As the front's: a client for which more than this waits is cut off. */
const CUT_OFF_BYTES = 16 * 1024 * 1024;

/** A client that takes what it is given, or takes nothing until it is told to. */
class Client implements ByteStream {
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
let store: Store;
let prefixes = 0;
const closers: (() => Promise<void>)[] = [];
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

class Ground {
  readonly prefix = `/registry/ground-${prefixes++}/`;
  readonly cache: ResourceCache;

  constructor(limits: Partial<WindowLimits> = {}, over: Store = store) {
    const windowLimits = { ...defaultWindowLimits, minEvents: 1, ...limits };
    const clock = new FakeClock();
    this.cache = new ResourceCache({ store: over, form, keyPrefix: this.prefix, clock, windowLimits, log: () => {} });
    closers.push(() => this.cache.close());
  }

  put(key: string, { labels = {}, node = 'n1', text = '' } = {}): Op {
    const [namespace = '', name = ''] = key.split('/');
    const metadata = { name, namespace, uid: `uid-of-${key}`, labels, annotations: { text } };
    return {
      kind: 'put',
      key: this.prefix + key,
      value: form.toStored({ ...form.type, metadata, spec: { nodeName: node } }),
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
    expect(await this.cache.waitForNow(3000, never)).toBe(true);
    return this.cache.revision;
  }

  watch(client: Client, options: Partial<CacheWatchOptions> = {}): CacheWatch {
    return new CacheWatch({
      cache: this.cache,
      stream: client,
      selection: new Selection({}),
      encoding,
      after: this.cache.revision,
      allowsBookmarks: true,
      errorFrame: (_watch, err) => errorFrame(err),
      ...options,
    });
  }
}

function errorFrame(err: unknown): Buffer {
  const { code, message } = err as { code?: string; message: string };
  return Buffer.from(`${JSON.stringify({ type: 'ERROR', object: { message: code ?? message, metadata: {} } })}\n`);
}

const labelled = (labels: string, fields = '') =>
  new Selection({ labels: parseLabelSelector(labels), fields: parseFieldSelector(fields) });

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn();
}

/** In a function of its own, so that nothing here keeps the state alive. */
async function startWeakly(ground: Ground): Promise<{ watch: CacheWatch; initial: WeakRef<object> }> {
  const initial = ground.cache.objects.values();
  const watch = ground.watch(new Client(), { initial });
  await watch.start();
  return { watch, initial: new WeakRef(initial) };
}

describe('CacheWatch', () => {
  it('keeps nothing of the state it began with', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const ground = new Ground();
    await ground.write(ground.put('a/y'));
    await ground.settled();
    const { watch, initial } = await startWeakly(ground);
    await turns(3);
    collect();
    expect([watch.isLive, initial.deref()]).toEqual([true, undefined]);
  });

  it('gives the state, a bookmark, and then what happens', async () => {
    const ground = new Ground();
    const first = await ground.write(ground.put('b/x'), ground.put('a/y'));
    const after = await ground.settled();
    const client = new Client();
    const watch = ground.watch(client, { initial: ground.cache.objects.values() });
    await watch.start();
    expect(watch.isLive).toBe(true);
    const live = await ground.write(ground.put('a/y', { text: '2' }), ground.remove('b/x'));
    await ground.settled();
    expect(client.events).toEqual([
      `ADDED a/y@${first}`,
      `ADDED b/x@${first}`,
      `BOOKMARK @${after} end`,
      `MODIFIED a/y@${live}`,
      `DELETED b/x@${live}`,
    ]);
  });

  it('sends no bookmark to who has not asked for any', async () => {
    const ground = new Ground();
    await ground.write(ground.put('a/x'));
    await ground.settled();
    const client = new Client();
    await ground.watch(client, { initial: ground.cache.objects.values(), allowsBookmarks: false }).start();
    expect(client.events).toHaveLength(1);
  });

  it('gives what happens while the state is being written after it, once', async () => {
    const ground = new Ground();
    for (let at = 0; at < 40; at++) await ground.write(ground.put(`a/${at}`, { text: 'x'.repeat(20_000) }));
    const after = await ground.settled();
    const client = new Client();
    client.room = 1;
    const watch = ground.watch(client, { initial: ground.cache.objects.values() });
    const started = watch.start();
    await turns(2);
    const changed = await ground.write(ground.put('a/0', { text: 'new' }), ground.remove('a/39'));
    await ground.settled();
    const stop = client.takeAlways();
    await started;
    stop();
    expect(client.events.slice(0, 40).every((event) => event.startsWith('ADDED'))).toBe(true);
    expect(client.events.slice(40)).toEqual([
      `BOOKMARK @${after} end`,
      `MODIFIED a/0@${changed}`,
      `DELETED a/39@${changed}`,
    ]);
  });

  it('gives a slow client everything, once and in order, when it takes again', async () => {
    const ground = new Ground();
    await ground.settled();
    const client = new Client();
    const watch = ground.watch(client);
    await watch.start();
    client.room = 0;
    const want: string[] = [];
    const write = async (at: number) => want.push(`ADDED a/${at}@${await ground.write(ground.put(`a/${at}`))}`);
    for (let at = 0; at < 20; at++) await write(at);
    await ground.settled();
    expect(watch.isLive).toBe(false);
    expect(ground.cache.watchers.size).toBe(0);
    expect(client.events.length).toBeLessThan(20);
    expect(watch.sendBookmark()).toBe(false);
    client.take(Number.POSITIVE_INFINITY);
    await vi.waitFor(() => expect(watch.isLive).toBe(true));
    for (let at = 20; at < 25; at++) await write(at);
    await ground.settled();
    expect(client.events).toEqual(want);
  });

  it('goes on from the log of the store when the window has moved on without it', async () => {
    const ground = new Ground({ maxEvents: 5 });
    await ground.settled();
    const client = new Client();
    const watch = ground.watch(client, { selection: labelled('color=red') });
    await watch.start();
    client.room = 0;
    const want: string[] = [];
    for (let at = 0; at < 60; at++) {
      const isRed = at % 3 !== 2;
      const revision = await ground.write(ground.put('a/x', { labels: isRed ? { color: 'red' } : {} }));
      want.push(`${at % 3 === 0 ? 'ADDED' : at % 3 === 1 ? 'MODIFIED' : 'DELETED'} a/x@${revision}`);
    }
    await ground.settled();
    const stop = client.takeAlways();
    await vi.waitFor(() => expect(watch.isLive).toBe(true));
    stop();
    expect(client.events).toEqual(want);
  });

  it('starts from the window or from the log, as far back as it is asked for', async () => {
    const ground = new Ground({ maxEvents: 10 });
    const start = await ground.settled();
    const all: { revision: number; event: string }[] = [];
    for (let at = 0; at < 30; at++) {
      const revision = await ground.write(ground.put(`a/${at % 4}`, { text: String(at) }));
      all.push({ revision, event: `${at < 4 ? 'ADDED' : 'MODIFIED'} a/${at % 4}@${revision}` });
    }
    await ground.settled();
    for (const after of [start, start + 7, start + 19, start + 20, start + 25, start + 30]) {
      const client = new Client();
      await ground.watch(client, { after }).start();
      const want = all.filter(({ revision }) => revision > after).map(({ event }) => event);
      expect(client.events).toEqual(want);
    }
  });

  it('ends with an error when its history is compacted', async () => {
    const ground = new Ground({ maxEvents: 2 });
    const start = await ground.settled();
    for (let at = 0; at < 10; at++) await ground.write(ground.put('a/x', { text: String(at) }));
    const last = await ground.settled();
    await store.compact(last);
    const client = new Client();
    const ended = vi.fn();
    const watch = ground.watch(client, { after: start });
    watch.onEnd(ended);
    await watch.start();
    expect(client.events).toEqual(['ERROR Compacted']);
    expect([client.ends, ended.mock.calls.length, ground.cache.counts.stale]).toEqual([1, 1, 1]);
    expect(ground.cache.watchers.size).toBe(0);
  });

  it('tells of every change, also of the first that compaction has left', async () => {
    const ground = new Ground({ maxEvents: 1 });
    await ground.write(ground.put('a/gone'), ground.put('a/left', { labels: { color: 'red' } }));
    await ground.settled();
    const change = await ground.write(ground.remove('a/gone'), ground.put('a/left'));
    for (let at = 0; at < 3; at++)
      await ground.write(ground.put('a/z', { labels: { color: 'red' }, text: String(at) }));
    await ground.settled();
    await store.compact(change, { physical: true });
    for (const selection of [new Selection({}), labelled('color=red')]) {
      const client = new Client();
      await ground.watch(client, { after: change - 1, selection }).start();
      // What cannot be told must not be passed over: either the change or the end.
      if (!client.events[0]?.startsWith('ERROR'))
        expect(client.events.slice(0, 2)).toEqual(
          selection.isSelective
            ? [`DELETED a/left@${change}`, `ADDED a/z@${change + 1}`]
            : [`DELETED a/gone@${change}`, `MODIFIED a/left@${change}`],
        );
    }
  });

  it('loses nothing that was missed while the cache had to be read anew', async () => {
    let breakWatch: (error: Error) => void = () => {};
    let gate: Promise<void> | undefined;
    const fragile = new Proxy(store, {
      get: (target, name) => {
        if (name === 'range')
          return async (...args: Parameters<Store['range']>) => {
            await gate;
            return target.range(...args);
          };
        const own = target[name as keyof Store];
        if (name !== 'watch') return typeof own === 'function' ? (own as () => unknown).bind(target) : own;
        return (...args: Parameters<Store['watch']>) => {
          const watch = target.watch(...args);
          if (args[1]?.prevKv) return watch; // not the cache's own
          const next = watch.next.bind(watch);
          const broken = new Promise<never>((_resolve, reject) => {
            breakWatch = reject;
          });
          broken.catch(() => {});
          watch.next = () => Promise.race([next(), broken]);
          return watch;
        };
      },
    });
    const ground = new Ground({}, fragile);
    await ground.write(ground.put('a/x'));
    await ground.settled();
    let open = () => {};
    gate = new Promise((resolve) => {
      open = resolve;
    });
    breakWatch(new StoreError('Compacted', 'Cannot watch: history is compacted'));
    // What came and went, and what was selected for a while: the difference in the end shows neither.
    const seen = await ground.write(ground.put('a/brief'), ground.put('a/x', { labels: { color: 'red' } }));
    const gone = await ground.write(ground.remove('a/brief'), ground.put('a/x', { text: 'plain again' }));
    await ground.write(ground.put('a/z'));
    open();
    await ground.settled();
    const all = new Client();
    await ground.watch(all, { after: seen }).start();
    expect(all.events).toEqual([`DELETED a/brief@${gone}`, `MODIFIED a/x@${gone}`, `ADDED a/z@${gone + 1}`]);
    const red = new Client();
    await ground.watch(red, { after: seen, selection: labelled('color=red') }).start();
    expect(red.events).toEqual([`DELETED a/x@${gone}`]);
  });

  it('gives only what is above a start in the future', async () => {
    const ground = new Ground();
    const now = await ground.settled();
    const client = new Client();
    const watch = ground.watch(client, { after: now + 3 });
    await watch.start();
    for (let at = 1; at <= 3; at++) await ground.write(ground.put(`a/${at}`));
    await ground.settled();
    expect(watch.sendBookmark()).toBe(false);
    const later = await ground.write(ground.put('a/4'));
    await ground.settled();
    await ground.write(ground.put('a/5'));
    await ground.settled();
    await vi.waitFor(() => expect(client.events).toEqual([`ADDED a/4@${later}`, `ADDED a/5@${later + 1}`]));
  });

  it('gives only the later part of a batch in the middle of which it starts', async () => {
    const ground = new Ground();
    const now = await ground.settled();
    const client = new Client();
    await ground.watch(client, { after: now + 3 }).start();
    await Promise.all(['1', '2', '3', '4', '5'].map((name) => ground.write(ground.put(`a/${name}`))));
    await ground.settled();
    await vi.waitFor(() => expect(client.events).toEqual([`ADDED a/4@${now + 4}`, `ADDED a/5@${now + 5}`]));
  });

  it('sends a bookmark when it is live and has something new to say', async () => {
    const ground = new Ground();
    await ground.settled();
    const client = new Client();
    const watch = ground.watch(client);
    expect(watch.sendBookmark()).toBe(false);
    await watch.start();
    expect(watch.sendBookmark()).toBe(false);
    await store.txn({ then: [{ kind: 'put', key: '/elsewhere', value: Buffer.from('1') }] });
    const revision = await ground.settled();
    expect(watch.sendBookmark()).toBe(true);
    expect(client.events).toEqual([`BOOKMARK @${revision}`]);
    watch.end();
    expect(watch.sendBookmark()).toBe(false);
  });

  describe('that begins before the cache was filled', () => {
    /** A cache that was filled some revisions after the last change of its resource. */
    async function quietGround(
      tellsProgress = true,
    ): Promise<{ ground: Ground; before: number; opened: () => number }> {
      let open = 0;
      const counting = new Proxy(store, {
        get: (target, name) => {
          const own = target[name as keyof Store];
          if (typeof own !== 'function') return own;
          if (name !== 'watch') return (own as () => unknown).bind(target);
          return (...args: Parameters<Store['watch']>) => {
            const watch = target.watch(...args);
            const end = watch.return.bind(watch);
            if (!tellsProgress) watch.requestProgress = () => {};
            let isOpen = true;
            open++;
            watch.return = () => {
              if (isOpen) open--;
              isOpen = false;
              return end();
            };
            return watch;
          };
        },
      });
      const { revision: before } = await store.range({ key: '/x' });
      for (let at = 0; at < 3; at++)
        await store.txn({ then: [{ kind: 'put', key: '/elsewhere', value: Buffer.from('1') }] });
      const ground = new Ground({}, counting);
      await ground.cache.waitFor(before + 3, 3000, never);
      return { ground, before, opened: () => open - 1 }; // one is the cache's own
    }

    it('is live although nothing happens, so that it is sent bookmarks', async () => {
      const { ground, before } = await quietGround();
      const client = new Client();
      const watch = ground.watch(client, { after: before });
      const started = watch.start();
      await turns(20);
      expect(watch.isLive).toBe(true);
      expect(watch.sendBookmark()).toBe(true);
      watch.end();
      await started;
    });

    it('leaves no watch of the store behind when the client leaves a store that says nothing', async () => {
      const { ground, before, opened } = await quietGround(false);
      const client = new Client();
      const watch = ground.watch(client, { after: before });
      void watch.start();
      await turns(5);
      client.leave();
      await turns(5);
      expect(opened()).toBe(0);
    });
  });

  it('ends once, whoever ends it, and leaves nothing behind', async () => {
    for (const way of ['end', 'client', 'fail', 'twice'] as const) {
      const ground = new Ground();
      await ground.settled();
      const client = new Client();
      const watch = ground.watch(client);
      const ended = vi.fn();
      watch.onEnd(ended);
      await watch.start();
      expect(ground.cache.watchers.size).toBe(1);
      if (way === 'client') client.leave();
      else if (way === 'fail') watch.fail(new Error('broken'));
      else watch.end();
      if (way === 'twice') watch.end();
      watch.fail(new Error('too late'));
      await ground.write(ground.put('a/x'));
      await ground.settled();
      expect(client.events).toEqual(way === 'fail' ? ['ERROR broken'] : []);
      expect([client.ends, ended.mock.calls.length, ground.cache.watchers.size]).toEqual([1, 1, 0]);
      const late = vi.fn();
      watch.onEnd(late);
      expect(late).toHaveBeenCalledOnce();
    }
  });

  it('stays ended when the client leaves in the middle of a delivery', async () => {
    const ground = new Ground();
    await ground.settled();
    const client = new Client();
    const watch = ground.watch(client);
    await watch.start();
    client.room = 0;
    client.onWrite = () => client.leave();
    await ground.write(ground.put('a/x'));
    await ground.settled();
    await turns(3);
    expect([watch.isLive, ground.cache.watchers.size]).toEqual([false, 0]);
  });

  it.each(['initial', 'behind'])('stops writing when the client leaves in state %s', async (state) => {
    const ground = new Ground();
    for (let at = 0; at < 30; at++) await ground.write(ground.put(`a/${at}`, { text: 'x'.repeat(30_000) }));
    await ground.settled();
    const client = new Client();
    client.room = 0;
    const watch = ground.watch(client, state === 'initial' ? { initial: ground.cache.objects.values() } : {});
    const started = watch.start();
    if (state === 'behind') {
      await started;
      for (let at = 0; at < 3; at++) await ground.write(ground.put('a/x', { text: String(at) }));
      await ground.settled();
    }
    await turns(2);
    const { length } = client.text;
    client.leave();
    await started;
    await turns(3);
    expect([client.text.length, ground.cache.watchers.size, watch.isLive]).toEqual([length, 0, false]);
  });

  it('never gives a client so much at once that it is cut off', async () => {
    const ground = new Ground();
    const start = await ground.settled();
    const text = 'x'.repeat(100_000);
    for (let at = 0; at < 250; at++) await ground.write(ground.put(`a/${at}`, { text }));
    await ground.settled();
    const client = new Client();
    client.room = 256 * 1024;
    const stop = client.takeAlways();
    const watch = ground.watch(client, { after: start });
    await watch.start();
    stop();
    expect([client.isCutOff, watch.isLive, client.events.length]).toEqual([false, true, 250]);
  });

  it.each(['initial', 'window', 'log'])(
    'lets others have their turn while nothing of a long %s matches',
    async (from) => {
      const ground = new Ground(from === 'log' ? { maxEvents: 10 } : {});
      const start = await ground.settled();
      const COUNT = 6000;
      const ops = Array.from({ length: COUNT }, (_, at) => ground.put(`a/${at}`));
      for (let at = 0; at < COUNT; at += 100) await ground.write(...ops.slice(at, at + 100));
      await ground.settled();
      let passed = 0;
      let isOver = false;
      const count = () => {
        passed++;
        if (!isOver) setImmediate(count);
      };
      setImmediate(count);
      const selection = labelled('color=red');
      const initial = from === 'initial' ? { initial: ground.cache.objects.values() } : { after: start };
      await ground.watch(new Client(), { selection, ...initial }).start();
      isOver = true;
      expect(passed).toBeGreaterThanOrEqual(3);
    },
  );

  it('gives every client exactly what its selection says, however slow, whenever it came', async () => {
    const key = fc.constantFrom('a/x', 'a/y', 'b/x');
    const change = fc.record({ key, isDelete: fc.nat(3), red: fc.boolean(), node: fc.constantFrom('n1', 'n2') });
    const deed = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          kind: fc.constant('write' as const),
          changes: fc.uniqueArray(change, { minLength: 1, maxLength: 3, selector: (one) => one.key }),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant('take' as const), room: fc.constantFrom(0, 500, 5000, 1e9) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('bookmark' as const) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('turn' as const) }) },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant('join' as const), selection: fc.nat(3), back: fc.nat(8) }),
      },
    );
    const selections = [
      labelled(''),
      labelled('color=red'),
      labelled('', 'spec.nodeName=n1'),
      labelled('color=red', 'metadata.namespace=a'),
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.array(deed, { minLength: 5, maxLength: 40 }),
        fc.integer({ min: 1, max: 12 }),
        async (script, maxEvents) => {
          const ground = new Ground({ maxEvents });
          const start = await ground.settled();
          const readers: { client: Client; watch: CacheWatch; after: number; selection: Selection }[] = [];
          for (const one of script) {
            if (one.kind === 'write') {
              const ops = one.changes.map(({ key, isDelete, red, node }) =>
                isDelete === 0 ? ground.remove(key) : ground.put(key, { labels: red ? { color: 'red' } : {}, node }),
              );
              await ground.write(...ops);
            } else if (one.kind === 'take') for (const { client } of readers) client.take(one.room);
            else if (one.kind === 'bookmark') for (const { watch } of readers) watch.sendBookmark();
            else if (one.kind === 'turn') await nextTurn();
            else {
              const selection = selections[one.selection]!;
              const after = Math.max(start, ground.cache.revision - one.back);
              const client = new Client();
              client.room = 500;
              const watch = ground.watch(client, { selection, after });
              readers.push({ client, watch, after, selection });
              void watch.start();
            }
          }
          const last = await ground.settled();
          for (const { client } of readers) client.take(1e9);
          for (const { client, watch } of readers)
            await vi.waitFor(() => {
              client.take(1e9);
              expect(watch.isLive).toBe(true);
            });
          // The truth: a watch of the store from the very beginning.
          const truth: { revision: number; event: string; at: number }[][] = readers.map(() => []);
          if (last > start) {
            const log = store.watch({ prefix: ground.prefix }, { fromRevision: start + 1, prevKv: true });
            log.requestProgress();
            for await (const batch of log) {
              for (const { type, kv, prevKv } of batch.events)
                for (const [at, { selection, after }] of readers.entries()) {
                  if (kv.modRevision <= after) continue;
                  const now = type === 'put' && selection.matches(ground.cache.read(kv));
                  const before = prevKv !== undefined && selection.matches(ground.cache.read(prevKv));
                  const what = now ? (before ? 'MODIFIED' : 'ADDED') : before ? 'DELETED' : '';
                  const event = `${what} ${kv.key.slice(ground.prefix.length)}@${kv.modRevision}`;
                  if (what) truth[at]!.push({ revision: kv.modRevision, event, at });
                }
              if (batch.revision >= last) break;
            }
          }
          for (const [at, { client }] of readers.entries()) {
            const { events } = client;
            expect(events.filter((event) => !event.startsWith('BOOKMARK'))).toEqual(
              truth[at]!.map(({ event }) => event),
            );
            // Nothing at or below a bookmark comes after it, and bookmarks never go back.
            let least = 0;
            for (const event of events) {
              const revision = Number(event.split('@')[1]);
              if (event.startsWith('BOOKMARK')) {
                expect(revision).toBeGreaterThanOrEqual(least);
                least = revision;
              } else expect(revision).toBeGreaterThan(least);
            }
          }
          for (const { watch } of readers) watch.end();
          expect(ground.cache.watchers.size).toBe(0);
          await ground.cache.close();
        },
      ),
      { numRuns: 60 },
    );
  });
});
