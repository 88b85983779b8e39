/** `longwatch serve` as a process: its one line, its signals, its exit codes; and kubectl with what it wrote. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { writeKubeconfig } from '../../../src/server/serving/kubeconfig.ts';
import { httpServerUnderTest, TOKEN } from '../http/http-server-under-test.ts';

const script = fileURLToPath(new URL('serve-process.ts', import.meta.url));

function serve(env: Record<string, string> = {}) {
  const args = ['--import', 'tsx', script, 'serve', '--data-dir', '/data'];
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env } });
  const said = { out: '', err: '' };
  child.stdout.on('data', (text) => {
    said.out += text;
  });
  child.stderr.on('data', (text) => {
    said.err += text;
  });
  return { child, said, exited: once(child, 'exit'), ready: once(child.stdout, 'data') };
}

it.each(['SIGTERM', 'SIGINT'] as const)('prints one line when ready, and stops with 0 on %s', async (signal) => {
  const { child, said, exited, ready } = serve();
  await ready;
  expect(said.out).toMatch(
    /^longwatch ready https:\/\/127\.0\.0\.1:1 kubeconfig=\/data\/admin\.kubeconfig in \d+ ms\n$/,
  );
  child.kill(signal);
  expect(await exited).toEqual([0, null]);
  expect(said.out.split('\n')).toHaveLength(2);
  expect(said.err).toBe('longwatch: stopping\nlongwatch: stopped\n');
});

it('does not wait after a second signal', async () => {
  const { child, exited, ready } = serve({ HANG: '1' });
  await ready;
  child.kill('SIGTERM');
  await once(child.stderr, 'data');
  child.kill('SIGTERM');
  expect(await exited).toEqual([1, null]);
});

it('kubectl gets through with the kubeconfig, by certificate and by token', async ({ skip }) => {
  const kubectl = (...args: string[]) =>
    promisify(execFile)('kubectl', args, { env: { PATH: process.env.PATH ?? '', HOME: tmpdir() } });
  if (!(await kubectl('version', '--client').catch(() => undefined))) skip('no kubectl here');
  await using server = await httpServerUnderTest((exchange) =>
    exchange.send(200, 'application/json', Buffer.from(JSON.stringify(exchange.user))),
  );
  const folder = mkdtempSync(join(tmpdir(), 'longwatch-kubeconfig-'));
  try {
    const file = join(folder, 'admin.kubeconfig');
    const { authorityPem, admin } = server.pki;
    writeKubeconfig(file, { server: `https://127.0.0.1:${server.httpServer.port}`, authorityPem, admin, token: TOKEN });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { stdout } = await kubectl('--kubeconfig', file, 'get', '--raw', '/api/v1/pods');
    expect(JSON.parse(stdout)).toMatchObject({
      username: 'kubernetes-admin',
      groups: ['system:masters', 'system:authenticated'],
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
