/** A server of several threads: whichever of them a client lands on, it is one server; and one that dies takes nothing along. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../../../src/api/index.ts';
import { startServer } from '../../../../src/server/index.ts';
import { ApiClient, credentialsOf, startTestServer, type TestServer } from '../../../../src/testing/index.ts';
import { eventually } from '../../../support/eventually.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const WATCHES = '/apis/introspection.longwatch.dev/v1alpha1/watches';
const folder = mkdtempSync(join(tmpdir(), 'longwatch-workers-'));
const auditLogPath = join(folder, 'audit.log');
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ workers: 2, introspection: true, auditLogPath });
}, 120_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** One connection each, so that they are spread over the threads. */
function connections(count: number): ApiClient[] {
  return Array.from({ length: count }, () => server.connect({ maxSockets: 1 }));
}

const mapOf = (name: string, data: JsonObject = {}) => ({ metadata: { name }, data });
const readToken = (dataDir: string) => readFileSync(join(dataDir, 'admin.token'), 'utf8').trim();
const statusOf = (object: KubeObject) => object.status as unknown as { worker: number };

async function workersOf(client: ApiClient, resource: string): Promise<number[]> {
  const { items } = await client.list(WATCHES, { fieldSelector: `spec.resource=${resource}` });
  return items.map((item) => statusOf(item).worker);
}

/** A watch on every worker, opened until each has one. */
async function watchOnEach(path: string, query: Record<string, string>) {
  const resource = path.split('/').at(-1)!;
  const streams = [await server.client.watch(path, query)];
  while (new Set(await workersOf(server.client, resource)).size < server.workers.length)
    streams.push(await server.client.watch(path, query));
  return streams;
}

it('the thread that has the store serves until the workers do, and then leaves the port to them', async () => {
  const dataDir = join(folder, 'early');
  const early = await startServer({ dataDir, securePort: 0, workers: 1, durability: 'none', log: () => {} });
  try {
    expect(early.workers()).toEqual([]);
    const { ca } = credentialsOf(dataDir, early.kubeconfigPath);
    const client = () => new ApiClient({ url: early.url, ca, token: readToken(dataDir), maxSockets: 1 });
    const [before, watcher] = [client(), client()];
    const watch = await watcher.watch(MAPS);
    expect((await before.ask('GET', '/version')).headers.connection).not.toBe('close');
    await early.joined;
    expect(early.workers()).toHaveLength(1);
    expect((await before.ask('GET', '/version')).headers.connection).toBe('close');
    const after = client();
    expect((await after.ask('GET', '/version')).headers.connection).not.toBe('close');
    await after.create(MAPS, mapOf('after'));
    await watch.until(({ object }) => (object as KubeObject).metadata.name === 'after');
    await Promise.all([before, watcher, after].map((one) => one.close()));
  } finally {
    await early.close();
  }
});

it('a write is seen by the next read, whichever thread answers', async () => {
  const clients = connections(8);
  await clients[0]!.create(MAPS, mapOf('seen', { turn: '0' }));
  for (let turn = 1; turn <= 40; turn++) {
    const writer = clients[turn % 8]!;
    await writer.patch(`${MAPS}/seen`, { data: { turn: String(turn) } });
    const readers = [clients[(turn + 1) % 8]!, clients[(turn + 3) % 8]!];
    for (const reader of readers) {
      const [one, list] = await Promise.all([reader.get(`${MAPS}/seen`), reader.list(MAPS)]);
      expect((one.data as JsonObject).turn).toBe(String(turn));
      expect(list.items.find(({ metadata }) => metadata.name === 'seen')!.data).toEqual({ turn: String(turn) });
    }
  }
});

it('a kind that was defined through one thread is served by all at once', async () => {
  const clients = connections(6);
  const definition = {
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  };
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  await clients[0]!.create(path, definition);
  await eventually(async () => {
    const { status } = await clients[0]!.get(`${path}/widgets.example.com`);
    const { conditions } = status as { conditions?: { type: string; status: string }[] };
    expect(conditions?.find(({ type }) => type === 'Established')?.status).toBe('True');
  });
  for (const [i, client] of clients.entries())
    await client.create('/apis/example.com/v1/namespaces/default/widgets', {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: `w${i}` },
    });
});

it('every watch is told of every change once, and each is listed with its thread', async () => {
  const streams = await watchOnEach('/api/v1/namespaces/default/secrets', {});
  const clients = connections(4);
  const names = Array.from({ length: 20 }, (_, i) => `s${i}`);
  await Promise.all(
    names.map((name, i) => clients[i % 4]!.create('/api/v1/namespaces/default/secrets', { metadata: { name } })),
  );
  for (const stream of streams) {
    const told = (await stream.take(20)).map(({ object }) => object as KubeObject);
    expect(told.map(({ metadata }) => metadata.name).sort()).toEqual([...names].sort());
    const versions = told.map(({ metadata }) => Number(metadata.resourceVersion));
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
  }
  const workers = new Set(server.workers.map(({ number }) => number));
  for (const client of clients) expect(new Set(await workersOf(client, 'secrets'))).toEqual(workers);
  const { items } = await clients[0]!.list(WATCHES, { fieldSelector: 'spec.resource=secrets' });
  expect(items).toHaveLength(streams.length);
  for (const [i, { metadata }] of items.entries()) await clients[i % 4]!.delete(`${WATCHES}/${metadata.name}`);
  for (const stream of streams) expect(await stream.next()).toBeUndefined();
});

