/** What docs/features.md says of us in rows where no other test would fail for just that: each claim by itself. */
import { expect, it, vi } from 'vitest';
import { Informer, Reflector, watchResuming } from '../../../src/client/advanced.ts';
import { type InformerOptions, keyOf, type Resource } from '../../../src/client/index.ts';
import { type ConfigMap, configMaps, type Pod, pods, secrets } from '../../../src/client/objects/generated/core-v1.ts';
import { defineController, Manager } from '../../../src/controller/index.ts';
import { FakeClock, type ObjectList, startTestServer } from '../../../src/testing/index.ts';
import {
  answer,
  type Exchange,
  type ScriptedServer,
  scriptedServer,
} from '../../support/client/client-scripted-server.ts';
import { adminOf, until } from '../../support/client/client-under-test.ts';
import { fast } from '../../support/client/controller-under-test.ts';
import { CONFIG_MAPS, writeALot, writeLast } from '../../support/server/writers.ts';

type Stored = ObjectList['items'][number];

const quick = { backoff: { minMs: 1, maxMs: 5 } };
const line = (type: string, object: object) => `${JSON.stringify({ type, object })}\n`;
const annotations = { 'k8s.io/initial-events-end': 'true' };
const endMark = line('BOOKMARK', { metadata: { resourceVersion: '9', annotations } });
const map = (name: string, resourceVersion: string) => ({
  ...{ kind: 'ConfigMap', apiVersion: 'v1', data: { inner: 'x' } },
  metadata: { name, namespace: 'default', uid: name, resourceVersion, labels: { app: 'y' } },
});

function begin({ response }: Exchange, ...lines: string[]): Exchange['response'] {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  for (const text of lines) response.write(text);
  return response;
}

function queryOf({ request }: Exchange): URLSearchParams {
  return new URL(request.url!, 'http://x').searchParams;
}

it('every watch asks for bookmarks: the first, the ones after it, and those of watchResuming', async () => {
  await using server = await scriptedServer();
  const transport = server.transport();
  await using informer = new Informer({ transport }, configMaps, { reflector: quick });
  const first = await server.next();
  expect(queryOf(first).get('allowWatchBookmarks')).toBe('true');
  const stream = begin(first, endMark);
  await informer.synced();
  stream.destroy();
  const second = await server.next();
  expect([queryOf(second).get('resourceVersion'), queryOf(second).get('allowWatchBookmarks')]).toEqual(['9', 'true']);
  begin(second);
  const stop = new AbortController();
  const options = { resourceVersion: '5', signal: stop.signal };
  const reading = watchResuming(transport, configMaps, options).next();
  expect(queryOf(await server.next()).get('allowWatchBookmarks')).toBe('true');
  stop.abort(new Error('over'));
  await expect(reading).rejects.toThrow('over');
});

it('how long a stream is asked to live is drawn anew for each, from five to ten minutes', async () => {
  await using server = await scriptedServer();
  let dice = 0;
  await using informer = new Informer({ transport: server.transport({ random: () => dice }) }, configMaps, {
    reflector: quick,
  });
  const lives: (string | null)[] = [];
  for (const next of [0.5, 0.999, 0]) {
    const exchange = await server.next();
    lives.push(queryOf(exchange).get('timeoutSeconds'));
    dice = next;
    const stream = begin(exchange, ...(lives.length === 1 ? [endMark] : []));
    await until(() => informer.freshness.state === 'current');
    stream.destroy();
    await until(() => informer.freshness.state !== 'current');
  }
  expect(lives).toEqual(['300', '450', '599']);
});

