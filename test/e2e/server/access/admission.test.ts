/**
 * The life of a write through admission, over the wire: in which order its phases come, that nothing refused is charged,
 * that writes at the same time never exceed a quota, and that every way to write passes the chain.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../../../src/api/index.ts';
import { type ApiClient, startTestServer } from '../../../../src/testing/index.ts';
import { onEtcd, onEveryGround } from '../../../support/server/grounds.ts';
import { temporaryDir } from '../../../support/temporary-dir.ts';

const NAMESPACE = '/api/v1/namespaces/default';
const QUOTA = `${NAMESPACE}/resourcequotas/q`;
const PODS = `${NAMESPACE}/pods`;

const pod = (name: string, spec: JsonObject = {}) => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});

/** A quota whose controller has counted. */
async function setQuota(client: ApiClient, hard: JsonObject, used: JsonObject): Promise<void> {
  await client.create(`${NAMESPACE}/resourcequotas`, { metadata: { name: 'q' }, spec: { hard } });
  await client.patch(`${QUOTA}/status`, { status: { hard, used } });
  await remembered(client, QUOTA, ({ status }) => (status as JsonObject | undefined)?.used !== undefined);
}

/** Admission decides by what the server remembers, which a read of version 0 shows. */
async function remembered(client: ApiClient, path: string, isIt: (object: KubeObject) => boolean): Promise<void> {
  for (;;) {
    const { status, body } = await client.ask('GET', `${path}?resourceVersion=0`, {});
    if (status === 200 && isIt(JSON.parse(body.toString()) as KubeObject)) return;
  }
}

async function answerTo(client: ApiClient, path: string, body: object, method = 'POST'): Promise<[number, string]> {
  const { status, body: bytes } = await client.ask(method, path, { body });
  const { message } = JSON.parse(bytes.toString()) as { message?: string };
  return [status, message ?? ''];
}

const usedOf = async (client: ApiClient) => ((await client.get(QUOTA)).status as { used: JsonObject }).used;

it('defaults come before what counts them, validation before policy, and quota after all others', async () => {
  await using server = await startTestServer();
  const { client } = server;
  const labels = { 'pod-security.kubernetes.io/enforce': 'baseline' };
  await client.patch(NAMESPACE, { metadata: { labels } });
  await remembered(client, NAMESPACE, ({ metadata }) => Object.keys(metadata.labels ?? {}).length > 1);
  const limits = [{ type: 'Container', default: { cpu: '200m' }, defaultRequest: { cpu: '100m' } }];
  await client.create(`${NAMESPACE}/limitranges`, { metadata: { name: 'l' }, spec: { limits } });
  await remembered(client, `${NAMESPACE}/limitranges/l`, () => true);
  await setQuota(client, { 'requests.cpu': '150m', pods: '9' }, { 'requests.cpu': '0', pods: '0' });

  const invalidAndForbidden = pod('a', { hostPID: true, restartPolicy: 'Sometimes' });
  expect((await answerTo(client, PODS, invalidAndForbidden))[0]).toBe(422);
  expect(await answerTo(client, PODS, pod('a', { hostPID: true }))).toEqual([
    403,
    'pods "a" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)',
  ]);
  expect(await usedOf(client)).toEqual({ 'requests.cpu': '0', pods: '0' });

  expect((await answerTo(client, PODS, pod('a')))[0]).toBe(201);
  expect(await usedOf(client)).toEqual({ 'requests.cpu': '100m', pods: '1' });
  expect(await answerTo(client, PODS, pod('b'))).toEqual([
    403,
    'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=100m, used: requests.cpu=100m, limited: requests.cpu=150m',
  ]);
});

it('what admission sets belongs to nobody', async () => {
  await using server = await startTestServer();
  const made = await server.client.create(PODS, pod('a'));
  const owned = JSON.stringify(made.metadata.managedFields);
  expect(made.spec).toMatchObject({ priority: 0, tolerations: [{}, {}] });
  expect(owned).toContain('f:containers');
  expect(owned).not.toMatch(/f:priority|f:tolerations/);
});

it('what admission says of a request is in its audit event', async () => {
  await using dir = await temporaryDir();
  const auditLogPath = join(dir.path, 'audit.log');
  await using server = await startTestServer({ auditLogPath });
  const { client } = server;
  await client.patch(NAMESPACE, { metadata: { labels: { 'pod-security.kubernetes.io/audit': 'baseline' } } });
  await remembered(client, NAMESPACE, ({ metadata }) => Object.keys(metadata.labels ?? {}).length > 1);
  await client.create(PODS, pod('a', { hostPID: true }));
  await server.stop();
  const events = readFileSync(auditLogPath, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { verb: string; objectRef?: { resource: string }; annotations: JsonObject });
  const [created] = events.filter(({ verb, objectRef }) => verb === 'create' && objectRef?.resource === 'pods');
  expect(created?.annotations).toEqual({
    'authorization.k8s.io/decision': 'allow',
    'pod-security.kubernetes.io/enforce-policy': 'privileged:latest',
    'pod-security.kubernetes.io/audit-violations':
      'would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)',
  });
});

