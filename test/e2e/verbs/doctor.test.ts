/**
 * `longwatch doctor`: nothing is wrong with a server that is well, ours, on a real etcd, and behind a proxy that changes
 * nothing; of each fault that the proxy can make it names the cause, and no other.
 */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { doctor } from '../../../src/cli/commands/doctor/doctor-command.ts';
import { SLOW } from '../../../src/cli/commands/doctor/patient.ts';
import {
  type FaultProxy,
  type ProxiedRequest,
  startFaultProxy,
  startTestServer,
  type TestServer,
} from '../../../src/testing/index.ts';
import { runToEnd } from '../../support/cli/test-io.ts';
import { until } from '../../support/client/client-under-test.ts';
import { etcdVersion, startEtcd } from '../../support/etcd-server.ts';
import { causesOf, FEW, findingsOf, PATIENT } from './doctor-findings.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

vi.setConfig({ testTimeout: 120_000 });

const leftBehind = async () => {
  const { items } = await server.client.list('/api/v1/namespaces/default/configmaps');
  return items.map(({ metadata }) => metadata.name).filter((name) => name?.startsWith('longwatch-doctor'));
};
const isQuiet = ({ kind, query }: ProxiedRequest) => kind === 'watch' && /quiet/.test(query.get('fieldSelector') ?? '');
const isBusy = ({ kind, query }: ProxiedRequest) => kind === 'watch' && /busy/.test(query.get('fieldSelector') ?? '');

describe('longwatch doctor finds nothing wrong', () => {
  it('with our server, and removes what it made', async () => {
    const findings = await findingsOf(server.kubeconfigPath);
    expect(causesOf(findings)).toEqual([]);
    const checks = findings.filter(({ level }) => level === 'ok').map(({ check }) => check);
    for (const check of [
      'server',
      'certificate',
      'clock',
      'list and watch',
      'watch latency',
      'quiet stream',
      'history',
    ])
      expect(checks).toContain(check);
    expect(await leftBehind()).toEqual([]);
  });

  it.skipIf(!etcdVersion())('with our server on a real etcd (needs etcd)', async () => {
    await using etcd = await startEtcd();
    await using on = await startTestServer({ etcd: { servers: [...etcd.urls] } });
    expect(causesOf(await findingsOf(on.kubeconfigPath))).toEqual([]);
  });

  it('behind a proxy that changes nothing', async () => {
    await using proxy = await startFaultProxy(server);
    expect(causesOf(await findingsOf(proxy.kubeconfigPath))).toEqual([]);
  });

  it('as a user who may do nothing: it says so, and what it could not look at', async () => {
    const text = readFileSync(server.kubeconfigPath, 'utf8').replace(/^(\s+)token: /m, '$1as: nobody\n$1token: ');
    const file = join(server.dataDir, 'nobody.kubeconfig');
    writeFileSync(file, text, { mode: 0o600 });
    const findings = await findingsOf(file);
    expect(causesOf(findings)).toEqual(['forbidden']);
    expect(findings.find(({ check }) => check === 'writes')?.level).toBe('skipped');
  });
});

describe('longwatch doctor names what is done to an open stream', () => {
  const strikes: [fault: string, cause: string, strike: (proxy: FaultProxy) => number][] = [
    ['cut', 'cut', (proxy) => proxy.cut(isQuiet)],
    ['stalled in silence', 'half-open', (proxy) => proxy.stall(isQuiet)],
    ['ended before its time', 'ended-early', (proxy) => proxy.end(isQuiet)],
    ['cut short', 'truncated', (proxy) => proxy.truncate(isQuiet)],
    ['garbled', 'garbled', (proxy) => proxy.garble(isQuiet)],
    ['told 410', 'expired', (proxy) => proxy.sendError(isQuiet, 410)],
    ['told 500', 'server-error', (proxy) => proxy.sendError(isQuiet, 500)],
  ];
  it.each(strikes)('%s: %s', async (_fault, cause, strike) => {
    await using proxy = await startFaultProxy(server);
    let struck = 0;
    const findings = await findingsOf(
      proxy.kubeconfigPath,
      ({ check }) => {
        if (check === 'watch latency') struck = strike(proxy);
      },
      { ...FEW, timeoutMs: 10_000 },
    );
    expect(struck).toBe(1);
    expect(causesOf(findings)).toEqual([cause]);
    expect(findings.find((one) => one.cause === cause)).toMatchObject({ check: 'quiet stream', remedy: /\w/ });
    expect(await leftBehind()).toEqual([]);
  });
});

