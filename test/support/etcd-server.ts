/**
 * Real etcd processes for tests and benchmarks: one, or a cluster on loopback, in a folder of their own, on ports
 * that were free a moment ago. A member can be stopped, killed, paused and started again with its data.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePorts } from './free-ports.ts';

/** The version of the etcd on the PATH; undefined if there is none. With CI=true a missing etcd is a failure. */
export function etcdVersion(): string | undefined {
  try {
    return /etcd Version: (\S+)/.exec(execFileSync('etcd', ['--version'], { encoding: 'utf8' }))?.[1];
  } catch {
    if (process.env.CI === 'true') throw new Error('Cannot run the tests: CI=true needs a real etcd on the PATH');
    return undefined;
  }
}

/** As often as etcd allows, so that a test that waits for a notice of progress waits for 100 ms and not ten minutes. */
function progressFlag(): string {
  const isOld = /^3\.[0-5]\./.test(etcdVersion() ?? '');
  return `--${isOld ? 'experimental-' : ''}watch-progress-notify-interval=100ms`;
}

export type EtcdMember = {
  readonly name: string;
  readonly url: string;
  /** Starts it, again with the data it had, and waits until it serves: it has a leader and answers reads. */
  start(): Promise<void>;
  /** SIGTERM: it leaves in order. */
  stop(): Promise<void>;
  /** SIGKILL: it leaves at once. */
  kill(): Promise<void>;
  /** SIGSTOP: connections stay open and nothing answers. */
  pause(): void;
  resume(): void;
};

export type EtcdCluster = AsyncDisposable & {
  readonly members: readonly EtcdMember[];
  readonly urls: readonly string[];
};

export type EtcdClusterOptions = {
  readonly members?: number;
  /** More flags for every member. */
  readonly flags?: readonly string[];
  /** Certificates for TLS with client certificates: paths of PEM files. */
  readonly tls?: { readonly ca: string; readonly cert: string; readonly key: string };
  /** A snapshot that the one member begins with, restored by etcd's own tool. */
  readonly snapshot?: string;
};

/** Runs etcdctl, and fails with what it said if it fails. */
export async function etcdctl(...args: readonly string[]): Promise<string> {
  const env = { ...process.env, ETCDCTL_API: '3' };
  const { stdout } = await promisify(execFile)('etcdctl', args, { env, timeout: 30_000 });
  return stdout;
}

/** Whether there is an etcdctl on the PATH. */
export function hasEtcdctl(): boolean {
  try {
    execFileSync('etcdctl', ['version'], { env: { ...process.env, ETCDCTL_API: '3' }, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

export async function startEtcd(options: EtcdClusterOptions = {}): Promise<EtcdCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'longwatch-etcd-'));
  const names = Array.from({ length: options.members ?? 1 }, (_, i) => `m${i}`);
  const clientPorts = await freePorts(names.length * 2);
  const peerPorts = clientPorts.splice(names.length);
  const initialCluster = names.map((name, i) => `${name}=http://127.0.0.1:${peerPorts[i]}`).join(',');
  const members = names.map((name, i) =>
    makeMember(name, join(folder, name), clientPorts[i]!, peerPorts[i]!, initialCluster, options),
  );
  const dispose = async () => {
    await Promise.all(members.map((member) => member.kill()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await Promise.all(members.map((member) => member.start()));
  } catch (err) {
    await dispose();
    throw err;
  }
  return { members, urls: members.map((member) => member.url), [Symbol.asyncDispose]: dispose };
}

function makeMember(
  name: string,
  dataDir: string,
  clientPort: number,
  peerPort: number,
  initialCluster: string,
  { flags = [], tls, snapshot }: EtcdClusterOptions,
): EtcdMember {
  const url = `${tls ? 'https' : 'http'}://127.0.0.1:${clientPort}`;
  const peerUrl = `http://127.0.0.1:${peerPort}`;
  let child: ChildProcess | undefined;
  let log = '';
  const cluster = [
    ...['--initial-advertise-peer-urls', peerUrl],
    ...['--initial-cluster', initialCluster, '--initial-cluster-token', dirname(dataDir)],
  ];

  const end = async (signal: NodeJS.Signals) => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    if (signal === 'SIGTERM') child.kill('SIGCONT');
    await gone;
  };

  return {
    name,
    url,
    async start() {
      if (snapshot !== undefined && !existsSync(dataDir))
        await etcdctl('snapshot', 'restore', snapshot, '--name', name, '--data-dir', dataDir, ...cluster);
      const args = [
        ...['--name', name, '--data-dir', dataDir, '--log-level', 'warn', '--logger', 'zap'],
        ...['--listen-client-urls', url, '--advertise-client-urls', url],
        ...['--listen-peer-urls', peerUrl, ...cluster],
        ...(tls
          ? ['--cert-file', tls.cert, '--key-file', tls.key, '--trusted-ca-file', tls.ca, '--client-cert-auth']
          : []),
        ...['--heartbeat-interval', '50', '--election-timeout', '500', progressFlag()],
        ...flags,
      ];
      const started = spawn('etcd', args, { stdio: ['ignore', 'pipe', 'pipe'] });
      child = started;
      log = '';
      for (const stream of [started.stdout, started.stderr])
        stream.on('data', (data: Buffer) => {
          log = (log + data.toString()).slice(-4000);
        });
      for (let attempt = 0; ; attempt++) {
        if (started.exitCode !== null || attempt > 600) throw new Error(`Cannot start etcd ${name}: ${log}`);
        if (await isHealthy(url, tls)) return;
        await sleep(50);
      }
    },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    pause: () => child && freeze(child),
    resume: () => void child?.kill('SIGCONT'),
  };
}

/** A signal is on its way when `kill` returns: until each thread has stopped, one of them may still answer. */
function freeze(child: ChildProcess): void {
  child.kill('SIGSTOP');
  const tasks = `/proc/${child.pid}/task`;
  const isStopped = (task: string) => /^\d+ \(.*\) T /.test(readFileSync(`${tasks}/${task}/stat`, 'utf8'));
  while (existsSync(tasks) && !readdirSync(tasks).every(isStopped));
}

/** Whether the member answers a linearizable read, by its own word. An open port alone says less: it opens before that. */
async function isHealthy(url: string, tls: EtcdClusterOptions['tls']): Promise<boolean> {
  const certificates = tls && { ca: readFileSync(tls.ca), cert: readFileSync(tls.cert), key: readFileSync(tls.key) };
  return new Promise((resolve) => {
    const options = { ...certificates, agent: false, timeout: 2000 } as const;
    const request = (tls ? httpsGet : httpGet)(`${url}/health`, options, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      response.on('end', () => resolve(/"health": ?"true"/.test(body)));
      response.on('error', () => resolve(false));
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}
