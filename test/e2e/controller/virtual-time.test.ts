/**
 * Server, client and controllers by one clock that the test turns: hours pass in the time that what happens in them
 * takes, and what happens when is the same every time.
 */
import { expect, it } from 'vitest';
import { batchv1, coordinationv1, corev1, eventsv1 } from '../../../src/client/index.ts';
import { defineController, Manager } from '../../../src/controller/index.ts';
import { startFaultProxy, startTestServer, VirtualClock } from '../../../src/testing/index.ts';

const HOUR_MS = 3_600_000;

it('a resync after ten hours, through watches that end and are opened again, and nothing in between', async () => {
  await using server = await startTestServer({ clock: new VirtualClock() });
  const { kube, clock } = server;
  const seen: number[] = [];
  await using manager = new Manager({ client: kube, logger: false });
  const controller = manager.add(
    defineController({
      name: 'resynced',
      for: { resource: corev1.configMaps, namespace: 'default', resyncMs: 10 * HOUR_MS },
      reconcile: () => void seen.push(Math.round(clock.now() / HOUR_MS)),
    }),
  );
  manager.start();
  await kube.resource(corev1.configMaps).create({ metadata: { name: 'a' } });
  await server.whenReconciled(controller, 'default/a');
  expect(seen).toEqual([0]);
  await clock.advance(9 * HOUR_MS);
  expect(seen).toEqual([0]);
  await clock.advance(1.1 * HOUR_MS);
  expect(seen).toEqual([0, 10]);
  expect(manager.health().isReady).toBe(true);
}, 90_000);

it('an API server that is away for ten minutes, and then slow: what a controller does when is the same every time', async () => {
  const run = async (): Promise<unknown[]> => {
    await using server = await startTestServer({ clock: new VirtualClock({ date: new Date('2030-01-01T00:00:00Z') }) });
    await using proxy = await startFaultProxy(server);
    const { kube, clock } = server;
    const seen: unknown[] = [];
    await using manager = new Manager({ client: proxy.connectKube({ random: () => 0.5 }), logger: false });
    const controller = manager.add(
      defineController({
        name: 'copier',
        for: { resource: corev1.configMaps, namespace: 'default' },
        async reconcile(map, { client, attempt }) {
          seen.push([map?.metadata.name, attempt, clock.now()]);
          if (map?.data?.copy) await client.resource(corev1.secrets).create({ metadata: { name: map.metadata.name } });
        },
      }),
    );
    manager.start();
    await kube.resource(corev1.configMaps).create({ metadata: { name: 'before' } });
    await server.whenReconciled(controller, 'default/before');
    proxy.refuse();
    proxy.cut();
    await kube.resource(corev1.configMaps).create({ metadata: { name: 'meanwhile' } });
    await clock.advance(10 * 60_000);
    expect(seen).toEqual([['before', 1, 0]]);
    expect(manager.health().isReady).toBe(false);
    proxy.heal();
    await clock.until(() => seen.length === 2);
    proxy.answer({ code: 500, to: 'write', times: 2 });
    proxy.delay(3000);
    await kube.resource(corev1.configMaps).create({ metadata: { name: 'copied' }, data: { copy: 'yes' } });
    await clock.advance(60_000);
    expect((await kube.resource(corev1.secrets).list()).items.map(({ metadata }) => metadata.name)).toEqual(['copied']);
    expect(seen.slice(1).map((one) => (one as unknown[])[0])).toEqual(['meanwhile', 'copied', 'copied', 'copied']);
    return seen;
  };
  expect(await run()).toEqual(await run());
}, 60_000);

it('a quiet server is heard every minute: no watch on it is given up for silence, however long nothing happens', async () => {
  await using server = await startTestServer({ clock: new VirtualClock() });
  const { kube, clock } = server;
  await using informer = kube.informer(corev1.configMaps, { namespace: 'default' });
  await informer.synced();
  await clock.advance(2 * HOUR_MS);
  const { streams, rotations, bookmarks, failures } = informer.metrics;
  expect({ streams, failures }).toEqual({ streams: rotations + 1, failures: 0 });
  expect(bookmarks).toBeGreaterThan(100);
});

