/** Parts of objects with a path of their own, by the ways that clients write them. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JsonObject, StatusError } from '../../../src/api/index.ts';
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
    { fieldManager: 'scaler', force: 'true' },
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

const evictionOf = (name: string, deleteOptions: JsonObject = {}) => ({
  apiVersion: 'policy/v1',
  kind: 'Eviction',
  metadata: { name },
  deleteOptions,
});

it.each<[claim: string, query: Record<string, string>, body: JsonObject, want: JsonObject]>([
  ['of the request', { dryRun: 'All' }, evictionOf('still'), { code: 201, status: 'Success' }],
  ['of the eviction itself', {}, evictionOf('still', { dryRun: ['All'] }), { code: 201, status: 'Success' }],
  [
    'of both, that differ',
    { dryRun: 'All' },
    evictionOf('still', { dryRun: ['Some'] }),
    { code: 500, message: 'Non-matching dry-run options in request and content: [All] and [Some]' },
  ],
])('a dry run %s evicts nobody', async (_claim, query, body, want) => {
  await server.client.create(PODS, { metadata: { name: 'still' }, spec: { containers: [container] } }).catch(() => {});
  const before = await server.client.get(`${PODS}/still`);
  const answer = await server.client.ask('POST', `${PODS}/still/eviction`, { query, body: JSON.stringify(body) });
  expect(JSON.parse(answer.body.toString())).toMatchObject(want);
  expect(await server.client.get(`${PODS}/still`)).toEqual(before);
});

it('an eviction goes by its preconditions, and writes nothing where they do not hold', async () => {
  const created = await server.client.create(PODS, { metadata: { name: 'exact' }, spec: { containers: [container] } });
  const { uid, resourceVersion } = created.metadata;
  const evict = (preconditions: JsonObject) =>
    server.client.create(`${PODS}/exact/eviction`, evictionOf('exact', { preconditions }));
  await expect(evict({ uid: 'another' })).rejects.toMatchObject({
    code: 409,
    message: `Operation cannot be fulfilled on Pod "exact": the UID in the precondition (another) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
  });
  await expect(evict({ resourceVersion: '1' })).rejects.toMatchObject({ code: 409 });
  expect(await server.client.get(`${PODS}/exact`)).toEqual(created);
  await evict({ uid: uid!, resourceVersion: resourceVersion! });
  await expect(server.client.get(`${PODS}/exact`)).rejects.toMatchObject({ code: 404 });
});

it('an eviction is charged to the budget of its pod, which allows no more than it says', async () => {
  const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
  const labels = { app: 'guarded' };
  const merge = { headers: { 'content-type': 'application/merge-patch+json' } };
  await server.client.create(BUDGETS, {
    metadata: { name: 'guard' },
    spec: { minAvailable: 1, selector: { matchLabels: labels } },
  });
  const status = { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 };
  await server.client.ask('PATCH', `${BUDGETS}/guard/status`, {
    ...merge,
    body: JSON.stringify({ status: { ...status, observedGeneration: 1 } }),
  });
  const running = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  for (const name of ['first', 'second']) {
    await server.client.create(PODS, { metadata: { name, labels }, spec: { containers: [container] } });
    await server.client.ask('PATCH', `${PODS}/${name}/status`, { ...merge, body: JSON.stringify({ status: running }) });
  }
  const another = evictionOf('first', { preconditions: { uid: 'another' } });
  await expect(server.client.create(`${PODS}/first/eviction`, another)).rejects.toMatchObject({ code: 409 });
  await server.client.create(`${PODS}/first/eviction`, evictionOf('first'));
  expect((await server.client.get(`${BUDGETS}/guard`)).status).toMatchObject({
    disruptionsAllowed: 0,
    disruptedPods: { first: expect.any(String) },
  });
  await expect(server.client.create(`${PODS}/second/eviction`, evictionOf('second'))).rejects.toMatchObject({
    code: 429,
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
  });
});

it('an eviction may be of the version that older clients speak', async () => {
  await server.client.create(PODS, { metadata: { name: 'older' }, spec: { containers: [container] } });
  await server.client.create(`${PODS}/older/eviction`, { ...evictionOf('older'), apiVersion: 'policy/v1beta1' });
  await expect(server.client.get(`${PODS}/older`)).rejects.toMatchObject({ code: 404 });
});

it('an eviction names its pod', async () => {
  const nameless = { apiVersion: 'policy/v1', kind: 'Eviction' };
  await expect(server.client.create(`${PODS}/other/eviction`, nameless)).rejects.toMatchObject({
    code: 400,
    message: 'name in URL does not match name in Eviction object',
  });
});

it('a binding names its pod, and means no other', async () => {
  await server.client.create(PODS, { metadata: { name: 'loose' }, spec: { containers: [container] } });
  const { uid, resourceVersion } = (await server.client.get(`${PODS}/loose`)).metadata;
  const bind = (metadata: JsonObject, target: JsonObject = { kind: 'Node', name: 'n' }) =>
    server.client.create(`${PODS}/loose/binding`, { apiVersion: 'v1', kind: 'Binding', metadata, target } as never);
  await expect(bind({ name: 'other' })).rejects.toMatchObject({
    code: 400,
    message: 'name in URL does not match name in Binding object',
  });
  const faulty = await bind({ name: 'loose' }, { kind: 'Pod', name: '' }).catch((err: unknown) => err);
  expect(faulty).toMatchObject({
    code: 500,
    message:
      '[target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>", target.name: Required value]',
  });
  expect((faulty as StatusError).status).not.toHaveProperty('reason');
  const why = (field: string, found: string) =>
    new RegExp(
      `^Operation cannot be fulfilled on pods "loose": StorageError: invalid object, Code: 4, Key: \\S+, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${field} in precondition: 1, ${field} in object meta: ${found}$`,
    );
  for (const [field, key, found] of [
    ['UID', 'uid', uid],
    ['ResourceVersion', 'resourceVersion', resourceVersion],
  ] as const)
    await expect(bind({ name: 'loose', [key]: '1' })).rejects.toMatchObject({
      code: 409,
      message: expect.stringMatching(why(field, found!)),
    });
  await bind({ name: 'loose', uid: uid!, resourceVersion: resourceVersion! });
  expect((await server.client.get(`${PODS}/loose`)).spec).toMatchObject({ nodeName: 'n' });
});

it('the priority classes of the system are not deleted', async () => {
  const CLASSES = '/apis/scheduling.k8s.io/v1/priorityclasses';
  for (const name of ['system-node-critical', 'system-cluster-critical'])
    await expect(server.client.delete(`${CLASSES}/${name}`)).rejects.toMatchObject({
      code: 403,
      message: `priorityclasses.scheduling.k8s.io "${name}" is forbidden: this is a system priority class and cannot be deleted`,
    });
});

it.each<[order: string, path: string, body: JsonObject]>([
  ['a Binding', `${PODS}/p/binding`, { apiVersion: 'v1', kind: 'Binding', target: { kind: 'Node', name: 'n' } }],
  ['an Eviction', `${PODS}/p/eviction`, { apiVersion: 'policy/v1', kind: 'Eviction' }],
  ['a TokenRequest', '/api/v1/namespaces/default/serviceaccounts/p/token', {}],
  [
    'a review',
    '/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews',
    { spec: { user: 'u', resourceAttributes: { namespace: 'default', verb: 'get', resource: 'pods' } } },
  ],
])('%s for another namespace than that of its path is refused', async (_order, path, body) => {
  const { body: answer } = await server.client.ask('POST', path, {
    body: JSON.stringify({ metadata: { name: 'p', namespace: 'elsewhere' }, ...body }),
  });
  expect(JSON.parse(answer.toString())).toMatchObject({
    code: 400,
    message: 'the namespace of the provided object does not match the namespace sent on the request',
  });
});

it('a review lies in no namespace where its kind does not', async () => {
  const { body } = await server.client.ask('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
    body: JSON.stringify({ metadata: { namespace: 'elsewhere' }, spec: { token: 'none' } }),
  });
  expect(JSON.parse(body.toString()).metadata).not.toHaveProperty('namespace');
});
