/** One address, two clusters in turn: a checkpoint never passes what it has of one of them off as the other's. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Informer } from '../../src/client/advanced.ts';
import type { KubeClient } from '../../src/client/index.ts';
import { type ConfigMap, configMaps } from '../../src/client/objects/generated/core-v1.ts';
import { startTestServer } from '../../src/testing/index.ts';
import { versionsOf } from '../support/client/believer.ts';
import { savedIn } from '../support/client/checkpoint-under-test.ts';
import { adminThrough, until } from '../support/client/client-under-test.ts';
import { serverVersions } from '../support/client/informer-under-test.ts';
import { startTcpProxyTo } from '../support/tcp-proxy.ts';
import { temporaryDir } from '../support/temporary-dir.ts';

it('a file that went to another cluster and came back is not gone on from', async () => {
  await using one = await startTestServer();
  await using other = await startTestServer();
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps');
  let current = one;
  await using proxy = await startTcpProxyTo({
    get url() {
      return current.url;
    },
  });

  /** A process that lives until its store has a last object, and its file the cluster. */
  const live = async (
    server: typeof one,
    look: (informer: Informer<ConfigMap>, client: KubeClient) => Promise<void>,
  ) => {
    current = server;
    await using client = await adminThrough(server, proxy.port);
    const reflector = { backoff: { minMs: 1, maxMs: 5 } };
    await using informer = new Informer(client, configMaps, {
      ...{ allNamespaces: true, reflector, checkpoint: { file, flushMs: 5 } },
    });
    const { metadata } = await client.resource(configMaps).create({ metadata: { generateName: 'last-' } });
    await until(() => informer.get(`default/${metadata.name}`) !== undefined);
    await look(informer, client);
    await until(async () => (await savedIn(file))?.header.cluster !== undefined);
  };
  const writeTo = async (server: typeof one, count: number) => {
    current = server;
    await using client = await adminThrough(server, proxy.port);
    for (let n = 0; n < count; n++) await client.resource(configMaps).create({ metadata: { generateName: 'some-' } });
  };

  await live(one, async () => {});
  const clusterOfOne = (await savedIn(file))!.header.cluster;
  await writeTo(other, 8);
  await live(other, async () => {});
  expect((await savedIn(file))!.header.cluster).not.toBe(clusterOfOne);
  await writeTo(one, 30); // past the versions that the file has
  await live(one, async (informer, client) => {
    await until(async () => informer.freshness.state === 'current');
    expect(versionsOf(informer.list())).toEqual(await serverVersions(client));
  });
});
