/** The embedded store and its space: a quota that is reached, files that must not grow, compaction that is disturbed. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLmdbEngine } from '../../../src/store/embedded/disk/lmdb-engine.ts';
import { type EmbeddedStoreOptions, openEmbeddedStore } from '../../../src/store/index.ts';
import { everyKey } from '../../../src/store/keys.ts';
import type { Store } from '../../../src/store/kv.ts';
import { randomFrom } from '../../support/random.ts';
import { expectRefusal, keysIn, put, putOp, remove } from '../../support/store/store-under-test.ts';
import { eventsIn, readThrough } from '../../support/store/watching.ts';
import { type TemporaryDir, temporaryDir } from '../../support/temporary-dir.ts';
import { watchedEngine } from './watched-engine.ts';

let dir: TemporaryDir;
let file: string;
beforeEach(async () => {
  dir = await temporaryDir();
  file = join(dir.path, 'data.mdb');
});
afterEach(() => dir[Symbol.asyncDispose]());

const open = (options: Partial<EmbeddedStoreOptions> = {}) =>
  openEmbeddedStore({ dataDir: dir.path, durability: 'none', autoCompaction: { mode: 'off' }, ...options });

const compactAll = async (store: Store) => store.compact(await store.revision(), { physical: true });

/** What lies in the log on disk, of a store that is closed. */
async function readDisk(): Promise<{ records: string[]; finished: number | undefined }> {
  const engine = openLmdbEngine({ file, isDurable: false });
  const records = engine.scan(0, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  const finished = engine.meta('compact.finished');
  await engine.close();
  return { records: records.map(({ revision, sub }) => `${revision}/${sub}`), finished };
}

describe('a quota', () => {
  const QUOTA = 2 * 1024 * 1024;
  const value = 'x'.repeat(100_000);

  it('stops puts and leases, not reads, deletes and compaction, after which puts work again', async () => {
    await using store = await open({ quotaBytes: QUOTA });
    let written = 0;
    const fill = async () => {
      for (; written < 100; written++) await put(store, `k${written}`, value);
    };
    await expectRefusal(fill(), 'NoSpace', { message: expect.stringContaining(`of ${QUOTA} bytes are in use`) });
    expect(written * value.length).toBeGreaterThan(QUOTA / 2);
    expect(written * value.length).toBeLessThan(QUOTA);
    await expectRefusal(put(store, 'more', value), 'NoSpace');
    await expectRefusal(store.txn({ compare: [], then: [], else: [putOp('more', value)] }), 'NoSpace');
    expect((await store.status()).sizeInUseBytes).toBeLessThan(QUOTA * 1.25); // values fill whole pages

    expect((await store.get('k0')).kv!.value).toHaveLength(value.length);
    expect(await keysIn(store, everyKey)).toHaveLength(written);
    await remove(store, { prefix: 'k' });
    await expectRefusal(put(store, 'more', value), 'NoSpace'); // what was deleted is still history
    await compactAll(store);
    expect(await put(store, 'more', value)).toBe(written + 3);
  });

  it('counts what is still on its way to the disk', async () => {
    await using store = await open({ quotaBytes: QUOTA });
    const writes = Array.from({ length: 100 }, (_, i) => put(store, `k${i}`, value));
    const outcomes = await Promise.allSettled(writes);
    const taken = outcomes.filter(({ status }) => status === 'fulfilled');
    expect(taken.length).toBeGreaterThan(0);
    expect(taken.length * value.length).toBeLessThan(QUOTA);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'NoSpace' });
  });

  it('that is reached to the last byte shows in the status and refuses leases until there is room', async () => {
    await using store = await open({ quotaBytes: QUOTA });
    let size = 500_000;
    for (let i = 0; size > 0; i++) {
      const isTaken = await put(store, `k${i}`, 'x'.repeat(size)).then(
        () => true,
        () => false,
      );
      if (!isTaken) size = Math.floor(size / 2);
    }
    expect((await store.status()).problems).toEqual([expect.stringContaining('bytes are in use')]);
    await expectRefusal(store.grantLease(10), 'NoSpace');
    await remove(store, everyKey);
    await compactAll(store);
    expect((await store.status()).problems).toEqual([]);
    await store.grantLease(10);
  });
});

