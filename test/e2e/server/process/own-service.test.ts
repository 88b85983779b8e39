/** How a cluster finds its own API, and the addresses of its services as objects, over a real server. */
import type { NetworkInterfaceInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../../../src/api/index.ts';
import { advertisedAddress } from '../../../../src/server/cluster/own-service.ts';
import { startTestServer, type TestServer } from '../../../../src/testing/index.ts';

const SERVICES = '/api/v1/namespaces/default/services';
const ADDRESSES = '/apis/networking.k8s.io/v1/ipaddresses';
const port = (server: TestServer) => Number(new URL(server.url).port);

it('the API is a service with endpoints, in a range that is ready', async () => {
  await using server = await startTestServer();
  const { client } = server;
  expect(await client.get(`${SERVICES}/kubernetes`)).toMatchObject({
    metadata: { labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: {
      clusterIP: '10.0.0.1',
      clusterIPs: ['10.0.0.1'],
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: port(server) }],
      type: 'ClusterIP',
    },
  });
  const { subsets } = await client.get('/api/v1/namespaces/default/endpoints/kubernetes');
  const slice = await client.get('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes');
  expect(slice).toMatchObject({ addressType: 'IPv4', ports: [{ name: 'https', port: port(server), protocol: 'TCP' }] });
  const [endpoint] = (slice.endpoints ?? []) as unknown as { addresses: string[] }[];
  const [subset] = (subsets ?? []) as unknown as { addresses: { ip: string }[] }[];
  expect(subset?.addresses[0]?.ip).toBe(endpoint?.addresses[0]);
  expect(await client.get('/apis/networking.k8s.io/v1/servicecidrs/kubernetes')).toMatchObject({
    spec: { cidrs: ['10.0.0.0/24'] },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  });
});

it('a later start finds them in place', async () => {
  await using server = await startTestServer();
  const before = await server.client.get(`${SERVICES}/kubernetes`);
  await server.restart();
  const after = await server.client.get(`${SERVICES}/kubernetes`);
  expect(after).toEqual(before);
});

it('nobody else is given the address of the API', async () => {
  await using server = await startTestServer();
  const taken = { metadata: { name: 'a' }, spec: { clusterIP: '10.0.0.1', ports: [{ port: 80 }] } };
  await expect(server.client.create(SERVICES, taken)).rejects.toThrow('provided IP is already allocated');
});

it('addresses of services are objects, which come and go with them, also while nobody looks', async () => {
  await using server = await startTestServer();
  const { client } = server;
  const service = (name: string, spec: JsonObject = {}) => ({
    metadata: { name },
    spec: { ports: [{ port: 80 }], ...spec },
  });
  const created = await client.create(SERVICES, service('web'));
  await client.create(SERVICES, service('headless', { clusterIP: 'None' }));
  const { clusterIP } = created.spec as { clusterIP: string };
  const found = await until(async () => (await items(server)).find(({ metadata }) => metadata.name === clusterIP));
  expect(found).toMatchObject({
    metadata: {
      labels: {
        'ipaddress.kubernetes.io/ip-family': 'IPv4',
        'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
      },
    },
    spec: { parentRef: { resource: 'services', namespace: 'default', name: 'web' } },
  });
  const own = {
    metadata: { name: '192.168.7.5' },
    spec: { parentRef: { resource: 'services', namespace: 'default', name: 'gone' } },
  };
  await client.create(ADDRESSES, own);
  await client.delete(`${SERVICES}/web`);
  await until(async () => !(await names(server)).includes(clusterIP));
  expect(await names(server)).toEqual(['10.0.0.1', '192.168.7.5']);
});

it('what was missed is made up for', async () => {
  await using server = await startTestServer();
  await until(async () => (await names(server)).includes('10.0.0.1'));
  const labels = { 'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io' };
  await server.client.create(ADDRESSES, {
    metadata: { name: '10.0.0.77', labels },
    spec: { parentRef: { resource: 'services', namespace: 'default', name: 'gone' } },
  });
  await until(async () => !(await names(server)).includes('10.0.0.77'));
  await server.client.delete(`${ADDRESSES}/10.0.0.1`);
  await server.restart();
  await until(async () => (await names(server)).includes('10.0.0.1'));
});

describe('the address that others use', () => {
  const info = (address: string, internal = false) => ({ address, internal }) as NetworkInterfaceInfo;
  const interfaces = { lo: [info('127.0.0.1', true)], eth0: [info('fe80::1'), info('192.168.1.5')] };
  it.each([
    ['10.1.2.3', '10.1.2.3'],
    ['127.0.0.1', '192.168.1.5'],
    ['0.0.0.0', '192.168.1.5'],
    ['::', '192.168.1.5'],
  ])('listening on %s it is %s', (bindAddress, want) => expect(advertisedAddress(bindAddress, interfaces)).toBe(want));
  it('is none where there is none', () =>
    expect(advertisedAddress('127.0.0.1', { lo: interfaces.lo })).toBeUndefined());
});

async function items(server: TestServer): Promise<readonly KubeObject[]> {
  return (await server.client.list(ADDRESSES)).items as readonly KubeObject[];
}

async function names(server: TestServer): Promise<(string | undefined)[]> {
  return (await items(server)).map(({ metadata }) => metadata.name);
}

/** Asks until there is something; the test's own time limit is the end of it. */
async function until<T>(look: () => Promise<T>): Promise<NonNullable<T>> {
  for (;;) {
    const found = await look();
    if (found) return found as NonNullable<T>;
  }
}
