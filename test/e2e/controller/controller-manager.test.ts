/** The life of a manager on a real server: who leads, how it stops, what it says of itself, what it leaves behind. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { type KubeClient, mergePatch } from '../../../src/client/index.ts';
import { leases } from '../../../src/client/objects/generated/coordination-v1.ts';
import { configMaps, events, secrets } from '../../../src/client/objects/generated/core-v1.ts';
import {
  type ControllerDefinition,
  defineController,
  EventRecorder,
  healthHandler,
  Manager,
  type ManagerOptions,
  type ReconcileContext,
  requeueAfter,
  withFinalizer,
} from '../../../src/controller/index.ts';
import { FakeClock, startTestServer } from '../../../src/testing/index.ts';
import { adminOf, adminThrough, until } from '../../support/client/client-under-test.ts';
import { Diary, fast } from '../../support/client/controller-under-test.ts';
import { startTcpProxyTo } from '../../support/tcp-proxy.ts';

/** Nobody waits for this to run out. */
const lease = { name: 'boss', leaseDurationMs: 600_000, renewDeadlineMs: 500_000, retryMs: 300_000 };

function noting(told: string[], who: string): ControllerDefinition {
  return defineController({
    name: 'noting',
    for: configMaps,
    reconcile(map, { name }) {
      if (map) told.push(`${who} reconciles ${name}`);
    },
  }) as unknown as ControllerDefinition;
}

function managerNamed(identity: string, client: KubeClient, more: Partial<ManagerOptions> = {}): Manager {
  return new Manager({ client, ...fast, ...more, election: { ...lease, identity, ...more.election } });
}

it('nothing is left of a manager that has stopped: no timer, no connection, no handler', async () => {
  await using server = await startTestServer();
  const held = () => process.getActiveResourcesInfo().filter((kind) => /Timeout|TCPSocket|TLS/.test(kind)).length;
  const before = held();
  for (let round = 0; round < 2; round++) {
    await using client = await adminOf(server);
    await using manager = managerNamed(`m${round}`, client);
    let reconciles = 0;
    manager.add(
      defineController({
        name: 'busy',
        for: configMaps,
        timeoutMs: 60_000,
        owns: [secrets],
        async reconcile(map, { client, recorder }) {
          if (!map) return undefined;
          recorder.normal('Seen', 'seen');
          await client.resource(configMaps).patch(map.metadata.name, mergePatch({ data: { n: `${++reconciles}` } }), {
            namespace: map.metadata.namespace!,
          });
          return requeueAfter('1h');
        },
      }),
    );
    manager.start();
    await client.resource(configMaps).create({ metadata: { name: `a${round}` } });
    await until(() => reconciles > 5);
  }
  await until(() => held() <= before);
  expect(held()).toBeLessThanOrEqual(before);
});

it('one manager leads, the other is warm, and takes over at once when the first is stopped', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const told: string[] = [];
  const first = managerNamed('first', client);
  first.add(noting(told, 'first'));
  const stop = new AbortController();
  const running = first.run(stop.signal);
  await until(() => first.elector?.isLeading() === true);
  await using second = managerNamed('second', client);
  second.add(noting(told, 'second'));
  second.add(
    defineController({
      name: 'everywhere',
      needsLeadership: false,
      for: secrets,
      reconcile: (_secret, { name, leadership }) =>
        void told.push(`second sees ${name}, leading ${leadership !== undefined}`),
    }),
  );
  second.start();
  await second.ready();
  await until(() => second.elector?.role.kind === 'following' && second.elector.role.leader === 'first');
  await client.resource(configMaps).create({ metadata: { name: 'a' } });
  await client.resource(secrets).create({ metadata: { name: 's' } });
  await until(() => told.some((line) => line.includes('second sees s')) && told.includes('first reconciles a'));
  expect(told).toContain('second sees s, leading false');
  expect(told.filter((line) => line.startsWith('second reconciles'))).toEqual([]);
  // It stands by with everything in its cache, and is ready.
  expect(second.health()).toMatchObject({
    isReady: true,
    role: { kind: 'following', leader: 'first' },
    controllers: [
      { name: 'noting', state: 'standby', waitsFor: [] },
      { name: 'everywhere', state: 'running' },
    ],
  });
  stop.abort();
  await running;
  told.push('first has stopped');
  await until(() => told.includes('second reconciles a'));
  // The lease of ten minutes was given away, not waited out.
  const { spec } = await client.resource(leases).get('boss');
  expect(spec).toMatchObject({ holderIdentity: 'second', leaseTransitions: 1 });
  const last = told.findLastIndex((line) => line.startsWith('first reconciles'));
  expect(last).toBeLessThan(told.findIndex((line) => line.startsWith('second reconciles')));
});

