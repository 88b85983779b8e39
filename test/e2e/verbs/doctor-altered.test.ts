/**
 * `longwatch doctor` before servers that answer, but not as they should: certificates near and past their end, another
 * clock, streams without bookmarks or with changes left out, counters and folders that tell of trouble. It names what was
 * put in, and nothing else.
 */
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { makeClientCertificate, makeServingCertificate } from '../../../src/certificates/certificate.ts';
import { dataFolderCheck } from '../../../src/cli/commands/doctor/data-folder-check.ts';
import type { Cause, Finding } from '../../../src/cli/commands/doctor/finding.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { type Alterations, startAlteringFront } from './altering-front.ts';
import { causesOf, FEW, findingsOf, PATIENT } from './doctor-findings.ts';

vi.setConfig({ testTimeout: 120_000 });
const DAY_MS = 86_400_000;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Valid from a year ago until so many days from now. */
const until = (days: number) => ({
  from: new Date(Date.now() - 365 * DAY_MS),
  to: new Date(Date.now() + days * DAY_MS + DAY_MS / 2),
});
/** The server's own, to sign with. */
function authority() {
  const read = (name: string) => readFileSync(join(server.dataDir, 'pki', name), 'utf8');
  const key = createPrivateKey(read('ca.key'));
  const commonName = new X509Certificate(read('ca.crt')).subject.replace('CN=', '');
  return { subject: { commonName }, key, publicKey: createPublicKey(key) };
}
const servingFor = (days: number) =>
  makeServingCertificate(authority(), { commonName: 'front' }, ['127.0.0.1'], until(days));

async function throughFront(
  alterations: Partial<Alterations> = {},
  limits: Parameters<typeof findingsOf>[2] = {},
  each?: (finding: Finding) => unknown,
): Promise<Finding[]> {
  await using front = await startAlteringFront(server, { certificate: servingFor(100), ...alterations });
  return await findingsOf(front.kubeconfigPath, each, { ...FEW, ...limits });
}
const named = (findings: readonly Finding[], check: string) => findings.find((one) => one.check === check);

it('a front that changes nothing is well', async () => {
  const findings = await throughFront();
  expect(causesOf(findings)).toEqual([]);
  expect(named(findings, 'certificate')).toMatchObject({ level: 'ok', data: { days: 100 } });
  expect(named(findings, 'clock')).toMatchObject({ level: 'ok' });
});

it.each<[days: number, level: string, cause: Cause]>([
  [13, 'warning', 'certificate-expires'],
  [0, 'warning', 'certificate-expires'],
  [-1, 'failure', 'certificate-expired'],
])("the server's certificate with %i days left is a %s: %s", async (days, level, cause) => {
  const findings = await throughFront({ certificate: servingFor(days) });
  expect(causesOf(findings)).toEqual([cause]);
  expect(named(findings, 'certificate')).toMatchObject({ level, cause, data: { days }, remedy: expect.any(String) });
});

it.each<[days: number, level: string, cause?: Cause]>([
  [20, 'ok'],
  [5, 'warning', 'certificate-expires'],
  [-2, 'failure', 'certificate-expired'],
])("this user's certificate with %i days left is %s", async (days, level, cause) => {
  const user = { commonName: 'kubernetes-admin', organizations: ['system:masters'] };
  const { certPem, keyPem } = makeClientCertificate(authority(), user, until(days));
  const text = readFileSync(server.kubeconfigPath, 'utf8')
    .replace(/^\s+token: .*\n/m, '')
    .replace(/client-certificate-data: \S+/, `client-certificate-data: ${Buffer.from(certPem).toString('base64')}`)
    .replace(/client-key-data: \S+/, `client-key-data: ${Buffer.from(keyPem).toString('base64')}`);
  const file = join(server.dataDir, `user-${days}.kubeconfig`);
  writeFileSync(file, text, { mode: 0o600 });
  const findings = await findingsOf(file, undefined, FEW);
  expect(causesOf(findings)).toEqual(cause === undefined ? [] : [cause]);
  expect(named(findings, 'client certificate')).toMatchObject({ level, data: { days } });
});

it('a certificate that nobody verifies is said', async () => {
  const text = readFileSync(server.kubeconfigPath, 'utf8');
  const file = join(server.dataDir, 'insecure.kubeconfig');
  writeFileSync(file, text.replace(/certificate-authority-data: \S+/, 'insecure-skip-tls-verify: true'), {
    mode: 0o600,
  });
  expect(causesOf(await findingsOf(file, undefined, FEW))).toEqual(['tls-not-verified']);
});

