/** Snapshots of real stores: what a file promises, and that nothing is made from one that breaks the promise. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { expectRefusal, plain, put, putOp, remove } from '../../../../test/support/store/store-under-test.ts';
import { namesIn, readThrough } from '../../../../test/support/store/watching.ts';
import { type TemporaryDir, temporaryDir } from '../../../../test/support/temporary-dir.ts';
import { everyKey } from '../../keys.ts';
import type { Store } from '../../kv.ts';
import { openEmbeddedStore } from '../embedded-store.ts';
import { restoreEmbeddedStore } from './snapshot-file.ts';

let dir: TemporaryDir;
let source: Store;
let file: string;
let target: string;

beforeEach(async () => {
  dir = await temporaryDir();
  file = join(dir.path, 'snapshot');
  target = join(dir.path, 'restored');
  source = await open(join(dir.path, 'source'));
});
afterEach(async () => {
  await source.close();
  await dir[Symbol.asyncDispose]();
});

const open = (dataDir: string) => openEmbeddedStore({ dataDir, durability: 'none', autoCompaction: { mode: 'off' } });

const pairsOf = async (store: Store, revision?: number) =>
  (await store.range(everyKey, revision ? { revision } : {})).kvs.map(plain);

/** A store with several versions, a delete, a lease and a compaction behind it. */
async function fill(store: Store): Promise<void> {
  await store.grantLease(60, { id: 5n });
  await put(store, 'a', '1');
  await put(store, 'a', '2');
  await put(store, 'b', 'x'.repeat(100_000));
  await put(store, 'leased', 'y', 5n);
  await store.compact(4, { physical: true });
  await put(store, 'a', '3');
  await remove(store, { key: 'b' });
}

describe('a snapshot', () => {
  it('says what it is', async () => {
    await fill(source);
    const info = await source.snapshot(file);
    const bytes = readFileSync(file);
    expect(info).toEqual({
      revision: await source.revision(),
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes.subarray(0, -32)).digest('hex'),
    });
    expect(bytes.subarray(-32).toString('hex')).toBe(info.sha256);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(dir.path).sort()).toEqual(['snapshot', 'source']);
  });

  it('restored without a bump is the same store: pairs, past, leases, history', async () => {
    await fill(source);
    await source.snapshot(file);
    const info = await restoreEmbeddedStore(file, target, { bumpRevisionBy: 0 });
    await using restored = await open(target);
    const revision = await source.revision();
    expect(info.revision).toBe(revision);
    expect(await restored.revision()).toBe(revision);
    for (let at = 4; at <= revision; at++) expect(await pairsOf(restored, at)).toEqual(await pairsOf(source, at));
    await expectRefusal(restored.get('a', { revision: 3 }), 'Compacted', { compactRevision: 4 });
    expect(await restored.leaseInfo(5n)).toMatchObject({ grantedTtlSeconds: 60, keys: ['leased'] });
    await using watch = restored.watch(everyKey, { fromRevision: 4 });
    await using original = source.watch(everyKey, { fromRevision: 4 });
    expect(namesIn(await readThrough(watch, revision))).toEqual(namesIn(await readThrough(original, revision)));
  });

  it('restored is ahead of all that clients have seen, and tells them so', async () => {
    await fill(source);
    const { revision } = await source.snapshot(file);
    const info = await restoreEmbeddedStore(file, target, { bumpRevisionBy: 1000 });
    expect(info.revision).toBe(revision! + 1000);
    await using restored = await open(target);
    expect(await restored.revision()).toBe(revision! + 1000);
    expect(await pairsOf(restored)).toEqual(await pairsOf(source));
    for (const fromRevision of [4, revision!, revision! + 1, revision! + 999]) {
      await using watch = restored.watch(everyKey, { fromRevision });
      await expectRefusal(watch.next(), 'Compacted', { compactRevision: revision! + 1000 });
    }
    await expectRefusal(restored.range(everyKey, { revision: revision! }), 'Compacted');
    await using watch = restored.watch(everyKey, { fromRevision: revision! + 1001 });
    expect(await put(restored, 'new')).toBe(revision! + 1001);
    expect((await watch.next()).value).toMatchObject({ revision: revision! + 1001, events: [{ kv: { key: 'new' } }] });
  });

  it('of a store whose last key is gone keeps the revision through a bump and another opening', async () => {
    await put(source, 'a');
    await remove(source, everyKey);
    await source.snapshot(file);
    await restoreEmbeddedStore(file, target, { bumpRevisionBy: 10 });
    const first = await open(target);
    expect(await first.revision()).toBe(13);
    await expectRefusal(first.compact(13, { physical: true }), 'Compacted');
    await first.close();
    await using second = await open(target);
    expect(await second.revision()).toBe(13);
    expect(await put(second, 'b')).toBe(14);
  });

  it('taken while writers write and a compaction runs is the state of one moment', async () => {
    const value = 'v'.repeat(2000);
    for (let i = 0; i < 600; i++) void source.txn({ then: [putOp(`k${i}/a`, value), putOp(`k${i}/b`, value)] });
    await put(source, 'x');
    let isDone = false;
    let writes = 0;
    const writer = async () => {
      while (!isDone) {
        const key = `k${writes++ % 600}`;
        await source.txn({ then: [putOp(`${key}/a`, String(writes)), putOp(`${key}/b`, String(writes))] });
      }
    };
    const writers = [writer(), writer(), writer()];
    const compacting = source.compact(await source.revision(), { physical: true });
    const { revision } = await source.snapshot(file);
    isDone = true;
    await Promise.all([...writers, compacting]);
    expect(await source.revision()).toBeGreaterThan(revision!);
    await restoreEmbeddedStore(file, target, { bumpRevisionBy: 0 });
    await using restored = await open(target);
    expect(await restored.revision()).toBe(revision);
    expect(await pairsOf(restored)).toEqual(await pairsOf(source, revision));
  });
});

