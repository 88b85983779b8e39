/** Snapshots between etcd and us, in both directions: every revision that was readable is, with the same pairs. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts';
import { restoreEmbeddedStore } from '../../src/store/embedded/snapshot/snapshot-file.ts';
import { openEtcdStore } from '../../src/store/etcd/etcd-store.ts';
import { startEtcdFront } from '../../src/store/etcd-front/etcd-front.ts';
import { everyKey } from '../../src/store/keys.ts';
import type { LeaseId, Revision, Store } from '../../src/store/kv.ts';
import { etcdctl, etcdVersion, hasEtcdctl, startEtcd } from '../support/etcd-server.ts';
import { openTemporaryEmbedded } from '../support/store/embedded-under-test.ts';
import { bytes, expectRefusal, plain, putOp } from '../support/store/store-under-test.ts';
import { plainEvent, readThrough } from '../support/store/watching.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longwatch-etcd-snapshot-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const LEASE: LeaseId = 77n;

/** A history with everything in it: values of all sizes, deletes, keys that come back, leases, a compaction. */
async function fill(store: Store): Promise<Revision> {
  await store.grantLease(5000, { id: LEASE });
  for (let i = 0; i < 300; i++) {
    const value = Buffer.alloc(i % 50 === 0 ? 20_000 : i % 7, i);
    await store.txn({ then: [{ kind: 'put', key: `/k/${i % 40}`, value }, putOp(`/n/${i}`)] });
    if (i % 11 === 0) await store.txn({ then: [{ kind: 'delete', range: { prefix: `/k/${i % 4}` } }] });
  }
  const compacted = await store.revision();
  await store.txn({ then: [putOp('/leased', 'x', LEASE), putOp('\xff\0binary', 'y')] });
  const putAndDelete = ['/k/5', '/both'].map((key) => ({ kind: 'txn', txn: { then: [putOp(key, 'new')] } }) as const);
  const removal = { kind: 'txn', txn: { then: [{ kind: 'delete', range: { key: '/both' } }] } } as const;
  await store.txn({ then: [...putAndDelete, removal] });
  await store.txn({ then: [{ kind: 'delete', range: { prefix: '/k/3' } }] });
  await store.compact(compacted);
  return compacted;
}

async function expectSame(copy: Store, original: Store, from: Revision): Promise<void> {
  const now = await original.revision();
  expect(await copy.revision()).toBe(now);
  for (let revision = from; revision <= now; revision++) {
    const [mine, theirs] = await Promise.all([copy, original].map((store) => store.range(everyKey, { revision })));
    expect(mine!.kvs.map(plain)).toEqual(theirs!.kvs.map(plain));
  }
  await expectRefusal(copy.range(everyKey, { revision: from - 1 }), 'Compacted');
  const [mine, theirs] = await Promise.all(
    [copy, original].map(async (store) => {
      await using watch = store.watch(everyKey, { fromRevision: from + 1, prevKv: true });
      return (await readThrough(watch, now)).flatMap(({ events }) => events.map(plainEvent));
    }),
  );
  expect(mine).toEqual(theirs);
  expect(await copy.leaseInfo(LEASE)).toMatchObject({ grantedTtlSeconds: 5000, keys: ['/leased'] });
  // What comes next goes on where it was: versions are counted from the right number.
  for (const store of [copy, original])
    await store.txn({ then: ['/k/5', '/k/7', '/n/9'].map((key) => putOp(key, 'on')) });
  const after = await Promise.all([copy, original].map((store) => store.range(everyKey)));
  expect(after[0]!.kvs.map(plain)).toEqual(after[1]!.kvs.map(plain));
}

async function restored(file: string, name: string): Promise<Store> {
  const dataDir = join(folder, name);
  await restoreEmbeddedStore(file, dataDir, { bumpRevisionBy: 0 });
  return openEmbeddedStore({ dataDir, durability: 'none' });
}

it('what is saved through the front is restored by us as it was', async () => {
  await using embedded = await openTemporaryEmbedded();
  const compacted = await fill(embedded.store);
  await using front = await startEtcdFront(embedded.store, { urls: ['http://127.0.0.1:0'] });
  await using client = await openEtcdStore({ endpoints: [...front.urls] });
  const file = join(folder, 'through-the-front');
  await client.snapshot(file);
  await using copy = await restored(file, 'from-the-front');
  await expectSame(copy, embedded.store, compacted);
});

it('an empty store has a snapshot, too', async () => {
  await using embedded = await openTemporaryEmbedded();
  await using front = await startEtcdFront(embedded.store, { urls: ['http://127.0.0.1:0'] });
  await using client = await openEtcdStore({ endpoints: [...front.urls] });
  await client.snapshot(join(folder, 'empty'));
  await using copy = await restored(join(folder, 'empty'), 'from-empty');
  expect(await copy.range(everyKey)).toMatchObject({ revision: 1, count: 0 });
});

it('damage to it is told, and nothing is made', async () => {
  await using embedded = await openTemporaryEmbedded();
  await embedded.store.txn({ then: [putOp('/a', 'x')] });
  await using front = await startEtcdFront(embedded.store, { urls: ['http://127.0.0.1:0'] });
  await using client = await openEtcdStore({ endpoints: [...front.urls] });
  const file = join(folder, 'whole');
  await client.snapshot(file);
  const whole = await readFile(file);
  for (const [name, damaged] of Object.entries({
    flipped: Buffer.concat([whole.subarray(0, 5000), bytes('!'), whole.subarray(5001)]),
    cut: whole.subarray(0, whole.length - 4096),
    'without its sum': whole.subarray(0, whole.length - 32),
  })) {
    await writeFile(join(folder, name), damaged);
    await expectRefusal(restoreEmbeddedStore(join(folder, name), join(folder, `from-${name}`)), 'Corrupt');
  }
});

const version = etcdVersion();
const isPossible = version !== undefined && hasEtcdctl();
describe.skipIf(!isPossible)(`with etcd ${isPossible ? version : 'and etcdctl, which are not on the PATH'}`, () => {
  it('etcdctl saves what the front serves, finds it whole, and etcd shows the same', { timeout: 60_000 }, async () => {
    await using embedded = await openTemporaryEmbedded();
    const compacted = await fill(embedded.store);
    await using front = await startEtcdFront(embedded.store, { urls: ['http://127.0.0.1:0'] });
    const file = join(folder, 'by-etcdctl');
    await etcdctl('--endpoints', new URL(front.urls[0]!).host, 'snapshot', 'save', file);
    const status = JSON.parse(await etcdctl('snapshot', 'status', file, '-w', 'json'));
    expect(status).toMatchObject({ revision: await embedded.store.revision() });
    await using etcd = await startEtcd({ snapshot: file });
    await using copy = await openEtcdStore({ endpoints: etcd.urls });
    await expectSame(copy, embedded.store, compacted);
  });

  it('we restore what etcdctl has saved of an etcd', { timeout: 60_000 }, async () => {
    await using etcd = await startEtcd();
    await using original = await openEtcdStore({ endpoints: etcd.urls });
    const compacted = await fill(original);
    const file = join(folder, 'of-etcd');
    await etcdctl('--endpoints', new URL(etcd.urls[0]!).host, 'snapshot', 'save', file);
    await using copy = await restored(file, 'from-etcd');
    await expectSame(copy, original, compacted);
  });
});
