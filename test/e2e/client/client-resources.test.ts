/** Reads and writes of the typed client against the real server. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { StandardSchemaV1 } from '../../../src/client/advanced.ts';
import {
  defineResource,
  jsonPatch,
  KubeClient,
  mergePatch,
  type ObjectList,
  strategicPatch,
  withoutValidator,
} from '../../../src/client/index.ts';
import { customResourceDefinitions } from '../../../src/client/objects/generated/apiextensions-v1.ts';
import { deployments } from '../../../src/client/objects/generated/apps-v1.ts';
import { type ConfigMap, configMaps, namespaces, pods } from '../../../src/client/objects/generated/core-v1.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { accessOf, adminOf, until } from '../../support/client/client-under-test.ts';

let server: TestServer;
let client: KubeClient;
beforeAll(async () => {
  server = await startTestServer();
  client = await adminOf(server);
});
afterAll(async () => {
  await client.close();
  await server.close();
});

/** A namespace for one test. */
async function space(name: string): Promise<string> {
  return (await client.resource(namespaces).create({ metadata: { name } })).metadata.name;
}

it('an object lives: created, read, replaced, patched in each way, applied, deleted', async () => {
  const maps = client.resource(configMaps, await space('life'));
  const created = await maps.create({ metadata: { name: 'a' }, data: { a: '1' } });
  expect(created).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { namespace: 'life' } });
  expect(await maps.get('a')).toEqual(created);

  const updated = await maps.update({ ...created, data: { a: '2' } }, { fieldManager: 'me' });
  await expect(maps.update({ ...created, data: {} })).rejects.toMatchObject({ code: 409, reason: 'Conflict' });
  expect(updated.data).toEqual({ a: '2' });

  expect((await maps.patch('a', mergePatch({ data: { a: null, b: '1' } }))).data).toEqual({ b: '1' });
  const operations = [
    { op: 'test', path: '/data/b', value: '1' },
    { op: 'add', path: '/data/c', value: '1' },
  ] as const;
  expect((await maps.patch('a', jsonPatch(operations))).data).toEqual({ b: '1', c: '1' });
  await expect(
    maps.patch('a', jsonPatch(operations.toReversed().map((one) => ({ ...one, op: 'test' as const, value: 'x' })))),
  ).rejects.toMatchObject({ reason: 'Invalid' });
  expect((await maps.patch('a', strategicPatch({ metadata: { labels: { l: 'v' } } }))).metadata.labels).toEqual({
    l: 'v',
  });

  const applied = { metadata: { name: 'a' }, data: { b: '2' } };
  await expect(maps.apply(applied, { fieldManager: 'owner' })).rejects.toMatchObject({ code: 409, reason: 'Conflict' });
  expect((await maps.apply(applied, { fieldManager: 'owner', force: true })).data).toMatchObject({ b: '2' });
  expect((await maps.apply({ metadata: { name: 'new' }, data: { x: 'y' } }, { fieldManager: 'owner' })).data).toEqual({
    x: 'y',
  });

  const wrong = { preconditions: { uid: 'another' } };
  await expect(maps.delete('a', wrong)).rejects.toMatchObject({ code: 409, reason: 'Conflict' });
  await maps.delete('a', { dryRun: true });
  expect(await maps.find('a')).toBeDefined();
  expect(await maps.delete('a', { preconditions: { uid: created.metadata.uid } })).toMatchObject({ status: 'Success' });
  expect(await maps.find('a')).toBeUndefined();
  await expect(maps.get('a')).rejects.toMatchObject({
    code: 404,
    reason: 'NotFound',
    message: 'configmaps "a" not found',
  });
});

it('a dry run writes nothing', async () => {
  const maps = client.resource(configMaps, await space('dry'));
  expect((await maps.create({ metadata: { name: 'a' } }, { dryRun: true })).metadata.uid).toBeTypeOf('string');
  expect((await maps.list()).items).toEqual([]);
});

