/**
 * A quiet half hour: nothing of the watched kind changes, while the rest of the cluster goes on. What does the watch cost,
 * and where does it stand when a reset ends the silence and history is five minutes long?
 *
 * Longwatch lives through it by a clock turned by hand, on real sockets; the server's bookmarks go by the same clock.
 * client-node cannot be told the time: it is watched for 35 s, and the rest is said as what it is, an extrapolation.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Informer } from '../../src/client/advanced.ts';
import { KubeClient } from '../../src/client/index.ts';
import { configMaps } from '../../src/client/objects/generated/core-v1.ts';
import { FakeClock } from '../../src/testing/index.ts';

export type Quiet = {
  readonly watches: number;
  readonly lists: number;
  /** The version from which the watch was taken up after the reset; undefined if it was not. */
  readonly resumedAt: number | undefined;
  readonly lastVersion: number;
};

const HALF_HOUR_S = 1_800;
export const REAL_S = 35;

export async function quietLongwatch(): Promise<Quiet> {
  const clock = new FakeClock();
  await using server = await quietServer();
  const client = new KubeClient({ server: server.url, namespace: 'default' }, { clock });
  const informer = new Informer(client, configMaps, { namespace: 'default' });
  await informer.synced();
  for (let second = 1; second <= HALF_HOUR_S; second++) {
    await clock.advance(1_000);
    server.tick(second);
    await new Promise((resolve) => setTimeout(resolve, 1)); // for what is on the way between sockets
  }
  const { watches, lists } = server.counts;
  server.reset();
  while (server.counts.watches === watches) {
    await clock.advance(100);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await informer[Symbol.asyncDispose]();
  await client.close();
  return { watches, lists, resumedAt: server.counts.lastAsked, lastVersion: server.counts.version };
}

export async function quietClientNode(): Promise<Quiet> {
  await using server = await quietServer();
  const { CoreV1Api, KubeConfig, makeInformer } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: 'quiet', server: server.url.origin, skipTLSVerify: true }, { name: 'nobody' });
  const api = config.makeApiClient(CoreV1Api);
  const informer = makeInformer(config, '/api/v1/namespaces/default/configmaps', () =>
    api.listNamespacedConfigMap({ namespace: 'default' }),
  );
  informer.on('error', () => void informer.start()); // as if restarted at once, to see from where it goes on
  await informer.start();
  for (let second = 1; second <= REAL_S; second++) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    server.tick(second);
  }
  const { watches, lists } = server.counts;
  server.reset();
  for (let i = 0; i < 100 && server.counts.watches === watches; i++)
    await new Promise((resolve) => setTimeout(resolve, 20));
  const resumed = server.counts.watches > watches ? { resumedAt: server.counts.lastAsked } : { resumedAt: undefined };
  await informer.stop();
  return { watches, lists, ...resumed, lastVersion: server.counts.version };
}

/** A version a second; a bookmark a minute for those who asked for bookmarks; watches end when they said they would. */
async function quietServer() {
  const counts = { watches: 0, lists: 0, version: 1_000, lastAsked: undefined as number | undefined };
  const open = new Map<ServerResponse, { readonly bookmarks: boolean; readonly endsAt: number }>();
  let second = 0;
  const only = () => ({
    name: 'only',
    namespace: 'default',
    uid: 'u',
    resourceVersion: '900',
    creationTimestamp: null,
  });
  const listener = createServer((request, response) => {
    const { searchParams: query } = new URL(request.url!, 'http://server');
    response.setHeader('content-type', 'application/json');
    const kind = { apiVersion: 'v1', kind: 'ConfigMap' };
    if (!query.has('watch')) {
      counts.lists++;
      const metadata = { resourceVersion: String(counts.version) };
      response.end(
        JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMapList', metadata, items: [{ metadata: only() }] }),
      );
      return;
    }
    counts.watches++;
    const asked = query.get('resourceVersion');
    counts.lastAsked = asked ? Number(asked) : undefined;
    response.flushHeaders();
    if (query.get('sendInitialEvents') === 'true') {
      const annotations = { 'k8s.io/initial-events-end': 'true' };
      const metadata = { resourceVersion: String(counts.version), annotations };
      response.write(`${JSON.stringify({ type: 'ADDED', object: { ...kind, metadata: only() } })}\n`);
      response.write(`${JSON.stringify({ type: 'BOOKMARK', object: { ...kind, metadata } })}\n`);
    }
    const endsAt = second + Number(query.get('timeoutSeconds') ?? 3_600);
    open.set(response, { bookmarks: query.get('allowWatchBookmarks') === 'true', endsAt });
    response.once('close', () => open.delete(response));
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    url: new URL(`http://127.0.0.1:${(listener.address() as AddressInfo).port}`),
    counts,
    tick(now: number) {
      second = now;
      counts.version++;
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { resourceVersion: String(counts.version) } };
      for (const [response, { bookmarks, endsAt }] of open)
        if (now >= endsAt) response.end();
        else if (bookmarks && now % 60 === 0) response.write(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
    },
    reset() {
      for (const response of open.keys()) response.socket?.resetAndDestroy();
    },
    async [Symbol.asyncDispose]() {
      listener.closeAllConnections();
      listener.close();
    },
  };
}
