import { spawnSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname, networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { addressBytes } from '../../certificates/der.ts';
import { ensureAdminToken, kubeconfigText } from './kubeconfig.ts';
import { ensurePki } from './pki.ts';
import { loadTlsMaterial, urlOf } from './tls-material.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'longwatch-pki-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const OPENSSL = 'openssl'; // where there is one
const hasOpenssl = spawnSync(OPENSSL, ['version']).status === 0;
const inDays = (days: number) => new Date(Date.now() + days * 24 * 60 * 60 * 1000);

it('ensurePki() makes an authority, a serving and a client certificate that fit together', () => {
  const pki = ensurePki({ dataDir, hosts: ['10.1.2.3', 'watch.example.com', 'fe80::1'] });
  const authority = new X509Certificate(pki.authorityPem);
  const serving = new X509Certificate(pki.serving.certPem);
  const admin = new X509Certificate(pki.admin.certPem);
  expect(authority.ca).toBe(true);
  expect(authority.verify(authority.publicKey)).toBe(true);
  expect(serving.verify(authority.publicKey)).toBe(true);
  expect(serving.checkIssued(authority)).toBe(true);
  expect(admin.verify(authority.publicKey)).toBe(true);
  expect(admin.subject).toBe('O=system:masters\nCN=kubernetes-admin');
  expect(admin.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
  for (const name of ['localhost', 'kubernetes.default.svc', 'watch.example.com'])
    expect(serving.checkHost(name), name).toBe(name);
  for (const address of ['127.0.0.1', '::1', '10.1.2.3', 'fe80::1'])
    expect(serving.checkIP(address), address).toBe(address);
  for (const name of ['ca.key', 'server.key', 'admin.key', 'ca.crt', 'server.crt', 'admin.crt'])
    expect(statSync(join(dataDir, 'pki', name)).mode & 0o777, name).toBe(0o600);
});

it('ensurePki() uses what it made before, and renews what no longer fits', () => {
  const first = ensurePki({ dataDir });
  expect(ensurePki({ dataDir })).toEqual(first);

  const otherHosts = ensurePki({ dataDir, hosts: ['10.9.9.9'] });
  expect(otherHosts.authorityPem).toBe(first.authorityPem);
  expect(otherHosts.serving.certPem).not.toBe(first.serving.certPem);
  expect(otherHosts.admin).toEqual(first.admin);

  const nearTheEnd = ensurePki({ dataDir, hosts: ['10.9.9.9'], now: inDays(340) });
  expect(nearTheEnd.authorityPem).toBe(first.authorityPem);
  expect(nearTheEnd.admin.certPem).not.toBe(first.admin.certPem);

  const muchLater = ensurePki({ dataDir, now: inDays(3400) });
  expect(muchLater.authorityPem).not.toBe(first.authorityPem);
  const { serving, authorityPem } = muchLater;
  expect(new X509Certificate(serving.certPem).verify(new X509Certificate(authorityPem).publicKey)).toBe(true);
});

it('ensurePki() makes a damaged leaf anew, but never replaces a damaged authority', () => {
  ensurePki({ dataDir });
  const server = join(dataDir, 'pki', 'server.crt');
  writeFileSync(server, readFileSync(server, 'utf8').slice(0, 200));
  expect(new X509Certificate(ensurePki({ dataDir }).serving.certPem).checkHost('localhost')).toBe('localhost');
  writeFileSync(join(dataDir, 'pki', 'ca.key'), readFileSync(join(dataDir, 'pki', 'admin.key')));
  expect(() => ensurePki({ dataDir })).toThrow(/ca\.key does not belong to ca\.crt; put back the pair/);
});

it.each([
  ['ca.key', 'ca.crt is there, but ca.key is missing; put back'],
  ['ca.crt', 'ca.key is there, but ca.crt is missing; put back'],
])('ensurePki() makes no new authority because %s is missing', (name, sentence) => {
  const { authorityPem } = ensurePki({ dataDir });
  const kept = readFileSync(join(dataDir, 'pki', name));
  rmSync(join(dataDir, 'pki', name));
  expect(() => ensurePki({ dataDir })).toThrow(sentence);
  writeFileSync(join(dataDir, 'pki', name), kept);
  expect(ensurePki({ dataDir }).authorityPem).toBe(authorityPem);
});

it('the certificate names what the server listens on: an address, or all of this machine', () => {
  const load = (bindAddress: string, sans: string[] = []) => {
    const { serving, servingAuthorityPem } = loadTlsMaterial({ dataDir, bindAddress, sans });
    return { certificate: new X509Certificate(serving.certPem), servingAuthorityPem };
  };
  const first = load('10.1.2.3');
  expect(first.certificate.checkIP('10.1.2.3')).toBe('10.1.2.3');
  const all = load('0.0.0.0', ['watch.example.com', '*.example.org', '2001:db8::5']);
  const here = Object.values(networkInterfaces()).flatMap((found) => found?.map(({ address }) => address) ?? []);
  for (const address of [...here, '2001:db8::5'].filter((one) => !one.startsWith('fe80')))
    expect(all.certificate.checkIP(address), address).toBe(address);
  for (const name of [hostname(), 'watch.example.com', 'any.example.org'])
    expect(all.certificate.checkHost(name), name).toBeDefined();
  expect(all.servingAuthorityPem).toBe(first.servingAuthorityPem);
  // What is named in it already is no reason for another.
  expect(load('0.0.0.0', ['*.example.org']).certificate.raw).toEqual(all.certificate.raw);
});

it.runIf(hasOpenssl)('openssl accepts the chain, each certificate for its own purpose only', () => {
  ensurePki({ dataDir });
  const verify = (name: string, purpose: string) =>
    spawnSync(OPENSSL, ['verify', '-x509_strict', '-CAfile', 'ca.crt', '-purpose', purpose, `${name}.crt`], {
      cwd: join(dataDir, 'pki'),
      encoding: 'utf8',
    });
  expect(verify('server', 'sslserver').stdout).toBe('server.crt: OK\n');
  expect(verify('admin', 'sslclient').stdout).toBe('admin.crt: OK\n');
  expect(verify('server', 'sslclient').status).not.toBe(0);
  expect(verify('admin', 'sslserver').status).not.toBe(0);
});

it('loadTlsMaterial() names the file it cannot use', () => {
  const at = (name: string) => join(dataDir, name);
  const own = loadTlsMaterial({ dataDir, bindAddress: '127.0.0.1' });
  writeFileSync(at('a.crt'), own.serving.certPem);
  writeFileSync(at('a.key'), own.serving.keyPem);
  writeFileSync(at('b.key'), own.admin.keyPem);
  const files = { dataDir, bindAddress: '127.0.0.1', certFile: at('a.crt') };
  expect(loadTlsMaterial({ ...files, keyFile: at('a.key') }).serving).toEqual(own.serving);
  expect(() => loadTlsMaterial({ ...files, keyFile: at('b.key') })).toThrow(/b\.key" does not belong to it/);
  expect(() => loadTlsMaterial({ ...files, keyFile: at('none') })).toThrow(/Cannot read the private key from ".*none"/);
  expect(() => loadTlsMaterial({ dataDir, bindAddress: '::1', clientCaFile: at('a.key') })).toThrow(
    /authority of client certificates from ".*a\.key": it holds no certificate in PEM form/,
  );
  const encrypted = createPrivateKey(own.serving.keyPem).export({
    ...{ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' },
  } as const);
  writeFileSync(at('e.key'), encrypted);
  expect(() => loadTlsMaterial({ ...files, keyFile: at('e.key') })).toThrow(/e\.key": it is encrypted, .* decrypt it/);
});

it.runIf(hasOpenssl)('loadTlsMaterial() refuses at once what TLS would refuse later', () => {
  const [certFile, keyFile] = [join(dataDir, 'short.crt'), join(dataDir, 'short.key')];
  const args = ['req', '-x509', '-newkey', 'rsa:512', '-nodes', '-subj', '/CN=x', '-keyout', keyFile, '-out', certFile];
  spawnSync(OPENSSL, args);
  expect(() => loadTlsMaterial({ dataDir, bindAddress: '::1', certFile, keyFile })).toThrow(
    /Cannot read the serving certificate from ".*short\.crt": .*key too small/,
  );
});

it('the administrator keeps the token over restarts, and the kubeconfig holds everything', () => {
  const token = ensureAdminToken(dataDir);
  expect(ensureAdminToken(dataDir)).toBe(token);
  expect(statSync(join(dataDir, 'admin.token')).mode & 0o777).toBe(0o600);
  const { authorityPem, admin } = ensurePki({ dataDir });
  const text = kubeconfigText({ server: 'https://127.0.0.1:6443', authorityPem, admin, token });
  expect(text).toContain(`certificate-authority-data: ${Buffer.from(authorityPem).toString('base64')}\n`);
  expect(text).toContain(`    token: ${token}\n`);
});

it.each([
  ['127.0.0.1', '7f000001'],
  ['::', '0'.repeat(32)],
  ['::1', `${'0'.repeat(31)}1`],
  ['fe80::1:2', 'fe800000000000000000000000010002'],
  ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
  ['::ffff:10.0.0.1', `${'0'.repeat(20)}ffff0a000001`],
  ['1::', `0001${'0'.repeat(28)}`],
])('addressBytes(%s)', (address, hex) => expect(addressBytes(address).toString('hex')).toBe(hex));

it.each([
  ['127.0.0.1', 'https://127.0.0.1:6443'],
  ['0.0.0.0', 'https://127.0.0.1:6443'],
  ['::', 'https://127.0.0.1:6443'],
  ['::1', 'https://[::1]:6443'],
])('urlOf(%s)', (address, url) => expect(urlOf(address, 6443)).toBe(url));