it.each([
  ['test', undefined, true],
  ['production', undefined, false],
  ['production', true, true],
  ['test', false, false],
])(
  'with NODE_ENV=%s and freeze: %s, cached objects are protected all the way down: %s',
  async (env, freeze, isFrozen) => {
    vi.stubEnv('NODE_ENV', env);
    try {
      await using server = await scriptedServer();
      const byApp = ({ metadata }: ConfigMap) => [metadata.labels?.app];
      const options: InformerOptions<ConfigMap> = { reflector: quick, indexers: { byApp }, freeze };
      await using informer = new Informer<ConfigMap>({ transport: server.transport() }, configMaps, options);
      const told: ConfigMap[] = [];
      informer.subscribe(({ object }) => void told.push(object));
      begin(await server.next(), line('ADDED', map('a', '7')), endMark, line('ADDED', map('b', '10')));
      await until(() => told.length === 2);
      const found = [...informer.list(), ...informer.by('byApp', 'y'), ...informer.snapshot().values(), ...told];
      expect(found).toHaveLength(8);
      for (const object of found) {
        const change = () => {
          object.data!.inner = 'changed';
          object.metadata.labels!.app = 'y';
        };
        if (isFrozen) expect(change).toThrow(TypeError);
        else expect(change).not.toThrow();
      }
    } finally {
      vi.unstubAllEnvs();
    }
  },
);

it.each<[env: string, options: InformerOptions<Pod>, isShared: boolean]>([
  ['test', {}, true],
  ['production', {}, true],
  ['production', { freeze: false }, false],
  ['production', { transform: (pod) => pod }, false],
])('with NODE_ENV=%s and %o, versions of an object share what has not changed: %s', async (env, options, isShared) => {
  vi.stubEnv('NODE_ENV', env);
  try {
    await using server = await scriptedServer();
    await using informer = new Informer<Pod>({ transport: server.transport() }, pods, { reflector: quick, ...options });
    const told: Pod[] = [];
    informer.subscribe(({ object }) => void told.push(object));
    const version = (resourceVersion: string, phase: string) => ({
      ...{ kind: 'Pod', apiVersion: 'v1', spec: { nodeName: 'n', containers: [{ name: 'c' }] }, status: { phase } },
      metadata: { name: 'a', namespace: 'default', uid: 'a', resourceVersion },
    });
    const stream = begin(await server.next(), line('ADDED', version('7', 'Pending')), endMark);
    await until(() => told.length === 1);
    for (const [number, phase] of [
      ['10', 'Running'],
      ['11', 'Failed'],
    ] as const) {
      stream.write(line('MODIFIED', version(number, phase)));
      await until(() => told.at(-1)?.metadata.resourceVersion === number);
    }
    expect(told.map(({ status }) => status?.phase)).toEqual(['Pending', 'Running', 'Failed']);
    expect(told.map(({ spec }) => spec)).toEqual(Array(3).fill({ nodeName: 'n', containers: [{ name: 'c' }] }));
    expect(told[2]!.spec === told[1]!.spec).toBe(isShared);
    expect(told[2]!.spec === told[0]!.spec).toBe(false); // which was not frozen before somebody saw it
    expect(Object.isFrozen(told[2]!.spec.containers[0])).toBe(isShared);
  } finally {
    vi.unstubAllEnvs();
  }
});

it('a controller that is told nothing else reconciles four keys at a time', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  for (let n = 0; n < 7; n++) await client.resource(configMaps).create({ metadata: { name: `map-${n}` } });
  const ends: (() => void)[] = [];
  await using manager = new Manager({ client, ...fast, namespace: 'default' });
  const reconcile = () => new Promise<void>((resolve) => void ends.push(resolve));
  const controller = manager.add(defineController({ name: 'plain', for: configMaps, reconcile }));
  manager.start();
  await until(() => ends.length >= 4);
  const last = await writeLast(server.client);
  await manager.informers[0]!.reached(last);
  await until(() => controller.metrics().queue.workqueue_depth >= 4); // three of them, and the last
  expect(ends).toHaveLength(4);
  expect(controller.metrics().pool.controller_runtime_active_workers).toBe(4);
  while (ends.length < 8) {
    const before = ends.length;
    for (const end of ends.splice(0, before, ...Array<() => void>(before).fill(() => {}))) end();
    await until(() => ends.length > before);
    expect(controller.metrics().pool.controller_runtime_active_workers).toBeLessThanOrEqual(4);
  }
  for (const end of ends) end();
});

