/** A server that runs as a service: signals, files that change under it, logs, and readers of its logs that go away. */
import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ensurePki, type Pki } from '../../../src/server/serving/pki.ts';
import { ApiClient } from '../../../src/testing/api-client.ts';
import { adminOf, COMMAND, ServeCommand } from './serve-command.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'longwatch-running-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = (...names: string[]) => join(folder, ...names);
const serve = (...args: string[]) =>
  new ServeCommand(['serve', '--secure-port', '0', '--data-dir', at('data'), ...args]);

/** The fingerprint of what a new connection is shown. */
async function shownBy(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

/** Made some days ago, so that one ends before the other. */
function writePair(name: string, days = 0): void {
  const { serving } = ensurePki({ dataDir: at(name), now: new Date(Date.now() - days * 86_400_000) });
  writeFileSync(at('a.crt'), serving.certPem);
  writeFileSync(at('a.key'), serving.keyPem);
}

it('SIGHUP of a service reads certificates, authorities and tokens again; a broken pair changes nothing', async () => {
  writePair('one');
  writeFileSync(at('tokens'), 'first-token,ann,1\n');
  await using server = serve(
    ...['--tls-cert-file', at('a.crt'), '--tls-private-key-file', at('a.key'), '--token-auth-file', at('tokens')],
  );
  const { url, kubeconfig } = await server.ready();
  const clientWith = (token: string) => {
    const ca = ['one', 'two'].map((name) => at(name, 'pki', 'ca.crt')).filter((file) => existsSync(file));
    return new ApiClient({ url, ca: ca.map((file) => readFileSync(file, 'utf8')).join(''), token });
  };
  const status = async (token: string) => {
    await using client = clientWith(token);
    return (await client.ask('GET', '/version')).status;
  };
  const expiry = async () => {
    await using client = clientWith(adminOf(kubeconfig).token);
    const text = (await client.ask('GET', '/metrics')).body.toString();
    return (
      Number(/^longwatch_certificate_expiry_timestamp_seconds\{certificate="serving"\} (\d+)/m.exec(text)?.[1]) * 1000
    );
  };
  const endOf = (file: string) => Date.parse(new X509Certificate(readFileSync(file)).validTo);
  const before = await shownBy(url);
  expect(await expiry()).toBe(endOf(at('a.crt')));
  expect([await status('first-token'), await status('second-token')]).toEqual([200, 401]);

  writeFileSync(at('tokens'), 'second-token,ann,1\n');
  server.child.kill('SIGHUP');
  await server.until(() => server.err.includes('changed and was read again'));
  expect([await status('first-token'), await status('second-token')]).toEqual([401, 200]);

  writeFileSync(at('a.key'), readFileSync(at('one', 'pki', 'admin.key')));
  server.child.kill('SIGHUP');
  await server.until(() => server.err.includes('stays in use'));
  expect(await shownBy(url)).toBe(before);

  writePair('two', 100);
  expect(await expiry()).not.toBe(endOf(at('a.crt')));
  server.child.kill('SIGHUP');
  await server.until(() => server.err.includes('the serving certificate, with the authorities of clients, changed'));
  expect(await shownBy(url)).not.toBe(before);
  expect(await expiry()).toBe(endOf(at('a.crt')));
  expect(await status('second-token')).toBe(200);
  expect(adminOf(kubeconfig).ca).toBe(readFileSync(at('a.crt'), 'utf8'));
  expect(server.child.exitCode).toBe(null);
});

it('SIGHUP reads the authority of client certificates again, and both protocols go on', async () => {
  const [one, two] = ['one', 'two'].map((name) => ensurePki({ dataDir: at(name) })) as [Pki, Pki];
  writeFileSync(at('client-ca.crt'), one.authorityPem);
  await using server = serve('--client-ca-file', at('client-ca.crt'));
  const { url, kubeconfig } = await server.ready();
  const { ca, token } = adminOf(kubeconfig);
  const statusWith = async ({ admin }: Pki) => {
    const asked = request(`${url}/api/v1/secrets`, { ca, cert: admin.certPem, key: admin.keyPem, agent: false }).end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  };
  expect([await statusWith(one), await statusWith(two)]).toEqual([200, 401]);
  writeFileSync(at('client-ca.crt'), two.authorityPem);
  server.child.kill('SIGHUP');
  await server.until(() => server.err.includes('changed and was read again'));
  expect([await statusWith(one), await statusWith(two)]).toEqual([401, 200]);
  for (const protocol of ['http1', 'http2'] as const) {
    await using client = new ApiClient({ url, ca, token, protocol });
    expect((await client.ask('GET', '/api/v1/secrets')).status, protocol).toBe(200);
  }
});

it('SIGHUP stops a server cleanly when its terminal is closed', async ({ skip }) => {
  // `script` gives it a terminal of its own; ending `script` closes it.
  const line = `${process.execPath} ${COMMAND} serve --secure-port 0 --data-dir ${at('data')}`;
  const child = spawn('script', ['-qec', line, at('typescript')], { stdio: ['pipe', 'pipe', 'ignore'] });
  const isThere = await Promise.race([once(child, 'spawn'), once(child, 'error').then(() => undefined)]);
  if (!isThere) return skip('no script(1) here');
  let out = '';
  while (!out.includes('longwatch ready')) out += String((await once(child.stdout, 'data'))[0]);
  const { pid } = JSON.parse(readFileSync(at('data', 'store', 'LOCK'), 'utf8')) as { pid: number };
  child.kill('SIGKILL');
  while (isRunning(pid)) await new Promise((resolve) => setTimeout(resolve, 20));
  // Only a clean stop takes the lock away.
  expect(() => readFileSync(at('data', 'store', 'LOCK'))).toThrow(/ENOENT/);
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

it('--tls-san puts names into the certificate, and later ones into a new one of the same authority', async () => {
  const sansOf = async (args: string[]) => {
    await using server = serve(...args);
    const { url, kubeconfig } = await server.ready();
    const { hostname, port } = new URL(url);
    // Checked as a client would that dials the name.
    const { ca } = adminOf(kubeconfig);
    const socket = connect({ host: hostname, port: Number(port), servername: 'watch.example.com', ca });
    await once(socket, 'secureConnect');
    const { subjectaltname } = socket.getPeerCertificate();
    socket.destroy();
    return { ca, subjectaltname };
  };
  const first = await sansOf(['--tls-san', 'watch.example.com,192.0.2.7', '--tls-san', 'other.example.com']);
  for (const name of ['DNS:watch.example.com', 'IP Address:192.0.2.7', 'DNS:other.example.com'])
    expect(first.subjectaltname).toContain(name);
  const second = await sansOf(['--tls-san', 'watch.example.com,192.0.2.8']);
  expect(second.subjectaltname).toContain('IP Address:192.0.2.8');
  expect(second.ca).toBe(first.ca);
});

it.each([
  ['0', 0, 0],
  ['2', 0, 1],
  ['4', 1, 1],
])('--v %s logs %i good and %i refused requests', async (level, good, refused) => {
  await using server = serve('--v', level);
  await using client = await server.client();
  await client.ask('GET', '/version');
  await client.ask('GET', '/api/v1/namespaces/default/pods/none');
  server.child.kill('SIGTERM');
  await server.exited;
  // Controllers beside the server ask as well.
  const count = (path: string, resp: string) =>
    server.err.split('\n').filter((line) => line.includes(`URI="${path}"`) && line.includes(`resp="${resp}"`)).length;
  expect([count('/version', '200'), count('/api/v1/namespaces/default/pods/none', '404')]).toEqual([good, refused]);
});

it('an audit log that was moved away is made again', async () => {
  await using server = serve('--audit-log-path', at('audit.log'));
  await using client = await server.client();
  const isShown = async (file: string, what: string) => {
    await client.ask('GET', `/${what}`);
    for (;;) {
      try {
        if (readFileSync(file, 'utf8').includes(what)) return;
      } catch {
        // not made yet
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await isShown(at('audit.log'), 'one');
  renameSync(at('audit.log'), at('audit.log.1'));
  await isShown(at('audit.log'), 'two');
  expect(readFileSync(at('audit.log'), 'utf8')).not.toContain('/one');
});

it.runIf(process.platform === 'linux')('an audit log and a log on a full disk cost lines, not the server', async () => {
  const args = ['serve', '--secure-port', '0', '--data-dir', at('data'), '--audit-log-path', '/dev/full', '--v', '4'];
  const script = 'exec "$@" 2>/dev/full';
  await using server = new ServeCommand(args, { command: ['sh', '-c', script, 'sh', process.execPath, COMMAND] });
  await using client = await server.client();
  for (let i = 0; i < 50; i++) expect((await client.ask('GET', '/livez')).status).toBe(200);
  server.child.kill('SIGTERM');
  expect(await server.exited).toEqual([0, null]);
});

it('a reader of its log that goes away does not take the server along', async () => {
  await using server = serve('--v', '4');
  await using client = await server.client();
  server.child.stderr.destroy();
  server.child.stdout.destroy();
  for (let i = 0; i < 20; i++) expect((await client.ask('GET', '/livez')).status).toBe(200);
});

it('the figures of the store are those of the scrape, not of the one before', async () => {
  await using server = serve();
  await using client = await server.client();
  const size = async () => {
    const text = (await client.ask('GET', '/metrics')).body.toString();
    return Number(/^apiserver_storage_size_bytes\{.*\} (\d+)/m.exec(text)?.[1]);
  };
  expect(await size()).toBeGreaterThan(0);
});

it('the built server reads long YAML, in a thread that does not keep it from ending', async () => {
  await using server = serve();
  await using client = await server.client();
  const data = Array.from({ length: 5000 }, (_, i) => `  key-${i}: a value of this key\n`).join('');
  const body = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: long}\ndata:\n${data}`;
  const headers = { 'content-type': 'application/yaml' };
  const answer = await client.ask('POST', '/api/v1/namespaces/default/configmaps', { body, headers });
  expect(answer.status).toBe(201);
  expect(JSON.parse(answer.body.toString()).data['key-4999']).toBe('a value of this key');
  server.child.kill('SIGTERM');
  expect(await server.exited).toEqual([0, null]);
});
