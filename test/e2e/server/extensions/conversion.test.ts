/** Custom resources in two versions that a webhook converts between, over a real server and a real webhook on loopback. */
import { expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../../../src/api/index.ts';
import { type Hook, type HookRequest, startHook } from '../../../../src/server/outbound/https-hook.testing.ts';
import { startTestServer, type TestServer } from '../../../../src/testing/index.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const GROUP = 'toys.example.com';
const at = (version: string, name = '') =>
  `/apis/${GROUP}/${version}/namespaces/default/boats${name === '' ? '' : `/${name}`}`;
const schema = (field: string) => ({
  openAPIV3Schema: {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { [field]: { type: 'string' }, sail: { type: 'string', default: 'white' } } },
    },
  },
});
const versions = (stored: string) => [
  { name: 'v1', served: true, storage: stored === 'v1', schema: schema('hostPort') },
  { name: 'v2', served: true, storage: stored === 'v2', schema: schema('address') },
];

type Review = { request: { uid: string; desiredAPIVersion: string; objects: KubeObject[] } };

function converted(object: KubeObject, apiVersion: string): KubeObject {
  const { hostPort, address, ...rest } = (object.spec ?? {}) as Record<string, string>;
  const value = hostPort ?? address;
  const field = apiVersion.endsWith('v2') ? 'address' : 'hostPort';
  return { ...object, apiVersion, spec: { ...rest, ...(value !== undefined && { [field]: value }) } };
}

function converter(): Promise<Hook> {
  return startHook(({ body }: HookRequest) => {
    const { uid, desiredAPIVersion, objects } = (body as unknown as Review).request;
    const convertedObjects = objects.map((object) => converted(object, desiredAPIVersion));
    const response = { uid, result: { status: 'Success' }, convertedObjects };
    return { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', response } as unknown as JsonObject;
  });
}

const definition = ({ url, caBundle }: Hook, stored = 'v1') => ({
  metadata: { name: `boats.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { plural: 'boats', kind: 'Boat' },
    versions: versions(stored),
    conversion: {
      strategy: 'Webhook',
      webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: `${url}/convert`, caBundle } },
    },
  },
});
const boat = (version: string, name: string, spec: JsonObject) => ({
  apiVersion: `${GROUP}/${version}`,
  kind: 'Boat',
  metadata: { name },
  spec,
});

async function served({ client }: TestServer, version: string, fits = (_: KubeObject[]) => true): Promise<void> {
  for (;;) {
    const list = await client.list(at(version)).catch(() => undefined);
    if (list && fits(list.items)) return;
  }
}

it('objects are read, listed, watched and written in either version, whichever they were written in', async () => {
  await using server = await startTestServer();
  await using hook = await converter();
  const { client } = server;
  await client.create(CRDS, definition(hook));
  await served(server, 'v2');
  await client.create(at('v1'), boat('v1', 'a', { hostPort: 'x:1' }));
  await using watch = await client.watch(at('v2'), {
    resourceVersion: 0,
    sendInitialEvents: true,
    resourceVersionMatch: 'NotOlderThan',
  });
  expect(await client.get(at('v2', 'a'))).toMatchObject({
    apiVersion: `${GROUP}/v2`,
    spec: { address: 'x:1', sail: 'white' },
  });
  expect(await client.create(at('v2'), boat('v2', 'b', { address: 'y:2' }))).toMatchObject({
    spec: { address: 'y:2' },
  });
  expect(await client.get(at('v1', 'b'))).toMatchObject({ apiVersion: `${GROUP}/v1`, spec: { hostPort: 'y:2' } });
  const { items } = await client.list(at('v2'));
  expect(items.map(({ apiVersion, spec }) => [apiVersion, (spec as JsonObject).address])).toEqual([
    [`${GROUP}/v2`, 'x:1'],
    [`${GROUP}/v2`, 'y:2'],
  ]);
  await client.patch(at('v2', 'a'), { spec: { address: 'z:3' } });
  expect(await client.get(at('v1', 'a'))).toMatchObject({ spec: { hostPort: 'z:3' }, metadata: { generation: 2 } });
  await client.delete(at('v2', 'a'));
  const events = await watch.take(4);
  expect(
    events.map(({ type, object }) => [
      type,
      (object as KubeObject).apiVersion,
      ((object as KubeObject).spec as JsonObject).address,
    ]),
  ).toEqual([
    ['ADDED', `${GROUP}/v2`, 'x:1'],
    ['ADDED', `${GROUP}/v2`, 'y:2'],
    ['MODIFIED', `${GROUP}/v2`, 'z:3'],
    ['DELETED', `${GROUP}/v2`, 'z:3'],
  ]);
});

it('objects that were stored in an older version are converted when another one is stored', async () => {
  await using server = await startTestServer();
  await using hook = await converter();
  const { client } = server;
  await client.create(CRDS, definition(hook));
  await served(server, 'v1');
  await client.create(at('v1'), boat('v1', 'a', { hostPort: 'x:1' }));
  await client.patch(`${CRDS}/boats.${GROUP}`, { spec: { versions: versions('v2') } });
  await served(server, 'v2', ([first]) => (first?.spec as JsonObject | undefined)?.address === 'x:1');
  expect(await client.get(at('v1', 'a'))).toMatchObject({ spec: { hostPort: 'x:1' } });
  await client.patch(at('v2', 'a'), { spec: { address: 'y:2' } });
  hook.requests.length = 0;
  expect(await client.get(at('v2', 'a'))).toMatchObject({ spec: { address: 'y:2' } });
  expect(hook.requests).toEqual([]); // it is stored in v2 now
});

it('without its webhook the stored version goes on, and others are told why not', async () => {
  await using server = await startTestServer();
  await using hook = await converter();
  const { client } = server;
  await client.create(CRDS, definition(hook));
  await served(server, 'v2');
  await client.create(at('v1'), boat('v1', 'a', { hostPort: 'x:1' }));
  await using watch = await client.watch(at('v2'));
  await watch.take(1);
  await hook.close();
  const lead = `conversion webhook for ${GROUP}/v1, Kind=Boat failed: Post "${hook.url}/convert?timeout=30s": dial tcp`;
  await expect(client.get(at('v2', 'a'))).rejects.toThrow(lead);
  await expect(client.list(at('v2'))).rejects.toThrow(lead);
  await expect(client.create(at('v2'), boat('v2', 'b', {}))).rejects.toThrow(lead.replace('/v1,', '/v2,'));
  await client.patch(at('v1', 'a'), { spec: { hostPort: 'y:2' } });
  const [last] = (await watch.rest()).slice(-1);
  expect(last).toMatchObject({ type: 'ERROR', object: { code: 500 } });
  expect((last!.object as unknown as { message: string }).message).toContain(lead);
});

it('many who watch cost one conversion of each change', async () => {
  await using server = await startTestServer();
  await using hook = await converter();
  const { client } = server;
  await client.create(CRDS, definition(hook));
  await served(server, 'v2');
  const watches = await Promise.all(Array.from({ length: 5 }, () => client.watch(at('v2'), { resourceVersion: 0 })));
  hook.requests.length = 0;
  await client.create(at('v1'), boat('v1', 'a', { hostPort: 'x:1' }));
  for (const watch of watches) expect((await watch.take(1))[0]).toMatchObject({ type: 'ADDED' });
  expect(hook.requests.length).toBe(1);
  for (const watch of watches) await watch[Symbol.asyncDispose]();
});
