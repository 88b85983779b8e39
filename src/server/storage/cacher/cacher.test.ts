import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../../../test/support/eventually.ts';
import { breakableWatch, withOther } from '../../../../test/support/store/other-store.ts';
import { type Op, openEmbeddedStore, type Store, StoreError } from '../../../store/index.ts';
import { FakeClock } from '../../../testing/clocks/fake-clock.ts';
import { JsonEvents } from '../../encodings/json-events.ts';
import { factsOf } from '../../registry/kind-facts.ts';
import { Registry } from '../../registry/registry.ts';
import { DirectStorage } from '../direct/direct-storage.ts';
import { ObjectCodec } from '../objects/object-codec.ts';
import type { ObjectEvent } from '../objects/object-event.ts';
import { ObjectKeys } from '../objects/object-keys.ts';
import { Selection } from '../objects/selection.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import { Cacher } from './cacher.ts';
import { defaultWatchCacheLimits, type WatchCacheLimits } from './watch-cache.ts';

const configMaps = new Registry().find('', 'v1', 'configmaps')!;
const codec = new ObjectCodec(configMaps, factsOf(configMaps));
const never = new AbortController().signal;

let dataDir: string;
let store: Store;
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'longwatch-cache-'));
  store = await openEmbeddedStore({ dataDir, durability: 'none' });
});
afterAll(async () => {
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** A corner of the store with a cache over it. */
class Corner implements AsyncDisposable {
  static #count = 0;
  readonly clock = new FakeClock();
  readonly logged: string[] = [];
  readonly prefix = `/registry/corner-${Corner.#count++}/`;
  readonly #limits: WatchCacheLimits;
  #cache: Cacher | undefined;

  constructor(limits: Partial<WatchCacheLimits> = {}) {
    this.#limits = { ...defaultWatchCacheLimits, ...limits };
  }

  /** Made when first asked for. */
  get cache(): Cacher {
    return this.open();
  }

  open(over: Store = store): Cacher {
    const log = (line: string) => void this.logged.push(line);
    const direct = new DirectStorage({ store: over, codec, keys: new ObjectKeys(this.prefix, true) });
    this.#cache ??= new Cacher({ store: over, direct, clock: this.clock, limits: this.#limits, log });
    return this.#cache;
  }

  put(key: string, text = ''): Op {
    const [namespace = '', name = ''] = key.split('/');
    const metadata = { name, namespace, uid: `uid-of-${key}` };
    return { kind: 'put', key: this.prefix + key, value: codec.encode({ ...codec.type, metadata, data: { text } }) };
  }

  remove(key: string): Op {
    return { kind: 'delete', range: { key: this.prefix + key } };
  }

  async write(...ops: Op[]): Promise<number> {
    return (await store.txn({ then: ops })).revision;
  }

  /** Until the cache has everything that was written. */
  async settled(): Promise<Cacher> {
    expect(await this.cache.catchUp(3000, never)).toBe(true);
    return this.cache;
  }

  /** What the store itself says. */
  async truthAt(revision: number, prefix = '', start = prefix): Promise<string[]> {
    const { kvs } = await store.range({ prefix: this.prefix + prefix }, { revision });
    return shown(kvs.map((kv) => this.cache.direct.decode(kv)).filter(({ key }) => key >= start));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cache?.close();
  }
}

function shown(objects: readonly StoredObject[] | undefined): string[] {
  return (objects ?? []).map((object) => `${object.key}@${object.revision} ${object.parse().data?.['text' as never]}`);
}

function shownEvents(events: readonly ObjectEvent[]): string[] {
  return events.map(({ revision, current, previous }) => {
    const type = !previous ? 'ADDED' : current ? 'MODIFIED' : 'DELETED';
    return `${type} ${(current ?? previous)!.key}@${revision}`;
  });
}

/** The store, with a watch that can be broken and a range that can be held up. */
function breakable(): { over: Store; breakWatch: (error: Error) => void; hold: (next?: Store) => () => void } {
  let ranged = store;
  let gate: Promise<void> | undefined;
  const { watch, breakWatch } = breakableWatch(() => ranged);
  const range: Store['range'] = async (...args) => {
    await gate;
    return ranged.range(...args);
  };
  /** With `next`, that is what is read and watched from then on. */
  const hold = (next = store) => {
    ranged = next;
    let open = () => {};
    gate = new Promise((resolve) => {
      open = resolve;
    });
    return open;
  };
  return { over: withOther(store, { watch, range }), breakWatch, hold };
}

const COMPACTED = new StoreError('Compacted', 'Cannot watch: history is compacted', { compactRevision: 1 });

describe('Cacher', () => {
  it('fills from the store and follows it', async () => {
    await using corner = new Corner();
    await corner.write(corner.put('b/x'), corner.put('a-b/x'), corner.put('a/y'));
    const filled = await corner.write(corner.put('a/x', 'old'));
    expect(corner.cache.isReady).toBe(false);
    await corner.settled();
    expect(shown(corner.cache.objects.values())).toEqual(await corner.truthAt(filled));
    expect(corner.cache.watchCache.since).toBe(filled);
    const last = await corner.write(corner.put('a/x', 'new'), corner.remove('b/x'));
    const cache = await corner.settled();
    expect(cache.revision).toBe(last);
    expect(shown(cache.objects.values())).toEqual([`a-b/x@${filled - 1} `, `a/x@${last} new`, `a/y@${filled - 1} `]);
    expect(shownEvents(cache.watchCache.after(filled))).toEqual([`MODIFIED a/x@${last}`, `DELETED b/x@${last}`]);
    expect(cache.counts).toMatchObject({ received: 2, initializations: 1 });
  });

  it('tells who wants all of it, or to watch it, to come again while it is not filled; single objects and pages are read', async () => {
    await using corner = new Corner();
    await corner.write(corner.put('a/x'), corner.put('a/y'));
    let isReading = false;
    let go: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const cache = corner.open(
      withOther(store, {
        range: async (request, options) => {
          if (isReading) return store.range(request, options);
          await gate;
          return store.range(request, options);
        },
      }),
    );
    await corner.clock.advance(40_000);
    const { signal } = new AbortController();
    const all = { scope: '', start: '', at: { resourceVersion: '' }, signal };
    const refusal = {
      code: 429,
      message: 'storage is (re)initializing',
      status: { reason: 'TooManyRequests', details: { retryAfterSeconds: 11 } }, // e to the 2.4
    };
    await expect(cache.list({ ...all, isPatient: true })).rejects.toMatchObject(refusal);
    const client = { signal, stream: () => expect.fail('it began'), initialised: () => {} };
    const watch = {
      selection: new Selection({ namespace: '' }),
      encoding: undefined as never,
      client,
      onOpen: () => {},
    };
    await expect(
      cache.watch({ ...watch, resourceVersion: '', sendsInitialEvents: true, allowsBookmarks: false }),
    ).rejects.toMatchObject(refusal);
    isReading = true;
    expect(shown((await cache.list({ ...all, limit: 1, isPatient: true })).objects)).toHaveLength(1);
    expect((await cache.get('a', 'x'))?.key).toBe('a/x');
    expect((await cache.list(all)).objects).toHaveLength(2); // the server itself does not come again
    go();
  }, 60_000);

  it('tells followers of what is there and of every change, in order', async () => {
    await using corner = new Corner();
    await corner.write(corner.put('a/x'));
    await corner.settled();
    const told: string[] = [];
    corner.cache.follow((current, previous) => told.push(`${previous?.key ?? '-'} > ${current?.key ?? '-'}`));
    expect(told).toEqual(['- > a/x']);
    await corner.write(corner.put('a/x', '2'), corner.put('a/y'));
    await corner.write(corner.remove('a/x'));
    await corner.settled();
    expect(told).toEqual(['- > a/x', 'a/x > a/x', '- > a/y', 'a/x > -']);
  });

  it('knows the state at every revision of its window', async () => {
    const key = fc.constantFrom('a/x', 'a/y', 'a-b/x', 'b/x', 'b/y');
    const op = fc.record({ key, isDelete: fc.boolean(), text: fc.constantFrom('1', '2') });
    const txn = fc.uniqueArray(op, { minLength: 1, maxLength: 3, selector: ({ key }) => key });
    const history = fc.array(txn, { minLength: 1, maxLength: 25 });
    const places = fc.constantFrom<[prefix: string, start: string]>(
      ['', ''],
      ['a/', 'a/'],
      ['a/', 'a/x\0'],
      ['', 'a/y'],
    );
    await fc.assert(
      fc.asyncProperty(
        history,
        fc.integer({ min: 2, max: 40 }),
        places,
        fc.nat(5),
        async (txns, maxEvents, place, early) => {
          await using corner = new Corner({ maxEvents, minEvents: 1 });
          const apply = async (changes: (typeof txns)[number]) => {
            await corner.write(
              ...changes.map(({ key, isDelete, text }) => (isDelete ? corner.remove(key) : corner.put(key, text))),
            );
          };
          for (const changes of txns.slice(0, early)) await apply(changes);
          await corner.settled();
          // All at once: then the store gives several revisions in one batch.
          await Promise.all(txns.slice(early).map(apply));
          const cache = await corner.settled();
          for (let revision = cache.watchCache.since; revision <= cache.revision; revision++) {
            const [prefix, start] = place;
            const truth = await corner.truthAt(revision, prefix, start);
            for (const limit of [undefined, 1, 2, 3]) {
              const range = cache.valuesAt(revision, prefix, start, limit);
              expect(shown(range?.objects)).toEqual(truth.slice(0, limit));
              expect(range?.count).toBe(truth.length);
            }
          }
          expect(cache.valuesAt(cache.watchCache.since - 1, '', '')).toBeUndefined();
          expect(cache.valuesAt(cache.revision + 1, '', '')).toBeUndefined();
        },
      ),
      { numRuns: 40 },
    );
  });

  describe('waiting', () => {
    it('waits until the cache has what was asked for, also when others were written', async () => {
      await using corner = new Corner();
      await corner.settled();
      const next = corner.cache.revision + 1;
      const waiting = corner.cache.waitFor(next, 3000, never);
      const written = await corner.write(corner.put('a/x'));
      expect(await waiting).toBe(true);
      expect(corner.cache.revision).toBe(written);
      await store.txn({ then: [{ kind: 'put', key: '/elsewhere', value: Buffer.from('1') }] });
      expect(await corner.cache.catchUp(3000, never)).toBe(true);
      expect(corner.cache.revision).toBe(written + 1);
    });

    it('gives up after its time, and at once when the reader leaves', async () => {
      await using corner = new Corner();
      await corner.settled();
      const future = corner.cache.revision + 1000;
      expect(await corner.cache.waitFor(future, 5, never)).toBe(false);
      const leaving = new AbortController();
      const waiting = corner.cache.waitFor(future, 60_000, leaving.signal);
      leaving.abort(new Error('gone'));
      await expect(waiting).rejects.toThrow('gone');
      await expect(corner.cache.waitFor(future, 60_000, leaving.signal)).rejects.toThrow('gone');
      expect(await corner.cache.waitFor(corner.cache.revision, 0, leaving.signal)).toBe(true);
    });

    it('does not make every reader wait for a store that tells no progress', async () => {
      await using corner = new Corner();
      const { revision: now } = await store.range({ key: '/x' });
      const deaf = withOther(store, { revision: async () => now + 1000 });
      const cache = corner.open(deaf);
      expect(await cache.waitFor(now, 3000, never)).toBe(true);
      expect(await cache.catchUp(5, never)).toBe(false);
      // Longer than this test may take: it would be seen to wait.
      expect(await cache.catchUp(600_000, never)).toBe(false);
    });
  });

  it('lets go of old changes by its clock', async () => {
    await using corner = new Corner({ freshMs: 75_000, minEvents: 1 });
    await corner.settled();
    const first = await corner.write(corner.put('a/x', '1'));
    await corner.settled();
    await corner.clock.advance(60_000);
    const second = await corner.write(corner.put('a/x', '2'));
    await corner.settled();
    await corner.clock.advance(15_000);
    corner.cache.trim();
    expect(corner.cache.watchCache.size).toBe(2);
    await corner.clock.advance(1);
    corner.cache.trim();
    expect([corner.cache.watchCache.size, corner.cache.watchCache.since, second]).toEqual([1, first, first + 1]);
  });

  describe('after its history is gone', () => {
    it('makes exactly the difference into events, and goes on', async () => {
      await using corner = new Corner();
      const { over, breakWatch, hold } = breakable();
      await corner.write(corner.put('a/kept'), corner.put('a/changed', '1'), corner.put('a/removed'));
      const before = await corner.write(corner.put('a/twice'));
      corner.open(over);
      await corner.settled();
      const followed: string[] = [];
      corner.cache.follow((current) => followed.push(current?.key ?? '-'));
      followed.length = 0;
      const open = hold();
      breakWatch(COMPACTED);
      const changed = await corner.write(corner.put('a/changed', '2'));
      await corner.write(corner.remove('a/removed'), corner.put('a/brief'));
      const twice = await corner.write(corner.remove('a/twice'), corner.remove('a/brief'));
      const again = await corner.write(corner.put('a/twice', 'new'), corner.put('b/new'));
      open();
      const cache = await corner.settled();
      expect(cache.revision).toBe(again);
      expect(shown(cache.objects.values())).toEqual(await corner.truthAt(again));
      expect(shownEvents(cache.watchCache.after(before)).sort()).toEqual(
        [
          `DELETED a/removed@${again}`,
          `MODIFIED a/changed@${changed}`,
          `MODIFIED a/twice@${again}`,
          `ADDED b/new@${again}`,
        ].sort(),
      );
      expect(followed).toHaveLength(4);
      expect(twice).toBe(again - 1);
      const next = await corner.write(corner.put('b/new', '2'));
      await corner.settled();
      expect(shownEvents(cache.watchCache.after(again))).toEqual([`MODIFIED b/new@${next}`]);
      expect(cache.counts.initializations).toBe(2);
    });

    it('does not pretend to know the states it has missed', async () => {
      await using corner = new Corner();
      const { over, breakWatch, hold } = breakable();
      const before = await corner.write(corner.put('a/x', '1'));
      corner.open(over);
      await corner.settled();
      const open = hold();
      breakWatch(COMPACTED);
      await corner.write(corner.put('a/x', '2'), corner.put('a/brief'));
      await corner.write(corner.remove('a/brief'));
      const after = await corner.write(corner.put('a/x', '3'));
      open();
      const cache = await corner.settled();
      for (let revision = before; revision <= after; revision++) {
        const known = cache.valuesAt(revision, '', '');
        if (known) expect([revision, ...shown(known.objects)]).toEqual([revision, ...(await corner.truthAt(revision))]);
      }
      expect(shown(cache.valuesAt(after, '', '')?.objects)).toEqual([`a/x@${after} 3`]);
    });

    it('knows its state after the store was set back to where it has missed something before', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'longwatch-cache-'));
      await using older = await openEmbeddedStore({ dataDir: folder, durability: 'none' });
      await using corner = new Corner();
      const { over, breakWatch, hold } = breakable();
      await corner.write(corner.put('a/x', '1'));
      corner.open(over);
      await corner.settled();
      let open = hold();
      breakWatch(COMPACTED);
      while ((await older.revision()) <= corner.cache.revision)
        await older.txn({ then: [corner.put('a/x', 'from the backup')] });
      const setBackTo = await older.revision();
      while ((await store.revision()) <= setBackTo) await corner.write(corner.put('a/x', '2'));
      open();
      await corner.settled();
      open = hold(older);
      breakWatch(COMPACTED);
      open();
      await eventually(() => expect(corner.cache.revision).toBe(setBackTo));
      expect(shown(corner.cache.valuesAt(setBackTo, '', '')?.objects)).toEqual([`a/x@${setBackTo} from the backup`]);
      rmSync(folder, { recursive: true, force: true });
    });

    it('keeps nothing of what was written while the state was read anew', async () => {
      await using corner = new Corner();
      const { over, breakWatch, hold } = breakable();
      const { direct } = corner.open(over);
      await corner.settled();
      const open = hold();
      breakWatch(COMPACTED);
      const metadata = { name: 'x', namespace: 'a', uid: 'u' };
      const created = await direct.create({ ...codec.type, metadata });
      open();
      await corner.settled();
      expect(shown(corner.cache.objects.values())).toEqual([`a/x@${created!.revision} undefined`]);
      expect(direct.written!.take(created!.key, created!.revision)).toBeUndefined();
    });

    it('reads anew after another failure too, a while later', async () => {
      await using corner = new Corner();
      const { over, breakWatch } = breakable();
      corner.open(over);
      await corner.settled();
      breakWatch(new StoreError('Unavailable', 'Cannot reach the store'));
      await eventually(() => expect(corner.logged).toHaveLength(1));
      const written = await corner.write(corner.put('a/x'));
      await corner.settled();
      expect(shown(corner.cache.objects.values())).toEqual([`a/x@${written} `]);
    });
  });

  it('ends with the store, quietly', async () => {
    await using corner = new Corner();
    const { over, breakWatch } = breakable();
    corner.open(over);
    await corner.settled();
    breakWatch(new StoreError('Closed', 'Cannot use the store: it is closed'));
    await corner.cache.close();
    expect(corner.logged).toEqual([]);
  });

  it('does not lose a change for its watchers when a follower fails', async () => {
    await using corner = new Corner();
    await corner.settled();
    let isBad = true;
    corner.cache.follow(() => {
      if (isBad) throw new Error('Cannot follow');
    });
    const got: string[] = [];
    corner.cache.watchers.join({
      selection: new Selection({}),
      encoding: new JsonEvents(codec),
      deliver: (frames) =>
        void got.push(...frames.map((frame) => (JSON.parse(String(frame)) as { type: string }).type)),
    });
    await corner.write(corner.put('a/x'));
    await eventually(() => expect(corner.cache.objects.size).toBe(1));
    isBad = false;
    await corner.write(corner.put('a/x', '2'));
    await eventually(() => expect(shown(corner.cache.objects.values())[0]).toMatch(/ 2$/));
    expect(got).toEqual(['ADDED', 'MODIFIED']);
  });

  it('goes on past a value that is no object', async () => {
    await using corner = new Corner();
    await corner.write(corner.put('a/x'));
    await corner.settled();
    await corner.write({ kind: 'put', key: `${corner.prefix}a/broken`, value: Buffer.from('not an object') });
    const last = await corner.write(corner.put('a/y'));
    expect(await corner.cache.waitFor(last, 2500, never)).toBe(true);
    expect(corner.cache.objects.values().map(({ key }) => key)).toEqual(['a/x', 'a/y']);
  });
});