describe('rewriting the same keys with compaction in between', () => {
  it('lets neither the space in use nor the file grow, and the file opens at any time', async () => {
    const random = randomFrom(7);
    const sizes: { used: number; file: number }[] = [];
    let store = await open();
    for (let round = 1; round <= 12; round++) {
      for (let time = 0; time < 3; time++) {
        // The same sizes in every round, so that what is in use can be the same too.
        const writes = Array.from({ length: 200 }, (_, i) => put(store, `k${i}`, 'x'.repeat(1 + ((i * 97) % 9000))));
        await Promise.all(writes);
      }
      await compactAll(store);
      const { sizeInUseBytes, sizeBytes } = await store.status();
      sizes.push({ used: sizeInUseBytes, file: sizeBytes });
      if (random() < 0.5) {
        await store.close();
        store = await open();
      }
    }
    await store.close();
    const [third, last] = [sizes[2]!, sizes[11]!];
    expect(last.used).toBeLessThanOrEqual(third.used * 1.02);
    expect(last.file).toBeLessThanOrEqual(third.file * 1.02);
    expect(statSync(file).size).toBe(last.file);
    expect((await readDisk()).records).toHaveLength(200);
  });
});

describe('a compaction', () => {
  const VERSIONS = 5000;

  /** One key with many versions: several portions of garbage. */
  async function fillWithGarbage(store: Store): Promise<void> {
    const writes = Array.from({ length: VERSIONS }, (_, i) => put(store, 'a', String(i)));
    await Promise.all(writes);
  }

  it('that is stopped between two portions goes on when the store is opened again', async () => {
    let portions = 0;
    let stop = () => {};
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    const first = await open({
      openEngine: watchedEngine(async (asked, commit) => {
        await commit();
        if (asked.remove.length > 0 && ++portions === 3) stop();
      }),
    });
    await fillWithGarbage(first);
    const revision = await first.revision();
    await first.compact(revision);
    await stopped;
    await first.close();
    const { records, finished } = await readDisk();
    expect(records.length).toBeGreaterThan(1);
    expect(records.length).toBeLessThan(VERSIONS);
    expect(finished ?? 0).toBeLessThan(revision);

    let finish = () => {};
    const done = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const second = await open({
      openEngine: watchedEngine(async (asked, commit) => {
        await commit();
        if (asked.meta.get('compact.finished') === revision) finish();
      }),
    });
    await expectRefusal(second.get('a', { revision: revision - 1 }), 'Compacted', { compactRevision: revision });
    await done;
    expect((await second.get('a')).kv).toMatchObject({ modRevision: revision, version: VERSIONS });
    await second.close();
    expect(await readDisk()).toEqual({ records: [`${revision}/0`], finished: revision });
  });

  it('whose caller stopped waiting holds all the same', async () => {
    await using store = await open();
    await put(store, 'a', '1');
    await put(store, 'a', '2');
    const stop = new AbortController();
    const compacting = store.compact(3, { signal: stop.signal });
    stop.abort(new Error('no patience'));
    await expect(compacting).rejects.toThrow('no patience');
    await put(store, 'b'); // the mark was on its way before this
    await expectRefusal(store.compact(3), 'Compacted', { compactRevision: 3 });
    await expectRefusal(store.get('a', { revision: 2 }), 'Compacted', { compactRevision: 3 });
  });

  it('never takes the revision back, though the newest record was a delete', async () => {
    let store = await open();
    await put(store, 'a');
    for (let revision = 3; revision < 12; revision += 2) {
      expect(await remove(store, everyKey)).toBe(revision);
      await store.compact(revision, { physical: true });
      await store.close();
      expect((await readDisk()).records).toEqual([`${revision}/0`]);
      store = await open();
      expect(await store.revision()).toBe(revision);
      await using watch = store.watch(everyKey, { fromRevision: revision });
      expect(eventsIn(await readThrough(watch, revision)).map(({ type }) => type)).toEqual(['delete']);
      expect(await put(store, 'a')).toBe(revision + 1);
    }
    await store.close();
  });
});
