/** What a scrape says after known events: of a client and its informers, on a real server and on one that is told. */
import { Counter, type OpenMetricsContentType, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { Informer } from '../../../src/client/advanced.ts';
import { type KubeClient, mergePatch } from '../../../src/client/index.ts';
import { type ConfigMap, configMaps, secrets } from '../../../src/client/objects/generated/core-v1.ts';
import { observe } from '../../../src/metrics/index.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { answer, type Exchange, scriptedServer } from '../../support/client/client-scripted-server.ts';
import { adminOf, adminThrough, until } from '../../support/client/client-under-test.ts';
import { startTcpProxyTo } from '../../support/tcp-proxy.ts';

const reflector = { backoff: { minMs: 1, maxMs: 20 } };

/** Series to value, as a scraper would read them. */
async function scrape(registry: Pick<Registry, 'metrics'>): Promise<Record<string, number>> {
  const series: Record<string, number> = {};
  for (const line of (await registry.metrics()).split('\n')) {
    const [, name, value] = /^([^#\s].*) (\S+)$/.exec(line) ?? [];
    if (name) series[name] = value === '+Inf' ? Infinity : Number(value);
  }
  return series;
}

async function write(client: KubeClient, adds: number, mods: number, deletes: number): Promise<string> {
  const maps = client.resource(configMaps);
  let last: ConfigMap | undefined;
  for (let i = 0; i < adds; i++) last = await maps.create({ metadata: { name: `map-${i}` } });
  for (let i = 0; i < mods; i++) last = await maps.patch('map-0', mergePatch<ConfigMap>({ data: { count: `${i}` } }));
  for (let i = 1; i <= deletes; i++) await maps.delete(`map-${i}`);
  last = await maps.create({ metadata: { name: 'the-end' } });
  return last.metadata.resourceVersion;
}

it('a scrape counts what happened, and shows what is there', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await client.resource(configMaps).create({ metadata: { name: 'before' } });
  const registry = new Registry();
  using _metrics = observe(registry, { client });
  await using informer = new Informer(client, configMaps, { reflector });
  let handled = 0;
  await using subscription = informer.subscribe(() => void handled++, { name: 'counts' });
  await informer.synced();
  const objectsBefore = informer.size;
  await informer.reached(await write(client, 5, 3, 2));
  await subscription.idle();

  const series = await scrape(registry);
  const host = `host="${new URL(server.url).host}"`;
  const ofMaps = (name: string, labels = '') => series[`${name}{resource="configmaps"${labels && `,${labels}`}}`];
  expect(ofMaps('kubernetes_watch_events_total', 'event_type="ADDED"')).toBe(objectsBefore + 6);
  expect(ofMaps('kubernetes_watch_events_total', 'event_type="MODIFIED"')).toBe(3);
  expect(ofMaps('kubernetes_watch_events_total', 'event_type="DELETED"')).toBe(2);
  expect(ofMaps('kubernetes_watch_events_total', 'event_type="BOOKMARK"')).toBeGreaterThanOrEqual(1);
  expect(ofMaps('kubernetes_watch_received_bytes_total')).toBeGreaterThan(1000);
  expect(ofMaps('kubernetes_watch_reconnects_total')).toBe(0);
  expect(ofMaps('kubernetes_list_total', 'by="stream"')).toBe(1);
  expect(ofMaps('kubernetes_list_duration_seconds_count', 'by="stream"')).toBe(1);
  expect(ofMaps('kubernetes_informer_objects')).toBe(informer.size);
  expect(ofMaps('kubernetes_informer_synced')).toBe(1);
  expect(ofMaps('kubernetes_informer_state', 'state="current"')).toBe(1);
  expect(ofMaps('kubernetes_informer_state', 'state="refused"')).toBe(0);
  expect(ofMaps('kubernetes_informer_lag_seconds')).toBeGreaterThanOrEqual(0);
  expect(ofMaps('kubernetes_informer_last_contact_timestamp_seconds')).toBeLessThanOrEqual(Date.now() / 1000);
  expect(ofMaps('kubernetes_informer_handler_backlog', 'handler="counts"')).toBe(0);
  expect(ofMaps('kubernetes_informer_handler_errors_total', 'handler="counts"')).toBe(0);
  const gvr = '{group="",version="v1",resource="configmaps"}';
  expect(series[`informer_processing_latency_seconds_count${gvr}`]).toBe(handled);
  expect(series[`informer_queued_items${gvr}`]).toBe(0);
  expect(series[`informer_store_resource_version${gvr}`]).toBe(Number(informer.resourceVersion));
  const requests = (code: number, method: string) =>
    series[`rest_client_requests_total{code="${code}",method="${method}",${host},resource="configmaps"}`];
  expect([requests(201, 'POST'), requests(200, 'PATCH'), requests(200, 'DELETE')]).toEqual([6, 3, 2]);
  const duration = (verb: string) =>
    series[`rest_client_request_duration_seconds_count{verb="${verb}",${host},resource="configmaps"}`];
  expect([duration('POST'), duration('WATCH'), duration('LIST')]).toEqual([6, 1, undefined]);
  const sizes = `rest_client_response_size_bytes_bucket{verb="POST",${host},resource="configmaps",le="+Inf"}`;
  expect(series[sizes]).toBe(6);
});

it('a connection that is cut is one reconnect and one error, and no list', async () => {
  await using server = await startTestServer();
  await using proxy = await startTcpProxyTo(server);
  await using client = await adminThrough(server, proxy.port);
  await using direct = await adminOf(server);
  const registry = new Registry();
  using _metrics = observe(registry, { client });
  await using informer = new Informer(client, configMaps, { reflector });
  await informer.synced();
  proxy.cut();
  await until(() => informer.freshness.state !== 'current');
  await until(() => informer.freshness.state === 'current');
  await informer.reached(await write(direct, 0, 0, 0));
  const series = await scrape(registry);
  expect(series['kubernetes_watch_reconnects_total{resource="configmaps"}']).toBe(1);
  expect(series['kubernetes_watch_errors_total{resource="configmaps",reason="body"}']).toBe(1);
  expect(series['kubernetes_watch_duration_seconds_count{resource="configmaps"}']).toBe(1);
  expect(series['kubernetes_list_total{resource="configmaps",by="stream"}']).toBe(1);
});

it('an outage is one reconnect, however many attempts it takes', async () => {
  await using server = await startTestServer();
  await using proxy = await startTcpProxyTo(server);
  await using client = await adminThrough(server, proxy.port);
  const registry = new Registry();
  using _metrics = observe(registry, { client });
  await using informer = new Informer(client, configMaps, { reflector });
  await informer.synced();
  proxy.refuses = true;
  proxy.cut();
  await until(() => informer.metrics.failures >= 4);
  expect((await scrape(registry))['kubernetes_informer_state{resource="configmaps",state="interrupted"}']).toBe(1);
  proxy.refuses = false;
  await until(() => informer.freshness.state === 'current');
  const series = await scrape(registry);
  expect(series['kubernetes_watch_reconnects_total{resource="configmaps"}']).toBe(1);
  const errors = Object.entries(series).filter(([name]) => name.startsWith('kubernetes_watch_errors_total'));
  expect(errors.reduce((sum, [, value]) => sum + value, 0)).toBe(informer.metrics.failures);
});

const line = (type: string, object: object) => `${JSON.stringify({ type, object })}\n`;
const endMark = (version: number) =>
  line('BOOKMARK', {
    metadata: { resourceVersion: `${version}`, annotations: { 'k8s.io/initial-events-end': 'true' } },
  });
const expired = { kind: 'Status', metadata: {}, status: 'Failure', code: 410, reason: 'Expired' };

function begin({ response }: Exchange, text: string): Exchange['response'] {
  response.writeHead(200, { 'content-type': 'application/json' }).write(text);
  return response;
}

it('history that is lost is one more list, and no reconnect; a reason nobody knows is no label', async () => {
  await using server = await scriptedServer();
  const client = { transport: server.transport() };
  const registry = new Registry();
  using _metrics = observe(registry, { client });
  await using informer = new Informer(client, configMaps, { reflector });
  begin(await server.next(), endMark(5)).end(line('ERROR', expired));
  begin(await server.next(), endMark(9)).end(line('ERROR', { ...expired, code: 500, reason: 'Made up 1234' }));
  begin(await server.next(), line('BOOKMARK', { metadata: { resourceVersion: '10' } }));
  await informer.reached('10');
  const series = await scrape(registry);
  expect(series['kubernetes_list_total{resource="configmaps",by="stream"}']).toBe(2);
  expect(series['kubernetes_watch_reconnects_total{resource="configmaps"}']).toBe(1);
  expect(series['kubernetes_watch_errors_total{resource="configmaps",reason="Expired"}']).toBe(1);
  expect(series['kubernetes_watch_errors_total{resource="configmaps",reason="Other"}']).toBe(1);
  expect(await registry.metrics()).not.toContain('Made up');
});

it('a watch that follows a list in pages is no reconnect', async () => {
  await using server = await scriptedServer();
  const client = { transport: server.transport() };
  const registry = new Registry();
  using _metrics = observe(registry, { client });
  const paged = { ...reflector, useWatchList: false };
  await using informer = new Informer(client, configMaps, { reflector: paged });
  answer(await server.next(), 200, { kind: 'ConfigMapList', metadata: { resourceVersion: '5' }, items: [] });
  begin(await server.next(), line('BOOKMARK', { metadata: { resourceVersion: '6' } })).end(line('ERROR', expired));
  answer(await server.next(), 200, { kind: 'ConfigMapList', metadata: { resourceVersion: '9' }, items: [] });
  begin(await server.next(), line('BOOKMARK', { metadata: { resourceVersion: '10' } }));
  await informer.reached('10');
  const series = await scrape(registry);
  expect(series['kubernetes_list_total{resource="configmaps",by="pages"}']).toBe(2);
  expect(series['kubernetes_watch_reconnects_total{resource="configmaps"}']).toBe(0);
});

it('counters stay when an informer goes and another comes; gauges go with it', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const registry = new Registry();
  using _metrics = observe(registry, { client });
  await write(client, 2, 0, 0);
  const seen = async (isShown: boolean) => {
    await using informer = new Informer(client, configMaps, { reflector });
    await informer.synced();
    const objects = 'kubernetes_informer_objects{resource="configmaps"}';
    const shown = async () => (await scrape(registry))[objects];
    if (isShown) expect([await shown(), await shown()]).toEqual([informer.size, informer.size]);
    return informer.size;
  };
  const sizes = [await seen(true), await seen(false), await seen(false)]; // the last two come and go unseen
  const series = await scrape(registry);
  const added = series['kubernetes_watch_events_total{resource="configmaps",event_type="ADDED"}'];
  expect(added).toBe(sizes.reduce((sum, size) => sum + size));
  expect(series['kubernetes_list_total{resource="configmaps",by="stream"}']).toBe(3);
  expect(series['kubernetes_informer_objects{resource="configmaps"}']).toBeUndefined();
  expect(series['kubernetes_informer_synced{resource="configmaps"}']).toBeUndefined();
  expect(series['kubernetes_watch_errors_total{resource="configmaps",reason="Bug"}']).toBeUndefined(); // closing is none
});

it('informers of one resource are added up, and the worst counts', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await write(client, 4, 0, 0);
  const registry = new Registry();
  await using one = new Informer(client, configMaps, { reflector });
  await using two = new Informer(client, configMaps, { reflector, allNamespaces: true });
  await Promise.all([one.synced(), two.synced()]);
  using _metrics = observe(registry, { client }); // it sees those that run already
  await using stuck = new Informer(client, configMaps, { namespace: 'no-such-place', reflector });
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  await using _named = two.subscribe(() => gate, { name: 'slow' });
  await using _first = two.subscribe(() => gate);
  await using _second = two.subscribe(() => gate);
  const series = await scrape(registry);
  release();
  expect(series['kubernetes_informer_objects{resource="configmaps"}']).toBe(one.size + two.size + stuck.size);
  expect(series['kubernetes_informer_synced{resource="configmaps"}']).toBe(0); // one has not heard anything yet
  const backlog = (handler: string) =>
    series[`kubernetes_informer_handler_backlog{resource="configmaps",handler="${handler}"}`];
  expect(backlog('slow')).toBeGreaterThan(0);
  expect(backlog('')).toBe(2 * backlog('slow')!); // those without a name are one series
  expect(series['informer_queued_items{group="",version="v1",resource="configmaps"}']).toBe(3 * backlog('slow')!);
});

