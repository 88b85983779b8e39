import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { ApiClient } from '../api-client.ts';
import { credentialsOf, startTestServer, type TestServer } from '../server/test-server.ts';
import type { WatchStream } from '../watch-stream.ts';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';

let server: TestServer;
let proxy: FaultProxy;
let client: ApiClient;
let count = 0;
beforeAll(async () => {
  server = await startTestServer();
  proxy = await startFaultProxy(server);
  client = new ApiClient({ url: proxy.url, ...credentialsOf(server.dataDir, proxy.kubeconfigPath) });
});
afterAll(async () => {
  client.close();
  await proxy.close();
  await server.close();
});
beforeEach(() => proxy.heal());

/** A watch through the proxy, and something to see in it. */
async function watching(): Promise<{ watch: WatchStream; write: () => Promise<string> }> {
  const { resourceVersion } = (await server.client.list(MAPS)).metadata;
  const watch = await client.watch(MAPS, { resourceVersion });
  const write = async () => {
    const name = `object-${count++}`;
    await server.client.create(MAPS, { metadata: { name } });
    return name;
  };
  return { watch, write };
}

it('changes nothing until it is told to: reads, writes and watches pass', async () => {
  const { watch, write } = await watching();
  const name = await write();
  expect(await watch.next()).toMatchObject({ type: 'ADDED', object: { metadata: { name } } });
  const made = await client.create(MAPS, { metadata: { name: 'by-proxy' }, data: { text: 'ü'.repeat(100_000) } });
  expect(await server.client.get(`${MAPS}/by-proxy`)).toEqual(made);
  await expect(client.get(`${MAPS}/not-there`)).rejects.toMatchObject({ code: 404 });
  expect(proxy.open).toMatchObject([{ kind: 'watch', path: MAPS, code: 200, faults: [] }]);
  watch.close();
});

it('has a kubeconfig that leads through it', () => {
  expect(readFileSync(proxy.kubeconfigPath, 'utf8')).toContain(`server: ${proxy.url}\n`);
});

it('cuts, ends, truncates and garbles what is open', async () => {
  const cut = await watching();
  expect(proxy.cut('watch')).toBe(1);
  await expect(cut.watch.next()).rejects.toThrow();

  const ended = await watching();
  expect(proxy.end()).toBe(1);
  expect(await ended.watch.next()).toBeUndefined();

  const truncated = await watching();
  expect(proxy.truncate()).toBe(1);
  await truncated.write();
  await expect(truncated.watch.next()).rejects.toThrow('ended inside an event');

  const garbled = await watching();
  expect(proxy.garble()).toBe(1);
  await garbled.write();
  await expect(garbled.watch.next()).rejects.toThrow(SyntaxError);
  expect(proxy.requests.filter(({ kind }) => kind === 'watch').flatMap(({ faults }) => faults)).toEqual([
    'cut',
    'ended',
    'truncated',
    'garbled',
  ]);
});

it('puts an ERROR into a watch between two events, never within one', async () => {
  const { watch, write } = await watching();
  const name = await write();
  expect(await watch.next()).toMatchObject({ object: { metadata: { name } } });
  proxy.sendError('watch', 410);
  expect(await watch.next()).toMatchObject({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } });
  expect(await watch.next()).toBeUndefined();
});

it('a client that prefers protobuf gets its watch in JSON, where an ERROR can be put', async () => {
  const accept = 'application/vnd.kubernetes.protobuf;type=watch, */*';
  const watch = await client.watch(MAPS, {}, { headers: { accept } });
  await server.client.create(MAPS, { metadata: { name: `object-${count++}` } });
  expect(await watch.next()).toMatchObject({ type: 'ADDED' });
  proxy.sendError('watch', 410);
  while ((await watch.next())?.type === 'ADDED');
  expect(proxy.requests.at(-1)?.faults).toEqual(['sent ERROR 410']);
  watch.close();
});

