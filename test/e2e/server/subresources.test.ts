/** Parts of objects with a path of their own, by the ways that clients write them. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/api/index.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const PODS = '/api/v1/namespaces/default/pods';
const container = { name: 'c', image: 'i' };

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  const labels = { app: 'web' };
  await server.client.create(DEPLOYMENTS, {
    metadata: { name: 'web' },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [container] } } },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

async function patchScale(type: string, body: unknown, query: Record<string, string> = {}) {
  const answer = await server.client.ask('PATCH', `${DEPLOYMENTS}/web/scale`, {
    query,
    headers: { 'content-type': `application/${type}` },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: answer.status, body: JSON.parse(answer.body.toString()) };
}

it.each<[type: string, body: unknown, replicas: number, query?: Record<string, string>]>([
  ['merge-patch+json', { spec: { replicas: 2 } }, 2],
  ['strategic-merge-patch+json', { spec: { replicas: 3 } }, 3],
  ['json-patch+json', [{ op: 'replace', path: '/spec/replicas', value: 4 }], 4],
  [
    'apply-patch+yaml',
    'apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: web}\nspec: {replicas: 5}\n',
    5,
    { fieldManager: 'scaler' },
  ],
])('a scale is patched by %s', async (type, body, replicas, query) => {
  const answer = await patchScale(type, body, query);
  expect(answer).toMatchObject({ status: 200, body: { kind: 'Scale', spec: { replicas } } });
  expect(await server.client.get(`${DEPLOYMENTS}/web`)).toMatchObject({ spec: { replicas } });
});

it.each<[claim: string, type: string, body: unknown, status: number, message: RegExp]>([
  ['no JSON', 'merge-patch+json', '{x', 400, /^error decoding patch: invalid character 'x'/],
  ['of no known type', 'json', {}, 415, /^415: Unsupported Media Type$/],
  ['a test that fails', 'json-patch+json', [{ op: 'test', path: '/spec/replicas', value: 99 }], 422, /rejected/],
  ['a count that is none', 'merge-patch+json', { spec: { replicas: 'many' } }, 422, /cannot unmarshal string/],
  ['a count below zero', 'merge-patch+json', { spec: { replicas: -1 } }, 422, /must be greater than or equal to 0/],
])('a patch of a scale that is %s changes nothing', async (_claim, type, body, status, message) => {
  const before = await server.client.get(`${DEPLOYMENTS}/web`);
  expect(await patchScale(type, body)).toMatchObject({ status, body: { message: expect.stringMatching(message) } });
  expect(await server.client.get(`${DEPLOYMENTS}/web`)).toEqual(before);
});

it.each(['GET', 'PATCH'])('%s of a scale as a Table is a row of it, not of its object', async (method) => {
  const answer = await server.client.ask(method, `${DEPLOYMENTS}/web/scale`, {
    headers: {
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
      ...(method === 'PATCH' && { 'content-type': 'application/merge-patch+json' }),
    },
    ...(method === 'PATCH' && { body: '{"spec":{"replicas":7}}' }),
  });
  const table = JSON.parse(answer.body.toString());
  const { spec } = await server.client.get(`${DEPLOYMENTS}/web`);
  expect(table.columnDefinitions.map(({ name, type, format }: JsonObject) => [name, type, format])).toEqual([
    ['Name', 'string', ''],
    ['Desired', 'integer', ''],
    ['Available', 'integer', ''],
    ['Age', 'string', ''],
  ]);
  const { replicas } = spec as JsonObject;
  expect(table.rows).toMatchObject([
    { cells: ['web', replicas, 0, expect.any(String)], object: { kind: 'PartialObjectMetadata' } },
  ]);
});

it('bindings and evictions that name an owner twice are told so', async () => {
  await server.client.create(PODS, { metadata: { name: 'owned' }, spec: { containers: [container] } });
  const owner = { apiVersion: 'v1', kind: 'Thing', name: 'x', uid: 'u-1' };
  const warningOf = async (part: string, body: JsonObject) => {
    const metadata = { name: 'owned', ownerReferences: [owner, owner] };
    const { headers, status } = await server.client.ask('POST', `${PODS}/owned/${part}`, {
      query: { dryRun: 'All' },
      body: JSON.stringify({ metadata, ...body }),
    });
    expect(status).toBe(201);
    return String(headers.warning);
  };
  const binding = { apiVersion: 'v1', kind: 'Binding', target: { kind: 'Node', name: 'n' } };
  expect(await warningOf('binding', binding)).toContain('duplicate UID(s) observed: u-1');
  expect(await warningOf('eviction', { apiVersion: 'policy/v1', kind: 'Eviction' })).toContain('duplicate UID(s)');
});

it('an eviction of another pod than the one of its path is refused, and both stay', async () => {
  for (const name of ['one', 'other'])
    await server.client.create(PODS, { metadata: { name }, spec: { containers: [container] } });
  const evict = (name: string) =>
    server.client.create(`${PODS}/one/eviction`, { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } });
  await expect(evict('other')).rejects.toMatchObject({
    code: 400,
    message: 'name in URL does not match name in Eviction object',
  });
  expect((await server.client.list(PODS)).items.map(({ metadata }) => metadata.name)).toEqual([
    'one',
    'other',
    'owned',
  ]);
  await evict('one');
  expect((await server.client.list(PODS)).items.map(({ metadata }) => metadata.name)).toEqual(['other', 'owned']);
});
