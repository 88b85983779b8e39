/** What a server makes of an empty store, of its own store on a later start, and of roles that gather others. */
import { expect, it } from 'vitest';
import type { KubeObject } from '../../../../src/api/index.ts';
import { startTestServer } from '../../../../src/testing/server/test-server.ts';
import { eventually } from '../../../support/eventually.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const AUTO = 'rbac.authorization.kubernetes.io/autoupdate';
const resources = [
  ...[
    '/api/v1/namespaces',
    `${RBAC}/clusterroles`,
    `${RBAC}/clusterrolebindings`,
    `${RBAC}/roles`,
    `${RBAC}/rolebindings`,
  ],
  ...['flowschemas', 'prioritylevelconfigurations'].map((plural) => `/apis/flowcontrol.apiserver.k8s.io/v1/${plural}`),
  '/apis/scheduling.k8s.io/v1/priorityclasses',
];

it.each([true, false])(
  'a later start finds everything in place and writes nothing (watch cache: %s)',
  async (watchCache) => {
    await using server = await startTestServer({ watchCache });
    const state = () => Promise.all(resources.map((path) => server.client.list(path)));
    const first = await state();
    expect(first.map(({ items }) => items.length)).toEqual([4, 69, 50, 7, 7, 11, 8, 2]);
    await server.restart();
    expect((await state()).map(({ items }) => items)).toEqual(first.map(({ items }) => items));
  },
);

it('a later start brings back what was taken away, keeps what was added, and leaves alone who asks for it', async () => {
  await using server = await startTestServer();
  const own = { verbs: ['get'], apiGroups: ['example.com'], resources: ['things'] };
  const role = (name: string) => `${RBAC}/clusterroles/${name}`;
  const { client } = server;
  await client.patch(role('system:basic-user'), { rules: [own] });
  await client.patch(role('system:discovery'), { rules: [], metadata: { annotations: { [AUTO]: 'false' } } });
  await client.delete(role('system:node'));
  await client.patch(`${RBAC}/clusterrolebindings/system:basic-user`, { subjects: [] });
  const flow = '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/global-default';
  const { spec } = await client.get(flow);
  await client.patch(flow, { spec: { matchingPrecedence: 77 } });

  await server.restart();
  const again = server.client;
  const rules = (object: KubeObject) => (object.rules as unknown[] | null) ?? [];
  const basic = rules(await again.get(role('system:basic-user')));
  expect(basic).toContainEqual(own);
  expect(basic.length).toBeGreaterThan(1);
  expect(rules(await again.get(role('system:discovery')))).toEqual([]);
  expect((await again.get(role('system:node'))).metadata.name).toBe('system:node');
  const { subjects } = await again.get(`${RBAC}/clusterrolebindings/system:basic-user`);
  expect(subjects).toMatchObject([{ kind: 'Group', name: 'system:authenticated' }]);
  expect((await again.get(flow)).spec).toEqual(spec);
});

it('roles that gather others follow them', async () => {
  await using server = await startTestServer();
  const { client } = server;
  const holds = async (name: string) =>
    JSON.stringify((await client.get(`${RBAC}/clusterroles/${name}`)).rules).includes('gadgets');
  await client.create(`${RBAC}/clusterroles`, {
    metadata: { name: 'gadget-viewer', labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
    rules: [{ verbs: ['get'], apiGroups: ['example.com'], resources: ['gadgets'] }],
  });
  for (const name of ['view', 'edit', 'admin']) await eventually(async () => expect(await holds(name)).toBe(true));
  await client.delete(`${RBAC}/clusterroles/gadget-viewer`);
  for (const name of ['view', 'edit', 'admin']) await eventually(async () => expect(await holds(name)).toBe(false));
  expect(server.logged).toEqual([]);
});
