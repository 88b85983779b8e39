/** How controllers stop: in bounded time whatever happened before, and without a false alarm. */
import { expect, it } from 'vitest';
import { mergePatch } from '../../src/client/index.ts';
import { leases } from '../../src/client/objects/generated/coordination-v1.ts';
import { configMaps } from '../../src/client/objects/generated/core-v1.ts';
import type { Lease } from '../../src/controller/advanced.ts';
import { defineController, LeaderElector, Manager, requeueAfter } from '../../src/controller/index.ts';
import { FakeClock, startFaultProxy, startTestServer } from '../../src/testing/index.ts';
import { adminOf, adminThrough, until } from '../support/client/client-under-test.ts';
import { fast } from '../support/client/controller-under-test.ts';

it('a manager stops though a reconcile of a lost term never ends', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const outcomes: string[] = [];
  let begun = 0;
  const manager = new Manager({
    ...fast,
    client,
    ...{ graceMs: 1, abortGraceMs: 1 },
    election: { name: 'deaf', retryMs: 20, renewDeadlineMs: 5_000, leaseDurationMs: 6_000 },
    observer: { onReconcile: (_name, { result }) => void outcomes.push(result) },
  });
  manager.add(
    defineController({
      name: 'deaf',
      for: { resource: configMaps, namespace: 'default' },
      async reconcile() {
        begun++;
        await held; // whatever its signal says
      },
    }),
  );
  manager.start();
  await client.resource(configMaps).create({ metadata: { name: 'a' } });
  await until(() => begun > 0);
  await client.resource(leases, 'default').patch('deaf', mergePatch({ spec: { holderIdentity: 'a rival' } }));
  await until(() => outcomes.includes('abandoned'));
  await new Promise((resolve) => setImmediate(resolve)); // the term waits for its pool alone
  await manager.stop(); // would wait until `release`, which is never
  expect(outcomes.every((result) => result === 'abandoned')).toBe(true);
  release();
});

it('a key that waits until its own deletion is seen hears of it though its controller stops', async () => {
  await using server = await startTestServer();
  await using proxy = await startFaultProxy(server);
  await using client = await adminThrough(server, proxy.port);
  for (const name of ['a', 'victim']) await client.resource(configMaps).create({ metadata: { name } });
  const errors: unknown[] = [];
  const seen: boolean[] = [];
  const clock = new FakeClock(); // stands still: nothing but the event ends the wait
  await using manager = new Manager({ ...fast, client, clock, onError: (error) => void errors.push(error) });
  manager.add(
    defineController({
      name: 'deleting',
      for: { resource: configMaps, namespace: 'default', where: ({ key }) => key === 'default/a' },
      async reconcile(_map, context) {
        seen.push(context.cache.of(configMaps).get('default/victim') !== undefined);
        if (seen.length > 1) return undefined;
        proxy.drip(1, 1); // the event is a second under way
        await context.client.resource(configMaps).delete('victim');
        return requeueAfter(0);
      },
    }),
  );
  manager.start();
  await until(() => manager.controllers[0]!.metrics().queue.workqueue_retries_total === 1);
  expect(seen).toEqual([true]); // it waits
  await manager.stop();
  expect(errors).toEqual([]);
  expect(seen).toEqual([true, false]);
});

it('a controller that is taken away does not make its manager look dead', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await using manager = new Manager({ ...fast, client });
  const noted = { for: configMaps, reconcile: () => {} };
  const going = manager.add(defineController({ ...noted, name: 'going' }));
  manager.start();
  await manager.ready();
  const looks: boolean[] = [];
  const look = setInterval(() => looks.push(manager.health().isLive), 0);
  const gone = going.stop();
  looks.push(manager.health().isLive);
  for (let turn = 0; turn < 20; turn++) {
    await Promise.resolve();
    looks.push(manager.health().isLive);
  }
  await gone;
  clearInterval(look);
  expect(looks).not.toContain(false);
  expect(manager.controllers).toEqual([]);
});

it('nothing is begun in a term that is over by the clock, even if nobody was told yet', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  for (const name of ['a', 'b', 'c']) await client.resource(configMaps).create({ metadata: { name } });
  let aheadMs = 0;
  const begun: string[] = [];
  await using manager = new Manager({
    ...fast,
    client,
    election: { name: 'slept' },
    wallNow: () => Date.now() + aheadMs,
  });
  manager.add(
    defineController({
      name: 'noting',
      for: { resource: configMaps, namespace: 'default' },
      concurrency: 1,
      reconcile(_map, { name, leadership }) {
        begun.push(`${name} ${leadership!.isLeading()}`);
        if (begun.length === 1) aheadMs = 3_600_000; // the machine was asleep in between
      },
    }),
  );
  manager.start();
  await until(() => ['a', 'b', 'c'].every((name) => begun.some((line) => line.startsWith(name))));
  expect(begun.filter((line) => line.endsWith('false'))).toEqual([]);
});

it('a request with a signal of its own ends with its reconcile all the same', async () => {
  await using server = await startTestServer();
  await using proxy = await startFaultProxy(server);
  await using client = await adminThrough(server, proxy.port);
  await client.resource(configMaps).create({ metadata: { name: 'a' } });
  const errors: string[] = [];
  const ofItsOwn = new AbortController().signal;
  await using manager = new Manager({ ...fast, client, onError: (error) => void errors.push((error as Error).name) });
  manager.add(
    defineController({
      name: 'asking',
      for: { resource: configMaps, namespace: 'default' },
      timeoutMs: 20,
      async reconcile(_map, context) {
        proxy.delay(Number.POSITIVE_INFINITY); // no answer, ever
        await context.client.resource(configMaps).get('a', { signal: ofItsOwn });
      },
    }),
  );
  manager.start();
  await until(() => errors.length > 0);
  proxy.heal();
  expect(errors[0]).toBe('ReconcileTimeoutError');
});

it('nobody waits in vain for a manager that has stopped', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const manager = new Manager({ ...fast, client });
  manager.start();
  await manager.stop();
  await expect(manager.ready()).rejects.toThrow('Cannot wait for the manager: it is stopping');
});

it('an election whose lease somebody has deleted ends without a complaint', async () => {
  const errors: unknown[] = [];
  let isThere = false;
  const none = Object.assign(new Error('there is none'), { code: 404 });
  const answer = async (lease: Lease): Promise<Lease> => {
    isThere = true;
    return lease;
  };
  const elector = new LeaderElector({
    lease: { name: 'boss', namespace: 'default' },
    leases: { getLease: () => Promise.reject(none), createLease: answer, updateLease: answer },
    onError: (error) => void errors.push(error),
  });
  await until(() => elector.isLeading());
  expect(isThere).toBe(true);
  await elector.stop(); // looks whether it is still the holder, and finds nothing
  expect(errors).toEqual([]);
});
