/**
 * A server that has lost its data gives the same versions out again, for other objects. Whoever goes on from one of them
 * must find out, also when the new history is longer than the old one was by then.
 */
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent, fetch } from 'undici';
import { expect, it } from 'vitest';
import { Informer, Reflector } from '../../src/client/advanced.ts';
import type { AnyObject, KubeClient } from '../../src/client/index.ts';
import { configMaps } from '../../src/client/objects/generated/core-v1.ts';
import { defineController, Manager } from '../../src/controller/index.ts';
import { credentialsOf, FakeClock, startTestServer, type TestServer } from '../../src/testing/index.ts';
import { versionsOf } from '../support/client/believer.ts';
import { answer, type Exchange, scriptedServer } from '../support/client/client-scripted-server.ts';
import { adminOf, adminThrough, until } from '../support/client/client-under-test.ts';
import { fast } from '../support/client/controller-under-test.ts';
import { serverVersions } from '../support/client/informer-under-test.ts';
import { startTcpProxyTo, type TcpProxy } from '../support/tcp-proxy.ts';
import { temporaryDir } from '../support/temporary-dir.ts';

const reflector = { backoff: { minMs: 1, maxMs: 20 } };

async function write(server: TestServer, prefix: string, count: number): Promise<void> {
  await using client = await adminOf(server);
  for (let n = 0; n < count; n++) await client.resource(configMaps).create({ metadata: { name: `${prefix}-${n}` } });
}

/** Nobody can look while the server loses its data and comes past the version it had. */
async function loseAndOvertake(server: TestServer, proxy: TcpProxy, version: string): Promise<void> {
  proxy.refuses = true;
  proxy.cut();
  await server.loseData();
  await write(server, 'new', 30);
  await using client = await adminOf(server);
  const list = await client.resource(configMaps).list();
  expect(Number(list.metadata.resourceVersion)).toBeGreaterThan(Number(version));
  proxy.refuses = false;
}

async function expectTrue(informer: Informer<never>, client: KubeClient): Promise<void> {
  await until(async () => JSON.stringify(versionsOf(informer.list())) === JSON.stringify(await serverVersions(client)));
}

it('an informer has no ghosts and misses nothing after its server lost its data and overtook it', async () => {
  await using server = await startTestServer();
  await write(server, 'old', 20);
  await using proxy = await startTcpProxyTo(server);
  await using client = await adminThrough(server, proxy.port);
  await using informer = new Informer(client, configMaps, { allNamespaces: true, reflector });
  await informer.synced();
  expect(informer.get('default/old-7')).toBeDefined();
  await loseAndOvertake(server, proxy, informer.resourceVersion!);
  await expectTrue(informer as never, client);
  expect([informer.get('default/old-7'), informer.get('default/new-7') !== undefined]).toEqual([undefined, true]);
});

it('a process that starts again with a checkpoint of before has none either', async () => {
  await using server = await startTestServer();
  await write(server, 'old', 20);
  await using dir = await temporaryDir();
  const checkpoint = { file: join(dir.path, 'maps'), flushMs: 5 };
  await using proxy = await startTcpProxyTo(server);
  let version = '';
  {
    await using client = await adminThrough(server, proxy.port);
    await using informer = new Informer(client, configMaps, { allNamespaces: true, reflector, checkpoint });
    await informer.synced();
    await informer.saved();
    version = informer.resourceVersion!;
  }
  await loseAndOvertake(server, proxy, version);
  await using client = await adminThrough(server, proxy.port);
  await using informer = new Informer(client, configMaps, { allNamespaces: true, reflector, checkpoint });
  await informer.synced();
  await expectTrue(informer as never, client);
});

it('controllers reconcile what is gone and what is new', async () => {
  await using server = await startTestServer();
  await write(server, 'old', 5);
  await using proxy = await startTcpProxyTo(server);
  await using client = await adminThrough(server, proxy.port);
  const known = new Map<string, boolean>();
  await using manager = new Manager({ client, ...fast, namespace: 'default' });
  const reconcile = (map: object | undefined, { name }: { name: string }) => void known.set(name, map !== undefined);
  manager.add(defineController({ name: 'all', for: configMaps, reconcile }));
  manager.start();
  await until(() => known.get('old-4') === true);
  await loseAndOvertake(server, proxy, manager.informers[0]!.resourceVersion!);
  await until(() => known.get('old-4') === false && known.get('new-29') === true);
});