it('a leader that loses its lease stops at once, may write no more, and leads again whatever its old work does', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const told: string[] = [];
  let context: ReconcileContext | undefined;
  let release = () => {};
  const timings = { leaseDurationMs: 600_000, renewDeadlineMs: 500_000, retryMs: 20, jitterFactor: 0 };
  const impatient = { graceMs: 0, abortGraceMs: 0 };
  await using manager = managerNamed('loser', client, { ...impatient, election: { ...lease, ...timings } });
  manager.add(
    defineController({
      name: 'holding',
      for: { resource: configMaps, fieldSelector: { 'metadata.name': 'a' } },
      async reconcile(map, given) {
        if (!map) return;
        told.push(`term ${given.leadership?.token.term}`);
        if (context) return;
        context = given;
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        told.push('ended');
      },
    }),
  );
  manager.start();
  await client.resource(configMaps).create({ metadata: { name: 'a' } });
  await until(() => context !== undefined);
  const { leaseTransitions = 0 } = (await client.resource(leases).get('boss')).spec;
  const robbed = { spec: { holderIdentity: 'rival', leaseTransitions: leaseTransitions + 1 } };
  await client.resource(leases).patch('boss', mergePatch(robbed));
  await until(() => context?.signal.aborted === true);
  expect(context?.signal.reason).toMatchObject({ name: 'LeadershipLostError' });
  const { signal } = new AbortController(); // one of its own would not stop it
  const late = context?.client.resource(configMaps).create({ metadata: { name: 'late' } }, { signal });
  await expect(late).rejects.toMatchObject({ name: 'LeadershipLostError' });
  expect(await client.resource(configMaps).find('late')).toBeUndefined();
  await client.resource(leases).patch('boss', mergePatch({ spec: { holderIdentity: '' } }));
  // It has given up on its old work, and leads again; but a key is never in two hands, so this one waits for that work.
  await until(() => manager.elector?.isLeading() === true && manager.controllers[0]?.state === 'running');
  await client.resource(configMaps).patch('a', mergePatch({ data: { more: 'work' } }));
  await until(() => (manager.controllers[0]?.metrics().pool.controller_runtime_reconcile_total.success ?? 0) > 0);
  expect(told).toEqual([`term ${leaseTransitions}`]);
  expect(manager.health()).toMatchObject({ isLive: false, isReady: false });
  expect(manager.health().problems).toEqual([
    expect.stringMatching(
      /^controller "holding": reconcile of "default\/a" has not ended for \d+ s, and ignores its signal$/,
    ),
  ]);
  release();
  await until(() => told.length >= 3);
  expect(manager.health()).toMatchObject({ isLive: true, isReady: true, problems: [] });
  expect(told.slice(0, 3)).toEqual([`term ${leaseTransitions}`, 'ended', `term ${leaseTransitions + 2}`]);
});

