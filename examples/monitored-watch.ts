/**
 * A monitored watch: is it alive, how far behind is it, how often did it break? As metrics for Prometheus.
 *
 * A watch that has stopped looks exactly like one on which nothing happens, so measure it. `observe` sees all that goes
 * through a client, informers too, under the names that dashboards know. Worth an alert: an informer that has not heard
 * from its server for longer than a bookmark takes (`kubernetes_informer_lag_seconds`), and complete reads that keep
 * coming (`kubernetes_list_total`).
 *
 *     npm run examples -- monitored-watch      against a fresh server of ours
 *     npx tsx examples/monitored-watch.ts      against the cluster of your kubeconfig
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect, corev1, mergePatch } from 'longwatch/client';
import { observe } from 'longwatch/metrics';
import { Registry } from 'prom-client';
import { breakableNetwork } from './stage/breakable-network.ts';
import { runExample } from './stage/run-example.ts';
import { scratchNamespace } from './stage/scratch-namespace.ts';

await runExample(async (signal) => {
  await using client = await connect();
  await using scratch = await scratchNamespace(client, 'monitored-watch');
  await using network = await breakableNetwork();
  await using watched = await network.connect();

  const registry = new Registry();
  using _observing = observe(registry, { client: watched });
  await using page = await metricsPage(registry);

  const states: string[] = [];
  await using informer = watched.informer(corev1.configMaps, {
    namespace: scratch.name,
    labelSelector: { app: 'lamps' },
    onFreshness: ({ state }) => {
      if (states.at(-1) === state) return;
      states.push(state);
      console.log(`  the informer is ${state}`);
    },
  });
  await informer.synced(signal);

  const lamps = client.resource(corev1.configMaps, scratch.name);
  const turn = async (state: string) => {
    const { metadata } = await lamps.patch('hall', mergePatch({ data: { state } }), { signal });
    await informer.reached(metadata.resourceVersion, signal);
  };
  await lamps.create({ metadata: { name: 'hall', labels: { app: 'lamps' } } }, { signal });
  for (const state of ['on', 'off', 'on']) await turn(state);

  console.log('The network breaks');
  network.cut();
  await turn('off');

  console.log(`What Prometheus reads at ${page.url}`);
  const values = await scrape(page.url);
  for (const [series, value] of values)
    if (/^kubernetes_.*_total|^kubernetes_informer/.test(series)) console.log(`  ${series} ${value}`);
  assert.equal(values.get('kubernetes_watch_events_total{resource="configmaps",event_type="ADDED"}'), 1);
  assert.equal(values.get('kubernetes_watch_events_total{resource="configmaps",event_type="MODIFIED"}'), 4);
  assert.equal(values.get('kubernetes_watch_reconnects_total{resource="configmaps"}'), 1, 'it was taken up again');
  const reads = ['stream', 'pages'].map((by) => values.get(`kubernetes_list_total{resource="configmaps",by="${by}"}`));
  assert.deepEqual(reads.filter(Boolean), [1], 'and nothing was read anew');
  assert.equal(values.get('kubernetes_informer_state{resource="configmaps",state="current"}'), 1);
  assert.deepEqual(states, ['syncing', 'current', 'interrupted', 'current']);
});

/** `GET /metrics`, as a scraper expects it. */
async function metricsPage(registry: Registry): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', registry.contentType);
    registry.metrics().then(
      (text) => response.end(text),
      (err: Error) => response.writeHead(500).end(err.message),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function scrape(url: string): Promise<Map<string, number>> {
  const lines = (await (await fetch(url)).text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}
