/** What services are given: addresses and ports of their own, whoever else asks at the same moment, out of ranges that can be chosen. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../../src/api/index.ts';
import { startServer } from '../../../src/server/index.ts';
import { type ApiClient, startTestServer } from '../../../src/testing/index.ts';
import { eventually } from '../../support/eventually.ts';

const SERVICES = '/api/v1/namespaces/default/services';
const RANGES = '/apis/networking.k8s.io/v1/servicecidrs';
const AT_ONCE = 16;

type Given = { clusterIP: string; clusterIPs: string[]; ipFamilies: string[]; ports: { nodePort: number }[] };

const service = (name: string, spec: JsonObject = {}) => ({
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...spec },
});
const givenTo = ({ spec }: KubeObject) => spec as unknown as Given;
const make = async (client: ApiClient, name: string, spec?: JsonObject) =>
  givenTo(await client.create(SERVICES, service(name, spec)));

/** So many services, made by all clients at the same time. */
async function makeMany(clients: readonly ApiClient[], count: number): Promise<Given[]> {
  const given: Given[] = [];
  let next = 0;
  const one = async (client: ApiClient) => {
    for (let i = next++; i < count; i = next++) given.push(await make(client, `s${i}`, { type: 'NodePort' }));
  };
  await Promise.all(clients.map(one));
  return given;
}

function expectDistinct(given: readonly Given[], count: number): void {
  expect(new Set(given.map(({ clusterIP }) => clusterIP)).size).toBe(count);
  expect(new Set(given.map(({ ports }) => ports[0]!.nodePort)).size).toBe(count);
}

it.each([{ workers: 0 }, { workers: 2 }])('nothing is given twice, with $workers workers', async ({ workers }) => {
  await using server = await startTestServer({ workers });
  const clients = Array.from({ length: AT_ONCE }, () => server.connect({ maxSockets: 1 }));
  expectDistinct(await makeMany(clients, 100), 100);
});

it('nor by two servers on one store', async () => {
  await using first = await startTestServer({ etcdListenClientUrls: ['http://127.0.0.1:0'] });
  await using second = await startTestServer({ etcd: { servers: [...first.etcdUrls] } });
  const clients = [first, second].flatMap((server) =>
    Array.from({ length: AT_ONCE / 2 }, () => server.connect({ maxSockets: 1 })),
  );
  expectDistinct(await makeMany(clients, 60), 60);
});

it('ranges can be chosen, and added to', async () => {
  await using server = await startTestServer({
    serviceClusterIpRanges: ['10.7.0.0/29'],
    serviceNodePorts: { first: 31000, last: 31001 },
  });
  const { client } = server;
  expect(givenTo(await client.get(`${SERVICES}/kubernetes`)).clusterIP).toBe('10.7.0.1');
  const given = [];
  for (let i = 0; i < 5; i++) given.push((await make(client, `s${i}`)).clusterIP);
  expect(given.toSorted()).toEqual(['10.7.0.2', '10.7.0.3', '10.7.0.4', '10.7.0.5', '10.7.0.6']);
  await expect(make(client, 'late')).rejects.toThrow('failed to allocate a serviceIP: range is full');
  await expect(make(client, 'far', { clusterIP: '10.8.0.9' })).rejects.toThrow(
    'failed to allocate IP 10.8.0.9: the provided network does not match the current range',
  );
  await client.create(RANGES, { metadata: { name: 'more' }, spec: { cidrs: ['10.8.0.0/28'] } });
  const late = await eventually(() => make(client, 'late'));
  expect(late.clusterIP).toMatch(/^10\.8\.0\./);
  const free = late.clusterIP === '10.8.0.9' ? '10.8.0.8' : '10.8.0.9'; // which of them one that asks for none gets differs
  expect((await make(client, 'far', { clusterIP: free })).clusterIP).toBe(free);

  const ports = [];
  for (const name of ['p1', 'p2']) ports.push((await make(client, name, { type: 'NodePort' })).ports[0]!.nodePort);
  expect(ports.toSorted()).toEqual([31000, 31001]);
  await expect(make(client, 'p3', { type: 'NodePort' })).rejects.toThrow(
    'failed to allocate a nodePort: range is full',
  );
});

it('a range of an earlier start is kept, and who names another is told', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'longwatch-ranges-'));
  const said: string[] = [];
  const log = (line: string) => said.push(line);
  const options = { dataDir: folder, securePort: 0, durability: 'none', log } as const;
  try {
    for (const range of ['10.7.0.0/24', '10.9.0.0/24']) {
      const server = await startServer({ ...options, serviceClusterIpRanges: [range] });
      await server.close();
    }
    expect(said.join('\n')).toContain('--service-cluster-ip-range 10.9.0.0/24 is not used');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('of two families each gives an address to who wants both', async () => {
  await using server = await startTestServer({ serviceClusterIpRanges: ['10.7.0.0/24', 'fd00:7::/112'] });
  const { client } = server;
  expect((await make(client, 'plain')).clusterIPs).toEqual([expect.stringMatching(/^10\.7\.0\./)]);
  const both = await make(client, 'both', { ipFamilyPolicy: 'PreferDualStack' });
  expect(both.ipFamilies).toEqual(['IPv4', 'IPv6']);
  expect(both.clusterIPs).toEqual([expect.stringMatching(/^10\.7\.0\./), expect.stringMatching(/^fd00:7::/)]);
  expect((await make(client, 'six', { ipFamilies: ['IPv6'] })).clusterIP).toMatch(/^fd00:7::/);
  const later = { spec: { ipFamilyPolicy: 'RequireDualStack' } };
  const grown = givenTo(await client.patch(`${SERVICES}/plain`, later));
  expect(grown.clusterIPs).toEqual([expect.any(String), expect.stringMatching(/^fd00:7::/)]);
});

it('a dry run is given the address of the network, and takes nothing', async () => {
  await using server = await startTestServer();
  const tried = await server.client.create(`${SERVICES}?dryRun=All`, service('a'));
  expect(givenTo(tried).clusterIP).toBe('10.0.0.0');
});

it('an address is the same however it is spelled', async () => {
  await using server = await startTestServer({ serviceClusterIpRanges: ['10.7.0.0/24', 'fd00:7::/112'] });
  const { client } = server;
  const six = { ipFamilies: ['IPv6'] };
  const allocated = 'provided IP is already allocated';
  await make(client, 'a', { ...six, clusterIP: 'fd00:7::5' });
  await expect(make(client, 'b', { ...six, clusterIP: 'FD00:7:0::5' })).rejects.toThrow(allocated);
  await make(client, 'c', { ...six, clusterIP: 'FD00:7::0006' });
  await expect(make(client, 'd', { ...six, clusterIP: 'fd00:7::6' })).rejects.toThrow(allocated);
  const kept = await eventually(() => client.get('/apis/networking.k8s.io/v1/ipaddresses/fd00:7::6'));
  expect(kept.spec).toMatchObject({ parentRef: { name: 'c' } });
});
