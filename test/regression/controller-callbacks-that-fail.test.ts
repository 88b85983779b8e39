/** Callbacks of those who use a manager: what they throw or reject with is a warning, and costs no key and no process. */
import { expect, it } from 'vitest';
import { configMaps } from '../../src/client/objects/generated/core-v1.ts';
import { type Lease, WorkerPool, WorkQueue } from '../../src/controller/advanced.ts';
import { ClusterSet, defineController, LeaderElector, Manager } from '../../src/controller/index.ts';
import { FakeClock, startTestServer } from '../../src/testing/index.ts';
import { adminOf, until } from '../support/client/client-under-test.ts';
import { fastRetries } from '../support/client/controller-under-test.ts';
import { listenToProcess, rejecting, throwing } from './unhandled.ts';

const { warnings, rejections } = listenToProcess();

it('of a queue: every key is handed out and done all the same', async () => {
  const clock = new FakeClock();
  const observer = {
    onAdd: throwing,
    onDepth: rejecting,
    onQueueDuration: throwing,
    onWorkDuration: throwing,
    onRetry: throwing,
  };
  const queue = new WorkQueue<string>({ clock, observer });
  const worked: string[] = [];
  await using _pool = new WorkerPool({ queue, clock, workers: 1, handler: (key) => void worked.push(key) });
  queue.add('at once');
  queue.addAfter('later', 10);
  queue.addWhenQuiet('when quiet', 20);
  await clock.advance(30);
  await until(() => worked.length === 3);
  expect(worked).toEqual(['at once', 'later', 'when quiet']);
  expect(queue.metrics().workqueue_in_flight).toBe(0);
  expect(rejections).toEqual([]);
  expect(warnings).toEqual(['thrown']); // once says it
});

it('of a manager: errors and outcomes are told, and nobody waits for the answer', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const tries: number[] = [];
  await using manager = new Manager({
    client,
    onError: rejecting,
    observer: { onReconcile: rejecting, queue: throwing },
  });
  manager.add(
    defineController({
      name: 'failing',
      for: { resource: configMaps, namespace: 'default' },
      queue: fastRetries,
      reconcile(_map, { attempt }) {
        tries.push(attempt);
        if (attempt < 3) throw new Error('not yet');
      },
    }),
  );
  manager.start();
  await client.resource(configMaps).create({ metadata: { name: 'a' } });
  await until(() => tries.includes(3));
  const onError = 'Cannot ask "onError" of the manager: rejected';
  await until(() => warnings.includes(onError) || rejections.length > 0);
  expect(rejections).toEqual([]);
  expect(warnings).toContain('Cannot ask "observer.queue" of the manager: thrown');
});

it('of a watch: the error says whose it is, and the other controllers hear of the event', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const errors: unknown[] = [];
  const heard: string[] = [];
  await using manager = new Manager({ client, onError: (error, source) => void errors.push([error, source]) });
  const maps = { resource: configMaps, namespace: 'default' };
  manager.add(defineController({ name: 'deaf', for: { ...maps, where: throwing }, reconcile: () => {} }));
  manager.add(defineController({ name: 'other', for: maps, reconcile: (_map, { name }) => void heard.push(name) }));
  manager.start();
  await client.resource(configMaps).create({ metadata: { name: 'a' } });
  await until(() => errors.length > 0 && heard.length > 0);
  const message = 'Cannot ask "where" of controller "deaf" for configmaps about "default/a": thrown';
  expect(errors).toEqual([[expect.objectContaining({ message }), { part: 'informer', controller: 'deaf' }]]);
  expect(heard).toEqual(['a']);
});

it('two controllers that name an index alike have one each', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await using manager = new Manager({ client, logger: false });
  const found: string[] = [];
  const indexed = (name: string, value: string) =>
    defineController({
      name,
      for: { resource: configMaps, namespace: 'default', indexers: { same: () => [value] } },
      reconcile(_map, { cache }) {
        const maps = cache.of(configMaps);
        found.push(`${name} ${maps.by('same', value).length} ${maps.valuesOf('same').join()}`);
      },
    });
  manager.add(indexed('one', 'a'));
  manager.start();
  manager.add(indexed('two', 'b'));
  await client.resource(configMaps).create({ metadata: { name: 'm' } });
  await until(() => found.length === 2);
  expect(found.sort()).toEqual(['one 1 a', 'two 1 b']);
  expect(manager.informers.length).toBe(1);
});

it('of what goes with a cluster: its name is free again', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  let isBad = true;
  await using clusters = new ClusterSet({
    setUp: () => ({
      [Symbol.dispose]() {
        if (isBad) throwing();
      },
    }),
  });
  clusters.add('east', client);
  await expect(clusters.remove('east')).rejects.toThrow('thrown');
  isBad = false;
  clusters.add('east', client);
  expect(await clusters.remove('east')).toBe(true);
});

it.each([
  ['thrown', throwing],
  ['rejected', rejecting],
])('of an election: it goes on (%s)', async (message, onError) => {
  const clock = new FakeClock();
  let asked = 0;
  const answer = async (lease: Lease): Promise<Lease> => lease;
  const none = Object.assign(new Error('there is none'), { code: 404 });
  await using elector = new LeaderElector({
    ...{ clock, onError, releasesOnStop: false },
    lease: { name: 'boss', namespace: 'default' },
    leases: {
      getLease: () => Promise.reject(++asked === 1 ? new Error('out of reach') : none),
      createLease: answer,
      updateLease: answer,
    },
  });
  await clock.advance(10_000);
  expect(elector.isLeading()).toBe(true);
  expect(rejections).toEqual([]);
  expect(warnings).toEqual([message]);
});
