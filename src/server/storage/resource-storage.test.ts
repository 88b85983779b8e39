import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { withOther } from '../../../test/support/store/other-store.ts';
import { backgroundClock, type KubeObject } from '../../api/index.ts';
import { openEmbeddedStore, type Store, StoreError } from '../../store/index.ts';
import { CreateRight } from '../auth/create-right.ts';
import { Registry } from '../registry/registry.ts';
import { type ResourceStorage, untilWritten } from './resource-storage.ts';
import { ResourceStorages } from './resource-storages.ts';

let dataDir: string;
let store: Store;
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'longwatch-writes-'));
  store = await openEmbeddedStore({ dataDir, durability: 'none' });
});
afterAll(async () => {
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** No cache: what is tested here is between the writes and the store. */
function viewOver(over: Store, group: string, plural: string): ResourceStorage {
  const options = { registry: new Registry(), store: over, root: '/registry', clock: backgroundClock, log: () => {} };
  return new ResourceStorages({ ...options, watchCacheLimits: () => 'off' }).storageOf(group, plural);
}

let names = 0;
function configMap(data: Record<string, string> = {}): KubeObject {
  const metadata = { name: `cm-${names++}`, namespace: 'ns', uid: 'u-1' };
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata, data };
}

const statusOf = (code: number, reason?: string) =>
  expect.objectContaining({ code, ...(reason && { status: expect.objectContaining({ reason }) }) });

describe('ResourceStorage', () => {
  it('creates once: the second finds it taken', async () => {
    const storage = viewOver(store, '', 'configmaps');
    const object = configMap({ a: '1' });
    const created = await storage.create(object, CreateRight.ofServer);
    expect(created.parse()).toMatchObject({
      data: { a: '1' },
      metadata: { resourceVersion: String(created.revision) },
    });
    expect(await store.revision()).toBe(created.revision);
    await expect(storage.create(object, CreateRight.ofServer)).rejects.toThrow(statusOf(409, 'AlreadyExists'));
    expect((await storage.read('ns', object.metadata.name!))?.bytes).toEqual(created.bytes);
  });

  it('has a cache keep what was written as its writer was given it, and prepares the next write on that', async () => {
    const options = { registry: new Registry(), store, root: '/registry', clock: backgroundClock, log: () => {} };
    const storages = new ResourceStorages(options);
    const storage = storages.followedStorageOf('', 'configmaps');
    const { signal } = new AbortController();
    expect(await storage.objects.waitFor(1, 10_000, signal)).toBe(true);
    const object = configMap({ a: '1' });
    const name = object.metadata.name!;
    const created = await storage.create(object, CreateRight.ofServer);
    await storage.objects.waitFor(created.revision, 10_000, signal);
    expect(storage.objects.peek('ns', name)).toBe(created);
    expect(await storage.read('ns', name)).toBe(created);
    const same = await storage.update(created, { ...object, data: { a: '1' } });
    expect(same).toEqual({ stored: created });
    const done = await storage.update(created, { ...object, data: { a: '2' } });
    const updated = 'stored' in done ? done.stored : undefined;
    await storage.objects.waitFor(updated!.revision, 10_000, signal);
    expect(storage.objects.peek('ns', name)).toBe(updated);
    expect(updated!.parse()).toMatchObject({ data: { a: '2' } });
    await storages.close();
  });

  it('replaces what it has seen and nothing else', async () => {
    const storage = viewOver(store, '', 'configmaps');
    const object = configMap({ a: '1' });
    const first = await storage.create(object, CreateRight.ofServer);
    const done = await storage.update(first, { ...object, data: { a: '2' } });
    const second = 'stored' in done ? done.stored : undefined;
    expect(second?.revision).toBe(first.revision + 1);
    const late = await storage.update(first, { ...object, data: { a: '3' } });
    expect('instead' in late && late.instead?.bytes).toEqual(second?.bytes);
    expect(await storage.delete(first)).toMatchObject({ instead: { revision: second?.revision } });
    const removal = await storage.delete(second!);
    const removed = 'deleted' in removal ? removal.deleted : undefined;
    expect(removed?.parse()).toMatchObject({
      data: { a: '2' },
      metadata: { resourceVersion: String(first.revision + 2) },
    });
    expect(await storage.update(second!, object)).toEqual({ instead: undefined });
    expect(await storage.delete(second!)).toEqual({ instead: undefined });
  });

  it('writes nothing when nothing changes, whatever the order of fields', async () => {
    const storage = viewOver(store, '', 'configmaps');
    const object = { ...configMap({ a: '1', b: '2' }), immutable: false };
    const first = await storage.create(object, CreateRight.ofServer);
    const { kind, apiVersion, metadata, immutable } = object;
    const turned: KubeObject = {
      immutable,
      data: { b: '2', a: '1' },
      metadata: { ...metadata, resourceVersion: '1' },
      kind,
      apiVersion,
    };
    expect(await storage.update(first, turned)).toEqual({ stored: first });
    expect(await store.revision()).toBe(first.revision);
    const done = await storage.update(first, { ...turned, data: { b: '1', a: '2' } });
    expect('stored' in done && done.stored.revision).toBe(first.revision + 1);
  });

  it('loses none of many changes made at once', async () => {
    const storage = viewOver(store, '', 'configmaps');
    const object = configMap();
    const first = await storage.create(object, CreateRight.ofServer);
    await Promise.all(
      Array.from({ length: 12 }, (_, writer) =>
        untilWritten(storage, first, object.metadata.name!, async (current) => {
          const old = current.parse();
          const next = { ...old, data: { ...(old.data as object), [`w${writer}`]: '1' } };
          const outcome = await storage.update(current, next);
          return 'stored' in outcome ? { done: outcome.stored } : outcome;
        }),
      ),
    );
    const last = await storage.read('ns', object.metadata.name!);
    expect(Object.keys(last!.parse().data as object)).toHaveLength(12);
    expect(last!.revision).toBe(first.revision + 12);
  });

  it('gives up on what is gone', async () => {
    const storage = viewOver(store, '', 'configmaps');
    const attempt = vi.fn(async () => ({ instead: undefined }));
    await expect(untilWritten(storage, undefined, 'x', attempt)).rejects.toThrow(statusOf(404));
    expect(attempt).not.toHaveBeenCalled();
    const first = await storage.create(configMap(), CreateRight.ofServer);
    await expect(untilWritten(storage, first, 'x', attempt)).rejects.toThrow('configmaps "x" not found');
  });

  describe('of events', () => {
    const event = (name: string): KubeObject => {
      const metadata = { name, namespace: 'ns', uid: 'u' };
      return { kind: 'Event', apiVersion: 'v1', metadata, involvedObject: {}, message: '' };
    };

    it('gives them about an hour, by leases that close ones share', async () => {
      const storage = viewOver(store, '', 'events');
      const before = (await store.leases()).length;
      for (let at = 0; at < 5; at++) await storage.create(event(`e${names++}`), CreateRight.ofServer);
      const first = await storage.create(event('changed'), CreateRight.ofServer);
      const outcome = await storage.update(first, { ...event('changed'), message: 'again' });
      expect('stored' in outcome).toBe(true);
      const leases = await store.leases();
      expect(leases.length).toBe(before + 1);
      const info = await store.leaseInfo(leases.at(-1)!);
      expect(info?.grantedTtlSeconds).toBeGreaterThanOrEqual(3600);
      expect(info?.grantedTtlSeconds).toBeLessThanOrEqual(3700);
      expect(info?.keys).toHaveLength(6);
    });

    it('takes a new lease when the old one is shared out, and when one could not be had', async () => {
      vi.useFakeTimers({ toFake: ['Date'] });
      try {
        const grantLease = vi.fn<Store['grantLease']>((...args) => store.grantLease(...args));
        grantLease.mockRejectedValueOnce(new StoreError('Unavailable', 'Cannot grant'));
        const storage = viewOver(withOther(store, { grantLease }), '', 'events');
        await expect(storage.create(event(`e${names++}`), CreateRight.ofServer)).rejects.toThrow(
          statusOf(500, 'ServerTimeout'),
        );
        await storage.create(event(`e${names++}`), CreateRight.ofServer);
        vi.setSystemTime(Date.now() + 59_000);
        await storage.create(event(`e${names++}`), CreateRight.ofServer);
        expect(grantLease).toHaveBeenCalledTimes(2);
        vi.setSystemTime(Date.now() + 2000);
        await storage.create(event(`e${names++}`), CreateRight.ofServer);
        expect(grantLease).toHaveBeenCalledTimes(3);
      } finally {
        vi.useRealTimers();
      }
    });

    it('gives no lease to anything else', async () => {
      const created = await viewOver(store, '', 'configmaps').create(configMap(), CreateRight.ofServer);
      const { kv } = await store.get(`/registry/configmaps/${created.key}`);
      expect(kv?.lease).toBe(0n);
    });
  });

  describe('when the store refuses', () => {
    const refusing = (code: ConstructorParameters<typeof StoreError>[0]) =>
      viewOver(
        withOther(store, { txn: () => Promise.reject(new StoreError(code, 'the store says no')) }),
        '',
        'configmaps',
      );

    it.each([
      ['InvalidArgument', 413, 'RequestEntityTooLarge'],
      ['TooManyRequests', 429, 'TooManyRequests'],
      ['Unavailable', 500, 'ServerTimeout'],
    ] as const)('answers %s with %i %s', async (code, status, reason) => {
      await expect(refusing(code).create(configMap(), CreateRight.ofServer)).rejects.toThrow(statusOf(status, reason));
    });

    it('does not call it a conflict that the disk is full: clients would try again for ever', async () => {
      const refused = await refusing('NoSpace')
        .create(configMap(), CreateRight.ofServer)
        .catch((err: { code: number }) => err);
      expect(refused).not.toMatchObject({ code: 409 });
    });

    it('does not ask to be tried again when the write may have happened', async () => {
      const refused = await refusing('OutcomeUnknown')
        .create(configMap(), CreateRight.ofServer)
        .catch((err: unknown) => err);
      expect(refused).toMatchObject({ code: 500 });
      expect(refused).not.toMatchObject({ status: { details: { retryAfterSeconds: expect.anything() } } });
    });
  });
});
