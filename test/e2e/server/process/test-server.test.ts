/** The testing kit as its users have it: one server for many tests, reset between them, and what tests wait with. */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { apiextensionsv1, corev1, defineResource, isApiError, rbacv1 } from '../../../../src/client/index.ts';
import { defineController, Manager } from '../../../../src/controller/index.ts';
import { eventually, expectEvents, startTestServer, type TestServer } from '../../../../src/testing/index.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterEach(() => server.reset());
afterAll(() => server?.[Symbol.asyncDispose]());

const boats = defineResource<{ length: number }>({
  group: 'sea.example.com',
  version: 'v1',
  kind: 'Boat',
  plural: 'boats',
  isNamespaced: true,
});
const boatDefinition = (isServed = true) => ({
  metadata: { name: 'boats.sea.example.com' },
  spec: {
    group: 'sea.example.com',
    scope: 'Namespaced',
    names: { kind: 'Boat', plural: 'boats' },
    versions: [
      {
        name: 'v1',
        served: isServed,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
});

it('reset() takes away what was made, brings back what was changed or deleted, and watches live through it', async () => {
  const { kube } = server;
  const { url } = server;
  const configMaps = kube.resource(corev1.configMaps);
  const roles = kube.resource(rbacv1.clusterRoles);
  const [edit, view] = [await roles.get('edit'), await roles.get('view')];
  await using informer = kube.informer(corev1.configMaps, { namespace: 'default' });
  await informer.synced();
  await kube.resource(corev1.namespaces).create({ metadata: { name: 'shop' } });
  await configMaps.create({ metadata: { name: 'held', finalizers: ['example.com/never'] } });
  await kube.resource(corev1.configMaps, 'shop').create({ metadata: { name: 'other' } });
  await roles.delete('edit');
  await roles.update({ ...view, rules: [] });
  await eventually(() => expect(informer.get('default/held')).toBeDefined());

  await server.reset();
  expect((await configMaps.list({ allNamespaces: true })).items.map(({ metadata }) => metadata.namespace)).toEqual([
    'kube-system',
    'kube-system',
  ]);
  await eventually(() => expect(informer.size).toBe(0));
  await expect(kube.resource(corev1.namespaces).get('shop')).rejects.toSatisfy((err) => isApiError(err, 'NotFound'));
  const withoutVersion = ({ metadata: { resourceVersion: _version, ...metadata }, ...rest }: rbacv1.ClusterRole) => ({
    ...rest,
    metadata,
  });
  expect(withoutVersion(await roles.get('edit'))).toEqual(withoutVersion(edit));
  expect(withoutVersion(await roles.get('view'))).toEqual(withoutVersion(view));
  await configMaps.create({ metadata: { name: 'after' } });
  await eventually(() => expect(informer.get('default/after')).toBeDefined());
  await server.reset();
  expect((await kube.resource(corev1.configMaps).list()).items).toEqual([]);
  expect(server.url).toBe(url);
});

it('installCrd() resolves when objects can be made, again after a reset, and replaces', async () => {
  const { kube } = server;
  for (let round = 0; round < 3; round++) {
    await server.installCrd(boatDefinition());
    await kube.resource(boats).create({ metadata: { name: 'dory' }, spec: { length: 3 } });
    await server.installCrd(boatDefinition());
    expect((await kube.resource(boats).list()).items).toHaveLength(1);
    await server.reset();
    await expect(kube.resource(boats).list()).rejects.toSatisfy((err) => isApiError(err, 'NotFound'));
    expect((await kube.resource(apiextensionsv1.customResourceDefinitions).list()).items).toEqual([]);
  }
});

it('expectEvents() says what a watcher is told, and what it was told instead', async () => {
  const { kube } = server;
  const configMaps = kube.resource(corev1.configMaps);
  const [added] = await expectEvents(
    kube,
    corev1.configMaps,
    ['ADDED default/a', 'MODIFIED default/a', 'DELETED default/a'],
    async () => {
      const made = await configMaps.create({ metadata: { name: 'a' } });
      await configMaps.update({ ...made, data: { k: 'v' } });
      await configMaps.delete('a');
    },
    { namespace: 'default' },
  );
  expect(added?.metadata.name).toBe('a');
  const wrong = expectEvents(kube, corev1.configMaps, ['ADDED default/c'], () =>
    configMaps.create({ metadata: { name: 'b' } }),
  );
  await expect(wrong).rejects.toThrow('expected: ADDED default/c\n  seen:     ADDED default/b');
  const failing = expectEvents(kube, corev1.configMaps, ['ADDED default/c'], () =>
    Promise.reject(new Error('no luck')),
  );
  await expect(failing).rejects.toThrow('no luck');
});

it('whenReconciled() waits for the version that the server has, for a deletion, and through failures', async () => {
  const { kube } = server;
  let failures = 2;
  const seen: string[] = [];
  await using manager = new Manager({ client: kube, logger: false });
  const controller = manager.add(
    defineController({
      name: 'noting',
      for: { resource: corev1.configMaps, namespace: 'default' },
      queue: { retries: { baseDelayMs: 1, maxDelayMs: 1 } },
      reconcile(map, { key }) {
        if (failures-- > 0) throw new Error('not yet');
        seen.push(`${key} ${map?.data?.n ?? 'gone'}`);
      },
    }),
  );
  manager.start();
  const configMaps = kube.resource(corev1.configMaps);
  let map = await configMaps.create({ metadata: { name: 'a' }, data: { n: '0' } });
  await server.whenReconciled(controller, 'default/a');
  expect(seen.at(-1)).toBe('default/a 0');
  for (const n of ['1', '2', '3']) {
    map = await configMaps.update({ ...map, data: { n } });
    await server.whenReconciled(controller, 'default/a');
    expect(seen.at(-1)).toBe(`default/a ${n}`);
  }
  await configMaps.delete('a');
  await server.whenReconciled(controller, 'default/a');
  expect(seen.at(-1)).toBe('default/a gone');
});

it('a second server of the process has an identity and data of its own, and a CA that clients of the first trust', async () => {
  await using other = await startTestServer();
  await server.kube.resource(corev1.configMaps).create({ metadata: { name: 'mine' } });
  expect((await other.kube.resource(corev1.configMaps).list()).items).toEqual([]);
  const uid = async (one: TestServer) => (await one.kube.resource(corev1.namespaces).get('kube-system')).metadata.uid;
  expect(await uid(other)).not.toBe(await uid(server));
  const clusterRoles = async (one: TestServer) =>
    (await one.kube.resource(rbacv1.clusterRoles).list()).items.map(({ metadata, rules }) => [metadata.name, rules]);
  expect(await clusterRoles(other)).toEqual(await clusterRoles(server));
  await expect(other.client.get('/api/v1/namespaces/default')).resolves.toMatchObject({ kind: 'Namespace' });
  expect(server.kubeconfigPath).not.toBe(other.kubeconfigPath);
});
