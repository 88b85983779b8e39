/** `longwatch snapshot`: online over etcd's protocol, with certificates; from a folder; restored, and looked at. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { restore } from '../../../src/cli/commands/snapshot/restore.ts';
import { save } from '../../../src/cli/commands/snapshot/save.ts';
import { status } from '../../../src/cli/commands/snapshot/status.ts';
import { credentialsOf, startFaultProxy, startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { runToEnd, TestIo } from '../../support/cli/test-io.ts';
import { until } from '../../support/client/client-under-test.ts';
import { etcdVersion, startEtcd } from '../../support/etcd-server.ts';
import { eventually } from '../../support/eventually.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const path = '/api/v1/namespaces/default/configmaps';

function kubeconfigWithToken(
  server: TestServer,
  token = credentialsOf(server.dataDir, server.kubeconfigPath).token,
): string {
  const { ca } = credentialsOf(server.dataDir, server.kubeconfigPath);
  const authority = Buffer.from(ca).toString('base64');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: server.url, 'certificate-authority-data': authority } }],
    users: [{ name: 'u', user: { token } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
}

describe('longwatch snapshot', () => {
  it('saves a server that runs, with the certificates of its kubeconfig; the copy has everything', async () => {
    await using folder = await temporaryDir();
    await using server = await startTestServer({ etcdListenClientUrls: ['https://127.0.0.1:0'] });
    await server.client.create(path, { metadata: { name: 'kept' } });
    const file = join(folder.path, 'backup.db');
    const flags = { endpoints: [...server.etcdUrls], dataDir: 'none', kubeconfig: server.kubeconfigPath };
    const saved = await runToEnd(save(file, flags));
    expect(saved).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^saved .*backup\.db: .*sha256 [0-9a-f]{64}$/m),
    });
    const looked = JSON.parse((await runToEnd(status(file, { output: 'json' }))).out);
    expect(looked.records).toBeGreaterThan(0);
    const dataDir = join(folder.path, 'restored');
    const restored = await runToEnd(restore(file, { dataDir, bumpRevision: 1_000_000 }));
    expect(restored).toMatchObject({ code: 0, err: expect.stringContaining(`longwatch serve --data-dir ${dataDir}`) });
    await using again = await startTestServer({ dataDir });
    expect((await again.client.get(`${path}/kept`)).metadata.name).toBe('kept');
  });

  it('without certificates a server that asks for them is refused, with what to give', async () => {
    await using folder = await temporaryDir();
    await using server = await startTestServer({ etcdListenClientUrls: ['https://127.0.0.1:0'] });
    const flags = { endpoints: [...server.etcdUrls], dataDir: 'none' };
    const { code, err } = await runToEnd(save(join(folder.path, 'b'), flags));
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('--cacert') });
    expect(existsSync(join(folder.path, 'b'))).toBe(false);
  });

  it('saves a server that runs by its folder, its certificates or a token, and nothing but a kubeconfig', async () => {
    await using folder = await temporaryDir();
    await using server = await startTestServer({ introspection: true });
    await server.client.create(path, { metadata: { name: 'kept' }, data: { bulk: 'x'.repeat(800_000) } });
    const [byFolder, byFile, byToken] = ['a', 'b', 'c'].map((name) => join(folder.path, name)) as [
      string,
      string,
      string,
    ];
    const first = await runToEnd(save(byFolder, { dataDir: server.dataDir }));
    expect(first).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^saved .*: .*revision \d+, sha256 [0-9a-f]{64}$/m),
    });
    const second = await runToEnd(save(byFile, { kubeconfig: server.kubeconfigPath, output: 'json' }));
    const { sha256, revision, bytes } = JSON.parse(second.out);
    expect(statSync(byFile)).toMatchObject({ size: bytes, mode: 0o100600 });
    expect(JSON.parse((await runToEnd(status(byFile, { output: 'json' }))).out)).toMatchObject({ sha256, revision });
    const tokenFile = join(folder.path, 'token.kubeconfig');
    writeFileSync(tokenFile, kubeconfigWithToken(server));
    expect(await runToEnd(save(byToken, { kubeconfig: tokenFile }))).toMatchObject({ code: 0 });
    const dataDir = join(folder.path, 'restored');
    expect((await runToEnd(restore(byToken, { dataDir, bumpRevision: 1_000_000 }))).code).toBe(0);
    await using again = await startTestServer({ dataDir });
    expect((await again.client.get(`${path}/kept`)).metadata.name).toBe('kept');
    expect((await runToEnd(save(byFile, { kubeconfig: server.kubeconfigPath }))).err).toContain('exists already');
    expect(readdirSync(folder.path).filter((name) => name.includes('partial'))).toEqual([]);
  });

  it('who may not do everything gets no snapshot, nor does anybody of a server that has none; both are told why', async () => {
    await using folder = await temporaryDir();
    await using server = await startTestServer({ introspection: true });
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    const all = { nonResourceURLs: ['*'], verbs: ['*'] }; // what many give to who scrapes metrics
    const reads = { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch'] };
    await server.client.create(`${rbac}/clusterroles`, { metadata: { name: 'much' }, rules: [all, reads] });
    await server.client.create(`${rbac}/clusterrolebindings`, {
      metadata: { name: 'much' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'much' },
      subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'much' }],
    });
    await server.client.create('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'much' } });
    const { status: issued } = (await server.client.create('/api/v1/namespaces/default/serviceaccounts/much/token', {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      spec: {},
    })) as unknown as { status: { token: string } };
    const file = join(folder.path, 'much.kubeconfig');
    writeFileSync(file, kubeconfigWithToken(server, issued.token));
    const much = server.connect({ token: issued.token });
    await eventually(async () => expect((await much.ask('GET', '/longwatch/other')).status).toBe(404)); // all paths are theirs
    expect((await much.ask('GET', '/longwatch/snapshot')).status).toBe(403);
    const denied = await runToEnd(save(join(folder.path, 'x'), { kubeconfig: file }));
    expect(denied).toMatchObject({ code: 1, err: expect.stringContaining('cluster-admin') });
    expect((await server.client.ask('POST', '/longwatch/snapshot')).status).toBe(405);
    await using other = await startTestServer();
    const none = await runToEnd(save(join(folder.path, 'x'), { kubeconfig: other.kubeconfigPath }));
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining('--endpoints') });
    expect(readdirSync(folder.path)).toEqual(['much.kubeconfig']);
  });

  it('a snapshot that breaks off on its way is not kept', async () => {
    await using folder = await temporaryDir();
    await using server = await startTestServer({ introspection: true });
    for (let i = 0; i < 4; i++)
      await server.client.create(path, { metadata: { name: `n${i}` }, data: { bulk: 'x'.repeat(900_000) } });
    await using proxy = await startFaultProxy(server);
    proxy.drip(16 * 1024, 5);
    await using io = new TestIo(save(join(folder.path, 'x'), { kubeconfig: proxy.kubeconfigPath }));
    const isSnapshot = ({ path: asked }: { readonly path: string }) => asked === '/longwatch/snapshot';
    await until(() => readdirSync(folder.path).some((name) => statSync(join(folder.path, name)).size > 0));
    expect(proxy.end(isSnapshot)).toBe(1);
    expect(await io.ended).toBe(1);
    expect(io.err).toContain('try again');
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it('what is damaged or not there is said, and nothing is made of it', async () => {
    await using folder = await temporaryDir();
    await using server = await startTestServer();
    await server.stop();
    const file = join(folder.path, 'backup');
    await runToEnd(save(file, { dataDir: server.dataDir }));
    const bytes = readFileSync(file);
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(file, bytes);
    const dataDir = join(folder.path, 'restored');
    expect(await runToEnd(status(file, {}))).toMatchObject({ code: 1, err: expect.stringContaining('checksum') });
    expect(await runToEnd(restore(file, { dataDir, bumpRevision: 0 }))).toMatchObject({ code: 1 });
    expect(existsSync(join(dataDir, 'store', 'data.mdb'))).toBe(false);
    expect(await runToEnd(status(join(folder.path, 'no'), {}))).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is none'),
    });
    expect(await runToEnd(save(join(folder.path, 'x'), { dataDir: join(folder.path, 'no') }))).toMatchObject({
      code: 1,
      err: expect.stringContaining('--kubeconfig'),
    });
  });

  it.skipIf(!etcdVersion())('saves a real etcd, and that becomes a folder of ours (needs etcd)', async () => {
    await using folder = await temporaryDir();
    await using etcd = await startEtcd();
    const servers = [...etcd.urls];
    {
      await using server = await startTestServer({ etcd: { servers } });
      await server.client.create(path, { metadata: { name: 'of-etcd' } });
    }
    const file = join(folder.path, 'etcd.db');
    expect((await runToEnd(save(file, { endpoints: servers, dataDir: 'none' }))).code).toBe(0);
    const dataDir = join(folder.path, 'data');
    expect((await runToEnd(restore(file, { dataDir, bumpRevision: 1000 }))).code).toBe(0);
    await using server = await startTestServer({ dataDir });
    expect((await server.client.get(`${path}/of-etcd`)).metadata.name).toBe('of-etcd');
  });
});
