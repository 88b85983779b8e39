/** Writing what others write too, and many objects at once, on a real server with its controllers. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ApplyAllError, applyAll } from '../../../src/client/apply.ts';
import { appsv1, corev1, type KubeClient } from '../../../src/client/index.ts';
import { createOrUpdate, retryOnConflict } from '../../../src/controller/index.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { adminOf } from '../../support/client/client-under-test.ts';

let server: TestServer;
let client: KubeClient;
const { configMaps, namespaces } = corev1;

beforeAll(async () => {
  server = await startTestServer({ controllers: ['*'], pretendNodes: 1 });
  client = await adminOf(server);
});
afterAll(async () => {
  await client?.close();
  await server?.[Symbol.asyncDispose]();
});

it('retryOnConflict() tries conflicts again, and nothing else, so often and no longer', async () => {
  const api = client.resource(configMaps, 'default');
  await api.create({ metadata: { name: 'count' }, data: { n: '0' } });
  const increment = () =>
    retryOnConflict(
      async () => {
        const found = await api.get('count');
        return api.update({ ...found, data: { n: String(Number(found.data!.n) + 1) } });
      },
      { maxTries: 30 },
    );
  await Promise.all(Array.from({ length: 6 }, increment));
  expect((await api.get('count')).data).toEqual({ n: '6' });
  const stale = { ...(await api.get('count')), data: {} };
  await api.update({ ...stale, data: { n: '7' } });
  let tries = 0;
  const never = retryOnConflict(
    () => {
      tries++;
      return api.update(stale);
    },
    { maxTries: 3 },
  );
  await expect(never).rejects.toMatchObject({ reason: 'Conflict' });
  expect(tries).toBe(3);
  await expect(retryOnConflict(() => api.get('none'))).rejects.toMatchObject({ reason: 'NotFound' });
});

it('createOrUpdate() makes it, changes it, leaves it, and keeps what others wrote meanwhile', async () => {
  const api = client.resource(configMaps, 'default');
  const where = { name: 'settings' };
  const color = (value: string) =>
    createOrUpdate(api, where, (draft) => {
      draft.data = { ...draft.data, color: value };
    });
  expect(await color('red')).toMatchObject({ result: 'created', object: { data: { color: 'red' } } });
  const { object, result } = await color('red');
  expect(result).toBe('unchanged');
  let isFirst = true;
  const late = await createOrUpdate(api, where, async (draft, current) => {
    if (isFirst) await api.update({ ...current!, data: { ...current!.data, size: '1' } }); // somebody is quicker
    isFirst = false;
    return { ...draft, data: { ...draft.data, color: 'blue' } };
  });
  expect(late).toMatchObject({ result: 'updated', object: { data: { color: 'blue', size: '1' } } });
  expect(late.object.metadata.uid).toBe(object.metadata.uid);
  // Two who find nothing: the second takes what the first has made.
  const both = await Promise.all(
    ['a', 'b'].map((key) =>
      createOrUpdate(api, { name: 'both' }, (draft) => {
        draft.data = { ...draft.data, [key]: 'yes' };
      }),
    ),
  );
  expect(both.map((one) => one.result).sort()).toEqual(['created', 'updated']);
  expect((await api.get('both')).data).toEqual({ a: 'yes', b: 'yes' });
});

it('createOrUpdate() calls unchanged what the server stores as it was, though it was written', async () => {
  const write = () =>
    createOrUpdate(client.resource(corev1.secrets, 'default'), { name: 'endpoint' }, (draft) => {
      draft.stringData = { url: 'https://a.example.com' }; // is never read
    });
  expect((await write()).result).toBe('created');
  expect((await write()).result).toBe('unchanged');
});

const shop = `
# Not in the order in which they can be made.
apiVersion: shop.ex.io/v1
kind: Till
metadata: { name: one, namespace: shop }
spec: { drawer: 1 }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: shop }
spec:
  replicas: 1
  selector: { matchLabels: { app: web } }
  template: { metadata: { labels: { app: web } }, spec: { containers: [{ name: web, image: nginx }] } }
---
apiVersion: v1
kind: List
items:
  - { apiVersion: v1, kind: ConfigMap, metadata: { name: settings, namespace: shop }, data: { color: red } }
---
apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: tills.shop.ex.io }
spec:
  group: shop.ex.io
  scope: Namespaced
  names: { plural: tills, singular: till, kind: Till, listKind: TillList }
  versions:
    - name: v1
      served: true
      storage: true
      schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
`;

it('applyAll() applies in an order that works, waits, prunes what is named no more, and says what it does', async () => {
  const progress: string[] = [];
  const options = {
    owner: 'shop-installer',
    onProgress: (one: { kind: string; action: string; done: number; total: number }) =>
      void progress.push(`${one.done}/${one.total} ${one.kind} ${one.action}`),
  };
  await applyAll(client, shop, options);
  expect(progress).toEqual([
    '1/5 Namespace created',
    '2/5 CustomResourceDefinition created',
    '3/5 ConfigMap created',
    '4/5 Till created',
    '5/5 Deployment created',
  ]);
  expect((await client.resource(appsv1.deployments, 'shop').get('web')).status?.availableReplicas).toBe(1);
  const again = await applyAll(client, shop, { ...options, wait: false });
  expect(again.objects.filter(({ action }) => action !== 'unchanged')).toEqual([]);
  // A stranger's object, and one of another owner, are nobody's business.
  await client.resource(configMaps, 'shop').create({ metadata: { name: 'stranger' } });
  await applyAll(client, [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'other', namespace: 'shop' } }], {
    owner: 'another',
  });
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
  const less = await applyAll(client, [namespace], { ...options, namespace: 'default' });
  expect(less.objects.map(({ kind, name, action }) => `${kind} ${name} ${action}`)).toEqual([
    'Namespace shop unchanged',
    'Deployment web pruned',
    'Till one pruned',
    'ConfigMap settings pruned',
    'CustomResourceDefinition tills.shop.ex.io pruned',
  ]);
  const { items } = await client.resource(configMaps, 'shop').list();
  expect(items.map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining(['other', 'stranger']));
  expect(items.some(({ metadata }) => metadata.name === 'settings')).toBe(false);
});

it('applyAll() ends with the first refusal, says what was done, and a dry run does nothing', async () => {
  const good = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'good' }, data: { a: 'b' } };
  const bad = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'bad' }, spec: { ports: [{ port: 0 }] } };
  const failed = await applyAll(client, [bad, good], { owner: 'half' }).catch((err: unknown) => err);
  expect(failed).toBeInstanceOf(ApplyAllError);
  expect(failed).toMatchObject({
    message: expect.stringMatching(/^Cannot apply Service "bad": /),
    objects: [{ kind: 'ConfigMap', name: 'good', action: 'created' }],
  });
  await applyAll(client, [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'dry' } }], {
    owner: 'dry',
    dryRun: true,
  });
  expect(await client.resource(namespaces).find('dry')).toBeUndefined();
  await expect(applyAll(client, 'a: [', { owner: 'x' })).rejects.toThrow('Cannot read manifests: ');
  await expect(applyAll(client, 'kind: Pod', { owner: 'x' })).rejects.toThrow('document 1 has no apiVersion and kind');
});
