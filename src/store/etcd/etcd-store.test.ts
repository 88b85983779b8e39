/** What only the etcd store has to show, beyond the contract in test/contract/: its files, large answers, fragments. */
import { createHash } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EtcdCluster, etcdVersion, startEtcd } from '../../../test/support/etcd-server.ts';
import type { Store } from '../kv.ts';
import { openEtcdStore } from './etcd-store.ts';

const version = etcdVersion();

describe.skipIf(!version)(`the store on etcd ${version ?? '(skipped: none on the PATH)'}`, () => {
  let cluster: EtcdCluster;
  let store: Store;
  let folder = '';

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'longwatch-etcd-store-'));
    cluster = await startEtcd();
    store = await openEtcdStore({ endpoints: cluster.urls });
  });
  afterAll(async () => {
    await store?.close();
    await cluster?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const put = (key: string, value: Uint8Array) => store.txn({ then: [{ kind: 'put', key, value }] });

  it('writes a snapshot that ends in the checksum of what is before it', async () => {
    const file = join(folder, 'snapshot.db');
    await put('snapshot', Buffer.alloc(1_000_000, 's'));
    const info = await store.snapshot(file);
    const written = readFileSync(file);
    expect(info.bytes).toBe(written.length);
    expect(written.length % 512).toBe(32); // what etcdctl takes for a snapshot with a checksum
    expect(written.subarray(-32).toString('hex')).toBe(info.sha256);
    expect(createHash('sha256').update(written.subarray(0, -32)).digest('hex')).toBe(info.sha256);
    expect(written.includes('ssssssss')).toBe(true);
  });

  it('leaves a file alone that is there already, and no file behind when it fails', async () => {
    const taken = join(folder, 'taken');
    writeFileSync(taken, 'mine');
    await expect(store.snapshot(taken)).rejects.toMatchObject({ code: 'InvalidArgument' });
    expect(readFileSync(taken, 'utf8')).toBe('mine');
    await expect(store.snapshot(join(folder, 'no', 'folder'))).rejects.toMatchObject({ code: 'InvalidArgument' });
    const aborted = join(folder, 'aborted');
    const stop = new AbortController();
    const saving = store.snapshot(aborted, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(saving).rejects.toThrow('enough');
    expect(existsSync(aborted)).toBe(false);
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
  });

  it('reads a range of tens of MB, and delivers a revision of several MB in one batch', async () => {
    await using watch = store.watch({ prefix: 'large/' }, { prevKv: true });
    await watch.started();
    const value = Buffer.alloc(1_000_000, 'l');
    for (let i = 0; i < 20; i++) await put(`large/${i}`, value);
    const { kvs, count } = await store.range({ prefix: 'large/' });
    expect([kvs.length, count]).toEqual([20, 20]);
    expect(kvs.every((kv) => value.equals(kv.value))).toBe(true);

    const deletion = await store.txn({ then: [{ kind: 'delete', range: { prefix: 'large/' } }] });
    let batch = (await watch.next()).value!;
    while (batch.revision < deletion.revision) batch = (await watch.next()).value!;
    expect(batch.events).toHaveLength(20); // 20 MB of previous pairs: etcd sent it in pieces
    for (const { type, prevKv, kv } of batch.events)
      expect([type, kv.modRevision, prevKv?.value.length]).toEqual(['delete', deletion.revision, value.length]);
  });

  it('shows a watch from now each write made after its call, though nobody waited for its start', async () => {
    for (let i = 0; i < 20; i++) {
      await using one = await openEtcdStore({ endpoints: cluster.urls }); // the first watch of a store has to connect
      await using watch = one.watch({ prefix: 'early/' });
      const { revision } = await one.txn({ then: [{ kind: 'put', key: `early/${i}`, value: Buffer.from('v') }] });
      expect((await watch.next()).value?.revision).toBe(revision);
    }
  });

  it('leaves no listener on the signal of a watch, however it ends', async () => {
    const stop = new AbortController();
    const { signal } = stop;
    const watches = Array.from({ length: 12 }, () => store.watch({ key: 'listen' }, { signal }));
    for (const watch of watches.slice(1)) await watch.return();
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    const next = watches[0]!.next();
    stop.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
    await expect(watches[0]!.started()).rejects.toThrow('enough');
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('is refused at once for a bad endpoint, and after its time for one where nobody answers', async () => {
    await expect(openEtcdStore({ endpoints: ['etcd:2379'] })).rejects.toMatchObject({ code: 'InvalidArgument' });
    const nobody = openEtcdStore({ endpoints: ['http://127.0.0.1:1'], requestTimeoutMs: 50 });
    await expect(nobody).rejects.toMatchObject({
      code: 'Unavailable',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });
});
