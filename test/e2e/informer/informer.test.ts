/** Informers on a real server, in good weather. */
import { expect, it } from 'vitest';
import { Informer, InformerFactory, type RequestSample } from '../../../src/client/advanced.ts';
import { defineResource, KubeClient, mergePatch } from '../../../src/client/index.ts';
import { customResourceDefinitions } from '../../../src/client/objects/generated/apiextensions-v1.ts';
import { type ConfigMap, configMaps, namespaces } from '../../../src/client/objects/generated/core-v1.ts';
import { clusterRoleBindings, clusterRoles } from '../../../src/client/objects/generated/rbac-v1.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { Believer, versionsOf } from '../../support/client/believer.ts';
import { accessOf, adminOf } from '../../support/client/client-under-test.ts';
import { expectSame, serverVersions } from '../../support/client/informer-under-test.ts';
import { writeALot, writeLast } from '../../support/server/writers.ts';

const fast = { backoff: { minMs: 1, maxMs: 20 } };
const everywhere = { allNamespaces: true, reflector: fast } as const;
const pathIn = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`;

it.each<[how: string, useWatchList: boolean]>([
  ['a stream', true],
  ['pages', false],
])('filled by %s while others write, the store equals the server when it is quiet', async (_how, useWatchList) => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await client.resource(namespaces).create({ metadata: { name: 'other' } });
  await writeALot({ client: server.client, writes: 300, names: 120, seed: 1 });
  const writing = Promise.all([
    writeALot({ client: server.client, writes: 400, seed: 2 }),
    writeALot({ client: server.client, writes: 200, seed: 3, path: pathIn('other') }),
  ]);
  const byValue = ({ data }: ConfigMap) => [data?.value?.split('.')[0]];
  const reflector = { ...fast, useWatchList, pageItems: 7 };
  await using informer = new Informer(client, configMaps, { ...everywhere, reflector, indexers: { byValue } });
  const early = new Believer<ConfigMap>();
  await using first = informer.subscribe(early.take);
  await informer.synced();
  const late = new Believer<ConfigMap>();
  await using second = informer.subscribe(late.take, { limit: 3 });
  await writing;
  await expectSame(informer, server.client, client);
  await Promise.all([first.idle(), second.idle()]);
  early.expectSame(informer);
  late.expectSame(informer);
  for (const value of informer.valuesOf('byValue'))
    expect(versionsOf(informer.by('byValue', value))).toEqual(
      versionsOf(informer.list().filter((map) => byValue(map)[0] === value)),
    );
  expect(informer.metrics).toMatchObject({ lists: 1, pagedLists: useWatchList ? 0 : 1, objects: informer.size });
  expect(informer.freshness).toMatchObject({ state: 'current', resourceVersion: informer.resourceVersion });
});

it('audits while others write find nothing to object to', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await client.resource(namespaces).create({ metadata: { name: 'other' } });
  const namespace = ['default', 'other'];
  await using informer = new Informer(client, configMaps, { namespace, reflector: fast });
  await informer.synced();
  for (let seed = 0; seed < 4; seed++) {
    const writing = Promise.all(
      namespace.map((name) => writeALot({ client: server.client, writes: 100, seed, path: pathIn(name) })),
    );
    const audit = informer.audit();
    await writing;
    for (const name of namespace) await writeLast(server.client, pathIn(name), `last-${seed}`);
    expect(await audit).toMatchObject({ divergent: [], isLate: false });
  }
  expect(informer.metrics).toMatchObject({ lists: 2, audits: 4, divergences: 0 });
});

it('what was there is marked, what comes later is not, and a new object of the same name is another', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const maps = client.resource(configMaps);
  await maps.create({ metadata: { name: 'a', labels: { app: 'x' } } });
  await using informer = new Informer(client, configMaps, { reflector: fast, labelSelector: 'app' });
  const handler = new Believer<ConfigMap>();
  await using subscription = informer.subscribe(handler.take);
  await informer.synced();
  await maps.patch('a', mergePatch({ data: { a: '1' } }));
  await maps.delete('a');
  const { metadata } = await maps.create({ metadata: { name: 'a', labels: { app: 'y' } } });
  await maps.create({ metadata: { name: 'unlabelled' } });
  const { metadata: last } = await maps.create({ metadata: { name: 'b', labels: { app: 'x' } } });
  await informer.reached(last.resourceVersion);
  await subscription.idle();
  expect(handler.told).toMatchObject([
    { type: 'added', key: 'default/a', isInitial: true },
    { type: 'updated', object: { data: { a: '1' } }, old: { metadata: { name: 'a' } }, isResync: false },
    { type: 'deleted', key: 'default/a', isTombstone: false },
    { type: 'added', key: 'default/a', object: { metadata: { uid: metadata.uid } }, isInitial: false },
    { type: 'added', key: 'default/b', isInitial: false },
  ]);
  expect(informer.list({ labelSelector: { app: 'x' } }).map((map) => map.metadata.name)).toEqual(['b']);
  expect(informer.list({ namespace: 'elsewhere' })).toEqual([]);
});

it('several namespaces are one store, and others are not in it', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  for (const name of ['m', 'n', 'o']) await client.resource(namespaces).create({ metadata: { name } });
  await using informer = new Informer(client, configMaps, { namespace: ['m', 'n', 'm'], reflector: fast });
  await informer.synced();
  await Promise.all(
    ['m', 'n', 'o'].map((name, seed) => writeALot({ client: server.client, writes: 80, seed, path: pathIn(name) })),
  );
  const versions: string[] = [];
  for (const name of ['o', 'm', 'n']) versions.push(await writeLast(server.client, pathIn(name)));
  const all = async () => Object.entries(await serverVersions(client)).filter(([key]) => /^[mn]\//.test(key));
  const want = Object.fromEntries(await all());
  for (const version of versions.slice(1)) {
    const key = version === versions[1] ? 'm/the-last' : 'n/the-last';
    for await (const { objects } of informer.snapshots()) if (objects.has(key)) break;
  }
  expect(versionsOf(informer.list())).toEqual(want);
});

it('many namespaces are no leak, and no warning', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const warnings: Error[] = [];
  const listen = (warning: Error) => void warnings.push(warning);
  process.on('warning', listen);
  const namespace = Array.from({ length: 15 }, (_, i) => `n${i}`);
  await using informer = new Informer(client, configMaps, { namespace, reflector: fast });
  await informer.synced();
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', listen);
  expect(warnings).toEqual([]);
});

it('a missing right is told by synced(), and mended when it is granted', async () => {
  await using server = await startTestServer();
  await using admin = await adminOf(server);
  await using client = new KubeClient({ ...(await accessOf(server)), impersonate: { user: 'jane' } });
  await using informer = new Informer(client, configMaps, everywhere);
  await expect(informer.synced()).rejects.toMatchObject({
    reason: 'Forbidden',
    message: expect.stringMatching(/jane.*configmaps/),
  });
  expect(informer.freshness).toMatchObject({ state: 'refused', resourceVersion: undefined, error: { code: 403 } });
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'r' } as const;
  await admin.resource(clusterRoles).create({ metadata: { name: 'r' }, rules });
  const subjects = [{ kind: 'User' as const, name: 'jane', apiGroup: 'rbac.authorization.k8s.io' }];
  await admin.resource(clusterRoleBindings).create({ metadata: { name: 'r' }, roleRef, subjects });
  await syncedInTheEnd(informer);
  expect(informer.freshness.state).toBe('current');
});

it('a missing kind is told by synced(), and mended when it is installed', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' };
  const widgets = defineResource({ group: 'ex.io', version: 'v1', isNamespaced: true, ...names });
  await using informer = new Informer(client, widgets, { reflector: fast });
  await expect(informer.synced()).rejects.toMatchObject({ reason: 'NotFound' });
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }];
  const spec = { group: 'ex.io', scope: 'Namespaced' as const, names, versions };
  await client.resource(customResourceDefinitions).create({ metadata: { name: 'widgets.ex.io' }, spec });
  await syncedInTheEnd(informer);
});

it('events() and snapshots() end with the loop, the signal or the informer', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const maps = client.resource(configMaps);
  await maps.create({ metadata: { name: 'a' } });
  const informer = new Informer(client, configMaps, { reflector: fast });
  await informer.synced();
  for await (const event of informer.events()) {
    expect(event).toMatchObject({ type: 'added', key: 'default/a', isInitial: true });
    break;
  }
  const stop = new AbortController();
  const stopped = informer.events({ signal: stop.signal });
  await stopped.next();
  const over = expect(stopped.next()).rejects.toThrow('over');
  stop.abort(new Error('over'));
  await over;
  const snapshots = informer.snapshots();
  const { value } = await snapshots.next();
  expect([...value!.objects.keys()]).toEqual(['default/a']);
  await maps.create({ metadata: { name: 'b' } });
  expect((await snapshots.next()).value!.objects.size).toBe(2);
  const events = informer.events();
  expect([(await events.next()).value?.key, (await events.next()).value?.key]).toEqual(['default/a', 'default/b']);
  const ends = Promise.all([events.next(), snapshots.next()]);
  await informer[Symbol.asyncDispose]();
  expect(await ends).toMatchObject([{ done: true }, { done: true }]);
  await expect(informer.reached('999999999')).rejects.toThrow('was closed');
  expect(() => informer.subscribe(() => {})).toThrow('was closed');
});

it('a handler that is stuck or throws harms nobody, and is told the last state', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  await using informer = new Informer(client, configMaps, { ...everywhere, onError });
  await informer.synced();
  const slow = new Believer<ConfigMap>();
  let release = () => {};
  const stuck = new Promise<void>((resolve) => {
    release = resolve;
  });
  const handler = async (event: Parameters<typeof slow.take>[0]) => {
    await stuck;
    slow.take(event);
  };
  await using a = informer.subscribe(handler, { name: 'slow', limit: 10 });
  const good = new Believer<ConfigMap>();
  await using b = informer.subscribe(good.take, { limit: 1e6 });
  const bug = new Error('bug');
  await using c = informer.subscribe(() => Promise.reject(bug), { name: 'bad' });
  await writeALot({ client: server.client, writes: 300, names: 10, seed: 5 });
  await expectSame(informer, server.client, client);
  await Promise.all([b.idle(), c.idle()]);
  good.expectSame(informer);
  const { backlog, conflated } = a.metrics;
  expect(backlog).toBeLessThanOrEqual(10 + 2 * 12);
  expect(conflated).toBeGreaterThan(0);
  expect(errors.length).toBeGreaterThan(0);
  expect(errors.length).toBeLessThanOrEqual(c.metrics.errors);
  for (const error of errors) expect(error).toMatchObject({ name: 'CallbackError', cause: bug });
  release();
  await a.idle();
  slow.expectSame(informer);
});

it('a removed handler is not called again; disposal waits for the event that is being handled', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await client.resource(configMaps).create({ metadata: { name: 'a' } });
  await using informer = new Informer(client, configMaps, { reflector: fast });
  await informer.synced();
  const told: string[] = [];
  let begun = () => {};
  const isBusy = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const subscription = informer.subscribe(async ({ key }, signal) => {
    begun();
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    told.push(key);
  });
  await isBusy;
  await subscription[Symbol.asyncDispose]();
  expect(told).toEqual(['default/a']);
  const { metadata } = await client.resource(configMaps).create({ metadata: { name: 'b' } });
  await informer.reached(metadata.resourceVersion);
  expect(told).toEqual(['default/a']);
  expect(informer.metrics.handlers).toEqual([]);
});

it('objects are shared, trimmed and protected', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await client.resource(configMaps).create({ metadata: { name: 'a' }, data: { big: 'x', small: 'y' } });
  const transform = (map: ConfigMap): ConfigMap => ({ ...map, data: { small: map.data?.small ?? '' } });
  await using informer = new Informer(client, configMaps, { reflector: fast, transform, freeze: true });
  await informer.synced();
  const map = informer.get('default/a')!;
  expect(map.data).toEqual({ small: 'y' });
  expect(() => {
    map.data!.small = 'z';
  }).toThrow(TypeError);
});

it('a factory shares one watch between handles, and closes it with the last', async () => {
  await using server = await startTestServer();
  const samples: RequestSample[] = [];
  await using client = await adminOf(server, { onRequest: (sample) => void samples.push(sample) });
  await using factory = new InformerFactory(client, { reflector: fast });
  const one = factory.acquire(configMaps, { allNamespaces: true });
  const byName = ({ metadata }: ConfigMap) => [metadata.name];
  const two = factory.acquire(configMaps, { allNamespaces: true, indexers: { byName } });
  const other = factory.acquire(configMaps, { namespace: 'default' });
  expect(one.informer).toBe(two.informer);
  expect(other.informer).not.toBe(two.informer);
  await factory.synced();
  expect(samples.filter(({ isStream }) => isStream).length).toBe(2);
  const version = await writeLast(server.client);
  await two.informer.reached(version);
  expect(two.informer.by('byName', 'the-last').length).toBe(1);
  await one[Symbol.asyncDispose]();
  await one[Symbol.asyncDispose]();
  expect(two.informer.freshness.state).toBe('current');
  await two[Symbol.asyncDispose]();
  expect(two.informer.freshness.state).toBe('stopped');
  expect(factory.informers).toEqual([other.informer]);
  await using again = factory.acquire(configMaps, { allNamespaces: true });
  expect(again.informer).not.toBe(one.informer);
});

/** As someone who asks again when the answer is no. */
async function syncedInTheEnd(informer: { synced(): Promise<void> }): Promise<void> {
  for (;;) {
    const isSynced = await informer.synced().then(
      () => true,
      () => false,
    );
    if (isSynced) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
