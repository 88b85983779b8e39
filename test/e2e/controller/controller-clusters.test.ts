/** One set of controllers over several clusters, each a real server: they come, go and fail by themselves. */
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import type { KubeClient } from '../../../src/client/index.ts';
import { configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import { ClusterSet, type ClusterSetOptions, defineController } from '../../../src/controller/index.ts';
import { observe } from '../../../src/metrics/index.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { adminOf, adminThrough, until } from '../../support/client/client-under-test.ts';
import { fast } from '../../support/client/controller-under-test.ts';
import { startTcpProxyTo } from '../../support/tcp-proxy.ts';

/** Writes down what is reconciled where, and throws on demand. */
function noting(told: string[]) {
  return defineController({
    name: 'noting',
    for: { resource: configMaps, namespace: 'default' },
    reconcile(map, { cluster, name }) {
      if (map?.data?.bad) throw new Error('bad data');
      if (map && name !== 'kube-root-ca.crt') told.push(`${cluster} ${name}`);
    },
  });
}

function setOf(told: string[], more: Partial<ClusterSetOptions> = {}): ClusterSet {
  return new ClusterSet({
    ...fast,
    setUp: (manager) => void manager.add(noting(told)),
    ...more,
  });
}

const write = (client: KubeClient, name: string) => client.resource(configMaps).create({ metadata: { name } });

it('clusters come and go at run time; each has its own work, and a label in the metrics', async () => {
  await using east = await startTestServer();
  await using west = await startTestServer();
  await using eastern = await adminOf(east);
  await using western = await adminOf(west);
  const told: string[] = [];
  const sources: object[] = [];
  const registry = new Registry();
  await using clusters = setOf(told, {
    onError: (_error, source) => void sources.push(source),
    setUp(manager, cluster) {
      manager.add(noting(told));
      return observe(registry, { client: manager.client, manager, cluster });
    },
  });
  clusters.add('east', eastern);
  expect(() => clusters.add('east', western)).toThrow('Cannot add cluster "east": there is one of that name');
  await write(eastern, 'a');
  await write(western, 'a');
  await until(() => told.includes('east a'));
  expect(told).not.toContain('west a');
  const manager = clusters.add('west', western);
  await until(() => told.includes('west a'));
  expect([...clusters.managers.keys()]).toEqual(['east', 'west']);
  expect(clusters.managers.get('west')).toBe(manager);
  await western.resource(configMaps).create({ metadata: { name: 'b' }, data: { bad: 'yes' } });
  await until(() => sources.length > 0);
  expect(sources[0]).toEqual({ cluster: 'west', controller: 'noting', key: 'default/b', part: 'reconcile' });
  const lines = async () => (await registry.metrics()).split('\n').filter((line) => /^workqueue_depth/.test(line));
  expect((await lines()).map((line) => /cluster="(\w+)"/.exec(line)?.[1]).sort()).toEqual(['east', 'west']);

  expect([await clusters.remove('east'), await clusters.remove('east')]).toEqual([true, false]);
  expect(await lines()).toHaveLength(1);
  await write(eastern, 'late');
  await write(western, 'late');
  await until(() => told.includes('west late'));
  expect(told).not.toContain('east late');
  expect([...clusters.health().keys()]).toEqual(['west']);
  clusters.add('east', eastern);
  await until(() => told.includes('east late'));
  await clusters[Symbol.asyncDispose]();
  expect(clusters.managers.size).toBe(0);
  expect(() => clusters.add('north', eastern)).toThrow('the set is closed');
});

it('a cluster that is out of reach, and one whose manager fails, harm no other', async () => {
  await using east = await startTestServer();
  await using west = await startTestServer();
  await using direct = await adminOf(east);
  await using proxy = await startTcpProxyTo(east);
  proxy.refuses = true;
  await using eastern = await adminThrough(east, proxy.port, { timeouts: { connectMs: 500, headersMs: 500 } });
  await using western = await adminOf(west);
  const closed = await adminOf(west);
  await closed.close();
  const told: string[] = [];
  const failures: string[] = [];
  const onFailure = (cluster: string, error: unknown) => void failures.push(`${cluster}: ${(error as Error).message}`);
  await using clusters = setOf(told, { onFailure });
  clusters.add('east', eastern);
  clusters.add('broken', closed);
  clusters.add('west', western);
  await write(western, 'a');
  await write(direct, 'a');
  await until(() => told.includes('west a') && failures.length > 0);
  expect(failures).toEqual(['broken: Cannot send a request: the transport is closed']);
  const { isLive, problems } = clusters.health().get('broken')!;
  expect([isLive, problems]).toEqual([false, expect.arrayContaining([expect.stringContaining('has failed')])]);
  expect(clusters.health().get('east')).toMatchObject({ isLive: true, isReady: false });
  expect(clusters.health().get('west')).toMatchObject({ isLive: true, isReady: true });
  proxy.refuses = false;
  await until(() => told.includes('east a'));
  await clusters.remove('broken');
  clusters.add('broken', western); // mended
  await until(() => told.includes('broken a'));
  expect(failures).toHaveLength(1);
});

it('a set-up that throws adds nothing', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const disposed: string[] = [];
  await using clusters = new ClusterSet({
    ...fast,
    setUp(manager, cluster) {
      if (cluster === 'odd') throw new Error('no such cluster');
      manager.add(noting([]));
      return { [Symbol.dispose]: () => void disposed.push(cluster) };
    },
    election: { name: 'boss', leaseDurationMs: -1 },
  });
  expect(() => clusters.add('odd', client)).toThrow('no such cluster');
  expect(() => clusters.add('even', client)).toThrow(/lease/i);
  expect([disposed, clusters.managers.size]).toEqual([['even'], 0]);
});
