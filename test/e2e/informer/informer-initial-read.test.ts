/** `initialRead: 'any'`: the very first state may come from the server's cache, and nothing after it may be older. */
import { expect, it } from 'vitest';
import { Informer } from '../../../src/client/advanced.ts';
import { configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { answer, type Exchange, scriptedServer } from '../../support/client/client-scripted-server.ts';
import { adminOf } from '../../support/client/client-under-test.ts';
import { expectSame } from '../../support/client/informer-under-test.ts';
import { writeALot, writeLast } from '../../support/server/writers.ts';

const ways: [by: string, useWatchList: boolean][] = [
  ['stream', true],
  ['pages', false],
];
const queryOf = ({ request }: Exchange) => new URL(request.url!, 'http://x').searchParams;
const line = (type: string, object: object) => `${JSON.stringify({ type, object })}\n`;
const expired = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 410, reason: 'Expired' };

function fill(exchange: Exchange, isStream: boolean, version: string): void {
  const annotations = { 'k8s.io/initial-events-end': 'true' };
  if (!isStream) answer(exchange, 200, { kind: 'ConfigMapList', metadata: { resourceVersion: version }, items: [] });
  else {
    exchange.response.writeHead(200, { 'content-type': 'application/json' });
    exchange.response.write(line('BOOKMARK', { metadata: { resourceVersion: version, annotations } }));
  }
}

it.each(ways)('by %s: the first state is asked for at version 0, the next at what was told', async (_by, isStream) => {
  await using server = await scriptedServer();
  const reflector = { initialRead: 'any', useWatchList: isStream, backoff: { minMs: 1, maxMs: 1 } } as const;
  await using informer = new Informer({ transport: server.transport() }, configMaps, { reflector });
  const isFilling = (exchange: Exchange) =>
    expect(queryOf(exchange).get(isStream ? 'sendInitialEvents' : 'watch')).toBe(isStream ? 'true' : null);
  const first = await server.next();
  isFilling(first);
  expect([queryOf(first).get('resourceVersion'), queryOf(first).get('resourceVersionMatch')]).toEqual([
    '0',
    'NotOlderThan',
  ]);
  answer(first, 500, 'not now');
  const again = await server.next();
  expect(queryOf(again).get('resourceVersion')).toBe('0');
  fill(again, isStream, '30');
  await informer.synced();
  const stream = isStream ? again : await server.next();
  if (!isStream) stream.response.writeHead(200, { 'content-type': 'application/json' });
  stream.response.end(line('ERROR', expired));
  const anew = await server.next();
  isFilling(anew);
  expect(queryOf(anew).get('resourceVersion')).toBe('30');
});

it.each(ways)('by %s: a store that begins with any state comes to be the true one', async (_by, useWatchList) => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await writeALot({ client: server.client, writes: 60, seed: 1 });
  const reflector = { initialRead: 'any', useWatchList } as const;
  await using informer = new Informer(client, configMaps, { allNamespaces: true, reflector });
  await writeALot({ client: server.client, writes: 60, seed: 2 });
  await informer.reached(await writeLast(server.client));
  await expectSame(informer, server.client, client);
  expect(informer.metrics.lists).toBe(1);
});
