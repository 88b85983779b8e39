import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { ConfigError } from '../errors.ts';
import { defaultPaths, KubeConfig } from './kube-config.ts';
import type { RotatingFile } from './rotating-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'longwatch-config-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const one = file(
  'one',
  `apiVersion: v1
kind: Config
current-context: dev
clusters:
- name: shared
  cluster: { server: "https://one:6443/prefix/" }
contexts:
- name: dev
  context: { cluster: shared, user: ann, namespace: team }
users:
- name: ann
  user: { token: 0123 }
`,
);
const two = file(
  'two',
  `current-context: prod
clusters:
- name: shared
  cluster: { server: "https://two", tls-server-name: ignored }
- name: far
  cluster: { server: "https://far", insecure-skip-tls-verify: true, proxy-url: "http://proxy:3128" }
contexts:
- name: prod
  context: { cluster: far, user: bob }
users:
- name: bob
  user: { username: bob, password: "p:w", as: boss, as-groups: [a, b], as-user-extra: { reason: [x] } }
`,
);

it('KubeConfig.load() merges the files of KUBECONFIG, the first that has a name wins, whole', async () => {
  const env = { KUBECONFIG: [one, join(folder, 'missing'), two, one].join(':') };
  const config = await KubeConfig.load({ env });
  expect(config.origins).toEqual([one, two]);
  expect(config.currentContext).toBe('dev');
  expect(config.contexts.map(({ name }) => name)).toEqual(['dev', 'prod']);
  const access = config.access({ env });
  expect([access.server.href, access.namespace, access.tlsServerName]).toEqual([
    'https://one:6443/prefix/',
    'team',
    undefined,
  ]);
  expect(await access.credentials?.current()).toEqual({ authorization: 'Bearer 0123' });
});

it('a context gives server, proxy, credentials and impersonation', async () => {
  const config = await KubeConfig.load({ paths: [one, two] });
  const access = config.access({ context: 'prod', env: {} });
  expect(access).toMatchObject({ namespace: 'default', skipsTlsVerify: true });
  expect(access.proxy?.href).toBe('http://proxy:3128/');
  expect(access.impersonate).toEqual({ user: 'boss', groups: ['a', 'b'], extra: { reason: ['x'] } });
  const basic = Buffer.from('bob:p:w').toString('base64');
  expect(await access.credentials?.current()).toEqual({ authorization: `Basic ${basic}` });
});

it('the call can replace parts of a context', async () => {
  const config = await KubeConfig.load({ paths: [one, two] });
  const access = config.access({ cluster: 'far', namespace: 'x', env: {} });
  expect([access.server.host, access.namespace]).toEqual(['far', 'x']);
});

it('paths in a file count from its folder, data goes before files', async () => {
  mkdirSync(join(folder, 'sub'));
  writeFileSync(join(folder, 'sub/ca.pem'), 'CA');
  writeFileSync(join(folder, 'sub/token'), ' secret\n');
  const path = file(
    'sub/config',
    `clusters: [{ name: c, cluster: { server: "https://c", certificate-authority: ca.pem } }]
contexts: [{ name: x, context: { cluster: c, user: u } }]
current-context: x
users: [{ name: u, user: { tokenFile: ./token, token: old, client-certificate: nowhere, client-certificate-data: QQ==, client-key-data: Qg== } }]
`,
  );
  const access = (await KubeConfig.load({ paths: [path] })).access({ env: {} });
  expect(await (access.authority as RotatingFile).text()).toBe('CA');
  expect(await access.credentials?.current()).toEqual({ authorization: 'Bearer secret', cert: 'A', key: 'B' });
});