it('a leader that is gone loses its lease to the next once its duration is over, and not before', async () => {
  await using server = await startTestServer({ clock: new VirtualClock() });
  const { kube, clock } = server;
  const campaign = (identity: string) => {
    const election = { name: 'boss', identity, leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2000 };
    const manager = new Manager({ client: kube, logger: false, election: { ...election, releasesOnStop: false } });
    manager.start();
    return manager;
  };
  await using first = campaign('first');
  await clock.advance(5000);
  await using second = campaign('second');
  await clock.advance(60_000);
  expect([first, second].map(({ elector }) => elector?.isLeading())).toEqual([true, false]);
  await first.stop(); // without giving the lease away, as if it had been killed
  const { spec } = await kube.resource(coordinationv1.leases).get('boss');
  const left = 15_000 - (clock.wallNow() - Date.parse(spec?.renewTime ?? ''));
  await clock.advance(left - 1000);
  expect(second.elector?.isLeading()).toBe(false);
  await clock.advance(1000 + 15_000); // it has to see that nothing comes, by its own watch
  expect(second.elector?.isLeading()).toBe(true);
});

it('failures are tried again after pauses that grow', async () => {
  await using server = await startTestServer({ clock: new VirtualClock() });
  const { kube, clock } = server;
  const at: number[] = [];
  await using manager = new Manager({ client: kube, logger: false });
  manager.add(
    defineController({
      name: 'failing',
      for: { resource: corev1.configMaps, namespace: 'default' },
      queue: { retries: { baseDelayMs: 1000, maxDelayMs: 60_000 } },
      reconcile: () => {
        at.push(clock.now());
        throw new Error('never');
      },
    }),
  );
  manager.start();
  await manager.ready();
  await kube.resource(corev1.configMaps).create({ metadata: { name: 'a' } });
  await clock.settle();
  await clock.advance(5 * 60_000);
  expect(at.slice(1).map((ms, i) => ms - at[i]!)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((s) => s * 1000));
});

it('the server lives by it: dates of objects, events that are forgotten after an hour, jobs that are due', async () => {
  const clock = new VirtualClock({ date: new Date('2030-01-01T00:00:30Z') });
  await using server = await startTestServer({ clock, controllers: ['cronjob-controller'] });
  const { kube } = server;
  const made = await kube.resource(corev1.namespaces).create({ metadata: { name: 'shop' } });
  expect(made.metadata.creationTimestamp).toBe('2030-01-01T00:00:30Z');
  await kube.resource(eventsv1.events).create({
    metadata: { name: 'once' },
    eventTime: '2030-01-01T00:00:30.000000Z',
    reportingController: 'example.com/test',
    reportingInstance: 'test',
    action: 'Test',
    reason: 'Testing',
    type: 'Normal',
    regarding: { kind: 'Namespace', name: 'shop', namespace: 'default' },
  });
  const template = { spec: { restartPolicy: 'Never' as const, containers: [{ name: 'c', image: 'i' }] } };
  await kube.resource(batchv1.cronJobs).create({
    metadata: { name: 'nightly' },
    spec: { schedule: '0 3 * * *', jobTemplate: { spec: { template } } },
  });
  const jobs = async () =>
    (await kube.resource(batchv1.jobs).list()).items.map(({ metadata }) => metadata.creationTimestamp);
  const events = async () =>
    (await kube.resource(eventsv1.events).list()).items.filter(({ reason }) => reason === 'Testing');
  await clock.advance(59 * 60_000);
  expect(await events()).toHaveLength(1);
  expect(await jobs()).toEqual([]);
  await clock.advance(2 * HOUR_MS);
  expect(await events()).toHaveLength(0);
  expect(await jobs()).toEqual([]);
  await clock.advance(60_000);
  expect(await jobs()).toEqual(['2030-01-01T03:00:00Z']);
});
