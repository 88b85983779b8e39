/** A reconcile that never settles: it is named by health and probes, blocks nothing but its own key, and no election. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { mergePatch } from '../../src/client/index.ts';
import { leases } from '../../src/client/objects/generated/coordination-v1.ts';
import { configMaps } from '../../src/client/objects/generated/core-v1.ts';
import { defineController, healthHandler, LeaderElector, Manager, StuckError } from '../../src/controller/index.ts';
import { FakeClock, startTestServer } from '../../src/testing/index.ts';
import { adminOf, until } from '../support/client/client-under-test.ts';
import { fast } from '../support/client/controller-under-test.ts';

const forEver = () => new Promise<never>(() => {});
const impatient = { graceMs: 0, abortGraceMs: 0 };
const timings = { leaseDurationMs: 600_000, renewDeadlineMs: 500_000, retryMs: 20, jitterFactor: 0 };
const maps = { resource: configMaps, namespace: 'default' };

it('after a lost term with a hung reconcile the manager leads again, and the other controllers work', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const worked: string[] = [];
  await using manager = new Manager({ client, ...fast, ...impatient, election: { name: 'boss', ...timings } });
  manager.add(defineController({ name: 'hung', for: maps, reconcile: (map) => (map ? forEver() : undefined) }));
  manager.add(
    defineController({ name: 'other', for: maps, reconcile: (map, { name }) => void (map && worked.push(name)) }),
  );
  manager.start();
  await client.resource(configMaps).create({ metadata: { name: 'a' } });
  await until(() => worked.includes('a'));
  const lease = await client.resource(leases).get('boss');
  const robbed = { holderIdentity: 'rival', leaseTransitions: (lease.spec.leaseTransitions ?? 0) + 1 };
  await client.resource(leases).patch('boss', mergePatch({ spec: robbed }));
  await until(() => manager.elector?.isLeading() === false);
  await client.resource(leases).patch('boss', mergePatch({ spec: { holderIdentity: '' } }));
  await until(() => manager.elector?.isLeading() === true);
  await client.resource(configMaps).create({ metadata: { name: 'b' } });
  await until(() => worked.includes('b'));
  expect(manager.health().controllers.map(({ name, state }) => `${name} ${state}`)).toEqual([
    'hung running',
    'other running',
  ]);
});

it('one that ignores its time-out gives its worker back, keeps its key, and is told once', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const clock = new FakeClock();
  const errors: unknown[] = [];
  const begun: string[] = [];
  let end = () => {};
  await using manager = new Manager({
    ...{ client, ...fast, ...impatient, clock },
    onError: (error, source) => void errors.push([error, source]),
  });
  manager.add(
    defineController({
      ...{ name: 'busy', for: maps, concurrency: 1, timeoutMs: 1_000 },
      reconcile(map, { name }) {
        if (!map) return undefined;
        begun.push(name);
        if (name !== 'hung' || begun.length > 1) return undefined;
        return new Promise<void>((resolve) => {
          end = resolve;
        });
      },
    }),
  );
  manager.start();
  await client.resource(configMaps).create({ metadata: { name: 'hung' } });
  await until(() => begun.length === 1);
  await client.resource(configMaps).create({ metadata: { name: 'next' } });
  expect(manager.health()).toMatchObject({ isLive: true, isReady: true });
  await clock.advance(1_000);
  await until(() => begun.includes('next'));
  await client.resource(configMaps).patch('hung', mergePatch({ data: { a: 'b' } }));
  await clock.advance(3_000);
  expect(begun).toEqual(['hung', 'next']);
  expect(errors).toEqual([[expect.any(StuckError), { part: 'reconcile', controller: 'busy', key: 'default/hung' }]]);
  expect(manager.health()).toMatchObject({
    isLive: false,
    controllers: [{ stuck: [{ key: 'default/hung', ignoresSignal: true }] }],
  });
  end();
  await until(() => manager.health().isReady);
  await clock.advance(10);
  await until(() => begun.length === 3);
  expect(begun).toEqual(['hung', 'next', 'hung']);
});

it('hung workers without an election or a time-out show in health, in the probes and in the log', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const clock = new FakeClock();
  const lines: string[] = [];
  const logger = { level: 1, log: (_level: number, message: string) => void lines.push(message) };
  await using manager = new Manager({ client, ...fast, ...impatient, clock, logger, health: { stuckAfterMs: 60_000 } });
  let ends: (() => void)[] = [];
  const reconcile = () => new Promise<void>((resolve) => ends.push(resolve));
  manager.add(defineController({ name: 'slow', for: maps, concurrency: 2, reconcile }));
  manager.start();
  await using probe = await probeOf(createServer(healthHandler(manager)));
  for (const name of ['a', 'b']) await client.resource(configMaps).create({ metadata: { name } });
  await until(() => ends.length === 2);
  await clock.advance(59_000);
  expect([await probe.ask('/livez'), await probe.ask('/readyz')]).toEqual([200, 200]);
  await clock.advance(3_000);
  // Every worker is, so nothing of it moves: only a new process helps.
  expect([await probe.ask('/livez'), await probe.ask('/readyz')]).toEqual([503, 503]);
  expect(manager.health().problems).toContain('controller "slow": reconcile of "default/a" has not ended for 62 s');
  const line = 'not well: controller "slow": reconcile of "default/a" has not ended for 61 s';
  expect(lines.filter((text) => text === line).length).toBe(1);
  const held = ends;
  ends = [];
  for (const end of held) end();
  await until(() => manager.health().isReady);
  await clock.advance(1_000);
  expect(lines).toContain('well again: controller "slow": reconcile of "default/a"');
  await stopped(manager, clock);
});

it('one worker of several that is stuck makes the manager unready, and leaves it live', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const clock = new FakeClock();
  let begun = 0;
  await using manager = new Manager({ client, ...fast, ...impatient, clock });
  const reconcile = (_map: unknown, { name }: { name: string }) => (name === 'a' && ++begun ? forEver() : undefined);
  manager.add(defineController({ name: 'slow', for: maps, concurrency: 2, reconcile }));
  manager.start();
  await client.resource(configMaps).create({ metadata: { name: 'a' } });
  await until(() => begun === 1);
  await clock.advance(601_000);
  expect(manager.health()).toMatchObject({ isLive: true, isReady: false });
  await stopped(manager, clock);
});

it('a lease that cannot be reached, and an election that a bug has ended, show in health', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const clock = new FakeClock();
  await using refused = new Manager({
    ...{ client, ...fast, clock, election: { name: 'Not A Name' } },
  });
  refused.start();
  await until(() => refused.elector?.lastError !== undefined);
  await clock.advance(20_000);
  expect(refused.health()).toMatchObject({ isLive: true, isReady: false });
  expect(refused.health().problems.join()).toMatch(/^election "Not A Name" has not seen its lease for \d+ s: /);

  const spec = { holderIdentity: 'rival', leaseDurationSeconds: 600, renewTime: '2026-01-01T00:00:00.000000Z' };
  await client.resource(leases).create({ metadata: { name: 'broken' }, spec });
  const broken = new Manager({
    client,
    ...fast,
    election: {
      name: 'broken',
      random: () => {
        throw new Error('no dice');
      },
    },
  });
  const running = broken.run();
  await expect(running).rejects.toThrow('no dice');
  expect(broken.health()).toMatchObject({ isLive: false });
});

it('an elector whose work does not end says for how long it has not campaigned', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const resource = client.resource(leases);
  const clock = new FakeClock();
  const elector = new LeaderElector({
    ...{ ...timings, clock, lease: { name: 'boss', namespace: 'default' } },
    leases: {
      getLease: async () => (await resource.get('boss')) as never,
      createLease: async (lease) => (await resource.create(lease as never)) as never,
      updateLease: async (lease) => (await resource.update(lease as never)) as never,
    },
  });
  void elector.runWhenLeading(forEver);
  await until(() => elector.isLeading());
  expect(elector.blockedMs).toBe(0);
  await resource.patch('boss', mergePatch({ spec: { holderIdentity: 'rival', leaseTransitions: 7 } }));
  await clock.advance(20);
  await until(() => !elector.isLeading());
  await clock.advance(5_000);
  expect(elector.blockedMs).toBeGreaterThanOrEqual(5_000);
  const stopped = elector.stop();
  await clock.advance(500_000);
  await stopped;
});

/** Its grace is a time, and time is ours. */
async function stopped(manager: Manager, clock: FakeClock): Promise<void> {
  const end = manager.stop();
  await clock.advance(1);
  await clock.advance(1);
  await end;
}

async function probeOf(server: Server) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ask: async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
