/** An update of what is not there: it is made, is not found, or was another one. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function put(path: string, uid?: string): Promise<{ status: number; message?: string }> {
  const metadata = { name: path.slice(path.lastIndexOf('/') + 1), resourceVersion: '7', ...(uid && { uid }) };
  const headers = { 'content-type': 'application/json' };
  const answer = await server.client.ask('PUT', path, { headers, body: JSON.stringify({ metadata }) });
  return { status: answer.status, message: JSON.parse(answer.body.toString()).message };
}

it.each(['/apis/coordination.k8s.io/v1/namespaces/default/leases/a', '/api/v1/namespaces/default/limitranges/a'])(
  'a PUT of %s makes it, but not in the place of one that is meant by its uid',
  async (path) => {
    expect(await put(path, 'some-uid')).toEqual({
      status: 409,
      message: expect.stringMatching(/Precondition failed: UID in precondition: some-uid, UID in object meta: $/),
    });
    expect((await server.client.ask('GET', path)).status).toBe(404);
    expect((await put(path)).status).toBe(201);
  },
);

it('a PUT of another kind is a 404, whichever is meant', async () => {
  const path = '/api/v1/namespaces/default/configmaps/a';
  for (const uid of [undefined, 'some-uid'])
    expect(await put(path, uid)).toEqual({ status: 404, message: 'configmaps "a" not found' });
});