it('a manager that stops lets reconciles end, begins none, and then tells those that do not end', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const clock = new FakeClock();
  const told: string[] = [];
  let finish = () => {};
  const diary = new Diary();
  const manager = new Manager({ client, ...fast, clock, observer: diary.observer });
  manager.add(
    defineController({
      name: 'working',
      for: { resource: configMaps, labelSelector: 'work' },
      concurrency: 2,
      async reconcile(map, { name, signal, client, recorder }) {
        if (!map) return;
        told.push(`${name} begins`);
        recorder.normal('Begun', `${name} has begun`);
        await new Promise<void>((resolve) => {
          if (name === 'good') finish = resolve;
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
        signal.throwIfAborted();
        await client.resource(configMaps).patch(name, mergePatch({ data: { done: 'yes' } }));
        told.push(`${name} ends`);
      },
    }),
  );
  manager.start();
  const maps = client.resource(configMaps);
  for (const name of ['good', 'endless']) await maps.create({ metadata: { name, labels: { work: 'yes' } } });
  await until(() => told.length === 2);
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  stop.abort();
  await until(() => manager.health().problems.includes('the manager is stopping'));
  await maps.create({ metadata: { name: 'never', labels: { work: 'yes' } } });
  finish();
  await until(() => told.includes('good ends'));
  await clock.advance(29_999);
  expect(diary.outcomes.map(({ key, result }) => `${key} ${result}`)).toEqual(['default/good success']);
  await clock.advance(1);
  await running;
  expect(diary.outcomes[1]).toMatchObject({
    key: 'default/endless',
    result: 'stopped',
    error: { name: 'PoolStoppedError' },
  });
  expect(told).not.toContain('never begins');
  expect((await maps.get('good')).data).toEqual({ done: 'yes' });
  const notes = (await client.resource(events).list()).items.map(({ message }) => message);
  expect(notes.sort()).toEqual(['endless has begun', 'good has begun']);
  expect(() => manager.add(noting([], 'x'))).toThrow('Cannot add controller "noting": the manager is stopping');
});

it('what fails by a bug stops everything and is thrown by run()', async () => {
  await using server = await startTestServer();
  const client = await adminOf(server);
  const manager = new Manager({ client, ...fast });
  const controller = manager.add(noting([], 'x'));
  await client.close(); // its owner has closed it too early
  await expect(manager.run()).rejects.toThrow(/closed/);
  expect([controller.state, manager.health().isLive, manager.informers]).toEqual(['stopped', false, []]);
});

it('health over HTTP tells probes what is wrong, and with ?verbose what is well', async () => {
  await using server = await startTestServer();
  const proxy = await startTcpProxyTo(server);
  await using _proxy = proxy;
  const clock = new FakeClock();
  await using client = await adminThrough(server, proxy.port, { clock });
  const informers = { reflector: { backoff: { minMs: 30_000, maxMs: 30_000 } } };
  await using manager = new Manager({ client, ...fast, informers, health: { maxLagMs: 180_000 } });
  manager.add(noting([], 'x'));
  const http = createServer(healthHandler(manager));
  await using probes = await listening(http);
  expect(await probes.get('/readyz')).toEqual([
    503,
    '[-]manager failed: the manager has not started\nreadyz check failed\n',
  ]);
  manager.start();
  await manager.ready();
  expect(await probes.get('/readyz')).toEqual([200, 'ok']);
  expect(await probes.get('/readyz?verbose')).toEqual([
    200,
    '[+]manager ok\n[+]informer configmaps ok\nreadyz check passed\n',
  ]);
  expect(await probes.get('/livez')).toEqual([200, 'ok']);
  expect(await probes.get('/else')).toEqual([404, 'Cannot find /else: there are /livez and /readyz\n']);
  proxy.refuses = true;
  proxy.stall();
  proxy.cut();
  await until(async () => {
    await clock.advance(1000);
    return manager.health().informers[0]!.lagMs! > 180_000;
  });
  const [code, text] = await probes.get('/readyz');
  expect(code).toBe(503);
  expect(text).toMatch(/^\[\+\]manager ok\n\[-\]informer configmaps failed: silent for 18\d s\nreadyz check failed\n$/);
  expect(await probes.get('/livez')).toEqual([200, 'ok']);
  proxy.refuses = false;
  await until(async () => {
    await clock.advance(1000);
    return manager.health().isReady;
  });
  await manager.stop();
  expect(await probes.get('/readyz')).toMatchObject([503, expect.stringMatching(/the manager is stopping/)]);
});

it('events that are equal are counted, an object has a budget, and nothing is thrown or lost without a count', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const clock = new FakeClock();
  let now = Date.parse('2026-01-01T00:00:00Z');
  const map = await client.resource(configMaps).create({ metadata: { name: 'a' } });
  const errors: unknown[] = [];
  const recorder = new EventRecorder(client, {
    ...{ clock, limit: 3, instance: 'here', budget: { burst: 5 }, wallNow: () => now },
    onError: (error) => void errors.push(error),
  });
  const bound = recorder.bind('tester', map);
  for (let i = 0; i < 3; i++) bound.normal('Scaled', 'Scaled to 3');
  bound.warning('Failed', 'x'.repeat(2000));
  await recorder.flushed();
  now += 60_000;
  for (let i = 0; i < 2; i++) bound.normal('Scaled', 'Scaled to 3');
  await recorder.flushed();
  const list = async () => (await client.resource(events).list()).items.sort((a, b) => (a.type! < b.type! ? -1 : 1));
  expect(await list()).toMatchObject([
    {
      ...{ type: 'Normal', reason: 'Scaled', message: 'Scaled to 3', count: 5 },
      ...{ firstTimestamp: '2026-01-01T00:00:00Z', lastTimestamp: '2026-01-01T00:01:00Z' },
      involvedObject: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'a', uid: map.metadata.uid },
      source: { component: 'tester' },
      ...{ reportingComponent: 'tester', reportingInstance: 'here' },
    },
    { type: 'Warning', message: 'x'.repeat(1024), count: 1 },
  ]);
  expect(recorder.metrics()).toEqual({ recorded: 6, written: 3, dropped: 0, failed: 0, waiting: 0 });
  // The server has forgotten it: it is told anew, and its count goes on.
  for (const { metadata } of await list()) await client.resource(events).delete(metadata.name);
  bound.normal('Scaled', 'Scaled to 3');
  await recorder.flushed();
  expect(await list()).toMatchObject([{ message: 'Scaled to 3', count: 6 }]);
  // Five was its budget. Another object has its own, and half a budget comes back with time.
  for (let i = 0; i < 4; i++) bound.normal('Spam', `${i}`);
  await recorder.flushed();
  expect(recorder.metrics()).toMatchObject({ dropped: 3, written: 5 });
  await clock.advance(300_000);
  bound.normal('Spam', 'again');
  await recorder.flushed();
  expect(recorder.metrics()).toMatchObject({ dropped: 3, written: 6 });
  for (let i = 0; i < 5; i++)
    recorder.record(
      'tester',
      { apiVersion: 'v1', kind: 'Node', metadata: { name: `n${i}` } },
      { type: 'Normal', reason: 'R', message: 'm' },
    );
  expect(recorder.metrics()).toMatchObject({ waiting: 3, dropped: 5 }); // there is room for three
  await recorder.flushed();
  // A namespace that is not there: told to onError, and nothing else happens.
  recorder.record(
    'tester',
    { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'none' } },
    { type: 'Normal', reason: 'R', message: 'm' },
  );
  await recorder[Symbol.asyncDispose]();
  expect(errors).toMatchObject([{ reason: 'NotFound' }]);
  expect(recorder.metrics()).toMatchObject({ failed: 1, waiting: 0 });
  bound.normal('Late', 'after closing');
  expect(recorder.metrics()).toMatchObject({ dropped: 6 });
});

