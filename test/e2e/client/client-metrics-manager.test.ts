/** A manager on a real server: what a scrape says of its controllers, its election and its client, in one registry. */
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { KubeClient } from '../../../src/client/index.ts';
import { configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import { defineController, Manager, TerminalError } from '../../../src/controller/index.ts';
import { observe } from '../../../src/metrics/index.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { accessOf, adminOf, until } from '../../support/client/client-under-test.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

it('a manager is seen whole: reconciles, queues, leadership, informers and requests', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const registry = new Registry();
  await using manager = new Manager({ client, election: { name: 'the-lease' }, onError: () => {} });
  using _metrics = observe(registry, { client, manager });
  let done = 0;
  const controller = manager.add(
    defineController({
      name: 'copies',
      for: configMaps,
      reconcile: (map) => {
        done++;
        if (map?.metadata.name.startsWith('bad')) throw new TerminalError('bad name');
      },
    }),
  );
  const value = async (name: string, labels: string) => {
    const line = (await registry.metrics()).split('\n').find((one) => one.startsWith(`${name}{${labels}} `));
    return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')));
  };
  const copies = 'name="copies",controller="copies"';
  expect(await value('workqueue_adds_total', copies)).toBe(0); // before anything runs
  expect(await value('controller_runtime_max_concurrent_reconciles', 'controller="copies"')).toBe(4);

  manager.start();
  await until(() => controller.state === 'running');
  const before = (await client.resource(configMaps).list({ allNamespaces: true })).items.length;
  await until(() => done === before);
  for (const name of ['a', 'b', 'bad']) await client.resource(configMaps).create({ metadata: { name } });
  await until(async () => {
    const total = await value('controller_runtime_reconcile_time_seconds_count', 'controller="copies"');
    return total === before + 3;
  });
  expect(await value('workqueue_adds_total', copies)).toBe(before + 3);
  const result = (name: string) => value('controller_runtime_reconcile_total', `controller="copies",result="${name}"`);
  expect([await result('success'), await result('error')]).toEqual([before + 2, 1]);
  expect(await value('controller_runtime_terminal_reconcile_errors_total', 'controller="copies"')).toBe(1);
  expect(await value('longwatch_manager_errors_total', 'part="reconcile",controller="copies"')).toBe(1);
  expect(await value('longwatch_manager_stuck_reconciles', 'controller="copies"')).toBe(0);
  expect(manager.health().errors).toMatchObject([
    { part: 'reconcile', controller: 'copies', count: 1, last: { message: 'bad name' } },
  ]);
  expect(await value('leader_election_master_status', 'name="the-lease"')).toBe(1);
  expect(await value('kubernetes_informer_synced', 'resource="configmaps"')).toBe(1);
  expect(await value('kubernetes_informer_objects', 'resource="leases.coordination.k8s.io"')).toBe(1);

  await manager.stop();
  expect(await value('workqueue_adds_total', copies)).toBe(before + 3);
  expect(await value('leader_election_master_status', 'name="the-lease"')).toBe(0);
  expect(await value('kubernetes_informer_synced', 'resource="configmaps"')).toBeUndefined();
});

it('with a checkpoint the informers of a manager have their objects before any server answers', async () => {
  await using server = await startTestServer();
  await using folder = await temporaryDir();
  const options = { informers: { checkpoint: folder.path }, onError: () => {}, logger: false as const };
  const controller = (seen: (name: string) => void) =>
    defineController({
      name: 'copies',
      for: { resource: configMaps, namespace: 'default' },
      reconcile: (map) => {
        if (map) seen(map.metadata.name);
      },
    });
  {
    await using client = await adminOf(server);
    await client.resource(configMaps).create({ metadata: { name: 'kept' } });
    await using manager = new Manager({ client, ...options });
    const names = new Set<string>();
    manager.add(controller((name) => names.add(name)));
    manager.start();
    await until(() => names.has('kept'));
    await until(async () => manager.informers[0]!.saved().then(() => true));
  }
  const access = await accessOf(server);
  await server.stop();
  await using client = new KubeClient(access);
  await using manager = new Manager({ client, ...options });
  manager.add(controller(() => {}));
  manager.start();
  await until(() => manager.informers[0]!.get('default/kept') !== undefined);
});