describe('writing a snapshot', () => {
  it('refuses a file that exists, and leaves it alone', async () => {
    writeFileSync(file, 'precious');
    await expectRefusal(source.snapshot(file), 'InvalidArgument');
    expect(readFileSync(file, 'utf8')).toBe('precious');
    expect(readdirSync(dir.path).sort()).toEqual(['snapshot', 'source']);
  });

  it('leaves nothing behind when it is aborted', async () => {
    await fill(source);
    const stop = new AbortController();
    const reason = new Error('enough');
    const writing = source.snapshot(file, { signal: stop.signal });
    stop.abort(reason);
    await expect(writing).rejects.toBe(reason);
    expect(readdirSync(dir.path)).toEqual(['source']);
  });

  it('ends with Closed when the store closes meanwhile', async () => {
    for (let i = 0; i < 40; i++) await put(source, `k${i}`, 'x'.repeat(200_000));
    const writing = source.snapshot(file);
    const refused = expectRefusal(writing, 'Closed');
    await source.close();
    await refused;
    expect(readdirSync(dir.path)).toEqual(['source']);
  });

  it('twice to one file makes it once, whole, and refuses the other', async () => {
    for (let i = 0; i < 20; i++) await put(source, `k${i}`, 'x'.repeat(200_000));
    const first = source.snapshot(file);
    await put(source, 'between');
    const outcomes = await Promise.allSettled([first, source.snapshot(file)]);
    const made = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    expect(made).toHaveLength(1);
    expect(readFileSync(file).subarray(-32).toString('hex')).toBe(made[0]!.sha256);
    await restoreEmbeddedStore(file, target);
  });
});

describe('restoring', () => {
  let whole: Buffer;
  beforeEach(async () => {
    await fill(source);
    await source.snapshot(file);
    whole = readFileSync(file);
  });

  /** The same file with other bytes in the middle and a sum that fits them. */
  function forged(change: (bytes: Buffer) => void): Buffer {
    const bytes = Buffer.from(whole.subarray(0, -32));
    change(bytes);
    return Buffer.concat([bytes, createHash('sha256').update(bytes).digest()]);
  }

  it.each<[what: string, make: () => Buffer, message: string]>([
    ['an empty file', () => Buffer.alloc(0), 'it is too short'],
    ['a few bytes', () => whole.subarray(0, 30), 'it is too short'],
    ['a file cut short by one byte', () => whole.subarray(0, -1), 'its checksum does not match'],
    ['half a file', () => whole.subarray(0, whole.length / 2), 'its checksum does not match'],
    ['a file with one byte too many', () => Buffer.concat([whole, Buffer.alloc(1)]), 'its checksum does not match'],
    ['something else', () => Buffer.alloc(5000, 'else'), 'it is not a snapshot of ours'],
    ['a snapshot of another generation', () => forged((b) => b.write('2', 19)), 'it is not a snapshot of ours'],
  ])('refuses %s, and makes nothing', async (_what, make, message) => {
    writeFileSync(file, make());
    const refused = restoreEmbeddedStore(file, target);
    await expectRefusal(refused, 'Corrupt', { message: expect.stringContaining(message) });
    expect(existsSync(target)).toBe(false);
  });

  it('refuses a file with any bit flipped', async () => {
    for (let i = 0; i < 60; i++) {
      const bit = Math.floor((i / 60) * whole.length * 8) + (i % 8);
      const flipped = Buffer.from(whole);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      writeFileSync(file, flipped);
      await expectRefusal(restoreEmbeddedStore(file, target), 'Corrupt');
    }
    expect(existsSync(target)).toBe(false);
  });

  it('refuses a newer format, and makes nothing', async () => {
    writeFileSync(
      file,
      forged((bytes) => bytes.write('"format":9', bytes.indexOf('"format":1'))),
    );
    await expectRefusal(restoreEmbeddedStore(file, target), 'UnsupportedFormat');
    expect(existsSync(target)).toBe(false);
  });

  it('refuses a damaged record under a fitting sum, and can be tried again with a good file', async () => {
    writeFileSync(
      file,
      forged((bytes) => bytes.write('X', bytes.indexOf('x'.repeat(100)))),
    );
    await expectRefusal(restoreEmbeddedStore(file, target), 'Corrupt');
    writeFileSync(file, whole);
    await restoreEmbeddedStore(file, target);
  });

  it('refuses a file that is not there', async () => {
    await expectRefusal(restoreEmbeddedStore(join(dir.path, 'none'), target), 'InvalidArgument');
    expect(existsSync(target)).toBe(false);
  });

  it('refuses a directory that holds something, and leaves it alone', async () => {
    mkdirSync(target);
    writeFileSync(join(target, 'note'), 'mine');
    await expectRefusal(restoreEmbeddedStore(file, target), 'InvalidArgument');
    expect(readdirSync(target)).toEqual(['note']);
    await expectRefusal(restoreEmbeddedStore(file, join(dir.path, 'source')), 'InvalidArgument');
  });

  it('takes an empty directory, and leaves only the store in it', async () => {
    mkdirSync(target);
    await restoreEmbeddedStore(file, target);
    expect(readdirSync(target).sort()).toEqual(['SEAL', 'data.mdb']);
  });

  it.each([-1, 1.5, Number.NaN])('refuses to bump by %d, and makes nothing', async (bumpRevisionBy) => {
    await expectRefusal(restoreEmbeddedStore(file, target, { bumpRevisionBy }), 'InvalidArgument');
    expect(existsSync(target)).toBe(false);
  });
});
