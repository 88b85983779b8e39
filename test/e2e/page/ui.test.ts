/** `/ui/` of the server: behind the same login as the API, for its page only, with the rights of whoever looks. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiClient, credentialsOf, startTestServer, type TestServer } from '../../../src/testing/index.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ introspection: true });
});
afterAll(() => server[Symbol.asyncDispose]());

const WATCHES = '/ui/k8s/apis/introspection.longwatch.dev/v1alpha1/watches';

describe.each(['http1', 'http2'] as const)('the page of the server over %s', (protocol) => {
  let nobody: ApiClient;
  let token: string;
  beforeAll(() => {
    const known = credentialsOf(server.dataDir, server.kubeconfigPath);
    token = known.token;
    nobody = new ApiClient({ url: server.url, ca: known.ca, protocol });
  });
  afterAll(() => nobody.close());
  const get = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const { status, headers: said, body } = await nobody.ask(method, path, { headers });
    return { status, headers: said, text: body.toString() };
  };
  async function sessionOf(bearer: string): Promise<{ cookie: string; 'x-longwatch-page': string }> {
    const { status, headers, text } = await get('/ui/session', { authorization: `Bearer ${bearer}` });
    expect(status).toBe(200);
    const [cookie = ''] = headers['set-cookie'] as string[];
    expect(cookie).toMatch(/^longwatch-ui=[\w-]{80,}; Path=\/ui\/; Secure; HttpOnly; SameSite=Strict$/);
    return { cookie: cookie.split(';')[0]!, 'x-longwatch-page': JSON.parse(text).page };
  }

  it('asks whoever is not known for a token, and tells them nothing', async () => {
    const page = await get('/ui/');
    expect(page).toMatchObject({ status: 401, text: expect.stringContaining('<title>Longwatch</title>') });
    expect(page.headers).toMatchObject({ 'cache-control': 'no-store', 'x-frame-options': 'DENY' });
    expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'/);
    expect((await get('/ui')).status).toBe(308);
    expect((await get('/ui/page.js')).status).toBe(200);
    for (const path of ['/ui/page.json', '/ui/session', '/ui/k8s/metrics', WATCHES, '/ui/other', '/ui/k8s/api/v1/pods'])
      expect((await get(path)).status, path).toBe(403);
    expect((await get('/ui/session', { authorization: 'Bearer wrong' })).status).toBe(401);
  });

  it('reads with both secrets of a session, what it shows and nothing else', async () => {
    const good = await sessionOf(token);
    expect((await get('/ui/', good)).status).toBe(200);
    expect(JSON.parse((await get('/ui/page.json', good)).text)).toMatchObject({ kind: 'cluster', root: 'k8s' });
    expect(JSON.parse((await get(WATCHES, good)).text)).toMatchObject({ kind: 'WatchList' });
    expect((await get('/ui/k8s/metrics', good)).text).toContain('apiserver_request_total');
    for (const path of ['/ui/k8s/api/v1/secrets', '/ui/k8s/logs', '/ui/k8s/api/v1/namespaces/default/pods/a/log'])
      expect((await get(path, good)).status, path).toBe(404);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect((await get('/ui/k8s/api/v1/namespaces', good, method)).status, method).toBe(403);
  });

  it('a session counts for nothing but that: not half, not elsewhere, not for other sites', async () => {
    const { cookie, ...page } = await sessionOf(token);
    const another = await sessionOf(token);
    for (const half of [{ cookie }, page, { ...another, cookie }] as Record<string, string>[])
      expect((await get(WATCHES, half)).status).toBe(403);
    const good = { cookie, ...page };
    for (const path of [WATCHES.slice('/ui/k8s'.length), '/api/v1/pods', '/metrics'])
      expect((await get(path, good)).status, path).toBe(403);
    expect((await get('/ui/../api/v1/pods', good)).status).toBe(404);
    for (const from of [
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' },
    ] as Record<string, string>[])
      expect((await get(WATCHES, { ...good, ...from })).status).toBe(403);
  });

  it('whoever looks has the rights they have, and none when their token is not known any more', async () => {
    const account = `looker-${protocol}`;
    await server.client.create('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: account } });
    const asked = await server.client.ask('POST', `/api/v1/namespaces/default/serviceaccounts/${account}/token`, {
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    });
    const looker = await sessionOf(JSON.parse(asked.body.toString()).status.token);
    expect((await get('/ui/page.json', looker)).status).toBe(200);
    expect((await get('/ui/k8s/api', looker)).status).toBe(200);
    const refused = await get(WATCHES, looker);
    expect(refused.status).toBe(403);
    expect(refused.text).toContain(`User \\"system:serviceaccount:default:${account}\\" cannot list resource`);
    await server.client.delete(`/api/v1/namespaces/default/serviceaccounts/${account}`);
    expect((await get('/ui/k8s/api', looker)).status).toBe(401);
  });
});

it('a server that tells nothing of itself has no page', async () => {
  await using another = await startTestServer();
  expect((await another.client.ask('GET', '/ui/')).status).toBe(404);
});
