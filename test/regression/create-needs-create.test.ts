/**
 * Whatever request makes a new object asks for the right to create it: apply and update did not, and a right to change
 * one object was a right to make others.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Answer, startTestServer, type TestServer } from '../../src/testing/index.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const APPLY = 'application/apply-patch+yaml';
const secrets = '/api/v1/namespaces/default/secrets';
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.[Symbol.asyncDispose]());

type Rule = { verbs: string[]; apiGroups: string[]; resources: string[]; resourceNames?: string[] };

/** A user with these rights, everywhere; resolves when they count. */
async function userWith(name: string, rules: Rule[]): Promise<(...args: Parameters<typeof send>) => Promise<Answer>> {
  const { client } = server;
  const known = { verbs: ['know'], apiGroups: ['test'], resources: [name] };
  await client.create(`${RBAC}/clusterroles`, { metadata: { name }, rules: [...rules, known] });
  await client.create(`${RBAC}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'User', name }],
  });
  const resourceAttributes = { verb: 'know', group: 'test', resource: name };
  const review = { spec: { user: name, resourceAttributes } };
  for (;;) {
    const { status } = await client.create('/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
    if ((status as { allowed: boolean }).allowed) break;
  }
  return (method, path, body, contentType) => send(method, path, body, contentType, name);
}

function send(method: string, path: string, body: object, contentType = 'application/json', user?: string) {
  const [where = '', search = ''] = path.split('?');
  const headers = { 'content-type': contentType, ...(user && { 'impersonate-user': user }) };
  const query = Object.fromEntries(new URLSearchParams(search));
  return server.client.ask(method, where, { headers, query, body: JSON.stringify(body) });
}

const messageOf = ({ body }: Answer) => (JSON.parse(body.toString()) as { message: string }).message;
const isThere = async (path: string) => (await server.client.ask('GET', path)).status === 200;
const secret = (name: string) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name } });
const lease = (name: string) => ({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name } });

it('apply of an object that is not there needs the right to create it', async () => {
  const patcher = await userWith('patcher', [
    { verbs: ['patch'], apiGroups: [''], resources: ['secrets'], resourceNames: ['mine', 'other'] },
  ]);
  await server.client.create(secrets, secret('mine'));
  expect((await patcher('PATCH', `${secrets}/mine?fieldManager=m`, secret('mine'), APPLY)).status).toBe(200);
  for (const path of [`${secrets}/other?fieldManager=m`, `${secrets}/other?fieldManager=m&dryRun=All`]) {
    const refusal = await patcher('PATCH', path, secret('other'), APPLY);
    expect([refusal.status, messageOf(refusal)]).toEqual([
      403,
      'secrets "other" is forbidden: User "patcher" cannot create resource "secrets" in API group "" in the namespace "default"',
    ]);
  }
  expect(await isThere(`${secrets}/other`)).toBe(false);
});

it('an update of an object that is not there needs the right to create it', async () => {
  const updater = await userWith('updater', [
    { verbs: ['update', 'patch'], apiGroups: ['coordination.k8s.io'], resources: ['leases'] },
  ]);
  const refusal = await updater('PUT', `${leases}/x`, lease('x'));
  expect([refusal.status, messageOf(refusal)]).toEqual([
    403,
    'leases.coordination.k8s.io "x" is forbidden: User "updater" cannot create resource "leases" in API group "coordination.k8s.io" in the namespace "default"',
  ]);
  expect((await updater('PUT', `${leases}/x?dryRun=All`, lease('x'))).status).toBe(403);
  expect((await updater('PATCH', `${leases}/x?fieldManager=m`, lease('x'), APPLY)).status).toBe(403);
  expect(await isThere(`${leases}/x`)).toBe(false);
});

it('a right to create under certain names counts where the request names the object', async () => {
  const names = { apiGroups: [''], resources: ['secrets'], resourceNames: ['good'] };
  const maker = await userWith('maker', [
    { verbs: ['patch'], apiGroups: [''], resources: ['secrets'] },
    { verbs: ['create'], ...names },
  ]);
  expect((await maker('PATCH', `${secrets}/bad?fieldManager=m`, secret('bad'), APPLY)).status).toBe(403);
  expect((await maker('PATCH', `${secrets}/good?fieldManager=m`, secret('good'), APPLY)).status).toBe(201);
  // A POST does not name it, whatever its body says.
  expect((await maker('POST', secrets, secret('good'))).status).toBe(403);
});

it('a namespace is made at the cluster scope: rights inside the namespace do not count', async () => {
  const { client } = server;
  await userWith('settler', [{ verbs: ['patch'], apiGroups: [''], resources: ['namespaces'] }]);
  const rules = [{ verbs: ['create'], apiGroups: [''], resources: ['namespaces'] }];
  await client.create('/api/v1/namespaces', { metadata: { name: 'land' } });
  await client.create(`${RBAC}/namespaces/land/roles`, { metadata: { name: 'inner' }, rules });
  await client.create(`${RBAC}/namespaces/land/rolebindings`, {
    metadata: { name: 'inner' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'inner' },
    subjects: [{ kind: 'User', name: 'settler' }],
  });
  await client.delete('/api/v1/namespaces/land');
  const finalize = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'land' }, spec: { finalizers: [] } };
  await client.update('/api/v1/namespaces/land/finalize', finalize);
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'land' } };
  const refusal = await send('PATCH', '/api/v1/namespaces/land?fieldManager=m', body, APPLY, 'settler');
  expect([refusal.status, messageOf(refusal)]).toEqual([
    403,
    'namespaces "land" is forbidden: User "settler" cannot create resource "namespaces" in API group "" at the cluster scope',
  ]);
});
