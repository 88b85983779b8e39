/**
 * Why a watch ended stands in the log at --v 6 and in the metrics, the same word in both: every way to end one is tried
 * over real connections.
 */
import type { IncomingMessage } from 'node:http';
import { connect as connectHttp2, constants as HTTP2 } from 'node:http2';
import { request as requestHttp1 } from 'node:https';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { STREAM_ENDS, type StreamEnd } from '../../../../src/server/request/stream-end.ts';
import { credentialsOf, startTestServer, type TestServer } from '../../../../src/testing/index.ts';
import { eventually } from '../../../support/eventually.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const WATCHES = '/apis/introspection.longwatch.dev/v1alpha1/watches';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ introspection: true, verbosity: 6 });
});
afterAll(() => server[Symbol.asyncDispose]());

/** A watch on a connection of its own, known by its selector; resolves when it is open. */
async function open(name: string, version: 1 | 2, path = CONFIG_MAPS, query = '', user?: string): Promise<Opened> {
  const { ca, token } = credentialsOf(server.dataDir, server.kubeconfigPath);
  const { hostname: host, port } = new URL(server.url);
  const socket = connectTcp({ host, port: Number(port) });
  const tls = connectTls({ socket, ca, servername: '', host, ALPNProtocols: [version === 1 ? 'http/1.1' : 'h2'] });
  tls.on('error', () => {});
  const url = `${path}?watch=true&labelSelector=case%3D${name}${query}`;
  const headers = { authorization: `Bearer ${token}`, ...(user && { 'impersonate-user': user }) };
  if (version === 1) {
    const request = requestHttp1({ createConnection: () => tls, host, path: url, headers }).on('error', () => {});
    const response = await new Promise<IncomingMessage>((resolve) => request.on('response', resolve).end());
    response.on('error', () => {}).resume();
    return { socket, cancel: () => request.destroy() };
  }
  const session = connectHttp2(server.url, { createConnection: () => tls }).on('error', () => {});
  const stream = session.request({ ':path': url, ...headers }).on('error', () => {});
  await new Promise((resolve) => stream.once('response', resolve));
  stream.resume();
  return { socket, cancel: () => stream.close(HTTP2.NGHTTP2_CANCEL) };
}

type Opened = { readonly socket: Socket; cancel(): void };

/** The lines about that watch. */
const linesOf = (name: string) => server.logged.filter((line) => line.includes(`case%3D${name}`));

async function expectEnd(name: string, reason: StreamEnd): Promise<void> {
  const closed = await eventually(() => {
    const line = linesOf(name).find((one) => one.startsWith('"Watch closed"'));
    expect(line, linesOf(name).join('\n')).toBeDefined();
    return line!;
  });
  expect(closed).toContain(`"Watch closed" reason="${reason}" why="${STREAM_ENDS[reason]}"`);
  const auditIds = linesOf(name).map((line) => /audit-ID="([^"]+)"/.exec(line)?.[1]);
  expect(new Set(auditIds).size).toBe(1); // opened, HTTP, closed: one request
  expect(linesOf(name)[0]).toMatch(/^"Watch opened"/);
}

/** What is counted for a reason, whatever the resource. */
async function counted(reason: StreamEnd): Promise<number> {
  const text = (await server.client.ask('GET', '/metrics')).body.toString();
  const lines = text.split('\n').filter((line) => line.startsWith('longwatch_watches_ended_total{'));
  return lines
    .filter((line) => line.includes(`reason="${reason}"`))
    .reduce((sum, line) => sum + Number(line.split(' ')[1]), 0);
}

it.each([1, 2] as const)(
  'a client that leaves, and a connection that breaks, are told apart over HTTP/%i',
  async (version) => {
    const leaving = await open(`leaving-${version}`, version);
    leaving.cancel();
    await expectEnd(`leaving-${version}`, 'client-left');
    const closing = await open(`closing-${version}`, version);
    closing.socket.end();
    await expectEnd(`closing-${version}`, 'client-left');
    const breaking = await open(`breaking-${version}`, version);
    breaking.socket.resetAndDestroy();
    await expectEnd(`breaking-${version}`, 'connection-broken');
    expect(await counted('connection-broken')).toBeGreaterThan(0);
  },
);

it('a watch whose time is over, or that is sent an error or 410, says so', async () => {
  await Promise.all([
    open('time', 1, CONFIG_MAPS, '&timeoutSeconds=1').then(() => expectEnd('time', 'timeout-over')),
    open(
      'future',
      2,
      CONFIG_MAPS,
      '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=9999999',
    ).then(() => expectEnd('future', 'error')),
    open('past', 1, WATCHES, '&resourceVersion=1').then(() => expectEnd('past', 'expired')),
  ]);
  expect([await counted('timeout-over'), await counted('error'), await counted('expired')]).toEqual([1, 1, 1]);
});

it('a watch that somebody deletes, whose user loses the right, or whose definition goes, says so', async () => {
  const { client } = server;
  await open('deleted', 1, '/api/v1/secrets');
  const name = await eventually(async () => {
    const { items } = await client.list(WATCHES, { fieldSelector: 'spec.resource=secrets' });
    expect(items).toHaveLength(1);
    return items[0]!.metadata.name!;
  });
  await client.delete(`${WATCHES}/${name}`);
  await expectEnd('deleted', 'ended-by-admin');

  const rbac = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
  await client.create(rbac, {
    metadata: { name: 'bob' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'bob' }],
  });
  await eventually(() => open('right', 1, CONFIG_MAPS, '', 'bob'));
  await client.delete(`${rbac}/bob`);
  await expectEnd('right', 'rights-lost');

  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  await client.create(definitions, {
    metadata: { name: 'lamps.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { plural: 'lamps', singular: 'lamp', kind: 'Lamp', listKind: 'LampList' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  });
  await eventually(() => client.list('/apis/example.com/v1/lamps'));
  await open('definition', 2, '/apis/example.com/v1/lamps');
  await client.delete(`${definitions}/lamps.example.com`);
  await expectEnd('definition', 'resource-changed');
});

it('a watch that is refused neither opens nor closes, and a server that stops says so of those it ends', async () => {
  const answer = await server.client.ask('GET', `${CONFIG_MAPS}?watch=true&labelSelector=case%3Drefused&limit=x`);
  expect(answer.status).toBe(400);
  expect(linesOf('refused').map((line) => line.split(' ')[0])).toEqual(['"HTTP"']);
  await open('stopping', 2);
  await server.stop();
  await expectEnd('stopping', 'server-stopping');
});
