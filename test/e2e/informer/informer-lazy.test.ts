/** Lazy objects through all that carries them: watches, lists, single reads, informers, checkpoints. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, expectTypeOf, it } from 'vitest';
import { Informer, LazyObject } from '../../../src/client/advanced.ts';
import { type InformerEvent, lazyOf, mergePatch } from '../../../src/client/index.ts';
import { type ConfigMap, configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { adminOf } from '../../support/client/client-under-test.ts';

const lazy = lazyOf(configMaps);
const odd = 'a "quote", a \\ and \u00e9\u2028 {"metadata":{"name":"no"}}';

it.each<[how: string, useWatchList: boolean]>([
  ['a stream', true],
  ['pages', false],
])('a lazy informer, filled by %s, holds what another holds', async (_how, useWatchList) => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const all = client.resource(configMaps);
  for (let i = 0; i < 20; i++)
    await all.create({ metadata: { name: `m-${i}`, labels: { half: String(i % 2) } }, data: { text: odd } });
  const indexers = {
    byHalf: ({ metadata }: LazyObject<ConfigMap>) => [metadata.labels?.half],
    byData: (map: LazyObject<ConfigMap>) => Object.keys(map.decode().data ?? {}),
  };
  await using informer = new Informer(client, lazy, { allNamespaces: true, indexers, reflector: { useWatchList } });
  expectTypeOf(informer.get('a')).toEqualTypeOf<LazyObject<ConfigMap> | undefined>();
  await informer.synced();
  const told: InformerEvent<LazyObject<ConfigMap>>[] = [];
  await using handler = informer.subscribe((event) => told.push(event));
  await handler.synced();
  await all.patch('m-3', mergePatch({ metadata: { labels: { half: '0' } }, data: { more: 'x' } }));
  await all.delete('m-4');
  const last = await all.create({ metadata: { name: 'last' } });
  await informer.reached(last.metadata.resourceVersion);
  await handler.idle();

  expect(informer.by('byHalf', '1')).toHaveLength(9);
  expect(informer.by('byData', 'more').map(({ metadata }) => metadata.name)).toEqual(['m-3']);
  const changes = told.filter((event) => event.type !== 'added' || !event.isInitial);
  expect(changes.map(({ type, key }) => `${type} ${key}`)).toEqual(
    expect.arrayContaining(['updated default/m-3', 'deleted default/m-4']),
  );
  expect(informer.list({ namespace: 'default', labelSelector: 'half=1' })).toHaveLength(9);
  for (const found of informer.list()) expect(found).toBeInstanceOf(LazyObject);
  const decoded = informer.list().map((found) => found.decode());
  const { items } = await all.list({ allNamespaces: true });
  const byName = (a: ConfigMap, b: ConfigMap) => (a.metadata.uid < b.metadata.uid ? -1 : 1);
  expect(decoded.sort(byName)).toEqual(items.sort(byName));
});

it('reads and watches give lazy objects', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const { metadata } = await client.resource(configMaps).create({ metadata: { name: 'a' }, data: { text: odd } });
  const one = await client.resource(lazy).get('a');
  expect(one.decode().data).toEqual({ text: odd });
  expect((await client.resource(lazy).list()).items.map((found) => found.decode().data?.text)).toContain(odd);
  await client.resource(configMaps).delete('a');
  for await (const event of client.watch(lazy, { resourceVersion: metadata.resourceVersion })) {
    if (event.type !== 'DELETED') continue;
    expect(event.object.metadata.name).toBe('a');
    expect(event.object.decode().data).toEqual({ text: odd });
    break;
  }
});

it('a lazy informer that starts again from its checkpoint holds lazy objects', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const folder = await mkdtemp(join(tmpdir(), 'longwatch-lazy-'));
  const options = { allNamespaces: true, checkpoint: join(folder, 'maps') };
  try {
    await client.resource(configMaps).create({ metadata: { name: 'a' }, data: { text: odd } });
    {
      await using first = new Informer(client, lazy, options);
      await first.synced();
    }
    await using second = new Informer(client, lazy, options);
    await second.synced();
    expect(second.get('default/a')?.decode().data).toEqual({ text: odd });
    const last = await client.resource(configMaps).create({ metadata: { name: 'last' } });
    await second.reached(last.metadata.resourceVersion);
    expect(second.get('default/last')?.decode()).toEqual(last);
    expect(second.metrics.lists).toBe(0);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
