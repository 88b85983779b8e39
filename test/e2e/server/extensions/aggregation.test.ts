/** Groups that another server answers for, over a real server and a real extension server on loopback. */
import { expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../../../src/api/index.ts';
import { type Hook, type HookRequest, startHook } from '../../../../src/server/outbound/https-hook.testing.ts';
import { startTestServer, type TestServer } from '../../../../src/testing/index.ts';

const PATH = '/apis/apiregistration.k8s.io/v1/apiservices';
const GROUP = 'echo.example.com';
const resources = [
  { name: 'echoes', singularName: 'echo', namespaced: true, kind: 'Echo', shortNames: ['ec'], verbs: ['get', 'list'] },
  { name: 'echoes/status', singularName: '', namespaced: true, kind: 'Echo', verbs: ['get'] },
];
const discovery = { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: `${GROUP}/v1`, resources };

function extension(answer: (request: HookRequest) => JsonObject = () => ({ kind: 'Echo' })): Promise<Hook> {
  return startHook(
    (request) => {
      const path = request.path.replace(/\?.*/, '');
      if (path === `/apis/${GROUP}/v1`) return discovery as unknown as JsonObject;
      if (path === '/openapi/v3')
        return { paths: { [`apis/${GROUP}/v1`]: { serverRelativeURL: `/openapi/v3/apis/${GROUP}/v1?hash=1` } } };
      if (path === `/openapi/v3/apis/${GROUP}/v1`) return { openapi: '3.0.0' };
      if (path === '/apis') return { raw: 'no', status: 404 };
      return answer(request);
    },
    { hosts: ['ext.default.svc'] },
  );
}

async function register(server: TestServer, hook: Hook, more: JsonObject = {}): Promise<void> {
  const spec = { type: 'ExternalName', externalName: 'localhost' };
  await server.client.create('/api/v1/namespaces/default/services', { metadata: { name: 'ext' }, spec });
  await server.client.create(PATH, {
    metadata: { name: `v1.${GROUP}` },
    spec: {
      group: GROUP,
      version: 'v1',
      groupPriorityMinimum: 2000,
      versionPriority: 15,
      caBundle: hook.caBundle,
      service: { namespace: 'default', name: 'ext', port: hook.port },
      ...more,
    },
  });
}

async function condition(server: TestServer, reason: string): Promise<JsonObject> {
  for (;;) {
    const { status } = await server.client.get(`${PATH}/v1.${GROUP}`);
    const found = ((status as JsonObject | undefined)?.conditions ?? []) as JsonObject[];
    if (found[0]?.reason === reason) return found[0];
  }
}

/** What the other server serves is asked in the background. */
async function openApiEntry({ client }: TestServer): Promise<JsonObject> {
  for (;;) {
    const { paths } = (await client.get('/openapi/v3')) as unknown as { paths: Record<string, JsonObject> };
    const found = paths[`apis/${GROUP}/v1`];
    if (found) return found;
  }
}

it('a group of another server is verified, discovered and asked, with the user in headers and our certificate', async () => {
  await using server = await startTestServer();
  await using hook = await extension(({ path }) => ({ kind: 'Echo', path }));
  await register(server, hook);
  expect(await condition(server, 'Passed')).toMatchObject({ status: 'True', message: 'all checks passed' });
  const { client } = server;
  const answer = await client.get(`/apis/${GROUP}/v1/namespaces/a/echoes/e?x=1&y=%2F`);
  expect(answer).toMatchObject({ kind: 'Echo', path: `/apis/${GROUP}/v1/namespaces/a/echoes/e?x=1&y=%2F` });
  const { headers, connection } = hook.requests.find(({ path }) => path.includes('echoes'))!;
  expect(headers).toMatchObject({ 'x-remote-user': 'kubernetes-admin', 'x-forwarded-proto': 'https' });
  expect(headers['x-remote-group']).toContain('system:masters');
  expect(headers).not.toHaveProperty('authorization');
  expect(connection.getPeerCertificate().subject.CN).toBe('front-proxy-client');
  const groups = ((await client.get('/apis')) as unknown as { groups: { name: string }[] }).groups.map(
    ({ name }) => name,
  );
  expect(groups).toContain(GROUP);
  expect(groups.indexOf(GROUP)).toBeGreaterThan(groups.indexOf('flowcontrol.apiserver.k8s.io'));
  expect(await openApiEntry(server)).toEqual({ serverRelativeURL: `/openapi/v3/apis/${GROUP}/v1?hash=1` });
  expect(await client.get(`/openapi/v3/apis/${GROUP}/v1`)).toEqual({ openapi: '3.0.0' });
});

it('what a client says of the user, or with credentials of its own, does not reach the other server', async () => {
  await using server = await startTestServer();
  await using hook = await extension();
  await register(server, hook);
  await condition(server, 'Passed');
  await server.client.ask('GET', `/apis/${GROUP}/v1/echoes`, {
    headers: {
      'X-Remote-User': 'root',
      'X-Remote-Extra-A': 'b',
      'Impersonate-User': 'eve',
      'Impersonate-Group': 'system:masters',
    },
  });
  const { headers } = hook.requests.find(({ path }) => path.endsWith('echoes'))!;
  expect(headers['x-remote-user']).toBe('eve');
  expect(Object.keys(headers).filter((name) => /extra|impersonate|authorization/.test(name))).toEqual([]);
});

it('a server whose certificate is not vouched for is not available, and one that goes is noticed by its requests', async () => {
  await using server = await startTestServer();
  await using other = await extension();
  await using hook = await extension();
  await register(server, hook, { caBundle: other.caBundle });
  const { message } = await condition(server, 'FailedDiscoveryCheck');
  expect(message).toContain('x509: certificate signed by unknown authority');
  expect(hook.requests).toEqual([]);
  const { client } = server;
  await expect(client.get(`/apis/${GROUP}/v1/echoes`)).rejects.toMatchObject({ code: 503 });
  const stored = (await client.get(`${PATH}/v1.${GROUP}`)) as KubeObject & { spec: JsonObject };
  await client.update(`${PATH}/v1.${GROUP}`, { ...stored, spec: { ...stored.spec, caBundle: hook.caBundle } });
  await condition(server, 'Passed');
  await hook.close();
  await expect(client.get(`/apis/${GROUP}/v1/echoes`)).rejects.toMatchObject({ code: 503 });
});

it('a path that could lead elsewhere on the other server does not get there', async () => {
  await using server = await startTestServer();
  await using hook = await extension();
  await register(server, hook);
  await condition(server, 'Passed');
  hook.requests.length = 0;
  for (const path of ['%2e%2e/secret', 'a/..%2f..%2fsecret', './a', 'a//b', '%2e', 'a%5c..%5cb', 'a%00b'])
    expect((await server.client.ask('GET', `/apis/${GROUP}/v1/${path}`)).status, path).toBe(404);
  expect(hook.requests.filter(({ headers }) => headers['x-forwarded-uri'] !== undefined)).toEqual([]);
});

it('long answers are passed on as they come; one that breaks off is cut off, not ended', async () => {
  await using server = await startTestServer();
  const long = 'x'.repeat(300_000);
  await using hook = await extension(({ path }) =>
    path.includes('broken') ? ({ raw: long, cut: true } as never) : { long },
  );
  await register(server, hook);
  await condition(server, 'Passed');
  const { client } = server;
  expect(await client.get(`/apis/${GROUP}/v1/echoes/long`)).toEqual({ long });
  await expect(client.get(`/apis/${GROUP}/v1/echoes/broken`)).rejects.toThrow(/aborted|hang up|reset/);
});