it('lists select by label, field and namespace, and their items know what they are', async () => {
  const maps = client.resource(configMaps, await space('select'));
  for (const name of ['a', 'b', 'c']) await maps.create({ metadata: { name, labels: { only: 'here', name } } });
  const names = ({ items }: ObjectList<ConfigMap>) => items.map(({ metadata }) => metadata.name);
  expect(names(await maps.list({ labelSelector: { name: 'b' } }))).toEqual(['b']);
  expect(names(await maps.list({ labelSelector: 'name in (a,b)' }))).toEqual(['a', 'b']);
  expect(names(await maps.list({ fieldSelector: { 'metadata.name': 'c' } }))).toEqual(['c']);
  const everywhere = await client.resource(configMaps).list({ allNamespaces: true, labelSelector: { only: 'here' } });
  expect(names(everywhere)).toEqual(['a', 'b', 'c']);
  expect(everywhere.items[0]).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1' });
  expect(everywhere.metadata.resourceVersion).toMatch(/^\d+$/);
  await maps.deleteCollection({ labelSelector: { name: 'a' } });
  expect(names(await maps.list())).toEqual(['b', 'c']);
});

it('long lists come in pages of one snapshot', async () => {
  const maps = client.resource(configMaps, await space('pages'));
  await Promise.all(Array.from({ length: 25 }, (_, i) => maps.create({ metadata: { name: `m-${100 + i}` } })));
  const names: string[] = [];
  const versions = new Set<string>();
  for await (const page of maps.listPages({ limit: 10 })) {
    if (names.length === 0) await maps.delete('m-124'); // after the snapshot
    names.push(...page.items.map(({ metadata }) => metadata.name));
    versions.add(page.metadata.resourceVersion);
    expect(page.isConsistent).toBe(true);
  }
  expect(names).toEqual(Array.from({ length: 25 }, (_, i) => `m-${100 + i}`));
  expect(versions.size).toBe(1);
  let count = 0;
  for await (const { metadata } of maps.listAll({ limit: 7 })) count += metadata.name ? 1 : 0;
  expect(count).toBe(24);
});

it('a snapshot that is compacted away goes on with the rest as it is now', async () => {
  await using short = await startTestServer({ autoCompaction: { mode: 'periodic', retentionMs: 100 } });
  await using admin = await adminOf(short);
  const maps = admin.resource(configMaps);
  for (const name of ['a', 'b', 'c', 'd']) await maps.create({ metadata: { name } });
  const pages = maps.listPages({ limit: 2 });
  const first = (await pages.next()).value!;
  const exact = { resourceVersion: first.metadata.resourceVersion, resourceVersionMatch: 'Exact' } as const;
  await until(async () => {
    await maps.patch('d', mergePatch({ data: { v: String(Math.random()) } }));
    return maps.list(exact).then(
      () => false,
      (err: { code: number }) => err.code === 410,
    );
  });
  const second = (await pages.next()).value!;
  expect(second.isConsistent).toBe(false);
  expect(second.items.map(({ metadata }) => metadata.name)).toEqual(['c', 'd']);
  expect(second.metadata.resourceVersion).not.toBe(first.metadata.resourceVersion);
});

it('status and scale are written apart from the rest', async () => {
  const sets = client.resource(deployments, await space('scale'));
  const spec = {
    replicas: 1,
    selector: { matchLabels: { a: 'b' } },
    template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  };
  const created = await sets.create({ metadata: { name: 'd' }, spec });
  const scale = await sets.scale.get('d');
  expect(scale.spec.replicas).toBe(1);
  await sets.scale.update('d', { ...scale, spec: { replicas: 3 } });
  expect((await sets.get('d')).spec.replicas).toBe(3);
  await sets.status.patch('d', jsonPatch([{ op: 'add', path: '/status/observedGeneration', value: 1 }]));
  const elsewhere = client.resource(sets.resource, 'another'); // the object says where it lies
  await elsewhere.scale.update({ ...(await sets.scale.get('d')), spec: { replicas: 4 } });
  expect((await sets.get('d')).spec.replicas).toBe(4);
  const now = await sets.status.get('d');
  expect(now.status?.observedGeneration).toBe(1);
  expect(now.metadata.generation).toBeGreaterThan(created.metadata.generation!);
});

