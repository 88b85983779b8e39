/**
 * Servers whose versions begin anew, and are ahead of what a client knows before it looks again: no version tells, and yet
 * nobody may go on as if nothing had happened. Informers, checkpoints and controllers, on real servers.
 */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Informer } from '../../../src/client/advanced.ts';
import { type InformerOptions, KubeClient, KubeConfig, keyOf } from '../../../src/client/index.ts';
import { type ConfigMap, configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import { defineController, Manager } from '../../../src/controller/index.ts';
import { type FaultProxy, startFaultProxy, startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { Believer, versionsOf } from '../../support/client/believer.ts';
import { until } from '../../support/client/client-under-test.ts';
import { fast } from '../../support/client/controller-under-test.ts';
import { serverVersions } from '../../support/client/informer-under-test.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const reflector = { backoff: { minMs: 1, maxMs: 20 } };

async function clientThrough(proxy: FaultProxy): Promise<KubeClient> {
  return new KubeClient((await KubeConfig.load({ paths: [proxy.kubeconfigPath] })).access({ env: {} }));
}

async function fill(server: TestServer, prefix: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await server.client.create(MAPS, { metadata: { name: `${prefix}-${n}` } });
}

/** Until its versions are ahead of one that somebody else has given out. */
async function overtake(server: TestServer, version: string): Promise<void> {
  for (;;) {
    const { metadata } = await server.client.create(MAPS, { metadata: { generateName: 'late-' } });
    if (BigInt(metadata.resourceVersion!) > BigInt(version) + 5n) return;
  }
}

/** As the server itself has it, past the proxy. */
async function expectTrue(informer: Informer<ConfigMap>, server: TestServer): Promise<void> {
  const access = (await KubeConfig.load({ paths: [server.kubeconfigPath] })).access({ env: {} });
  await using direct = new KubeClient(access);
  const want = JSON.stringify(await serverVersions(direct));
  await until(() => JSON.stringify(versionsOf(informer.list())) === want);
}

it('a server that lost its data and has overtaken the client is found out by an informer', async () => {
  await using server = await startTestServer();
  await using proxy = await startFaultProxy(server);
  await using client = await clientThrough(proxy);
  await fill(server, 'ghost', 30);
  await using informer = new Informer(client, configMaps, { allNamespaces: true, reflector });
  const believer = new Believer<ConfigMap>();
  informer.subscribe(believer.take);
  await expectTrue(informer, server);
  const { resourceVersion } = informer;
  proxy.refuse();
  await server.loseData();
  await fill(server, 'fresh', 30);
  await overtake(server, resourceVersion!);
  proxy.heal();
  await expectTrue(informer, server);
  expect(
    informer
      .list()
      .map(keyOf)
      .filter((key) => key.includes('ghost')),
  ).toEqual([]);
  await until(() => believer.believed.size === informer.size);
  believer.expectSame(informer);
});

it('and by one that starts from a checkpoint of what was', async () => {
  await using server = await startTestServer();
  await using proxy = await startFaultProxy(server);
  await using dir = await temporaryDir();
  await using client = await clientThrough(proxy);
  const options: InformerOptions<ConfigMap> = {
    ...{ allNamespaces: true, reflector, checkpoint: { file: join(dir.path, 'maps'), flushMs: 5 } },
    onError: () => {},
  };
  await fill(server, 'ghost', 10);
  const first = new Informer(client, configMaps, options);
  await first.saved();
  const { resourceVersion } = first;
  await first[Symbol.asyncDispose]();
  await server.loseData();
  await overtake(server, resourceVersion!);
  await using second = new Informer(client, configMaps, options);
  await expectTrue(second, server);
});

it('and by a manager, whose controller reconciles what there is now', async () => {
  await using server = await startTestServer();
  await using proxy = await startFaultProxy(server);
  await using client = await clientThrough(proxy);
  await fill(server, 'ghost', 5);
  const reconciled = new Map<string, boolean>();
  await using manager = new Manager({ client, ...fast, namespace: 'default', election: { name: 'boss', retryMs: 20 } });
  manager.add(
    defineController({
      ...{ name: 'mirror', for: configMaps },
      reconcile: (map, { key }) => void reconciled.set(key, map !== undefined),
    }),
  );
  manager.start();
  await until(() => reconciled.size === 5);
  const { resourceVersion } = manager.informers[0]!;
  proxy.refuse();
  await server.loseData();
  await fill(server, 'fresh', 5);
  await overtake(server, resourceVersion!);
  proxy.heal();
  await until(() => [0, 1, 2, 3, 4].every((n) => reconciled.get(`default/fresh-${n}`) === true));
  await until(() => manager.elector?.isLeading() === true && manager.health().isReady);
});

it('two servers of different histories behind one address are told apart, whichever answers', async () => {
  await using one = await startTestServer();
  await using dir = await temporaryDir();
  const dataDir = join(dir.path, 'other');
  await one.stop();
  cpSync(one.dataDir, dataDir, { recursive: true }); // the same authority, the same tokens
  rmSync(join(dataDir, 'store'), { recursive: true });
  await one.start();
  await using other = await startTestServer({ dataDir });
  let current = one;
  const target = {
    dataDir: one.dataDir,
    get url() {
      return current.url;
    },
  };
  await using proxy = await startFaultProxy(target);
  await using client = await clientThrough(proxy);
  await fill(one, 'one', 10);
  await fill(other, 'other', 10);
  await using informer = new Informer(client, configMaps, { allNamespaces: true, reflector });
  await expectTrue(informer, one);
  for (const next of [other, one, other]) {
    await overtake(next, informer.resourceVersion!);
    current = next;
    proxy.cut();
    await expectTrue(informer, next);
  }
});