it('empties a list in the words of the server: of its kind, or as a Table', async () => {
  await server.client.create(MAPS, { metadata: { name: `object-${count++}` } });
  proxy.plan(({ kind }) => (kind === 'list' ? { empty: true } : undefined));
  const metadata = { resourceVersion: '1' };
  expect(await client.get(`${MAPS}?limit=500&continue=x`)).toEqual({
    ...{ kind: 'ConfigMapList', apiVersion: 'v1', metadata, items: [] },
  });
  const accept = 'application/vnd.kubernetes.protobuf,application/json;as=Table;v=v1;g=meta.k8s.io';
  const { body } = await client.ask('GET', MAPS, { headers: { accept, 'accept-encoding': 'gzip' } });
  expect(JSON.parse(body.toString())).toMatchObject({ kind: 'Table', metadata, rows: [] });
  proxy.plan(undefined);
});

it('stalls a connection for good, in silence; others pass', async () => {
  const { watch, write } = await watching();
  expect(proxy.stall('watch')).toBe(1);
  let isTold = false;
  const next = watch.next().then(
    () => {
      isTold = true;
    },
    () => {},
  );
  await write();
  const other = await watching();
  const name = await other.write();
  expect(await other.watch.next()).toMatchObject({ object: { metadata: { name } } });
  proxy.heal();
  expect(isTold).toBe(false);
  watch.close();
  other.watch.close();
  await next;
});

it('answers in the place of the server, to whom and as often as it is told', async () => {
  proxy.answer({ code: 503, to: 'list', times: 2, retryAfterSeconds: 3 });
  proxy.answer({ code: 500, to: ({ path }) => path.endsWith('/secrets'), text: '<html>' });
  const codes: number[] = [];
  for (let i = 0; i < 3; i++) codes.push((await client.ask('GET', MAPS)).status);
  expect(codes).toEqual([503, 503, 200]);
  const { status, headers, body } = await client.ask('POST', '/api/v1/namespaces/default/secrets');
  expect([status, headers['content-type'], body.toString()]).toEqual([500, 'text/html', '<html>']);
  expect(proxy.requests.findLast(({ code }) => code === 503)?.faults).toEqual(['answered 503']);
});

it('delays, drips and refuses until it is healed', async () => {
  proxy.drip(10);
  expect((await client.list(MAPS)).kind).toBe('ConfigMapList');
  proxy.delay(Number.POSITIVE_INFINITY);
  const stop = new AbortController();
  const asked = client.ask('GET', MAPS, { signal: stop.signal });
  while (!proxy.open.some(({ kind }) => kind === 'list')) await new Promise((resolve) => setImmediate(resolve));
  stop.abort();
  await expect(asked).rejects.toThrow();
  proxy.refuse();
  proxy.cut();
  await expect(client.list(MAPS)).rejects.toThrow();
  proxy.heal();
  expect((await client.list(MAPS)).kind).toBe('ConfigMapList');
});

it('follows a server that comes back elsewhere, and resets who asks meanwhile', async () => {
  await server.stop();
  await expect(client.list(MAPS)).rejects.toMatchObject({ code: 'ECONNRESET' });
  await server.start();
  expect((await client.list(MAPS)).kind).toBe('ConfigMapList');
});

it('a server can lose its history, and all it has', async () => {
  const { resourceVersion } = (await server.client.create(MAPS, { metadata: { name: 'before' } })).metadata;
  for (const name of ['after', 'last']) await server.client.create(MAPS, { metadata: { name } });
  const oldest = await server.expireHistory();
  const query = { resourceVersion: resourceVersion! };
  await expect(client.watch(MAPS, query).then((watch) => watch.take(1))).resolves.toMatchObject([
    { type: 'ERROR', object: { code: 410 } },
  ]);
  const { metadata, items } = await client.list(MAPS);
  expect(Number(metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(oldest));
  expect(items.map((item) => item.metadata.name)).toContain('before');
  await server.loseData();
  expect((await client.list(MAPS)).items).toEqual([]);
});
