/** Servers come and go: what was watched goes on after a restart, nothing stays behind after a stop. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { credentialsOf, startTestServer } from '../../../src/testing/index.ts';
import { onEtcd, onEveryGround, told, truth } from '../../support/server/grounds.ts';
import { CONFIG_MAPS, writeALot, writeLast } from '../../support/server/writers.ts';

onEveryGround((ground) => {
  it('a watch goes on after a restart from any version it had seen, without a relist', async () => {
    await using server = await ground.open();
    const start = (await server.client.list(CONFIG_MAPS)).metadata.resourceVersion;
    const answered = await writeALot({ client: server.connect({ protocol: 'http2' }), writes: 600, seed: 31 });
    await server.restart();
    const versions = [start, ...answered.filter((_, i) => i % 40 === 0)].map(Number);
    const client = server.connect({ protocol: 'http2' });
    const resumed = versions.map(async (version) => {
      await using watch = await client.watch(CONFIG_MAPS, { resourceVersion: version });
      return (await watch.until(({ object }) => object.metadata.name === 'the-last')).map(told);
    });
    await writeALot({ client, writes: 200, seed: 32 });
    await writeLast(client);
    const seen = await Promise.all(resumed);
    const happened = await truth(ground, server, 'configmaps', start);
    for (const [i, events] of seen.entries()) {
      const want = happened.filter((line) => Number(line.split(' ')[2]) > versions[i]!);
      expect(events).toEqual(want);
    }
  }, 60_000);

  it('a watch that goes on in a quiet resource after a restart still gets its bookmark', async () => {
    await using server = await ground.open();
    const { metadata } = await server.client.create(CONFIG_MAPS, { metadata: { name: 'a' } });
    await server.client.create(CONFIG_MAPS, { metadata: { name: 'b' } });
    await server.client.create('/api/v1/namespaces/default/secrets', { metadata: { name: 'something-else' } });
    await server.restart();
    const query = { resourceVersion: metadata.resourceVersion!, allowWatchBookmarks: true, timeoutSeconds: 4 };
    await using watch = await server.client.watch(CONFIG_MAPS, query);
    const events = await watch.rest();
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'BOOKMARK']);
  });

  it('a stop ends every watch cleanly, after everything that was acknowledged', async () => {
    await using server = await ground.open();
    const clients = [server.client, server.connect({ protocol: 'http2' })];
    const watches = await Promise.all(
      Array.from({ length: 40 }, (_, i) => clients[i % 2]!.watch(CONFIG_MAPS, { resourceVersion: '0' })),
    );
    const reading = watches.map((watch) => watch.rest()); // throws if a connection breaks
    await writeALot({ client: server.client, writes: 300, seed: 33 });
    const last = await writeLast(server.client);
    await server.client.list(CONFIG_MAPS); // its answer says that the cache has the last write
    await server.stop();
    for (const events of await Promise.all(reading)) expect(events.at(-1)?.object.metadata.resourceVersion).toBe(last);
  });
});

it('a watch from before the history is refused with 410, and one from its edge is not', async () => {
  await using server = await startTestServer({ autoCompaction: { mode: 'periodic', retentionMs: 100 } });
  const { client } = server;
  const first = await client.create(CONFIG_MAPS, { metadata: { name: 'first' } });
  // When the second is gone, what followed the first is gone too; of the first alone that would not be certain.
  const second = await client.patch(`${CONFIG_MAPS}/first`, { data: { value: 'second' } });
  const exact = { resourceVersion: second.metadata.resourceVersion!, resourceVersionMatch: 'Exact' };
  const isGone = () =>
    client.list(CONFIG_MAPS, exact).then(
      () => false,
      (err: { code: number }) => err.code === 410,
    );
  while (!(await isGone())) await client.patch(`${CONFIG_MAPS}/first`, { data: { value: String(Math.random()) } });
  await server.restart(); // so that only the store could know
  const { resourceVersion } = first.metadata;
  await using late = await server.client.watch(CONFIG_MAPS, { resourceVersion: resourceVersion! });
  const [error, ...more] = await late.rest();
  expect(error).toMatchObject({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } });
  expect(more).toEqual([]);
  const now = (await server.client.list(CONFIG_MAPS)).metadata.resourceVersion;
  await using watch = await server.client.watch(CONFIG_MAPS, { resourceVersion: now });
  await writeLast(server.client);
  expect((await watch.next())?.type).toBe('ADDED');
});

it('several servers in one process share nothing', async () => {
  const servers = await Promise.all(Array.from({ length: 4 }, () => startTestServer()));
  try {
    await Promise.all(
      servers.map(({ client }, i) => client.create(CONFIG_MAPS, { metadata: { name: `only-in-${i}` } })),
    );
    await servers[3]!.stop();
    for (const [i, { client }] of servers.slice(0, 3).entries()) {
      const { items } = await client.list(CONFIG_MAPS);
      expect(items.map(({ metadata }) => metadata.name)).toEqual([`only-in-${i}`]);
    }
    const [one, two] = servers as [(typeof servers)[0], (typeof servers)[0]];
    const { token } = credentialsOf(two.dataDir, two.kubeconfigPath);
    const stranger = one.connect({ token });
    await expect(stranger.list(CONFIG_MAPS)).rejects.toMatchObject({ code: 401 });
  } finally {
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
  }
});

it('a process that ran 20 servers, with clients and watches, ends by itself with nothing left open', async () => {
  const script = fileURLToPath(new URL('lifecycle-process.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', script], { timeout: 60_000 });
  expect(JSON.parse(stdout)).toEqual({ served: 20, ended: 40, left: [] });
}, 70_000);

onEtcd((ground) => {
  it('two servers on one etcd see each other’s changes in their watches, in one order', async () => {
    await using one = await ground.open();
    await using two = await ground.open({ etcd: { servers: [], prefix: ground.rootOf(one) } });
    const start = (await one.client.list(CONFIG_MAPS)).metadata.resourceVersion;
    const reading = [one, two].map(async ({ client }) => {
      await using watch = await client.watch(CONFIG_MAPS, { resourceVersion: start });
      return (await watch.until(({ object }) => object.metadata.name === 'the-last')).map(told);
    });
    await Promise.all(
      [one, two].map((server, i) => writeALot({ client: server.client, writes: 400, seed: 40 + 10 * i })),
    );
    await writeLast(two.client);
    const [byOne, byTwo] = await Promise.all(reading);
    expect(byOne).toEqual(await truth(ground, one, 'configmaps', start));
    expect(byTwo).toEqual(byOne);
  }, 60_000);
});
