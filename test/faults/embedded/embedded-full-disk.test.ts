/** The embedded store on a disk that others fill: what it answers, what it keeps, and that it comes back. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EmbeddedStoreOptions, openEmbeddedStore, type StoreError } from '../../../src/store/index.ts';
import { everyKey } from '../../../src/store/keys.ts';
import type { Revision, Store } from '../../../src/store/kv.ts';
import { FakeClock } from '../../../src/testing/clocks/fake-clock.ts';
import { eventually } from '../../support/eventually.ts';
import { expectRefusal, keysIn, put, remove, textOf } from '../../support/store/store-under-test.ts';
import { eventsIn, readThrough } from '../../support/store/watching.ts';
import { canMount, type FullDisk, mountDisk } from './full-disk.ts';

const MIB = 1024 * 1024;
const value = 'x'.repeat(100_000);

describe.skipIf(!canMount)(`on a disk that others fill${canMount ? '' : ' (skipped: only root may mount one)'}`, () => {
  let disk: FullDisk;
  let dataDir: string;
  let failures: StoreError[];
  beforeEach(async () => {
    disk = await mountDisk();
    dataDir = join(disk.path, 'store');
    failures = [];
  });
  afterEach(async () => {
    await disk[Symbol.asyncDispose]();
    expect(failures).toEqual([]);
  });

  const open = (options: Partial<EmbeddedStoreOptions> = {}): Promise<Store> =>
    openEmbeddedStore({
      dataDir,
      durability: 'none',
      autoCompaction: { mode: 'off' },
      onFailure: (error) => failures.push(error),
      ...options,
    });

  /** Writes until it is refused; answers what was answered. */
  async function writeUntilRefused(store: Store, prefix = 'k'): Promise<Map<string, Revision>> {
    const answered = new Map<string, Revision>();
    for (let i = 0; i < 1000; i++) {
      const outcome = await put(store, `${prefix}${i}`, value).catch((err: StoreError) => err);
      if (typeof outcome !== 'number') {
        expect(outcome).toMatchObject({ name: 'StoreError', code: 'NoSpace' });
        return answered;
      }
      answered.set(`${prefix}${i}`, outcome);
    }
    throw new Error('Cannot fill the disk: it takes everything');
  }

  it('refuses puts with NoSpace, goes on reading, says so, and takes puts again when there is room', async () => {
    const store = await open();
    await put(store, 'first', 'there');
    disk.fill(MIB);
    const answered = await writeUntilRefused(store);
    for (let i = 0; i < 3; i++) await expectRefusal(put(store, 'more', value), 'NoSpace');
    await expectRefusal(store.grantLease(10), 'NoSpace');
    expect(textOf((await store.get('first')).kv!.value)).toBe('there');
    expect(await keysIn(store, { prefix: 'k' })).toEqual([...answered.keys()].sort());
    expect((await store.status()).problems).toEqual([expect.stringContaining('make room on the disk')]);
    const revision = await store.revision();
    disk.empty();
    expect((await store.status()).problems).toEqual([]);
    expect(await put(store, 'after', value)).toBe(revision + 1);
    await store.close();
    await using again = await open();
    for (const [key, modRevision] of answered) expect((await again.get(key)).kv).toMatchObject({ modRevision });
    expect((await again.get('more')).kv).toBeUndefined();
    expect(await again.revision()).toBe(revision + 1);
  });

  it('answers every one of many writes truly, and gives its revisions out without a hole', async () => {
    const store = await open();
    await store.grantLease(60, { id: 7n });
    await put(store, 'leased', '1', 7n);
    disk.fill(2 * MIB);
    const outcomes = new Map<string, Revision | string>();
    const write = async (writer: number) => {
      for (let i = 0; i < 12; i++) {
        const key = `${writer}/${i}`;
        outcomes.set(key, await put(store, key, value).catch((err: StoreError) => err.code));
      }
    };
    const written = Promise.all(Array.from({ length: 12 }, (_, writer) => write(writer)));
    const lease = store.grantLease(60, { id: 8n }).catch((err: StoreError) => err.code);
    await written;
    expect([...outcomes.values()]).toContain('NoSpace');
    expect([...outcomes.values()].filter((one) => typeof one === 'string' && one !== 'NoSpace')).toEqual([]);
    const leases = (await lease) === 'NoSpace' ? [7n] : [7n, 8n];
    expect(await store.leases()).toEqual(leases);
    expect(await store.leaseInfo(7n)).toMatchObject({ keys: ['leased'] });
    disk.empty();
    const revision = await put(store, 'leased', '2', 7n);
    await store.close();
    await using again = await open();
    expect(await again.revision()).toBe(revision);
    expect(await again.leases()).toEqual(leases);
    for (const [key, outcome] of outcomes) {
      const { kv } = await again.get(key);
      expect(kv?.modRevision ?? 'NoSpace', key).toBe(outcome);
    }
    const revisions = eventsIn(await readThrough(again.watch(everyKey, { fromRevision: 2 }), revision));
    expect(revisions.map(({ kv }) => kv.modRevision)).toEqual(Array.from({ length: revision - 1 }, (_, i) => i + 2));
  });

  it('takes puts into pages of its own file that deletes and compaction have freed', async () => {
    await using store = await open();
    for (let i = 0; i < 100; i++) await put(store, `k${i}`, value);
    disk.fill(MIB);
    await expectRefusal(put(store, 'big', 'x'.repeat(1_500_000)), 'NoSpace');
    await remove(store, { prefix: 'k' });
    await put(store, 'little', 'x').catch(() => {});
    await store.compact(await store.revision(), { physical: true });
    expect((await store.status()).problems).toEqual([]);
    for (let i = 0; i < 30; i++) await put(store, `new${i}`, value);
    expect((await store.range({ prefix: 'new' })).count).toBe(30);
  });

  it('keeps a reserve with which deletes and compaction go on when nothing at all is left', async () => {
    const clock = new FakeClock();
    await using store = await open({ clock, durability: 'fsync' });
    for (let i = 0; i < 50; i++) await put(store, `k${i}`, value);
    await clock.advance(10_000);
    const reserve = join(dataDir, 'RESERVE');
    await eventually(() => expect(statSync(reserve, { throwIfNoEntry: false })?.size).toBe(16 * MIB));
    disk.fill(0);
    for (let i = 0; i < 50; i++) await remove(store, { key: `k${i}` });
    await store.compact(await store.revision(), { physical: true });
    await put(store, 'new', value);
    expect(await keysIn(store, everyKey)).toEqual(['new']);
  });

  it('opens, and says what is the matter where it cannot', async () => {
    await (await open()).close();
    disk.fill(0);
    await expectRefusal(open(), 'NoSpace', { message: expect.stringContaining('the disk is full') });
    disk.empty();
    await (await open()).close();
  });

  it('that is read-only refuses to open as ReadOnly', async () => {
    await (await open()).close();
    disk.setReadOnly(true);
    await expectRefusal(open(), 'ReadOnly', { message: expect.stringContaining('mounted read-only') });
    await expectRefusal(open({ dataDir: join(disk.path, 'new') }), 'ReadOnly');
    disk.setReadOnly(false);
    await (await open()).close();
  });
});