it('withFinalizer() is there before the first apply, goes after the cleanup, and minds nobody else', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const maps = client.resource(configMaps);
  const told: string[] = [];
  let isClean = false;
  const options = {
    finalizer: 'ex.io/mine',
    apply: async ({ metadata }: { metadata: { name: string } }) => {
      told.push(`apply ${(await maps.get(metadata.name)).metadata.finalizers?.join()}`);
      return requeueAfter(7);
    },
    cleanup: async ({ metadata }: { metadata: { name: string } }) => {
      // Others write meanwhile: the removal is not refused because of it, nor does it undo what they did.
      const note = mergePatch({ metadata: { annotations: { note: 'yes' } } });
      if (isClean) await maps.patch(metadata.name, note);
      told.push(`cleanup ${isClean}`);
      return isClean ? undefined : requeueAfter(5);
    },
  };
  const made = await maps.create({ metadata: { name: 'a', finalizers: ['ex.io/theirs'] } });
  const before = { ...made };
  expect(await withFinalizer(maps, made, options)).toEqual({ requeueAfterMs: 7 });
  expect(told).toEqual(['apply ex.io/theirs,ex.io/mine']);
  await expect(withFinalizer(maps, before, options)).rejects.toMatchObject({ reason: 'Conflict' });
  expect(await withFinalizer(maps, await maps.get('a'), options)).toEqual({ requeueAfterMs: 7 });

  await maps.delete('a');
  const going = await maps.get('a');
  expect(await withFinalizer(maps, going, options)).toEqual({ requeueAfterMs: 5 });
  expect((await maps.get('a')).metadata.finalizers).toEqual(['ex.io/theirs', 'ex.io/mine']);
  isClean = true;
  expect(await withFinalizer(maps, going, options)).toBeUndefined();
  const left = await maps.get('a');
  expect([left.metadata.finalizers, left.metadata.annotations]).toEqual([['ex.io/theirs'], { note: 'yes' }]);
  // From here on it is somebody else's: neither function is called, and nothing is written.
  expect(await withFinalizer(maps, left, options)).toBeUndefined();
  expect((await maps.get('a')).metadata.resourceVersion).toBe(left.metadata.resourceVersion);
  await maps.patch('a', mergePatch({ metadata: { finalizers: null } }));
  expect(await maps.find('a')).toBeUndefined();
  expect(await withFinalizer(maps, left, options)).toBeUndefined();
  expect(told.slice(-2)).toEqual(['cleanup false', 'cleanup true']);
});

async function listening(http: Server): Promise<AsyncDisposable & { get(path: string): Promise<[number, string]> }> {
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  return {
    async get(path) {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      return [answer.status, await answer.text()];
    },
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}