it('what a slow handler misses, and what it throws, is counted under its name', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const registry = new Registry();
  using _metrics = observe(registry, { client });
  await using informer = new Informer(client, configMaps, { reflector });
  await informer.synced();
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const handler = async () => {
    await gate;
    throw new Error('not today');
  };
  await using slow = informer.subscribe(handler, { name: 'slow', limit: 1, onError: () => {} });
  await informer.reached(await write(client, 1, 10, 0));
  const { conflated } = slow.metrics;
  release();
  await slow.idle();
  const series = await scrape(registry);
  const ofSlow = (name: string) => series[`kubernetes_informer_handler_${name}{resource="configmaps",handler="slow"}`];
  expect(conflated).toBeGreaterThan(0);
  expect(ofSlow('conflated_total')).toBe(conflated);
  expect(ofSlow('errors_total')).toBe(slow.metrics.delivered);
});

it('clusters share a registry under their names, and leave nothing behind', async () => {
  await using server = await startTestServer();
  await using east = await adminOf(server);
  await using west = await adminOf(server);
  const registry = new Registry();
  const own = new Counter({ name: 'mine_total', help: 'mine', registers: [registry] });
  own.inc(7);
  const first = observe(registry, { client: east, cluster: 'east' });
  const second = observe(registry, { client: west, cluster: 'west' });
  await east.resource(configMaps).list();
  await west.resource(secrets).list();
  expect(() => observe(registry, { client: west, cluster: 'west' })).toThrow(
    'Cannot observe the client: the registry has one for cluster "west" already',
  );
  const host = `host="${new URL(server.url).host}"`;
  const series = await scrape(registry);
  const listed = (resource: string, cluster: string) =>
    series[`rest_client_requests_total{code="200",method="GET",${host},resource="${resource}",cluster="${cluster}"}`];
  expect([listed('configmaps', 'east'), listed('secrets', 'west'), listed('secrets', 'east')]).toEqual([
    1,
    1,
    undefined,
  ]);

  first[Symbol.dispose]();
  await east.resource(configMaps).list(); // nobody looks any more
  expect(await scrape(registry)).toMatchObject(
    Object.fromEntries(Object.entries(series).filter(([name]) => /_total\{/.test(name))), // counters do not fall
  );
  second[Symbol.dispose]();
  second[Symbol.dispose]();
  expect(await scrape(registry)).toEqual({ mine_total: 7 });
  expect(registry.getMetricsAsArray()).toHaveLength(1);
  expect(east.transport.observers.isEmpty && west.transport.observers.isEmpty).toBe(true);
});

it('a metric of the same name from somebody else is refused, and nothing is left half done', async () => {
  await using server = await scriptedServer();
  const client = { transport: server.transport() };
  const registry = new Registry();
  new Counter({ name: 'workqueue_adds_total', help: 'theirs', registers: [registry] });
  expect(() => observe(registry, { client })).toThrow(
    'Cannot observe in this registry: it has a metric "workqueue_adds_total" of somebody else',
  );
  expect(registry.getMetricsAsArray()).toHaveLength(1);
  expect(client.transport.observers.isEmpty).toBe(true);
  registry.clear();
  using _metrics = observe(registry, { client }); // it was not the registry's last chance
  expect(registry.getSingleMetric('workqueue_adds_total')).toBeDefined();
});

it('a registry that speaks OpenMetrics is served as well', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  using _metrics = observe(registry, { client });
  await client.resource(configMaps).list();
  await registry.metrics();
  const text = await registry.metrics(); // the second time its counters have other names
  expect(text).toMatch(/^# TYPE rest_client_requests counter$/m);
  expect(text).toMatch(/^rest_client_requests_total\{code="200",method="GET",host="[^"]+",resource="configmaps"\} 1$/m);
});

it('requests that fail, are repeated or given up are told apart', async () => {
  await using server = await scriptedServer();
  const client = { transport: server.transport({ random: () => 0 }) };
  const registry = new Registry();
  using _metrics = observe(registry, { client });
  const read = client.transport.request('GET', '/version');
  (await server.next()).request.socket.destroy();
  (await server.next()).response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  await read;
  const stop = new AbortController();
  const given = client.transport.request('GET', '/version', { signal: stop.signal });
  await server.next();
  stop.abort(new Error('enough'));
  await expect(given).rejects.toThrow('enough');
  const series = await scrape(registry);
  const count = (code: string) =>
    series[`rest_client_requests_total{code="${code}",method="GET",host="${server.url.host}",resource=""}`];
  expect([count('<error>'), count('200'), count('<aborted>')]).toEqual([1, 1, 1]);
  expect(series[`rest_client_request_retries_total{code="<error>",verb="GET",host="${server.url.host}"}`]).toBe(1);
  const durations = `rest_client_request_duration_seconds_count{verb="GET",host="${server.url.host}",resource=""}`;
  expect(series[durations]).toBe(2);
});

it('an observer that throws harms neither the watch nor the next observer', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const warnings: string[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning.message);
  process.on('warning', onWarning);
  const bad = () => {
    throw new Error('bad observer');
  };
  using _bad = client.transport.observers.add({ onWatchEvent: bad, onRequest: bad, onInformerState: bad });
  let events = 0;
  using _good = client.transport.observers.add({ onWatchEvent: () => void events++ });
  await using informer = new Informer(client, configMaps, { reflector });
  await informer.synced();
  expect(events).toBeGreaterThan(0);
  await until(() => warnings.some((text) => text.includes('bad observer')));
  process.off('warning', onWarning);
});
