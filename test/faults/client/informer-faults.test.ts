/** Informers while servers and networks fail. Whatever happened: once it is quiet, the store equals the server's state. */
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Informer, type InformerState } from '../../../src/client/advanced.ts';
import { type InformerOptions, type KubeClient, mergePatch } from '../../../src/client/index.ts';
import { type ConfigMap, configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import { openEmbeddedStore, restoreEmbeddedStore, type Store } from '../../../src/store/index.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { Believer } from '../../support/client/believer.ts';
import { adminOf, adminThrough, until } from '../../support/client/client-under-test.ts';
import { expectSame } from '../../support/client/informer-under-test.ts';
import { writeALot } from '../../support/server/writers.ts';
import { networkFaults, startTcpProxyTo, type TcpProxy } from '../../support/tcp-proxy.ts';

const timeouts = { connectMs: 1000, headersMs: 500, idleMs: 500 };
const reflector = { backoff: { minMs: 1, maxMs: 20 }, idleTimeoutMs: 300 };

type Grounds = AsyncDisposable & {
  readonly server: TestServer;
  readonly proxy: TcpProxy;
  readonly informer: Informer<ConfigMap>;
  readonly handler: Believer<ConfigMap>;
  /** The states it went through. */
  readonly states: InformerState[];
  /** Past the proxy; another one after each restart. */
  admin(): Promise<KubeClient>;
  /** Compares server, store and handler; nobody else may write. */
  settle(): Promise<void>;
};

/** A server, a network that can be told to fail, and an informer behind it. */
async function grounds(options: Partial<InformerOptions<ConfigMap>> = {}): Promise<Grounds> {
  const server = await startTestServer();
  const proxy = await startTcpProxyTo(server);
  const client = await adminThrough(server, proxy.port, { timeouts });
  const states: InformerState[] = [];
  const onFreshness = ({ state }: { state: InformerState }) => void states.push(state);
  const informer = new Informer(client, configMaps, { allNamespaces: true, reflector, onFreshness, ...options });
  const handler = new Believer<ConfigMap>();
  const subscription = informer.subscribe(handler.take, { limit: 1e6 });
  const admins: KubeClient[] = [];
  const admin = async () => {
    const one = await adminOf(server);
    admins.push(one);
    return one;
  };
  return {
    ...{ server, proxy, informer, handler, states, admin },
    async settle() {
      await expectSame(informer, server.client, await admin());
      await subscription.idle();
      handler.expectSame(informer);
    },
    async [Symbol.asyncDispose]() {
      for (const one of [informer, ...admins, client, proxy, server]) await one[Symbol.asyncDispose]();
    },
  };
}

it.each(networkFaults)('a network that %s while others write costs no relist and no event', async (_fault, strike) => {
  await using all = await grounds();
  const { server, proxy, informer } = all;
  await informer.synced();
  for (let round = 0; round < 4; round++) {
    const writing = writeALot({ client: server.client, writes: 120, seed: round });
    await until(() => informer.freshness.state === 'current');
    const { streams } = informer.metrics;
    strike(proxy);
    await writing;
    await until(() => informer.metrics.streams > streams);
  }
  await all.settle();
  const { lists, failures, updated } = informer.metrics;
  expect({ lists, failed: failures > 0, updated: updated > 0 }).toEqual({ lists: 1, failed: true, updated: true });
});

it('a network that refuses connections from the beginning is waited for', async () => {
  await using all = await grounds();
  all.proxy.refuses = true;
  all.proxy.cut();
  await until(() => all.informer.metrics.failures >= 3);
  expect(all.informer.freshness).toMatchObject({ state: 'syncing', error: { name: 'TransportError' } });
  all.proxy.refuses = false;
  await all.informer.synced();
  await all.settle();
});

it('a server that is restarted on the same data, again and again, costs no relist', async () => {
  await using all = await grounds();
  const { server, informer, states } = all;
  await informer.synced();
  for (let round = 0; round < 3; round++) {
    await writeALot({ client: server.client, writes: 100, seed: round });
    await server.restart();
    await writeALot({ client: server.client, writes: 50, seed: round + 10 });
  }
  await all.settle();
  expect(informer.metrics.lists).toBe(1);
  expect(states).toContain('interrupted');
  expect(informer.freshness.state).toBe('current');
});

it('history that is compacted during an outage is made up for by exactly the difference', async () => {
  await using all = await grounds();
  const { server, proxy, informer, handler } = all;
  const maps = (await all.admin()).resource(configMaps);
  for (const name of ['changed', 'gone', 'replaced', 'same']) await maps.create({ metadata: { name } });
  await informer.synced();
  await all.settle();
  const start = handler.told.length;
  const same = informer.get('default/same');

  proxy.refuses = true;
  proxy.cut();
  for (const v of ['1', '2', '3']) await maps.patch('changed', mergePatch({ data: { v } }));
  await maps.delete('gone');
  await maps.delete('replaced');
  await maps.create({ metadata: { name: 'replaced' } });
  await maps.create({ metadata: { name: 'fresh' } });
  await maps.create({ metadata: { name: 'fleeting' } });
  await maps.delete('fleeting');
  await server.stop();
  await withStore(server, async (store) => store.compact(await revisionOf(store)));
  await server.start();
  proxy.refuses = false;

  await until(() => informer.metrics.lists === 2);
  await until(() => handler.told.length >= start + 5);
  const want = ['deleted default/gone', 'deleted default/replaced', 'updated default/changed', 'added default/fresh'];
  expect(handler.since(start).sort()).toEqual([...want, 'added default/replaced'].sort());
  expect(handler.told.slice(start).find(({ key }) => key === 'default/gone')).toMatchObject({ isTombstone: true });
  expect(informer.get('default/same')).toBe(same);
  await all.settle();
});

it('a server that is set back to a backup sets the store back, too', async () => {
  await using all = await grounds();
  const { server, informer, handler } = all;
  const before = (await all.admin()).resource(configMaps);
  await before.create({ metadata: { name: 'kept' }, data: { v: 'old' } });
  await before.create({ metadata: { name: 'lost-again' } });
  await informer.synced();
  await server.stop();
  const backup = join(server.dataDir, 'backup');
  await withStore(server, (store) => store.snapshot(backup));
  await server.start();

  const after = (await all.admin()).resource(configMaps);
  await after.patch('kept', mergePatch({ data: { v: 'new' } }));
  await after.delete('lost-again');
  const { metadata } = await after.create({ metadata: { name: 'after-backup' } });
  await informer.reached(metadata.resourceVersion);
  await until(() => handler.believed.has('default/after-backup'));
  const start = handler.told.length;

  await server.stop();
  await rename(join(server.dataDir, 'store'), join(server.dataDir, 'store-before'));
  await restoreEmbeddedStore(backup, join(server.dataDir, 'store'));
  await server.start();
  await until(() => handler.told.length >= start + 3);
  expect(handler.since(start).slice(0, 3).sort()).toEqual([
    'added default/lost-again',
    'deleted default/after-backup',
    'updated default/kept',
  ]);
  await all.settle();
  expect(informer.get('default/kept')?.data).toEqual({ v: 'old' });
});

it('slow and throwing handlers change nothing of that', async () => {
  const errors: unknown[] = [];
  await using all = await grounds({ onError: (error) => void errors.push(error) });
  const { server, proxy, informer } = all;
  const slow = new Believer<ConfigMap>();
  await using a = informer.subscribe(
    async (event) => {
      await new Promise((resolve) => setImmediate(resolve));
      slow.take(event);
    },
    { limit: 2 },
  );
  await using b = informer.subscribe(() => {
    throw new Error('bug');
  });
  await informer.synced();
  for (let round = 0; round < 3; round++) {
    await writeALot({ client: server.client, writes: 100, names: 8, seed: round });
    if (round === 1) await server.restart();
    else proxy.cut();
  }
  await all.settle();
  await Promise.all([a.idle(), b.idle()]);
  slow.expectSame(informer);
  expect(errors.length).toBe(b.metrics.delivered);
});

/** The data of a server that is stopped. */
async function withStore(server: TestServer, work: (store: Store) => Promise<unknown>): Promise<void> {
  const store = await openEmbeddedStore({ dataDir: join(server.dataDir, 'store') });
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

async function revisionOf(store: Store): Promise<number> {
  return (await store.status()).revision;
}
