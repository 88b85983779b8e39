/**
 * A long read against a compaction. Long reads let others run between two steps; here the test decides when the next
 * step comes, so that everything that could disturb the read has happened by then.
 */
import { expect, it, vi } from 'vitest';
import type { LogPosition } from '../../../src/store/embedded/engine/engine.ts';
import { openEmbeddedStore } from '../../../src/store/index.ts';
import type { KeyValue, Store } from '../../../src/store/kv.ts';
import { expectRefusal, put, putOp, remove } from '../../support/store/store-under-test.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';
import { watchedEngine } from './watched-engine.ts';

const gate = vi.hoisted(() => ({ opened: Promise.resolve() }));
vi.mock('node:timers/promises', async (original) => {
  const timers = await original<typeof import('node:timers/promises')>();
  const setImmediate = async () => {
    await timers.setImmediate();
    await gate.opened;
  };
  return { ...timers, setImmediate };
});

/** Nothing that yields goes on until the answer is called. */
function closeGate(): () => void {
  let open = () => {};
  gate.opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return open;
}

const KEYS = 20_000;
const keys = Array.from({ length: KEYS }, (_, i) => `k${String(i).padStart(5, '0')}`);

async function putAll(store: Store, value: string): Promise<void> {
  const writes: Promise<unknown>[] = [];
  for (let i = 0; i < KEYS; i += 100)
    writes.push(store.txn({ then: keys.slice(i, i + 100).map((key) => putOp(key, value + key)) }));
  await Promise.all(writes);
}

const describePair = ({ key, value, modRevision }: KeyValue) => `${key} ${Buffer.from(value)} ${modRevision}`;

it('a read of many keys gets its snapshot whole while what it reads is deleted and compacted', async () => {
  await using dir = await temporaryDir();
  const removed: LogPosition[] = [];
  await using store = await openEmbeddedStore({
    dataDir: dir.path,
    autoCompaction: { mode: 'off' },
    openEngine: watchedEngine(async (asked, commit) => {
      removed.push(...asked.remove);
      await commit();
    }),
  });
  await putAll(store, 'first ');
  const expected = (await store.range({ prefix: 'k' })).kvs.map(describePair);
  const revision = await store.revision();

  const openGate = closeGate();
  const now = store.range({ prefix: 'k' });
  const past = store.range({ prefix: 'k' }, { revision });
  await putAll(store, 'second ');
  await remove(store, { prefix: 'k' });
  const last = await put(store, 'z');
  await store.compact(last);
  for (let i = 0; i < 5; i++) await put(store, 'z'); // commits with which removals could ride
  await expectRefusal(store.get('k00000', { revision }), 'Compacted');
  expect(removed).toEqual([]);
  openGate();
  for (const { kvs, ...facts } of await Promise.all([now, past])) {
    expect(facts).toEqual({ revision, count: KEYS, more: false });
    expect(kvs.map(describePair)).toEqual(expected);
  }

  await store.compact(await store.revision(), { physical: true });
  expect(removed.length).toBeGreaterThanOrEqual(3 * KEYS);
});

it('a snapshot holds back the removal of what it has yet to write', async () => {
  await using dir = await temporaryDir();
  const removed: LogPosition[] = [];
  await using store = await openEmbeddedStore({
    dataDir: `${dir.path}/store`,
    autoCompaction: { mode: 'off' },
    openEngine: watchedEngine(async (asked, commit) => {
      removed.push(...asked.remove);
      await commit();
    }),
  });
  await putAll(store, 'first ');
  await putAll(store, 'second ');
  const revision = await store.revision();
  const writing = store.snapshot(`${dir.path}/snapshot`);
  const removedMeanwhile = writing.then(() => removed.length);
  await store.compact(revision, { physical: true });
  expect((await writing).revision).toBe(revision);
  // By the time we hear of its end, one portion may be on its way.
  expect(await removedMeanwhile).toBeLessThanOrEqual(500);
  expect(removed).toHaveLength(KEYS);
});