it('a kind that fails again and again waits longer and longer, and another that breaks once does not', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  const transport = server.transport({ clock, random: () => 0.5, maxTries: 1 });
  const pauses = { secrets: [] as number[], configmaps: [] as number[] };
  const stop = new AbortController();
  const follow = (resource: Resource, name: keyof typeof pauses) => {
    const nothing = { replace() {}, upsert() {}, remove() {}, progress() {} };
    const changed: ConstructorParameters<typeof Reflector>[2]['changed'] = (state) =>
      void (state.kind === 'waiting' && pauses[name].push(state.delayMs));
    return new Reflector(transport, resource, { ...nothing, changed }).run(stop.signal).catch(() => {});
  };
  const failing = follow(secrets, 'secrets');
  for (let n = 1; n <= 6; n++) {
    answer(await nextAfter(server, clock), 503, { kind: 'Status', code: 503 });
    await until(() => pauses.secrets.length === n);
  }
  const breaking = follow(configMaps, 'configmaps');
  const stream = begin(await nextOf(server, clock, 'configmaps'), endMark);
  stream.destroy();
  await until(() => pauses.configmaps.length === 1);
  expect(pauses.secrets.slice(0, 6)).toEqual([400, 800, 1600, 3200, 6400, 12_800]);
  expect(pauses.configmaps).toEqual([400]);
  stop.abort();
  await Promise.all([failing, breaking]);
});

it('the events between two lists lead from the one to the other, while everybody writes', async () => {
  await using server = await startTestServer();
  const { client } = server;
  for (let seed = 0; seed < 5; seed++) {
    const writing = writeALot({ client, writes: 150, seed });
    const before = await client.list(CONFIG_MAPS);
    await writing;
    await writeLast(client, CONFIG_MAPS, `last-${seed}`);
    const after = await client.list(CONFIG_MAPS);
    const state = byKey(before.items);
    const stream = await client.watch(CONFIG_MAPS, { resourceVersion: before.metadata.resourceVersion });
    let version = before.metadata.resourceVersion;
    while (BigInt(version) < BigInt(after.metadata.resourceVersion)) {
      const [event] = await stream.take(1);
      const object = event!.object;
      version = object.metadata.resourceVersion!;
      if (event!.type === 'DELETED') state.delete(object.metadata.name!);
      else state.set(object.metadata.name!, version);
    }
    stream.close();
    expect(state).toEqual(byKey(after.items));
  }
});

it('an informer that is told nothing else is held against the server once an hour, and mended', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  const errors: string[] = [];
  await using informer = new Informer({ transport: server.transport({ clock, random: () => 0.5 }) }, configMaps, {
    reflector: { ...quick, idleTimeoutMs: 0, lifetimeSeconds: [86_400, 86_400] },
    onError: (error) => void errors.push(String(error)),
  });
  begin(await server.next(), line('ADDED', map('a', '7')), endMark);
  await informer.synced();
  await clock.advance(3_599_000);
  expect(informer.metrics.audits).toBe(0);
  await clock.advance(1_000);
  const look = await server.next();
  expect(look.request.headers.accept).toContain('PartialObjectMetadataList');
  const { metadata } = map('b', '8');
  const list = { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata: { resourceVersion: '9' } };
  answer(look, 200, { ...list, items: [{ metadata }] });
  begin(await server.next(), line('ADDED', map('b', '8')), endMark);
  await until(() => informer.get('default/b') !== undefined);
  expect(informer.list().map(keyOf)).toEqual(['default/b']);
  expect(informer.metrics).toMatchObject({ audits: 1, divergences: 2 });
  await until(() => errors.length === 1);
  expect(errors[0]).toContain('Cannot trust the store of configmaps: 2 objects differ');
});

function byKey(items: readonly Stored[]): Map<string, string> {
  return new Map(items.map(({ metadata }) => [metadata.name!, metadata.resourceVersion!]));
}

/** Turns the clock until there is a request. */
async function nextAfter(server: ScriptedServer, clock: FakeClock): Promise<Exchange> {
  let exchange: Exchange | undefined;
  void server.next().then((one) => {
    exchange = one;
  });
  await until(async () => {
    if (!exchange) await clock.advance(500);
    return exchange !== undefined;
  });
  return exchange!;
}

/** The same, for one kind; others are refused. */
async function nextOf(server: ScriptedServer, clock: FakeClock, plural: string): Promise<Exchange> {
  for (;;) {
    const exchange = await nextAfter(server, clock);
    if (exchange.request.url!.includes(plural)) return exchange;
    answer(exchange, 503, { kind: 'Status', code: 503 });
  }
}
