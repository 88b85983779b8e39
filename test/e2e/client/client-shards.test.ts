/** The server's own sharding: the selector goes out with every list and watch, and is part of what an informer is. */
import { expect, it } from 'vitest';
import { Informer, InformerFactory, watch } from '../../../src/client/advanced.ts';
import { configMaps, namespaces } from '../../../src/client/objects/generated/core-v1.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { answer, type Exchange, scriptedServer } from '../../support/client/client-scripted-server.ts';
import { adminOf } from '../../support/client/client-under-test.ts';

const shardSelector = "shardRange(object.metadata.uid, '0x0', '0x8000000000000000')";
const queryOf = ({ request }: Exchange) => new URL(request.url!, 'http://x').searchParams;
const list = { kind: 'ConfigMapList', apiVersion: 'v1', metadata: { resourceVersion: '7' }, items: [] };

it('a shard selector is sent with lists and watches of an informer', async () => {
  await using server = await scriptedServer();
  const transport = server.transport();
  const reflector = { useWatchList: false };
  await using informer = new Informer({ transport }, configMaps, { shardSelector, reflector });
  const listed = await server.next();
  expect(Object.fromEntries(queryOf(listed))).toEqual({ shardSelector, limit: '500' });
  answer(listed, 200, list);
  const watched = await server.next();
  expect(queryOf(watched).get('watch')).toBe('true');
  expect(queryOf(watched).get('shardSelector')).toBe(shardSelector);
  watched.response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
  await informer.synced();
  const auditing = informer.audit();
  const audited = await server.next();
  expect(queryOf(audited).get('shardSelector')).toBe(shardSelector);
  answer(audited, 200, { ...list, kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' });
  await auditing;
});

it('informers are shared within a shard, and not between shards', async () => {
  await using server = await scriptedServer();
  await using informers = new InformerFactory({ transport: server.transport() });
  await using one = informers.acquire(configMaps, { shardSelector });
  await using same = informers.acquire(configMaps, { shardSelector });
  await using other = informers.acquire(configMaps, { shardSelector: `${shardSelector} || false` });
  await using whole = informers.acquire(configMaps);
  expect(one.informer).toBe(same.informer);
  expect(new Set([one.informer, other.informer, whole.informer]).size).toBe(3);
});

it('a server that does not know of shards gives everything', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const all = (await client.resource(namespaces).list()).items.map(({ metadata }) => metadata.name);
  const { items } = await client.resource(namespaces).list({ shardSelector });
  expect(items.map(({ metadata }) => metadata.name)).toEqual(all);
  const seen: string[] = [];
  for await (const { type, object } of watch(client.transport, namespaces, {
    shardSelector,
    sendInitialEvents: true,
  })) {
    if (type === 'BOOKMARK') break;
    seen.push(object.metadata.name);
  }
  expect(seen.sort()).toEqual([...all].sort());
});