it.each<[claim: string, text: string, context: string | undefined, complaint: string]>([
  ['broken YAML', 'clusters: [', undefined, 'Cannot read kubeconfig "cfg": '],
  ['another kind', 'kind: Pod', undefined, 'Cannot use kubeconfig "cfg": kind must be "Config", found "Pod"'],
  ['a list that is none', 'users: { name: x }', undefined, 'users must be a list'],
  ['an entry without a name', 'users: [{ user: {} }]', undefined, 'users[0].name must be set'],
  [
    'no base64',
    'users: [{ name: u, user: { client-key-data: "%" } }]',
    undefined,
    'users[0].user.client-key-data is no base64',
  ],
  [
    'a flag that is none',
    'clusters: [{ name: c, cluster: { insecure-skip-tls-verify: maybe } }]',
    undefined,
    'must be true or false, found "maybe"',
  ],
  ['an unknown context', 'contexts: [{ name: a, context: {} }]', 'b', 'Cannot use context "b": "cfg" has "a"'],
  ['no context at all', 'clusters: [{ name: c, cluster: {} }]', undefined, '"cfg" has no current-context'],
  [
    'a context of nothing',
    'contexts: [{ name: a, context: { cluster: c } }]',
    'a',
    'Cannot use context "a" of "cfg": "cfg" has no cluster "c"',
  ],
  [
    'a cluster without server',
    'contexts: [{ name: a, context: { cluster: c } }]\nclusters: [{ name: c, cluster: {} }]',
    'a',
    'clusters[0].cluster.server must be set',
  ],
  [
    'an old plugin version',
    'users: [{ name: u, user: { exec: { apiVersion: client.authentication.k8s.io/v1alpha1, command: x } } }]',
    undefined,
    'users[0].user.exec.apiVersion must be one of',
  ],
  [
    'v1 without a mode',
    'users: [{ name: u, user: { exec: { apiVersion: client.authentication.k8s.io/v1, command: x } } }]',
    undefined,
    'users[0].user.exec.interactiveMode must be one of',
  ],
  ['groups of nobody', 'users: [{ name: u, user: { as-groups: [a] } }]', undefined, 'users[0].user.as must be set'],
  [
    'a provider that is gone',
    withUser('auth-provider: { name: gcp }'),
    'a',
    'users[0].user.auth-provider "gcp" is not supported',
  ],
  ['half a certificate', withUser('client-key-data: QQ=='), 'a', 'users[0].user.client-certificate must be set'],
  ['two ways in', withUser('token: t, username: u'), 'a', 'users[0].user.username must not be set beside a token'],
])('a kubeconfig with %s is refused by file and field', async (_claim, text, context, complaint) => {
  const refused = KubeConfig.fromText(text, 'cfg').then((config) =>
    config.access({ ...(context && { context }), env: {} }),
  );
  await expect(refused).rejects.toThrow(complaint);
  await expect(refused).rejects.toBeInstanceOf(ConfigError);
});

function withUser(fields: string): string {
  return `contexts: [{ name: a, context: { cluster: c, user: u } }]
clusters: [{ name: c, cluster: { server: "https://c" } }]
users: [{ name: u, user: { ${fields} } }]`;
}

it('a named file must exist, and without any the message says where it looked', async () => {
  const gone = join(folder, 'gone');
  await expect(KubeConfig.load({ paths: [gone] })).rejects.toThrow(`Cannot read kubeconfig "${gone}"`);
  await expect(KubeConfig.load({ env: { HOME: folder } })).rejects.toThrow(join(folder, '.kube', 'config'));
});

it('without files the account of the pod is used', async () => {
  const accountDir = mkdtempSync(join(folder, 'account-'));
  writeFileSync(join(accountDir, 'token'), 'first');
  writeFileSync(join(accountDir, 'namespace'), 'mine\n');
  const env = { HOME: folder, KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
  const access = (await KubeConfig.load({ env, accountDir })).access();
  expect([access.server.href, access.namespace]).toEqual(['https://[fd00::1]/', 'mine']);
  expect(await access.credentials?.current()).toEqual({ authorization: 'Bearer first' });
  writeFileSync(join(accountDir, 'token'), 'second');
  expect(access.credentials?.refused({})).toBe(true);
  expect(await access.credentials?.current()).toEqual({ authorization: 'Bearer second' });
});

it('defaultPaths() is the home folder without KUBECONFIG', () => {
  expect(defaultPaths({ HOME: '/home/me' })).toEqual(['/home/me/.kube/config']);
  expect(defaultPaths({ HOME: '/home/me', KUBECONFIG: ':/a::/b:' })).toEqual(['/a', '/b']);
});
