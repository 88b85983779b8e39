/**
 * Every kind and part the server serves, found by discovery: none can be made by a request that changes, none of its
 * parts is reached by a right to the whole, and no right to delete one is a right to delete all.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ApiClient, startTestServer, type TestServer } from '../../../../src/testing/index.ts';

type Served = {
  readonly group: string;
  readonly version: string;
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
};

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const METHODS: Readonly<Record<string, string>> = { create: 'POST', update: 'PUT', patch: 'PATCH', get: 'GET' };

let server: TestServer;
let served: Served[];
beforeAll(async () => {
  server = await startTestServer();
  served = await discover(server.client);
  const wholes = served.filter(({ name }) => !name.includes('/')).map(({ name }) => name);
  await give('changer', { verbs: ['get', 'list', 'watch', 'update', 'patch', 'delete'], resources: ['*'] });
  await give('owner', { verbs: ['*'], resources: [...new Set(wholes)] });
});
afterAll(() => server?.[Symbol.asyncDispose]());

it('nothing is made by who may change everything and create nothing', async () => {
  const { client } = server;
  const made: string[] = [];
  for (const one of served.filter(({ name, verbs }) => !name.includes('/') && verbs.includes('patch'))) {
    const apiVersion = one.group === '' ? one.version : `${one.group}/${one.version}`;
    const body = JSON.stringify({ apiVersion, kind: one.kind, metadata: { name: 'x' }, ...BODIES[one.name] });
    for (const method of ['PUT', 'PATCH']) {
      const path = `${pathOf(one)}/x`;
      const headers = { 'content-type': method === 'PUT' ? 'application/json' : 'application/apply-patch+yaml' };
      const query = { fieldManager: 'm', ...(method === 'PATCH' && { force: true }) };
      const byAdmin = await client.ask(method, path, { body, headers, query: { ...query, dryRun: 'All' } });
      if (byAdmin.status === 201) made.push(`${method} ${one.name}`);
      for (const more of [{}, { dryRun: 'All' }]) {
        const asked = { ...headers, 'impersonate-user': 'changer' };
        const { status } = await client.ask(method, path, { body, headers: asked, query: { ...query, ...more } });
        const want = byAdmin.status === 201 ? 403 : byAdmin.status;
        expect(`${method} ${path}: ${status}`).toBe(`${method} ${path}: ${want}`);
      }
      expect((await client.ask('GET', path)).status).toBe(404);
    }
  }
  // Most kinds are made from so little, so the test is about something.
  expect(made.length).toBeGreaterThan(30);
  expect(made).toEqual(
    expect.arrayContaining(['PATCH secrets', 'PATCH pods', 'PUT leases', 'PATCH leases', 'PUT roles']),
  );
});

it('no part of a kind is reached by the right to all of the kind', async () => {
  const parts = served.filter(({ name }) => name.includes('/'));
  expect(parts.length).toBeGreaterThan(30);
  for (const part of parts)
    for (const [verb, method] of Object.entries(METHODS)) {
      const [plural = '', subresource = ''] = part.name.split('/');
      const path = `${pathOf({ ...part, name: plural })}/x/${subresource}`;
      const headers = { 'impersonate-user': 'owner' };
      const answer = await server.client.ask(method, path, { headers, ...(method !== 'GET' && { body: '{}' }) });
      expect([`${method} ${path}`, answer.status, answer.body.toString()]).toEqual([
        `${method} ${path}`,
        403,
        expect.stringContaining(`User \\"owner\\" cannot ${verb} resource \\"${part.name}\\"`),
      ]);
    }
});

it('who may delete each may not delete all at once', async () => {
  for (const one of served.filter(({ verbs }) => verbs.includes('deletecollection'))) {
    const path = pathOf(one);
    const headers = { 'impersonate-user': 'changer' };
    for (const query of [{}, { fieldSelector: 'metadata.name=x' }, { dryRun: 'All' }]) {
      const { status } = await server.client.ask('DELETE', path, { headers, query });
      expect([path, status]).toEqual([path, 403]);
    }
  }
});

const container = { containers: [{ name: 'c', image: 'i' }] };
const labels = { app: 'x' };
const workload = { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: container } };

/** For kinds that need more than a name. */
const BODIES: Readonly<Record<string, object>> = {
  pods: { spec: container },
  deployments: { spec: workload },
  replicasets: { spec: workload },
  statefulsets: { spec: workload },
  daemonsets: { spec: workload },
  services: { spec: { ports: [{ port: 80 }] } },
  roles: { rules: [] },
  clusterroles: { rules: [] },
};

function pathOf({ group, version, name, namespaced }: Served): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return namespaced ? `${root}/namespaces/default/${name}` : `${root}/${name}`;
}

async function discover(client: ApiClient): Promise<Served[]> {
  type List = { groupVersion: string; resources: Omit<Served, 'group' | 'version'>[] };
  const { groups } = (await client.get('/apis')) as unknown as {
    groups: { versions: { groupVersion: string }[] }[];
  };
  const roots = ['/api/v1', ...groups.flatMap(({ versions }) => versions.map((one) => `/apis/${one.groupVersion}`))];
  const found: Served[] = [];
  for (const root of roots) {
    const { groupVersion, resources } = (await client.get(root)) as unknown as List;
    const [version = '', group = ''] = groupVersion.split('/').reverse();
    found.push(...resources.map((one) => ({ ...one, group, version })));
  }
  return found;
}

/** Gives a user of this name the right, everywhere; resolves when it counts. */
async function give(name: string, { verbs, resources }: { verbs: string[]; resources: string[] }): Promise<void> {
  const { client } = server;
  const rules = [
    { verbs, apiGroups: ['*'], resources },
    { verbs: ['know'], apiGroups: ['test'], resources: [name] },
  ];
  await client.create(`${RBAC}/clusterroles`, { metadata: { name }, rules });
  await client.create(`${RBAC}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'User', name }],
  });
  const spec = { user: name, resourceAttributes: { verb: 'know', group: 'test', resource: name } };
  for (;;) {
    const { status } = await client.create('/apis/authorization.k8s.io/v1/subjectaccessreviews', { spec });
    if ((status as { allowed: boolean }).allowed) return;
  }
}
