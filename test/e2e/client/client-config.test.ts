/** Ways in, against the real server: kubeconfigs merged, plugins, files that rotate, certificates, the pod's account. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeAuthority } from '../../../src/certificates/certificate.ts';
import { RotatingFile } from '../../../src/client/advanced.ts';
import { connect, KubeClient, KubeConfig, tokenFileCredentials } from '../../../src/client/index.ts';
import { configMaps, namespaces } from '../../../src/client/objects/generated/core-v1.ts';
import { credentialsOf, startTestServer, type TestServer } from '../../../src/testing/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'longwatch-ways-'));
let server: TestServer;
let ca: string;
let token: string;
beforeAll(async () => {
  server = await startTestServer();
  ({ ca, token } = credentialsOf(server.dataDir, server.kubeconfigPath));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

function file(name: string, text: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, text, { mode });
  return path;
}

const clusterText = () =>
  `clusters: [{ name: c, cluster: { server: "${server.url}", certificate-authority: ca.pem } }]`;

it('a cluster in one file, its user in another, the context in a third', async () => {
  file('ca.pem', ca);
  const paths = [
    file('cluster', clusterText()),
    file('user', `users: [{ name: u, user: { token: ${token} } }]`),
    file('context', 'contexts: [{ name: x, context: { cluster: c, user: u, namespace: merged } }]\ncurrent-context: x'),
  ];
  await using client = await connect({ env: { KUBECONFIG: paths.join(delimiter) } });
  await client.resource(namespaces).create({ metadata: { name: 'merged' } });
  const created = await client.resource(configMaps).create({ metadata: { name: 'a' } });
  expect(created.metadata.namespace).toBe('merged');
});

it('the client certificate alone is enough', async () => {
  const withToken = readFileSync(server.kubeconfigPath, 'utf8');
  const path = file('certificate', withToken.replace(/^ +token: .*$/m, ''));
  await using client = await connect({ paths: [path], env: {} });
  expect((await client.resource(namespaces).get('default')).metadata.name).toBe('default');
});

it('a plugin is run once, again when the server refuses what it gave, and its failure is told', async () => {
  file('ca.pem', ca);
  const count = join(folder, 'runs');
  const say = join(folder, 'say');
  writeFileSync(count, '');
  writeFileSync(say, 'a-token-that-nobody-knows');
  const script = file(
    'plugin.cjs',
    `const fs = require('node:fs');
fs.appendFileSync(process.env.COUNT, 'x');
const { apiVersion, spec } = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
if (!spec.cluster['certificate-authority-data']) process.exit(1);
const token = fs.readFileSync(process.env.SAY, 'utf8');
if (token === '') { console.error('no session, log in'); process.exit(2); }
console.log(JSON.stringify({ apiVersion, kind: 'ExecCredential', status: { token } }));`,
  );
  const path = file(
    'exec',
    `${clusterText()}
contexts: [{ name: x, context: { cluster: c, user: u } }]
current-context: x
users:
- name: u
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ${JSON.stringify(process.execPath)}
      args: [${JSON.stringify(script)}]
      env: [{ name: COUNT, value: ${JSON.stringify(count)} }, { name: SAY, value: ${JSON.stringify(say)} }]
      interactiveMode: Never
      provideClusterInfo: true
`,
  );
  await using client = await connect({ paths: [path] });
  await expect(client.resource(configMaps).list()).rejects.toMatchObject({ code: 401 }); // asked twice
  expect(readFileSync(count, 'utf8')).toBe('xx');
  writeFileSync(say, token);
  await Promise.all([1, 2, 3].map(() => client.resource(configMaps).list()));
  const runs = readFileSync(count, 'utf8').length;
  await client.resource(configMaps).list();
  expect(readFileSync(count, 'utf8').length).toBe(runs);
  writeFileSync(say, '');
  await using late = await connect({ paths: [path] });
  await expect(late.resource(configMaps).list()).rejects.toThrow(/it ended with 2: no session, log in/);
}, 60_000);

it('a token file that rotates is read again, at once when the old token is refused', async () => {
  const path = file('token', 'outdated');
  const access = (await KubeConfig.load({ paths: [server.kubeconfigPath] })).access({ env: {} });
  const credentials = tokenFileCredentials(new RotatingFile(path, 'test', { maxAgeMs: 3_600_000 }));
  await using client = new KubeClient({ ...access, credentials });
  await expect(client.resource(configMaps).list()).rejects.toMatchObject({ code: 401 });
  file('token', `${token}\n`);
  expect((await client.resource(configMaps).list()).kind).toBe('ConfigMapList');
});

it('the account of a pod is a host, a port and three files', async () => {
  const accountDir = mkdtempSync(join(folder, 'account-'));
  writeFileSync(join(accountDir, 'ca.crt'), ca);
  writeFileSync(join(accountDir, 'token'), token);
  writeFileSync(join(accountDir, 'namespace'), 'default');
  const { hostname, port } = new URL(server.url);
  const env = { HOME: folder, KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
  await using client = await connect({ env, accountDir });
  expect((await client.resource(configMaps).list()).items).toBeInstanceOf(Array);
});

it('an authority that rotates is used for new connections', async () => {
  const validity = { from: new Date(Date.now() - 3_600_000), to: new Date(Date.now() + 3_600_000) };
  const path = file('rotating-ca.pem', makeAuthority({ commonName: 'another' }, validity).certPem);
  const authority = new RotatingFile(path, 'test', { maxAgeMs: 0 });
  const access = (await KubeConfig.load({ paths: [server.kubeconfigPath] })).access({ env: {} });
  await using client = new KubeClient({ ...access, authority });
  await expect(client.resource(configMaps).list()).rejects.toMatchObject({ phase: 'connect' });
  writeFileSync(path, ca);
  expect((await client.resource(configMaps).list()).kind).toBe('ConfigMapList');
});

it('a name that the certificate has can stand in for one it has not; verification can be turned off', async () => {
  const { port } = new URL(server.url);
  const text = (fields: string) => `clusters: [{ name: c, cluster: { server: "https://127.0.0.1:${port}", ${fields} } }]
contexts: [{ name: x, context: { cluster: c, user: u } }]
current-context: x
users: [{ name: u, user: { token: ${token} } }]`;
  file('ca.pem', ca);
  const ask = async (fields: string) => {
    const config = await KubeConfig.fromText(text(fields), 'cfg', folder);
    await using client = new KubeClient(config.access({ env: {} }));
    return (await client.resource(namespaces).list()).kind;
  };
  expect(await ask('certificate-authority: ca.pem, tls-server-name: localhost')).toBe('NamespaceList');
  expect(await ask('insecure-skip-tls-verify: true')).toBe('NamespaceList');
  await expect(ask('certificate-authority: ca.pem, tls-server-name: elsewhere.example')).rejects.toMatchObject({
    phase: 'connect',
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  });
});