it('a 410 is listed by every thread, whichever said it', async () => {
  const clients = connections(6);
  const refused = clients.map((client) => client.list(WATCHES, { resourceVersion: 1, resourceVersionMatch: 'Exact' }));
  for (const { status } of await Promise.allSettled(refused)) expect(status).toBe('rejected');
  for (const client of clients) {
    const { items } = await client.list(WATCHES.replace(/watches$/, 'expirations'));
    expect(new Set(items.map(({ metadata }) => metadata.name)).size).toBe(6);
  }
});

it('a session of the page counts on every thread, whichever opened it', async () => {
  const [first, ...others] = connections(8);
  const opened = await first!.ask('GET', '/ui/session');
  const [cookie = ''] = opened.headers['set-cookie'] as string[];
  const session = {
    cookie: cookie.split(';')[0]!,
    'x-longwatch-page': JSON.parse(opened.body.toString()).page as string,
  };
  const { ca } = credentialsOf(server.dataDir, server.kubeconfigPath);
  for (const _ of others) {
    const nobody = new ApiClient({ url: server.url, ca });
    expect((await nobody.ask('GET', '/ui/k8s/version', { headers: session })).status).toBe(200);
    await nobody.close();
  }
});

it('the audit log has the requests of all threads, a line each', async () => {
  const clients = connections(8);
  await Promise.all(clients.map((client, i) => client.list('/api/v1/podtemplates', { labelSelector: `n=${i}` })));
  const asked = clients.map((_, i) => `/api/v1/podtemplates?labelSelector=n%3D${i}`);
  await eventually(() => {
    const lines = readFileSync(auditLogPath, 'utf8').trim().split('\n');
    const uris = lines.map((line) => (JSON.parse(line) as { requestURI: string }).requestURI);
    expect(uris.filter((uri) => uri.startsWith('/api/v1/podtemplates')).sort()).toEqual(asked);
  });
});

it('metrics are those of the whole server, whichever thread is asked', async () => {
  const clients = connections(8);
  await Promise.all(clients.map((client) => client.list('/api/v1/limitranges')));
  for (const client of clients.slice(0, 3)) {
    const text = (await client.ask('GET', '/metrics')).body.toString();
    expect(text).toMatch(/^apiserver_request_total\{verb="LIST"[^}]*resource="limitranges"[^}]*code="200"\} 8$/m);
    expect(text).toMatch(/^apiserver_flowcontrol_nominal_limit_seats\{priority_level="catch-all"\} 13$/m);
  }
});

it('connections are shared out evenly: those that come at once, one by one, and after a thread has died', async () => {
  await using fresh = await startTestServer({ workers: 2, introspection: true });
  const open = () => fresh.connect({ maxSockets: 1 }).watch('/api/v1/namespaces/default/secrets');
  const countBy = async () => {
    const { items } = await fresh.client.list(WATCHES, { fieldSelector: 'spec.resource=secrets' });
    const on = fresh.workers.map(({ number }) => items.filter((item) => statusOf(item).worker === number).length);
    return { all: items.length, unevenness: Math.max(...on) - Math.min(...on) };
  };
  /** A thread that had no time to answer may have too few of them: what comes next is its. */
  const openUntilEven = async (most: number) => {
    while ((await countBy()).unevenness > 12 && (await countBy()).all < most) await open();
    expect((await countBy()).unevenness).toBeLessThanOrEqual(12);
  };
  await Promise.all(Array.from({ length: 128 }, open));
  await openUntilEven(200);
  for (let n = 0; n < 64; n++) await open();
  await openUntilEven(320);
  await fresh.workers[0]!.terminate();
  await eventually(() => expect(fresh.workers).toHaveLength(2));
  const { all: left } = await countBy();
  for (let n = 0; n < left; n++) await open();
  await openUntilEven(3 * left);
}, 60_000);

it('a thread that dies under load is replaced; nothing that was acknowledged is lost, and others do not notice', async () => {
  const [first] = server.workers;
  const watching = await watchOnEach('/api/v1/namespaces/default/endpoints', {});
  const acknowledged = new Set<string>();
  let isOver = false;
  const load = connections(6).map(async (client, i) => {
    for (let n = 0; !isOver; n++) {
      const name = `kill-${i}-${n}`;
      const made = await client.create(MAPS, mapOf(name)).catch(() => undefined); // its connection may be the one that ends
      if (made) acknowledged.add(name);
    }
  });
  await eventually(() => expect(acknowledged.size).toBeGreaterThan(50));
  await first!.terminate();
  const before = acknowledged.size;
  await eventually(() => expect(acknowledged.size).toBeGreaterThan(before + 50));
  await eventually(() => expect(server.workers).toHaveLength(2));
  isOver = true;
  await Promise.all(load);
  expect(server.workers.map(({ number }) => number)).not.toContain(first!.number);
  const stored = new Set((await server.client.list(MAPS)).items.map(({ metadata }) => metadata.name));
  expect([...acknowledged].filter((name) => !stored.has(name))).toEqual([]);
  await server.client.create('/api/v1/namespaces/default/endpoints', { metadata: { name: 'after' } });
  const isAfter = (event: { object: unknown }) => (event.object as KubeObject).metadata.name === 'after';
  const outcomes = await Promise.allSettled(watching.map((stream) => stream.until(isAfter)));
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['fulfilled', 'rejected'])); // cut off with its thread
  expect(server.logged.join('\n')).toContain(`worker ${first!.number} has ended`);
  const clients = connections(8);
  await Promise.all(clients.map((client) => client.get('/api/v1/namespaces/default')));
  expect(new Set(await workersOf(clients[0]!, 'endpoints')).has(first!.number)).toBe(false);
}, 60_000);
