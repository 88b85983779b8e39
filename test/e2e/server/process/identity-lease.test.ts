/** What a server says of itself in kube-system, and what it lists as done when it has started. */
import { expect, it } from 'vitest';
import type { KubeObject } from '../../../../src/api/index.ts';
import { startTestServer, type TestServer } from '../../../../src/testing/index.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
const TRACKING = '/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking';
const labels = { 'apiserver.kubernetes.io/identity': 'kube-apiserver' };
const expired = { leaseDurationSeconds: 1, renewTime: '2020-01-01T00:00:00.000000Z', holderIdentity: 'a' };

async function leases({ client }: TestServer): Promise<KubeObject[]> {
  return (await client.get(LEASES)).items as unknown as KubeObject[];
}

it('a server has a lease of one name for all its starts, and knows since when it accounts for tokens', async () => {
  await using server = await startTestServer();
  const [first, ...others] = await leases(server);
  expect(others).toEqual([]);
  expect(first).toMatchObject({
    metadata: { name: expect.stringMatching(/^apiserver-[a-z2-7]{26}$/), labels },
    spec: { leaseDurationSeconds: 3600, holderIdentity: expect.stringContaining(`${first!.metadata.name}_`) },
  });
  const tracking = await server.client.get(TRACKING);
  expect(tracking.data).toEqual({ since: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) });
  await server.restart();
  const [second, ...more] = await leases(server);
  expect(more).toEqual([]);
  expect(second!.metadata.uid).toBe(first!.metadata.uid);
  expect(second!.spec).not.toEqual(first!.spec);
  expect(await server.client.get(TRACKING)).toEqual(tracking);
});

it('leases of servers that are gone go, and those of others stay', async () => {
  await using server = await startTestServer();
  await server.client.create(LEASES, { metadata: { name: 'gone', labels }, spec: expired });
  await server.client.create(LEASES, { metadata: { name: 'of-somebody', labels: {} }, spec: expired });
  await server.restart();
  const names = (await leases(server)).map(({ metadata }) => metadata.name);
  expect(names).toEqual([expect.stringMatching(/^apiserver-/), 'of-somebody']);
});

it('a server that has started has done all that it lists', async () => {
  await using server = await startTestServer();
  const { status, body } = await server.client.ask('GET', '/readyz', { query: { verbose: '' } });
  const text = String(body);
  expect([status, text]).toEqual([200, expect.stringContaining('[+]poststarthook/rbac/bootstrap-roles ok')]);
  expect(text).not.toContain('[-]');
});
