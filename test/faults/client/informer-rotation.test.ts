/** Streams that live a second each, so that one takes the place of another all the time, while others write. */
import { expect, it } from 'vitest';
import { Informer } from '../../../src/client/advanced.ts';
import { type ConfigMap, configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { Believer } from '../../support/client/believer.ts';
import { adminOf, adminThrough, until } from '../../support/client/client-under-test.ts';
import { expectSame } from '../../support/client/informer-under-test.ts';
import { writeALot, writeLast } from '../../support/server/writers.ts';
import { startTcpProxyTo } from '../../support/tcp-proxy.ts';

const reflector = { backoff: { minMs: 1, maxMs: 20 }, lifetimeSeconds: [1, 1] } as const;

it('however often a stream takes the place of another, each change is told once', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await writeALot({ client: server.client, writes: 50, seed: 1 });
  await using informer = new Informer(client, configMaps, { allNamespaces: true, reflector });
  const handler = new Believer<ConfigMap>();
  await using subscription = informer.subscribe(handler.take, { limit: 1e6 });
  await informer.synced();
  const resourceVersion = informer.resourceVersion!;
  const events = informer.metrics.events;
  for (let seed = 2; informer.metrics.rotations < 2; seed++)
    await writeALot({ client: server.client, writes: 40, seed });
  const last = await writeLast(server.client);
  await informer.reached(last);
  await subscription.idle();
  handler.expectSame(informer);

  const told = informer.metrics.events - events;
  let sent = 0;
  for await (const { type, object } of client.watch(configMaps, { allNamespaces: true, resourceVersion })) {
    if (type !== 'BOOKMARK') sent++;
    if (object.metadata.resourceVersion === last) break;
  }
  expect(told).toBe(sent);
  expect(informer.metrics).toMatchObject({ lists: 1, failures: 0 });
});

it('a network that is cut at any moment of it costs nothing but time', async () => {
  await using server = await startTestServer();
  await using proxy = await startTcpProxyTo(server);
  await using client = await adminThrough(server, proxy.port, { timeouts: { connectMs: 1000, headersMs: 500 } });
  await using admin = await adminOf(server);
  await using informer = new Informer(client, configMaps, { allNamespaces: true, reflector });
  const handler = new Believer<ConfigMap>();
  await using subscription = informer.subscribe(handler.take, { limit: 1e6 });
  await informer.synced();
  for (let round = 0; round < 6; round++) {
    const { streams } = informer.metrics;
    const writing = writeALot({ client: server.client, writes: 80, seed: round });
    // Half of them as soon as a successor is on its way or just there.
    await until(() => informer.metrics.streams > streams || round % 2 === 0);
    proxy.cut();
    await writing;
    await until(() => informer.freshness.state === 'current');
  }
  await expectSame(informer, server.client, admin);
  await subscription.idle();
  handler.expectSame(informer);
  expect(informer.metrics.lists).toBe(1);
  expect(informer.metrics.rotations).toBeGreaterThan(0);
});
