/** A reader that does not read, while much is written: it holds little, delays nobody, and loses nothing. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openEmbeddedStore } from '../../../src/store/index.ts';
import { everyKey } from '../../../src/store/keys.ts';
import type { Store, Watch } from '../../../src/store/kv.ts';
import { put } from '../../support/store/store-under-test.ts';
import { readEvents } from '../../support/store/watching.ts';
import { type TemporaryDir, temporaryDir } from '../../support/temporary-dir.ts';

const LIMITS = { events: 40, bytes: 1024 * 1024 };
const WRITES = 500;
const value = 'x'.repeat(100_000);

let dir: TemporaryDir;
let store: Store;
beforeEach(async () => {
  dir = await temporaryDir();
  store = await openEmbeddedStore({
    dataDir: dir.path,
    durability: 'none',
    autoCompaction: { mode: 'off' },
    watchLimits: LIMITS,
  });
});
afterEach(async () => {
  await store.close();
  await dir[Symbol.asyncDispose]();
});

const revisions = Array.from({ length: WRITES }, (_, i) => i + 2);

/** 50 MB, one write after the other. */
async function writeAll(): Promise<void> {
  for (let i = 0; i < WRITES; i++) await put(store, `k${i % 10}`, value);
}

async function readAll(watch: Watch): Promise<number[]> {
  return (await readEvents(watch, WRITES)).flatMap(({ events }) => events.map(({ kv }) => kv.modRevision));
}

describe('a reader that does not read', () => {
  it('loses nothing, and others get everything meanwhile', async () => {
    const slow = store.watch(everyKey);
    const fast = readAll(store.watch(everyKey));
    await writeAll();
    expect(await fast).toEqual(revisions);
    expect(await readAll(slow)).toEqual(revisions);
    await put(store, 'live again');
    expect((await slow.next()).value).toMatchObject({ events: [{ kv: { key: 'live again' } }] });
  });

  it('holds no more than its limits: once history is gone, only that much comes', async () => {
    const slow = store.watch(everyKey);
    await writeAll();
    await store.compact(await store.revision(), { physical: true });
    let events = 0;
    let bytes = 0;
    const read = async () => {
      for await (const batch of slow) {
        events += batch.events.length;
        for (const { kv } of batch.events) bytes += kv.value.length;
      }
    };
    await expect(read()).rejects.toMatchObject({ code: 'Compacted', compactRevision: WRITES + 1 });
    expect(events).toBeGreaterThan(0);
    expect(events).toBeLessThanOrEqual(LIMITS.events);
    expect(bytes).toBeLessThanOrEqual(LIMITS.bytes);
  });

  it('of one key among many others holds nothing of the others, and misses none of its own', async () => {
    const slow = store.watch({ key: 'k3' });
    await writeAll();
    await store.compact(WRITES - 100, { physical: true }); // its queue reaches less far back than this
    const seen: number[] = [];
    const read = async () => {
      for await (const { events } of slow) seen.push(...events.map(({ kv }) => kv.modRevision));
    };
    await expect(read()).rejects.toMatchObject({ code: 'Compacted' });
    const own = revisions.filter((revision) => (revision - 2) % 10 === 3);
    expect(seen).toEqual(own.slice(0, seen.length));
    expect(seen).toHaveLength(Math.floor(LIMITS.bytes / value.length));
  });
});