type Side = { readonly uid: string; readonly objects: Readonly<Record<string, number>>; readonly version: number };

/** As a kube-apiserver answers, which names no history. */
function play(exchange: Exchange, { objects, version }: Side): void {
  const { searchParams } = new URL(exchange.request.url!, 'http://x');
  const events = Object.entries(objects).map(([name, resourceVersion]) => ({
    type: 'ADDED',
    object: { kind: 'ConfigMap', apiVersion: 'v1', metadata: object(name, resourceVersion) },
  }));
  exchange.response.writeHead(200, { 'content-type': 'application/json' });
  exchange.response.flushHeaders();
  if (searchParams.get('sendInitialEvents') !== 'true') return;
  const annotations = { 'k8s.io/initial-events-end': 'true' };
  const mark = { type: 'BOOKMARK', object: { metadata: { resourceVersion: `${version}`, annotations } } };
  for (const event of [...events, mark]) exchange.response.write(`${JSON.stringify(event)}\n`);
}

function object(name: string, version: number) {
  return { name, namespace: 'default', uid: `${name}-${version}`, resourceVersion: `${version}` };
}

it('of a server that names no history the uid of kube-system is asked for after each stream that goes on', async () => {
  await using server = await scriptedServer();
  const before: Side = { uid: 'one', objects: { a: 5, b: 6 }, version: 6 };
  const after: Side = { uid: 'two', objects: { a: 9, c: 10 }, version: 12 };
  server.clusterUid = before.uid;
  const states: string[][] = [];
  const sink = {
    replace: (objects: readonly AnyObject[]) => void states.push(objects.map(({ metadata }) => metadata.uid!)),
    ...{ upsert() {}, remove() {}, progress() {}, changed() {} },
  };
  const watched = new Reflector(server.transport(), configMaps, sink, reflector);
  const stop = new AbortController();
  const running = watched.run(stop.signal).catch(() => {});
  const first = await server.next();
  play(first, before);
  await until(() => states.length === 1 && watched.history?.id === before.uid);
  first.response.destroy();
  const second = await server.next();
  expect(second.request.url).toContain('resourceVersion=6');
  play(second, before); // the same server
  await until(() => watched.counts.streams === 2);
  server.clusterUid = after.uid;
  second.response.destroy();
  const third = await server.next();
  expect(third.request.url).toContain('resourceVersion=6');
  play(third, after);
  const fourth = await server.next();
  expect(fourth.request.url).toMatch(/sendInitialEvents=true(?!.*resourceVersion=6)/);
  play(fourth, after);
  await until(() => states.length === 2);
  expect(states).toEqual([
    ['a-5', 'b-6'],
    ['a-9', 'c-10'],
  ]);
  stop.abort();
  await running;
});

it('a server that is lost between a list and the first watch from it is noticed, though it has counted as far', async () => {
  await using server = await scriptedServer();
  const states: string[][] = [];
  const sink = {
    replace: (objects: readonly AnyObject[]) => void states.push(objects.map(({ metadata }) => metadata.uid!)),
    ...{ upsert() {}, remove() {}, progress() {}, changed() {} },
  };
  const watched = new Reflector(server.transport(), configMaps, sink, { ...reflector, useWatchList: false });
  const stop = new AbortController();
  const running = watched.run(stop.signal).catch(() => {});
  const list = async (objects: readonly ReturnType<typeof object>[]) => {
    const exchange = await server.next();
    expect(exchange.request.url).not.toContain('watch');
    const items = objects.map((metadata) => ({ metadata }));
    answer(exchange, 200, { kind: 'ConfigMapList', apiVersion: 'v1', metadata: { resourceVersion: '6' }, items });
  };
  server.clusterUid = 'one';
  await list([object('a', 6)]);
  server.clusterUid = 'two';
  play(await server.next(), { uid: 'two', objects: {}, version: 6 });
  await list([object('b', 6)]);
  await until(() => states.length === 2);
  expect(states).toEqual([['a-6'], ['b-6']]);
  stop.abort();
  await running;
});

