/** Checkpoints while processes, servers and networks fail: what is on the disk is always a state that once was. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { Informer } from '../../../src/client/advanced.ts';
import { type KubeClient, mergePatch } from '../../../src/client/index.ts';
import { type ConfigMap, configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import { openEmbeddedStore, restoreEmbeddedStore, type Store } from '../../../src/store/index.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { Believer, versionsOf } from '../../support/client/believer.ts';
import { savedIn, untilSaved } from '../../support/client/checkpoint-under-test.ts';
import { adminOf, adminThrough, until } from '../../support/client/client-under-test.ts';
import { expectSame } from '../../support/client/informer-under-test.ts';
import { randomFrom } from '../../support/random.ts';
import { writeALot } from '../../support/server/writers.ts';
import { startTcpProxyTo } from '../../support/tcp-proxy.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const program = fileURLToPath(new URL('checkpoint-process.ts', import.meta.url));
const reflector = { backoff: { minMs: 1, maxMs: 20 }, idleTimeoutMs: 300 };
const timeouts = { connectMs: 1000, headersMs: 500, idleMs: 500 };

function start(client: KubeClient, file: string) {
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const checkpoint = { file, flushMs: 5 };
  const informer = new Informer(client, configMaps, { allNamespaces: true, reflector, checkpoint, onError });
  const handler = new Believer<ConfigMap>();
  const subscription = informer.subscribe(handler.take, { limit: 1e6 });
  return { informer, handler, subscription, errors };
}

/** However few writes a save takes along, there are always more. */
async function writeUntilGone(child: ChildProcess, client: Parameters<typeof writeALot>[0]['client'], seed: number) {
  for (let i = seed; child.exitCode === null && child.signalCode === null; i++)
    await writeALot({ client, writes: 30, seed: i });
}

it('a process that is killed at any moment leaves a state of the server, at its very version, and the next goes on from it', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps');
  await using client = await adminOf(server);
  const random = randomFrom(7);
  await writeALot({ client: server.client, writes: 100, seed: 1 });
  for (let round = 0; round < 4; round++) {
    const child = spawn(process.execPath, ['--import', 'tsx', program, server.kubeconfigPath, file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let writing: Promise<unknown> | undefined;
    let saves = 0;
    for await (const line of createInterface(child.stdout)) {
      if (line.startsWith('synced')) expect(Number(line.split(' ')[1]) > 0).toBe(round > 0);
      else expect(line.endsWith(round === 0 ? 'lists 1' : 'lists 0'), line).toBe(true);
      writing ??= writeUntilGone(child, server.client, round * 1000);
      if (++saves === 5 + Math.floor(random() * 30)) setTimeout(() => child.kill('SIGKILL'), random() * 10);
      if (saves > 40) child.kill('SIGKILL');
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    await writing;
    const saved = await savedIn(file);
    const resourceVersion = saved!.versions['*']!;
    const exact = { allNamespaces: true, resourceVersion, resourceVersionMatch: 'Exact' } as const;
    const then = await client.resource(configMaps).list(exact);
    expect(versionsOf(saved!.objects.values())).toEqual(versionsOf(then.items));
  }
  const { informer, handler, subscription, errors } = start(client, file);
  await expectSame(informer, server.client, client);
  await subscription.idle();
  handler.expectSame(informer);
  expect([informer.metrics.lists, errors]).toEqual([0, []]);
  await informer[Symbol.asyncDispose]();
  expect((await readdir(dir.path)).sort()).toEqual(['maps']);
}, 120_000);

it('with no server to be reached, reads are answered from the disk, and their age is told', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps');
  await using proxy = await startTcpProxyTo(server);
  await using client = await adminThrough(server, proxy.port, { timeouts });
  await writeALot({ client: server.client, writes: 60, seed: 1 });
  const first = start(client, file);
  await first.subscription.synced();
  await first.informer[Symbol.asyncDispose]();
  proxy.refuses = true;
  proxy.cut();
  const { informer } = start(client, file);
  await informer.synced();
  expect(versionsOf(informer.list())).toEqual(versionsOf(first.informer.list()));
  await until(() => informer.metrics.failures > 2);
  expect(informer.freshness).toMatchObject({ state: 'interrupted', error: { name: 'TransportError' } });
  const { lagMs } = informer.freshness;
  await until(() => informer.freshness.lagMs! > lagMs!);
  await writeALot({ client: server.client, writes: 60, seed: 2 });
  proxy.refuses = false;
  await expectSame(informer, server.client, client);
  expect([informer.metrics.lists, informer.freshness.state]).toEqual([0, 'current']);
  await informer[Symbol.asyncDispose]();
});

it('history that is compacted while nobody runs is made up for by exactly the difference', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps');
  await using before = await adminOf(server);
  const maps = before.resource(configMaps);
  for (const name of ['changed', 'gone', 'replaced', 'same']) await maps.create({ metadata: { name } });
  const first = start(before, file);
  await first.subscription.synced();
  await first.informer[Symbol.asyncDispose]();

  await maps.patch('changed', mergePatch({ data: { v: '1' } }));
  await maps.delete('gone');
  await maps.delete('replaced');
  await maps.create({ metadata: { name: 'replaced' } });
  await maps.create({ metadata: { name: 'fleeting' } });
  await maps.delete('fleeting');
  await maps.create({ metadata: { name: 'fresh' } });
  await server.stop();
  await withStore(server, async (store) => store.compact((await store.status()).revision));
  await server.start(); // on another port, too: it is known by its uid

  await using client = await adminOf(server);
  const { informer, handler, subscription, errors } = start(client, file);
  await informer.synced();
  expect(informer.get('default/gone')).toBeDefined();
  await until(() => informer.metrics.lists === 1);
  await subscription.idle();
  const initial = handler.told.filter((event) => event.type === 'added' && event.isInitial).length;
  expect(handler.since(initial).sort()).toEqual(
    [
      'deleted default/gone',
      'deleted default/replaced',
      'updated default/changed',
      'added default/replaced',
      'added default/fresh',
    ].sort(),
  );
  const gone = handler.told.find(({ type, key }) => type === 'deleted' && key === 'default/gone');
  expect(gone).toMatchObject({ isTombstone: true });
  expect(errors).toEqual([]);
  await expectSame(informer, server.client, client);
  await informer[Symbol.asyncDispose]();
});

