/**
 * What those who test wait for: `startTestServer()` for the first time in a process and again, `reset()`, ten virtual
 * hours, and the pair of `longwatch envtest-assets` from the start of its etcd until kube-apiserver is healthy, asked every
 * 10 ms (envtest itself asks every 100). Runs what is built in dist/.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../../test/support/free-ports.ts';
import { type ServerBenchmark, type ServerContext, type ServerRow, valueRow } from '../../lib/server-report.ts';
import type { TestServerTimes } from './test-server-child.ts';

export const testServer: ServerBenchmark = { name: 'test-server', run };

const root = fileURLToPath(new URL('../../..', import.meta.url));
const ASK_MS = 10;

async function run({ isQuick, say, folder }: ServerContext): Promise<ServerRow[]> {
  execFileSync(process.execPath, [join(root, 'scripts/build.mjs')], { stdio: 'ignore' });
  const rounds = isQuick ? 2 : 5;
  const times: TestServerTimes[] = [];
  const pairs: Pair[] = [];
  const assets = join(folder, 'assets');
  execFileSync(process.execPath, [join(root, 'bin/longwatch.js'), 'envtest-assets', assets], { stdio: 'ignore' });
  for (let round = 0; round < rounds; round++) {
    say('test server, and the pair of envtest');
    const built = ['testing', 'client'].map((door) => new URL(`../../../dist/bundle/${door}.js`, import.meta.url).href);
    const child = fileURLToPath(new URL('./test-server-child.ts', import.meta.url));
    const output = execFileSync(process.execPath, ['--import', 'tsx', child, ...built], {
      encoding: 'utf8',
      cwd: root,
    });
    times.push(JSON.parse(output));
    pairs.push(await startPair(assets, mkdtempSync(join(folder, 'pair-'))));
  }
  const cpu = (n: number) => `${Math.round(Math.min(...times.map(({ cpuMs }) => cpuMs[n]!)))} ms of CPU`;
  return [
    valueRow(
      'test server: the first of a process',
      'ms',
      times.map(({ firstMs }) => firstMs),
      { target: { value: 150 }, note: cpu(0) },
    ),
    valueRow(
      'test server: the next',
      'ms',
      times.flatMap(({ nextMs }) => nextMs),
      { target: { value: 50 }, note: cpu(5) },
    ),
    valueRow(
      'test server: reset() after 10 objects',
      'ms',
      times.flatMap(({ resetMs }) => resetMs),
      { target: { value: 10 } },
    ),
    valueRow(
      'ten virtual hours of an informer',
      'ms',
      times.map(({ hoursMs }) => hoursMs),
      { note: `${Math.round(Math.min(...times.map(({ hoursCpuMs }) => hoursCpuMs)))} ms of CPU` },
    ),
    valueRow(
      'envtest pair: from etcd to healthy',
      'ms',
      pairs.map(({ ms }) => ms),
      {
        target: { value: 300 },
        note: `${Math.min(...pairs.map(({ cpuMs }) => cpuMs))} ms of CPU; the real pair took 3 500 to 4 200`,
      },
    ),
  ];
}

type Pair = { readonly ms: number; readonly cpuMs: number };

async function startPair(assets: string, folder: string): Promise<Pair> {
  const [etcdPort, port] = await freePorts(2);
  const url = `http://127.0.0.1:${etcdPort}`;
  const began = performance.now();
  const etcd = start(join(assets, 'etcd'), [
    `--data-dir=${folder}/etcd`,
    `--listen-client-urls=${url}`,
    '--unsafe-no-fsync=true',
  ]);
  await until(async () => (await fetch(`${url}/health`)).status === 200);
  const server = start(join(assets, 'kube-apiserver'), [
    `--etcd-servers=${url}`,
    `--secure-port=${port}`,
    `--cert-dir=${folder}`,
  ]);
  await until(() => isHealthy(port!));
  const ms = performance.now() - began;
  const cpuMs = cpuMsOf(etcd) + cpuMsOf(server);
  for (const child of [server, etcd]) {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  return { ms, cpuMs };
}

/** In steps of 10 ms, and only where the system tells. */
function cpuMsOf({ pid }: ChildProcess): number {
  if (process.platform !== 'linux') return 0;
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function start(path: string, flags: readonly string[]): ChildProcess {
  readFileSync(path); // a missing one is said by name
  return spawn(path, flags, { stdio: 'ignore' });
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo().catch(() => false))) await new Promise((resolve) => setTimeout(resolve, ASK_MS));
}

function isHealthy(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const ask = request(
      { host: '127.0.0.1', port, path: '/healthz', rejectUnauthorized: false, agent: false },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode === 200);
      },
    );
    ask.on('error', reject).end();
  });
}
