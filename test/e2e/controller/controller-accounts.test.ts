/**
 * Controllers beside a server have accounts of their own: they may do what the bootstrap roles say and no more, and what
 * they write says who wrote it.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { appsv1, batchv1, corev1, policyv1, rbacv1 } from '../../../src/client/index.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { adminOf, until } from '../../support/client/client-under-test.ts';

const labels = { app: 'x' };
const template = {
  metadata: { labels },
  spec: { containers: [{ name: 'x', image: 'example.com/x:1' }] },
};

it('each writes as its own service account, by the name of the program it stands for', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'longwatch-accounts-'));
  const auditLogPath = join(folder, 'audit.log');
  await using server = await startTestServer({ controllers: ['*'], pretendNodes: 1, auditLogPath });
  await using client = await adminOf(server);
  await client.resource(appsv1.deployments).create({
    metadata: { name: 'web', namespace: 'default' },
    spec: { selector: { matchLabels: labels }, template },
  });
  await client.resource(policyv1.podDisruptionBudgets).create({
    metadata: { name: 'web', namespace: 'default' },
    spec: { minAvailable: 1, selector: { matchLabels: labels } },
  });
  const deployments = client.resource(appsv1.deployments, 'default');
  await until(async () => (await deployments.get('web')).status?.readyReplicas === 1);
  const managersOf = ({ metadata }: { metadata: { managedFields?: readonly { manager?: string }[] } }) =>
    new Set((metadata.managedFields ?? []).map(({ manager }) => manager));
  expect(managersOf(await deployments.get('web'))).toEqual(new Set(['longwatch', 'kube-controller-manager']));
  const [pod] = (await client.resource(corev1.pods, 'default').list()).items;
  expect([...managersOf(pod!)]).toEqual(expect.arrayContaining(['kube-controller-manager', 'kubelet']));
  await client.resource(corev1.namespaces).create({ metadata: { name: 'gone' } });
  await client.resource(corev1.namespaces).delete('gone');
  await until(async () => (await client.resource(corev1.namespaces).find('gone')) === undefined);
  expect(server.logged).toEqual([]);
  await server.stop();
  const lines = readFileSync(auditLogPath, 'utf8').trim().split('\n');
  const writers = new Set(
    lines
      .map((line) => JSON.parse(line) as { verb: string; user: { username: string } })
      .filter(({ verb }) => !['get', 'list', 'watch'].includes(verb))
      .map(({ user }) => user.username),
  );
  expect([...writers].filter((name) => name.startsWith('system:serviceaccount:')).sort()).toEqual(
    expect.arrayContaining(
      ['deployment-controller', 'disruption-controller', 'namespace-controller', 'replicaset-controller'].map(
        (name) => `system:serviceaccount:kube-system:${name}`,
      ),
    ),
  );
  expect(writers).toContain('system:kube-scheduler');
  rmSync(folder, { recursive: true });
});

it('what its role does not allow, a controller cannot do', async () => {
  await using server = await startTestServer({ controllers: ['job-controller'], pretendNodes: 1 });
  await using client = await adminOf(server);
  const role = await client.resource(rbacv1.clusterRoles).get('system:controller:job-controller');
  const rules = (role.rules ?? []).filter(({ resources = [] }) => !resources.includes('pods'));
  await client.resource(rbacv1.clusterRoles).update({ ...role, rules });
  const jobs = client.resource(batchv1.jobs, 'default');
  const job = {
    metadata: { name: 'once' },
    spec: { template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' as const } } },
  };
  await jobs.create(job);
  const refusal = 'cannot create resource "pods" in API group "" in the namespace "default"';
  await until(async () => server.logged.some((line) => line.includes(refusal)));
  expect((await client.resource(corev1.pods, 'default').list()).items).toEqual([]);
  await client.resource(rbacv1.clusterRoles).update({
    ...(await client.resource(rbacv1.clusterRoles).get('system:controller:job-controller')),
    rules: role.rules!,
  });
  await until(async () => ((await jobs.get('once')).status?.succeeded ?? 0) === 1);
});

it('a secret with a name behind it that is none lets nobody in', async () => {
  const secret = 's3cret-of-the-controllers-with-forty-letters';
  await using server = await startTestServer({ controllersToken: secret });
  const review = (token: string) =>
    server
      .connect({ token })
      .get('/api/v1/namespaces')
      .then(
        () => 200,
        (err: { code?: number }) => err.code,
      );
  expect(await review(secret)).toBe(200); // whoever runs them may list everything
  expect(await review(`${secret}.namespace-controller`)).toBe(200);
  expect(await review(`${secret}.nobody-knows-me`)).toBe(403);
  for (const wrong of [`${secret}.`, `${secret}.UPPER`, `${secret}x`, `${secret}.a.b`, secret.slice(1), `x${secret}`])
    expect(await review(wrong)).toBe(401);
});