it.each([-3600, 3600])('a clock that is %i s off is named', async (seconds) => {
  const findings = await throughFront({
    headers: (headers) => ({ ...headers, date: new Date(Date.now() + seconds * 1000).toUTCString() }),
  });
  expect(causesOf(findings)).toEqual(['clock-skew']);
  expect(named(findings, 'clock')?.data?.skewMs).toBeGreaterThan(3_500_000);
});

it('answers without a date say nothing of a clock', async () => {
  const findings = await throughFront({ headers: ({ date: _date, ...rest }) => rest });
  expect(causesOf(findings)).toEqual([]);
  expect(named(findings, 'clock')?.level).toBe('skipped');
});

it('bookmarks: that none came in a minute is named, that it was too short to tell is said, and those that come are counted', async () => {
  const none = await throughFront({}, { bookmarkMs: 1 });
  expect(causesOf(none)).toEqual(['no-bookmarks']);
  const short = await throughFront();
  expect(named(short, 'bookmarks')).toMatchObject({ level: 'skipped', message: expect.stringContaining('--for') });
  // With the change that the quiet stream is given at its end comes a bookmark before it.
  const bookmark = (version: string) =>
    JSON.stringify({
      type: 'BOOKMARK',
      object: { kind: 'ConfigMap', apiVersion: 'v1', metadata: { resourceVersion: version } },
    });
  const some = await throughFront(
    {
      line: (line) => {
        const { type, object } = JSON.parse(line);
        if (type !== 'MODIFIED' || !/quiet/.test(object.metadata.name)) return line;
        return `${bookmark(String(Number(object.metadata.resourceVersion) - 1))}\n${line}`;
      },
    },
    { bookmarkMs: 1 },
  );
  expect(causesOf(some)).toEqual([]);
  expect(named(some, 'bookmarks')).toMatchObject({ level: 'ok', data: { count: 1 } });
});

it('changes that are left out, do not come any more, or come late are told apart', async () => {
  const without = (left: (n: number) => boolean) =>
    throughFront(
      { line: (line) => (/busy/.test(line) && left(Number(/"n":"(\d+)"/.exec(line)?.[1])) ? undefined : line) },
      { timeoutMs: 3000 },
    );
  const late = throughFront({ holdMs: 150 }, { slow: { ...PATIENT, eventMs: 50 } });
  const found = await Promise.all([without((n) => n === 7), without((n) => n > 2), late]);
  expect(found.map(causesOf)).toEqual([['lost-events'], ['half-open'], ['late-events']]);
});

it.each<[cause: Cause, sample: string]>([
  ['slow-watchers', 'apiserver_terminated_watchers_total{resource="pods"} 3'],
  ['many-expired', 'apiserver_request_total{verb="WATCH",code="410"} 1000000'],
])('counters of a server in trouble: %s', async (cause, sample) => {
  const findings = await throughFront({
    body: (path, text) => (path === '/metrics' ? `${text}\n${sample}\n` : text),
  });
  expect(causesOf(findings)).toEqual([cause]);
});

it('what it made and cannot remove is said', async () => {
  await using front = await startAlteringFront(server, { certificate: servingFor(100) });
  const findings = await findingsOf(
    front.kubeconfigPath,
    async ({ check }) => {
      if (check === 'history') await front[Symbol.asyncDispose]();
    },
    FEW,
  );
  expect(causesOf(findings)).toEqual(['left-behind']);
});

it('a data folder that others may read, or that nobody holds, and a disk without room are named', async () => {
  const causes = async (dataDir: string, freeBytes?: number) => {
    const found: Finding[] = [];
    const room = freeBytes === undefined ? undefined : async () => freeBytes;
    for await (const finding of dataFolderCheck(dataDir, room)) found.push(finding);
    return causesOf(found);
  };
  expect(await causes(server.dataDir)).toEqual([]);
  expect(await causes(server.dataDir, 100 * 1024 * 1024)).toEqual(['disk-full']);
  chmodSync(server.dataDir, 0o755);
  expect(await causes(server.dataDir)).toEqual(['open-to-others']);
  chmodSync(server.dataDir, 0o700);
  const copy = mkdtempSync(join(tmpdir(), 'longwatch-doctor-'));
  {
    await using other = await startTestServer({ dataDir: copy });
    expect(await causes(other.dataDir)).toEqual([]);
  }
  expect(await causes(copy)).toEqual(['not-held']);
  rmSync(copy, { recursive: true });
});
