/** The Scale of a Deployment and of a custom object: its names, its fields, and who owns the count. */

import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/api/index.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { eventually } from '../../support/eventually.ts';

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const WIDGETS = '/apis/example.com/v1/namespaces/default/widgets';
const labels = { app: 'web' };
const spec = {
  selector: { matchLabels: labels },
  template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
};

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  const count = { type: 'object', properties: { count: { type: 'integer' } } };
  await server.client.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: count, status: count } } },
          subresources: { status: {}, scale: { specReplicasPath: '.spec.count', statusReplicasPath: '.status.count' } },
        },
      ],
    },
  });
  await eventually(async () => expect((await server.client.ask('GET', WIDGETS)).status).toBe(200));
});
afterAll(() => server[Symbol.asyncDispose]());

beforeEach(async () => {
  for (const path of [DEPLOYMENTS, WIDGETS]) await server.client.ask('DELETE', path);
  await apply(`${DEPLOYMENTS}/web`, 'alpha', {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    spec: { ...spec, replicas: 2 },
  });
  await apply(`${WIDGETS}/web`, 'alpha', { apiVersion: 'example.com/v1', kind: 'Widget', spec: { count: 2 } });
});

type Answer = { status: number; body: JsonObject; warning: unknown };

async function send(method: string, path: string, body: JsonObject, type: string, query = {}): Promise<Answer> {
  const headers = { 'content-type': `application/${type}` };
  const answer = await server.client.ask(method, path, { query, headers, body: JSON.stringify(body) });
  return { status: answer.status, body: JSON.parse(answer.body.toString()), warning: answer.headers.warning };
}

function apply(
  path: string,
  fieldManager: string,
  body: JsonObject,
  query: Record<string, string> = {},
): Promise<Answer> {
  return send('PATCH', path, { metadata: { name: 'web' }, ...body }, 'apply-patch+yaml', { fieldManager, ...query });
}

function scale(replicas: number, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'web', ...metadata }, spec: { replicas } };
}

async function owners(path: string): Promise<[manager: string, operation: string, part: string, hasCount: boolean][]> {
  const { metadata } = await server.client.get(path);
  return (metadata.managedFields ?? []).map(({ manager, operation, subresource, fieldsV1 }) => [
    manager!,
    operation!,
    subresource ?? '',
    /"f:(replicas|count)"/.test(JSON.stringify(fieldsV1)),
  ]);
}

it.each<[what: string, metadata: JsonObject, code: number, message: RegExp]>([
  ['the name', { name: 'other' }, 400, /^the name of the object \(other\) does not match the name on the URL \(web\)$/],
  ['no name', { name: '' }, 400, /^the name of the object \(web based on URL\) was undeterminable/],
  ['the namespace', { namespace: 'other' }, 400, /^the namespace of the provided object does not match/],
  ['the uid', { uid: 'u-1' }, 409, /"web": StorageError: invalid object, Code: 4, .* UID in precondition: u-1/],
])('a Scale with %s of another object is not put', async (_what, metadata, code, message) => {
  for (const path of [DEPLOYMENTS, WIDGETS])
    expect(await send('PUT', `${path}/web/scale`, scale(7, metadata), 'json')).toMatchObject({
      body: { code, message: expect.stringMatching(message) },
    });
  expect(await server.client.get(`${DEPLOYMENTS}/web`)).toMatchObject({ spec: { replicas: 2 } });
});

it.each<[what: string, patch: JsonObject, code: number, message: RegExp]>([
  ['names another object', { metadata: { name: 'other' } }, 400, /^the name of the object \(other\) does not match/],
  ['makes another kind of it', { kind: 'Thing' }, 422, /no kind "Thing" is registered for version "autoscaling\/v1"$/],
])('a patch that %s is refused', async (_what, patch, code, message) => {
  for (const path of [DEPLOYMENTS, WIDGETS])
    expect(await send('PATCH', `${path}/web/scale`, patch, 'merge-patch+json')).toMatchObject({
      body: { code, message: expect.stringMatching(message) },
    });
});

it('a patch with the uid of another object is a conflict, but for custom objects', async () => {
  const patch = { metadata: { uid: 'u-1' }, spec: { replicas: 3 } };
  expect(await send('PATCH', `${DEPLOYMENTS}/web/scale`, patch, 'merge-patch+json')).toMatchObject({
    body: {
      code: 409,
      message: expect.stringMatching(
        /^Operation cannot be fulfilled on deployments\/scale.apps "web": Precondition failed: UID in precondition: u-1, /,
      ),
    },
  });
  expect(await send('PATCH', `${WIDGETS}/web/scale`, patch, 'merge-patch+json')).toMatchObject({ status: 200 });
});

it('the Scale of a custom object takes no strategic merge patch, as the object takes none', async () => {
  const patch = { spec: { replicas: 3 } };
  expect(await send('PATCH', `${WIDGETS}/web/scale`, patch, 'strategic-merge-patch+json')).toMatchObject({
    status: 415,
  });
});

