/** Privileged containers are a matter of how the server is started. */
import { expect, it } from 'vitest';
import { startTestServer } from '../../../src/testing/index.ts';

const PODS = '/api/v1/namespaces/default/pods';
const pod = (name: string, runAsUser = 0) => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i', securityContext: { privileged: true, runAsUser } }] },
});

it('are refused, and nothing else is allowed where they are not', async () => {
  await using strict = await startTestServer();
  const refused = await strict.client.ask('POST', PODS, { body: pod('p') });
  expect([refused.status, JSON.parse(refused.body.toString()).message]).toEqual([
    422,
    'Pod "p" is invalid: spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy',
  ]);
  await using free = await startTestServer({ allowPrivileged: true });
  expect((await free.client.ask('POST', PODS, { body: pod('p') })).status).toBe(201);
  expect((await free.client.ask('POST', PODS, { body: pod('q', -1) })).status).toBe(422);
});