describe('longwatch doctor names what is answered', () => {
  const answers: [code: number, cause: string, text?: string][] = [
    [401, 'unauthorized'],
    [429, 'too-many-requests'],
    [500, 'server-error'],
    [503, 'unavailable'],
    [504, 'server-timeout'],
    [502, 'not-an-api-server', '<html>Bad Gateway</html>'],
    [200, 'not-an-api-server', '<html>Please log in</html>'],
  ];
  it.each(answers)('%i to everything: %s', async (code, cause, text) => {
    await using proxy = await startFaultProxy(server);
    proxy.answer({ code, times: 1e9, ...(text !== undefined && { text }) });
    expect(causesOf(await findingsOf(proxy.kubeconfigPath))).toEqual([cause]);
  });

  it.each(answers.filter(([code]) => code !== 200 && code !== 401))('%i to one list: %s', async (code, cause, text) => {
    await using proxy = await startFaultProxy(server);
    proxy.answer({
      code,
      to: ({ kind, path }) => kind === 'list' && path === '/api/v1/pods',
      ...(text !== undefined && { text }),
    });
    const findings = await findingsOf(proxy.kubeconfigPath);
    expect(causesOf(findings)).toEqual([cause]);
    expect(findings.find((one) => one.cause === cause)?.message).toContain('the list of pods');
  });

  it('410 to who resumes: the history is too short', async () => {
    await using proxy = await startFaultProxy(server);
    const findings = await findingsOf(
      proxy.kubeconfigPath,
      ({ check }) => {
        if (check === 'watch latency') proxy.answer({ code: 410, to: isBusy });
      },
      FEW,
    );
    expect(findings.filter(({ cause }) => cause !== undefined)).toMatchObject([{ check: 'history', cause: 'expired' }]);
  });
});

describe('longwatch doctor names what is done to the line', () => {
  it('connections that are reset', async () => {
    await using proxy = await startFaultProxy(server);
    proxy.refuse();
    expect(causesOf(await findingsOf(proxy.kubeconfigPath))).toEqual(['connection-reset']);
  });

  it('nobody who listens', async () => {
    const file = join(server.dataDir, 'nowhere.kubeconfig');
    const text = readFileSync(server.kubeconfigPath, 'utf8').replace(/server: \S+/, 'server: https://127.0.0.1:1');
    writeFileSync(file, text, { mode: 0o600 });
    expect(causesOf(await findingsOf(file))).toEqual(['connection-refused']);
  });

  it('another authority', async () => {
    // In a folder of its own: those of one process share their authority else.
    await using other = await startTestServer({ dataDir: mkdtempSync(join(server.dataDir, 'other-')) });
    const file = join(server.dataDir, 'other.kubeconfig');
    writeFileSync(file, readFileSync(server.kubeconfigPath, 'utf8').replace(/server: \S+/, `server: ${other.url}`));
    expect(causesOf(await findingsOf(file))).toEqual(['untrusted-certificate']);
  });

  it('requests that are held back for ever', async () => {
    await using proxy = await startFaultProxy(server);
    proxy.delay(Number.POSITIVE_INFINITY);
    expect(causesOf(await findingsOf(proxy.kubeconfigPath, undefined, { ...FEW, timeoutMs: 1000 }))).toEqual([
      'no-answer',
    ]);
  });

  it('requests that are held back for a while', async () => {
    await using proxy = await startFaultProxy(server);
    proxy.delay(SLOW.answerMs + 500);
    const findings = await findingsOf(
      proxy.kubeconfigPath,
      ({ check }) => {
        if (check === 'answers') proxy.heal();
      },
      { ...FEW, slow: { ...PATIENT, answerMs: SLOW.answerMs } },
    );
    expect(causesOf(findings)).toEqual(['slow-answers']);
  });

  it('bytes that trickle', async () => {
    await using proxy = await startFaultProxy(server);
    const findings = await findingsOf(
      proxy.kubeconfigPath,
      ({ check }) => {
        if (check === 'answers') proxy.drip(300, 20);
        if (check === 'throughput') proxy.heal();
      },
      { ...FEW, slow: { ...PATIENT, bytesPerSecond: SLOW.bytesPerSecond } },
    );
    expect(causesOf(findings)).toEqual(['slow-bytes']);
  });
});

describe('longwatch doctor', () => {
  const flags = () => ({ kubeconfig: server.kubeconfigPath, for: 100, requestTimeout: 60_000 });

  it('prints a line for each, with a remedy below what is wrong, and ends with 3', async () => {
    await using proxy = await startFaultProxy(server);
    proxy.answer({ code: 503, to: ({ path }) => path === '/api/v1/pods', times: 1 });
    const { code, lines } = await runToEnd(doctor({ ...flags(), kubeconfig: proxy.kubeconfigPath }));
    expect(code).toBe(3);
    const at = lines.findIndex((line) => line.startsWith('failure'));
    expect(lines[at]).toContain('503 ServiceUnavailable');
    expect(lines[at + 1]).toContain('-> ');
    expect(lines.at(-1)).toMatch(/^\d+ ok, 0 warnings, 1 failures/);
  });

  it('-o json is one object, and 0 says that all is well', async () => {
    const { code, out } = await runToEnd(doctor({ ...flags(), output: 'json' }));
    const { findings, summary } = JSON.parse(out);
    expect({ code, failures: summary.failures }).toEqual({ code: 0, failures: 0 });
    expect(findings.length).toBe(summary.ok + summary.skipped);
  });

  it('an interrupt leaves nothing behind', async () => {
    const { TestIo } = await import('../../support/cli/test-io.ts');
    await using io = new TestIo(doctor({ ...flags(), for: 600_000 }));
    await io.until(({ out }) => out.includes('list and watch'));
    expect((await leftBehind()).length).toBe(2);
    expect(await io.interrupt()).toBe(0);
    await until(async () => (await leftBehind()).length === 0);
  });
});