it('every way to create is admitted: POST, PUT, apply, with a name and without', async () => {
  await using server = await startTestServer();
  const { client } = server;
  const gone = '/api/v1/namespaces/kube-node-lease';
  await client.delete(gone);
  await remembered(client, gone, ({ metadata }) => metadata.deletionTimestamp !== undefined);
  const why = expect.stringContaining('because it is being terminated');
  const map = (metadata: JsonObject) => ({ kind: 'ConfigMap', apiVersion: 'v1', metadata });
  expect(await answerTo(client, `${gone}/configmaps`, map({ name: 'a' }))).toEqual([403, why]);
  expect(await answerTo(client, `${gone}/configmaps`, map({ generateName: 'a-' }))).toEqual([403, why]);
  const lease = { kind: 'Lease', apiVersion: 'coordination.k8s.io/v1', metadata: { name: 'a' } };
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
  expect(await answerTo(client, `${leases}/a`, lease, 'PUT')).toEqual([403, why]);
  const applied = await client.ask('PATCH', `${leases}/a?fieldManager=m`, {
    body: lease,
    headers: { 'content-type': 'application/apply-patch+yaml' },
  });
  expect(applied.status).toBe(403);
});

it('plugins can be left out and put in', async () => {
  await using server = await startTestServer({
    disableAdmissionPlugins: ['Priority', 'DefaultTolerationSeconds'],
    enableAdmissionPlugins: ['ServiceAccount'],
  });
  const { client } = server;
  await client.create(`${NAMESPACE}/serviceaccounts`, { metadata: { name: 'default' } });
  const made = await client.create(PODS, pod('a'));
  expect(made.spec).toMatchObject({ serviceAccountName: 'default', volumes: [{}] });
  expect(made.spec).not.toHaveProperty('priority');
  expect(made.spec).not.toHaveProperty('tolerations');
  await expect(startTestServer({ enableAdmissionPlugins: ['Nonsense'] })).rejects.toThrow(
    'Cannot choose admission plugins: enable-admission-plugins plugin "Nonsense" is unknown',
  );
  // Who enables it relies on it.
  await expect(startTestServer({ enableAdmissionPlugins: ['NodeRestriction'] })).rejects.toThrow(
    'Cannot enable admission plugin "NodeRestriction": this server does not have it',
  );
});

it('who keeps an owner from going must be allowed to hold it, where that is enforced', async () => {
  await using server = await startTestServer({ enableAdmissionPlugins: ['OwnerReferencesPermissionEnforcement'] });
  const { client } = server;
  const RBAC = '/apis/rbac.authorization.k8s.io/v1';
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['create', 'get'] }];
  await client.create(`${RBAC}/clusterroles`, { metadata: { name: 'maker' }, rules });
  await client.create(`${RBAC}/clusterrolebindings`, {
    metadata: { name: 'maker' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'maker' },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'alice' }],
  });
  const make = async (kind: string, blockOwnerDeletion: boolean) => {
    const owner = { apiVersion: 'apps/v1', kind, name: 'd', uid: 'u', blockOwnerDeletion };
    const answer = await client.ask('POST', `${NAMESPACE}/configmaps`, {
      query: { dryRun: 'All' },
      headers: { 'impersonate-user': 'alice' },
      body: { metadata: { name: 'a', ownerReferences: [owner] } },
    });
    return [answer.status, (JSON.parse(answer.body.toString()) as { message?: string }).message];
  };
  while ((await make('Deployment', false))[0] !== 201); // rights are known a moment later
  const lead = 'configmaps "a" is forbidden: cannot set blockOwnerDeletion';
  expect(await make('Deployment', true)).toEqual([
    403,
    `${lead} if an ownerReference refers to a resource you can't set finalizers on: , <nil>`,
  ]);
  expect((await make('Thing', true))[1]).toBe(
    `${lead} in this case because cannot find RESTMapping for APIVersion apps/v1 Kind Thing: no matches for kind "Thing" in version "apps/v1"`,
  );
});

onEveryGround((ground) => {
  it('40 creates at once never exceed a quota, and exactly as many as fit succeed', async () => {
    await using server = await ground.open();
    const client = server.connect({ protocol: 'http2' });
    await setQuota(client, { configmaps: '7' }, { configmaps: '0' });
    const codes = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const [status] = await answerTo(client, `${NAMESPACE}/configmaps`, { metadata: { name: `c-${i}` } });
        return status;
      }),
    );
    expect(codes.filter((code) => code === 201)).toHaveLength(7);
    expect(codes.filter((code) => code === 403)).toHaveLength(33);
    expect(await usedOf(client)).toEqual({ configmaps: '7' });
    expect(
      (await client.list(`${NAMESPACE}/configmaps`)).items.filter(({ metadata }) => /^c-/.test(metadata.name!)),
    ).toHaveLength(7);
  });
});

onEtcd((ground) => {
  it('two servers on one store share a quota', async () => {
    await using first = await ground.open();
    await using second = await ground.open({ etcd: { servers: ground.etcd().urls, prefix: ground.rootOf(first) } });
    await setQuota(first.client, { configmaps: '7' }, { configmaps: '0' });
    await remembered(second.client, QUOTA, ({ status }) => (status as JsonObject | undefined)?.used !== undefined);
    const codes = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const { client } = i % 2 ? first : second;
        return (await answerTo(client, `${NAMESPACE}/configmaps`, { metadata: { name: `c-${i}` } }))[0];
      }),
    );
    // Who loses to the other server too often is told to try again.
    expect([...new Set(codes)].filter((code) => ![201, 403, 409].includes(code))).toEqual([]);
    const made = codes.filter((code) => code === 201).length;
    expect(made).toBeLessThanOrEqual(7);
    expect(await usedOf(first.client)).toEqual({ configmaps: String(made) });
  });
});