it('who stops does not wait for a server that does not say which it is', async () => {
  await using server = await scriptedServer();
  server.answersAside = false;
  const sink = { replace() {}, upsert() {}, remove() {}, progress() {}, changed() {} };
  const watched = new Reflector(server.transport(), configMaps, sink, { ...reflector, useWatchList: false });
  const stop = new AbortController();
  const running = watched.run(stop.signal);
  const { request } = await server.next();
  expect(request.url).toContain('kube-system');
  stop.abort(new Error('enough'));
  await running.catch(() => {});
});

it('where the uid may not be read, an audit finds out', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  await using informer = new Informer({ transport: server.transport({ clock, random: () => 0.5 }) }, configMaps, {
    reflector: { ...reflector, lifetimeSeconds: [36_000, 36_000], idleTimeoutMs: 0 },
  });
  play(await server.next(), { uid: '', objects: { a: 5 }, version: 6 });
  await informer.synced();
  await clock.advance(3_600_000);
  const audit = await server.next();
  expect(audit.request.headers.accept).toContain('PartialObjectMetadataList');
  const items = [{ metadata: object('b', 6) }];
  answer(audit, 200, { kind: 'PartialObjectMetadataList', metadata: { resourceVersion: '6' }, items });
  play(await server.next(), { uid: '', objects: { b: 6 }, version: 7 });
  await until(() => informer.get('default/b') !== undefined && informer.get('default/a') === undefined);
});

it('a folder put back from an older copy is found out, also when the numbers have come again', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  await write(server, 'both', 5);
  await server.stop();
  await cp(join(server.dataDir, 'store'), join(dir.path, 'store'), { recursive: true });
  await server.start();
  await write(server, 'lost', 20);
  await using proxy = await startTcpProxyTo(server);
  await using client = await adminThrough(server, proxy.port);
  await using informer = new Informer(client, configMaps, { allNamespaces: true, reflector });
  await informer.synced();
  const version = informer.resourceVersion!;
  const { lists } = informer.metrics;
  proxy.cut(); // of the same server it is gone on from: nothing is fetched
  await until(() => informer.metrics.streams > 1 && informer.freshness.state === 'current');
  expect(informer.metrics.lists).toBe(lists);
  proxy.refuses = true;
  proxy.cut();
  await server.stop();
  await rm(join(server.dataDir, 'store'), { recursive: true });
  await cp(join(dir.path, 'store'), join(server.dataDir, 'store'), { recursive: true });
  await server.start();
  await write(server, 'new', 30);
  await server.restart(); // the history of today is longer than one run
  expect(Number((await server.client.list('/api/v1/configmaps')).metadata.resourceVersion)).toBeGreaterThan(
    Number(version),
  );
  proxy.refuses = false;
  await expectTrue(informer as never, client);
  expect([informer.get('default/lost-7'), informer.get('default/new-7') !== undefined]).toEqual([undefined, true]);
});

it('a watch that names another history is refused with 410, and one that names this is served', async () => {
  await using server = await startTestServer();
  const list = await fetchFrom(server, '/api/v1/configmaps');
  const history = list.headers.get('longwatch-history')!;
  const { metadata } = (await list.json()) as { metadata: { resourceVersion: string } };
  const watch = `/api/v1/configmaps?watch=true&timeoutSeconds=1&resourceVersion=${metadata.resourceVersion}`;
  const refused = await fetchFrom(server, watch, { 'longwatch-history': '0123456789abcdef.0123456789abcdef' });
  expect([refused.status, await refused.json()]).toMatchObject([
    410,
    { reason: 'Expired', details: { causes: [{ reason: 'OtherHistory' }] } },
  ]);
  const served = await fetchFrom(server, watch, { 'longwatch-history': history });
  expect([served.status, served.headers.get('longwatch-history')]).toEqual([200, history]);
  await served.text();
});

async function fetchFrom(server: TestServer, path: string, headers: Record<string, string> = {}) {
  const { ca, token } = credentialsOf(server.dataDir, server.kubeconfigPath);
  const dispatcher = new Agent({ connect: { ca } });
  return await fetch(`${server.url}${path}`, { headers: { ...headers, authorization: `Bearer ${token}` }, dispatcher });
}