it('unknown fields of a patched Scale are warned of, or refused', async () => {
  const patch = () => send('PATCH', `${DEPLOYMENTS}/web/scale`, { spec: { odd: 1 } }, 'merge-patch+json');
  expect(await patch()).toMatchObject({ status: 200, warning: '299 - "unknown field \\"spec.odd\\""' });
  const strict = { fieldValidation: 'Strict' };
  const answer = await send('PATCH', `${DEPLOYMENTS}/web/scale`, { spec: { odd: 1 } }, 'merge-patch+json', strict);
  expect(answer).toMatchObject({ status: 422, body: { message: expect.stringContaining('unknown field "spec.odd"') } });
});

it('an applied count conflicts with whoever owns it, unless it is forced', async () => {
  for (const [path, field] of [
    [DEPLOYMENTS, 'replicas'],
    [WIDGETS, 'count'],
  ]) {
    expect(await apply(`${path}/web/scale`, 'beta', scale(7))).toMatchObject({
      body: { code: 409, message: 'Apply failed with 1 conflict: conflict with "alpha": .spec.replicas' },
    });
    expect(await apply(`${path}/web/scale`, 'beta', scale(7), { force: 'true' })).toMatchObject({
      status: 200,
      body: { spec: { replicas: 7 } },
    });
    expect(await server.client.get(`${path}/web`)).toMatchObject({ spec: { [field!]: 7 } });
    expect((await owners(`${path}/web`)).filter(([, , , hasCount]) => hasCount)).toEqual([
      ['beta', 'Apply', 'scale', true],
    ]);
  }
});

it('who applies what is there owns it together with who did before', async () => {
  expect(await apply(`${DEPLOYMENTS}/web/scale`, 'beta', scale(2))).toMatchObject({ status: 200 });
  expect((await owners(`${DEPLOYMENTS}/web`)).filter(([, , , hasCount]) => hasCount)).toEqual([
    ['beta', 'Apply', 'scale', true],
    ['alpha', 'Apply', '', true],
  ]);
});

it('a count that nobody owns is scaled, and nobody owns it after that', async () => {
  await apply(`${DEPLOYMENTS}/web`, 'alpha', { apiVersion: 'apps/v1', kind: 'Deployment', spec });
  expect(await send('PATCH', `${DEPLOYMENTS}/web/scale`, { spec: { replicas: 5 } }, 'merge-patch+json')).toMatchObject({
    body: { spec: { replicas: 5 } },
  });
  expect(await owners(`${DEPLOYMENTS}/web`)).toEqual([['alpha', 'Apply', '', false]]);
});

it('the status of a custom object is put by who has seen its version', async () => {
  const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'web' }, status: { count: 1 } };
  expect(await send('PUT', `${WIDGETS}/web/status`, widget, 'json')).toMatchObject({
    body: {
      code: 422,
      message:
        'widgets.example.com "web" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    },
  });
  const { metadata } = await server.client.get(`${WIDGETS}/web`);
  const seen = { ...widget, metadata: metadata as unknown as JsonObject };
  expect(await send('PUT', `${WIDGETS}/web/status`, seen, 'json')).toMatchObject({ body: { status: { count: 1 } } });
  const patch = { status: { count: 2 } };
  expect(await send('PATCH', `${WIDGETS}/web/status`, patch, 'merge-patch+json')).toMatchObject({ body: patch });
});

it('a built-in object whose type a patch takes away is still of it, a custom one is nothing', async () => {
  const patch = { kind: null, apiVersion: null, metadata: { labels: { a: 'b' } } };
  expect(await send('PATCH', `${DEPLOYMENTS}/web`, patch, 'merge-patch+json')).toMatchObject({
    status: 200,
    body: { kind: 'Deployment', apiVersion: 'apps/v1', metadata: { labels: { a: 'b' } } },
  });
  expect(await send('PATCH', `${WIDGETS}/web`, patch, 'merge-patch+json')).toMatchObject({
    body: { code: 422, message: expect.stringContaining("Object 'Kind' is missing in '") },
  });
});

it('a custom object of another kind is refused by what its definition says', async () => {
  expect(await send('PATCH', `${WIDGETS}/web`, { kind: 'Gadget' }, 'merge-patch+json')).toMatchObject({
    body: {
      code: 422,
      message: 'Gadget.example.com "web" is invalid: kind: Invalid value: "Gadget": must be Widget',
    },
  });
});

const notSupported = (verb: string) => `${verb} is not supported on resources of kind "widgets.example.com"`;
it.each<[method: string, path: string, status: number, message: string]>([
  ['POST', `${WIDGETS}/odd/scale`, 405, notSupported('create')],
  ['DELETE', `${WIDGETS}/odd/scale`, 405, notSupported('delete')],
  ['POST', `${WIDGETS}/odd/status`, 405, notSupported('create')],
  ['PUT', WIDGETS, 400, 'name must be provided'],
  ['PATCH', WIDGETS, 400, 'name must be provided'],
  ['DELETE', `${DEPLOYMENTS}/odd/scale`, 405, 'the server does not allow this method on the requested resource'],
  ['PUT', DEPLOYMENTS, 405, 'the server does not allow this method on the requested resource'],
])('%s on %s is refused in the words of who answers for it', async (method, path, status, message) => {
  const answer = await server.client.ask(method, path, {
    headers: { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' },
    body: '{}',
  });
  expect([answer.status, JSON.parse(answer.body.toString()).message]).toEqual([status, message]);
});