it('a server that was set back to a backup while nobody ran sets the store back', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps');
  const early = await adminOf(server);
  await early.resource(configMaps).create({ metadata: { name: 'kept' }, data: { v: 'old' } });
  await early.close();
  await server.stop();
  const backup = join(dir.path, 'backup');
  await withStore(server, (store) => store.snapshot(backup));
  await server.start();
  await using before = await adminOf(server);
  await writeALot({ client: server.client, writes: 100, seed: 1 });
  await before.resource(configMaps).patch('kept', mergePatch({ data: { v: 'new' } }));
  const first = start(before, file);
  await first.subscription.synced();
  await first.informer[Symbol.asyncDispose]();
  await server.stop();
  await rename(join(server.dataDir, 'store'), join(server.dataDir, 'store-before'));
  await restoreEmbeddedStore(backup, join(server.dataDir, 'store'));
  await server.start();

  await using client = await adminOf(server);
  const { informer, handler, subscription } = start(client, file);
  await until(() => informer.get('default/kept')?.data?.v === 'old');
  await expectSame(informer, server.client, client);
  await subscription.idle();
  handler.expectSame(informer);
  await informer[Symbol.asyncDispose]();
});

it('a file of another cluster at the same address is not gone on from', async () => {
  await using one = await startTestServer();
  await using other = await startTestServer();
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps');
  let server = one;
  await using proxy = await startTcpProxyTo({
    get url() {
      return server.url;
    },
  });
  const first = await adminThrough(one, proxy.port);
  await writeALot({ client: one.client, writes: 60, seed: 1 });
  const before = start(first, file);
  await before.subscription.synced();
  await until(async () => (await savedIn(file))?.header.cluster !== undefined);
  await before.informer[Symbol.asyncDispose]();
  await first.close();
  server = other;
  await writeALot({ client: other.client, writes: 300, seed: 2 }); // its versions go beyond those of the file
  await using client = await adminThrough(other, proxy.port);
  const { informer, handler, subscription } = start(client, file);
  await until(() => informer.metrics.lists === 1);
  await expectSame(informer, other.client, client);
  await subscription.idle();
  handler.expectSame(informer);
  await informer[Symbol.asyncDispose]();
});

it('a file that is taken away under a running informer harms nobody, and an older copy of it is gone on from', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  const folder = join(dir.path, 'state');
  const file = join(folder, 'maps');
  await using client = await adminOf(server);
  const { informer, errors } = start(client, file);
  const maps = client.resource(configMaps);
  const { metadata } = await maps.create({ metadata: { name: 'a' } });
  await untilSaved(file, metadata.resourceVersion);
  await cp(file, join(dir.path, 'copy'));
  await rm(folder, { recursive: true });
  await writeALot({ client: server.client, writes: 60, seed: 1 });
  await expectSame(informer, server.client, client);
  await informer[Symbol.asyncDispose]();
  expect(errors).toEqual([]); // what is unlinked can still be written to

  // The copy is older: it is gone on from all the same.
  const again = start(client, join(dir.path, 'copy'));
  await expectSame(again.informer, server.client, client);
  expect(again.informer.metrics.lists).toBe(0);
  await again.informer[Symbol.asyncDispose]();
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