it('a custom resource is used by its token, checked by its schema, found by its kind', async () => {
  const namespace = await space('custom');
  await client.resource(customResourceDefinitions).create({
    metadata: { name: 'crons.ex.io' },
    spec: {
      group: 'ex.io',
      scope: 'Namespaced',
      names: { plural: 'crons', kind: 'Cron' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  });
  const hasSchedule: StandardSchemaV1<unknown, { schedule: string }> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) =>
        typeof (value as { schedule?: unknown } | undefined)?.schedule === 'string'
          ? { value: value as { schedule: string } }
          : { issues: [{ message: 'must be text', path: ['schedule'] }] },
    },
  };
  const definition = { group: 'ex.io', version: 'v1', plural: 'crons', kind: 'Cron', isNamespaced: true };
  const crons = client.resource(defineResource({ ...definition, validate: hasSchedule }), namespace);
  await until(() =>
    crons.list().then(
      () => true,
      () => false,
    ),
  );
  await crons.create({ metadata: { name: 'a' }, spec: { schedule: '@daily' } });
  expect((await crons.get('a')).spec.schedule).toBe('@daily');
  const broken = { metadata: { name: 'b' }, spec: {} as { schedule: string } };
  await expect(crons.create(broken)).rejects.toThrow('Cannot use Cron "b": spec.schedule: must be text');
  const unchecked = await client.resource(withoutValidator(crons.resource), namespace).create(broken);
  expect(unchecked).toMatchObject({ kind: 'Cron', metadata: { name: 'b' }, spec: {} }); // this server takes it
  const found = await client.discovery.find({ kind: 'Cron' });
  expect(found).toMatchObject(definition);
  expect((await client.resource(found, namespace).get('a')).spec).toEqual({ schedule: '@daily' });
});

it('discovery finds kinds by group, and says so if there is none', async () => {
  const { discovery } = client;
  expect(await discovery.find({ kind: 'Event', group: 'events.k8s.io' })).toMatchObject({
    apiVersion: 'events.k8s.io/v1',
  });
  expect(await discovery.find({ kind: 'Pod' })).toMatchObject({ apiVersion: 'v1', plural: 'pods', isNamespaced: true });
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: '1' };
  expect(await discovery.find(owner)).toMatchObject({ group: 'apps', version: 'v1', plural: 'replicasets' });
  expect(await discovery.find({ apiVersion: 'events.k8s.io/v1', kind: 'Event' })).toMatchObject({
    group: 'events.k8s.io',
  });
  expect(await discovery.find({ kind: 'Node' })).toMatchObject({ isNamespaced: false });
  await expect(discovery.find({ kind: 'Unicorn', group: 'x' })).rejects.toThrow(
    'Cannot find a resource of kind "Unicorn"',
  );
});

it('who may not is told so, by the words of the server', async () => {
  await using nobody = new KubeClient({
    ...(await accessOf(server)),
    impersonate: { user: 'ann', groups: ['readers'] },
  });
  const refused = { name: 'ApiError', code: 403, reason: 'Forbidden' };
  await expect(nobody.resource(pods).list()).rejects.toMatchObject({
    ...refused,
    message: expect.stringContaining('User "ann" cannot list resource "pods"'),
  });
  await expect(nobody.watch(pods).next()).rejects.toMatchObject(refused);
  await expect(nobody.watchResuming(pods, { resourceVersion: '1' }).next()).rejects.toMatchObject(refused);
  const { credentials: _, ...stranger } = await accessOf(server);
  await using unknown = new KubeClient({
    ...stranger,
    credentials: { current: async () => ({ authorization: 'Bearer no' }), refused: () => false },
  });
  await expect(unknown.resource(pods).list()).rejects.toMatchObject({ code: 401, reason: 'Unauthorized' });
});
