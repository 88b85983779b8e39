/** What an informer may hold: metadata only, objects that their validator objects to, shared copies that outlive a handle. */
import { expect, expectTypeOf, it } from 'vitest';
import type { InvalidObject, StandardSchemaV1 } from '../../../src/client/advanced.ts';
import {
  defineResource,
  type Informer,
  type KubeClient,
  mergePatch,
  metadataOf,
  type ObjectOf,
  type PartialObjectMetadata,
} from '../../../src/client/index.ts';
import { customResourceDefinitions } from '../../../src/client/objects/generated/apiextensions-v1.ts';
import { configMaps, secrets } from '../../../src/client/objects/generated/core-v1.ts';
import { FakeClock, startTestServer } from '../../../src/testing/index.ts';
import { adminOf, until } from '../../support/client/client-under-test.ts';
import { writeLast } from '../../support/server/writers.ts';

const reflector = { backoff: { minMs: 1, maxMs: 20 } };

it.each<[how: string, useWatchList: boolean]>([
  ['a stream', true],
  ['pages', false],
])(
  'metadata only, filled by %s: nothing else comes over the wire, and changes of the rest are still told',
  async (_how, useWatchList) => {
    await using server = await startTestServer();
    let bytes = 0;
    await using client = await adminOf(server);
    client.transport.observers.add({
      onRequest: ({ responseBytes = 0 }) => {
        bytes += responseBytes;
      },
      onWatchBytes: (_resource, count) => {
        bytes += count;
      },
    });
    const all = client.resource(secrets);
    const labels = { app: 'web' };
    await all.create({ metadata: { name: 'a', labels }, stringData: { big: 'x'.repeat(50_000) } });
    bytes = 0;
    await using informer = client.informer(metadataOf(secrets), { reflector: { ...reflector, useWatchList } });
    expectTypeOf(informer).toEqualTypeOf<Informer<PartialObjectMetadata>>();
    await informer.synced();
    expect(informer.get('default/a')).toMatchObject({
      apiVersion: 'meta.k8s.io/v1',
      kind: 'PartialObjectMetadata',
      metadata: { name: 'a', labels, uid: expect.any(String) },
    });
    expect(Object.keys(informer.get('default/a')!).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
    const events = informer.events();
    await events.next();
    await until(() => informer.freshness.state === 'current');
    expect(bytes).toBeLessThan(5_000);
    await all.patch('a', mergePatch({ stringData: { more: 'y'.repeat(50_000) } }));
    expect((await events.next()).value).toMatchObject({ type: 'updated', key: 'default/a' });
    await all.delete('a');
    expect((await events.next()).value).toMatchObject({ type: 'deleted', object: { kind: 'PartialObjectMetadata' } });
  },
);

it('tokens of metadata read and patch, too', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await client.resource(configMaps).create({ metadata: { name: 'a' }, data: { v: '1' } });
  const names = client.resource(metadataOf(configMaps));
  const patched = await names.patch('a', mergePatch({ metadata: { labels: { seen: 'yes' } } }));
  const { items } = await names.list({ labelSelector: 'seen' });
  for (const one of [patched, await names.get('a'), items[0]!]) {
    expect(one).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { name: 'a', labels: { seen: 'yes' } } });
    expect(one).not.toHaveProperty('data');
  }
  expect((await client.resource(configMaps).get('a')).data).toEqual({ v: '1' });
});

type Size = { size: number };
/** Objects to what is no number; throws at what is nothing. */
const sizeSchema: StandardSchemaV1<unknown, Size> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => {
      const { size } = value as { size: unknown };
      if (typeof size === 'number') return { value: { size } };
      return Promise.resolve({ issues: [{ message: 'Expected number', path: ['size'] }] });
    },
  },
};
const named = { plural: 'widgets', kind: 'Widget', isNamespaced: true } as const;
const widgets = defineResource({ group: 'ex.io', version: 'v1', ...named, validate: sizeSchema });
const loose = defineResource({ group: 'ex.io', version: 'v1', ...named });

async function installWidgets(client: KubeClient): Promise<void> {
  const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' };
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }];
  const spec = { group: 'ex.io', scope: 'Namespaced' as const, names, versions };
  await client.resource(customResourceDefinitions).create({ metadata: { name: 'widgets.ex.io' }, spec });
  await until(() =>
    client
      .resource(loose)
      .list()
      .then(
        () => true,
        () => false,
      ),
  );
}

it('objects that their validator objects to are told, and kept; a validator that throws harms nobody', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await installWidgets(client);
  const all = client.resource(loose);
  await all.create({ metadata: { name: 'good' }, spec: { size: 1 } });
  await all.create({ metadata: { name: 'bad' }, spec: { size: 'big' } });
  const invalid: InvalidObject<ObjectOf<typeof widgets>>[] = [];
  const errors: unknown[] = [];
  await using informer = client.informer(widgets, {
    reflector,
    onInvalid: (one) => void invalid.push(one),
    onError: (error) => void errors.push(error),
  });
  await informer.synced();
  await until(() => invalid.length === 1);
  expect(invalid[0]).toMatchObject({ key: 'default/bad', issues: ['size: Expected number'] });
  expect(informer.get('default/bad')?.spec.size).toBe('big');
  await all.patch('good', mergePatch({ spec: { size: 'small' } }));
  await until(() => invalid.length === 2);
  await all.create({ metadata: { name: 'empty' } } as never);
  await until(() => errors.length === 1);
  expect(errors[0]).toMatchObject({ name: 'CallbackError', callback: 'validate', cause: expect.any(TypeError) });
  const { metadata } = await all.create({ metadata: { name: 'last' }, spec: { size: 2 } });
  await informer.reached(metadata.resourceVersion);
  expect(informer.size).toBe(4);
  expect(invalid.length).toBe(2);
});
it('a factory keeps an informer for a while after its last handle', async () => {
  await using server = await startTestServer();
  const clock = new FakeClock();
  await using client = await adminOf(server, { clock });
  await using factory = client.informers({ idleMs: 60_000 });
  const first = factory.acquire(configMaps, { allNamespaces: true });
  const { informer } = first;
  await informer.synced();
  await first[Symbol.asyncDispose]();
  await clock.advance(50_000);
  expect([informer.freshness.state, factory.informers.length]).toEqual(['current', 1]);
  const second = factory.acquire(configMaps, { allNamespaces: true });
  expect(second.informer).toBe(informer);
  await clock.advance(15_000); // more than a minute since the first handle was disposed
  await informer.reached(await writeLast(server.client));
  await second[Symbol.asyncDispose]();
  await clock.advance(59_000);
  expect(informer.freshness.state).not.toBe('stopped');
  await clock.advance(1_000);
  await until(() => informer.freshness.state === 'stopped');
  expect(factory.informers).toEqual([]);
  const third = factory.acquire(configMaps, { allNamespaces: true });
  await third[Symbol.asyncDispose]();
  await factory[Symbol.asyncDispose](); // does not wait
  expect(third.informer.freshness.state).toBe('stopped');
});
