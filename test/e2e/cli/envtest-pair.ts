/**
 * envtest, played: what controller-runtime does with the folder of KUBEBUILDER_ASSETS, in its order and with its flags.
 * Certificates first; each program is asked for its help; etcd until `/health` answers, then kube-apiserver until
 * `/healthz` does; the end is SIGTERM to the process group, and the exit is waited for.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Certificate,
  makeAuthority,
  makeClientCertificate,
  makeServingCertificate,
} from '../../../src/certificates/certificate.ts';
import { certificateCredentials, KubeClient } from '../../../src/client/index.ts';
import { eventually } from '../../support/eventually.ts';
import { freePorts } from '../../support/free-ports.ts';

const validity = { from: new Date(Date.now() - 3_600_000), to: new Date(Date.now() + 86_400_000) };

export class EnvtestPair implements AsyncDisposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'longwatch-envtest-'));
  readonly #assets: string;
  readonly #running: Program[] = [];
  #ports: number[] = [];
  #ca!: Certificate;
  #clientCa!: Certificate;
  #client: KubeClient | undefined;

  constructor(assets: string) {
    this.#assets = assets;
  }

  /** What kube-apiserver has said. */
  get said(): string {
    return this.#running.at(-1)?.said ?? '';
  }

  /** An administrator by client certificate, as the one envtest hands to tests. */
  get client(): KubeClient {
    const admin = makeClientCertificate(
      asAuthority(this.#clientCa),
      { commonName: 'default', organizations: ['system:masters'] },
      validity,
    );
    this.#client ??= new KubeClient({
      server: new URL(`https://127.0.0.1:${this.#ports[1]}`),
      namespace: 'default',
      authority: this.#ca.certPem,
      credentials: certificateCredentials(admin.certPem, admin.keyPem),
    });
    return this.#client;
  }

  async start(more: readonly string[] = []): Promise<void> {
    this.#ports = await freePorts(2);
    this.#writeCertificates();
    if (!hasFlag(this.help('etcd'), 'unsafe-no-fsync')) throw new Error('etcd does not list --unsafe-no-fsync');
    const url = `http://127.0.0.1:${this.#ports[0]}`;
    this.#run('etcd', [
      '--listen-peer-urls=http://localhost:0',
      `--data-dir=${join(this.folder, 'etcd')}`,
      `--advertise-client-urls=${url}`,
      `--listen-client-urls=${url}`,
      '--unsafe-no-fsync=true',
    ]);
    await eventually(async () => okOrThrow((await fetch(`${url}/health`)).status));
    if (hasFlag(this.help('kube-apiserver'), 'insecure-port')) throw new Error('kube-apiserver lists --insecure-port');
    await this.startApiServer(more);
  }

  async startApiServer(more: readonly string[] = []): Promise<void> {
    const [etcdPort, port] = this.#ports;
    const at = (name: string) => join(this.folder, name);
    this.#run('kube-apiserver', [
      '--allow-privileged=true',
      '--authorization-mode=RBAC',
      '--bind-address=127.0.0.1',
      `--cert-dir=${this.folder}`,
      `--client-ca-file=${at('client-cert-auth-ca.crt')}`,
      '--disable-admission-plugins=ServiceAccount',
      `--etcd-servers=http://127.0.0.1:${etcdPort}`,
      `--secure-port=${port}`,
      `--service-account-issuer=https://127.0.0.1:${port}/`,
      `--service-account-key-file=${at('sa-signer.crt')}`,
      `--service-account-signing-key-file=${at('sa-signer.key')}`,
      '--service-cluster-ip-range=10.0.0.0/24',
      ...more,
    ]);
    await eventually(async () => okOrThrow(await healthz(port!)));
  }

  help(name: string): string {
    return execFileSync(join(this.#assets, name), ['--help'], { encoding: 'utf8' });
  }

  async stopApiServer(): Promise<number | null> {
    await this.#client?.close();
    this.#client = undefined;
    return this.#running.pop()!.stop();
  }

  /** How both ended, kube-apiserver first. */
  async stop(): Promise<(number | null)[]> {
    return [await this.stopApiServer(), await this.#running.pop()!.stop()];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client?.close();
    for (const program of this.#running) await program.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #run(name: string, flags: readonly string[]): void {
    this.#running.push(new Program(join(this.#assets, name), flags));
  }

  #writeCertificates(): void {
    this.#ca = makeAuthority({ commonName: 'envtest-environment' }, validity);
    this.#clientCa = makeAuthority({ commonName: 'envtest-clients' }, validity);
    const hosts = ['127.0.0.1', 'localhost', 'kubernetes.default'];
    this.#write('apiserver', makeServingCertificate(asAuthority(this.#ca), { commonName: 'api' }, hosts, validity));
    this.#write('client-cert-auth-ca', this.#clientCa);
    this.#write('sa-signer', makeAuthority({ commonName: 'sa-signer' }, validity));
  }

  #write(name: string, { certPem, keyPem }: Certificate): void {
    writeFileSync(join(this.folder, `${name}.crt`), certPem);
    writeFileSync(join(this.folder, `${name}.key`), keyPem, { mode: 0o600 });
  }
}

/** In a process group of its own. */
class Program {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown[]>;
  said = '';

  constructor(path: string, flags: readonly string[]) {
    this.#child = spawn(path, flags, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child.stdout!.on('data', (text) => {
      this.said += text;
    });
    this.#child.stderr!.on('data', (text) => {
      this.said += text;
    });
    this.#exited = once(this.#child, 'close');
  }

  async stop(): Promise<number | null> {
    process.kill(-this.#child.pid!, 'SIGTERM');
    const [code] = await this.#exited;
    return code as number | null;
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL');
    await this.#exited;
  }
}

/** As envtest looks for one. */
function hasFlag(help: string, name: string): boolean {
  return help.split('\n').some((line) => line.trim().split(/[\s=]/)[0] === `--${name}`);
}

function asAuthority({ certPem, keyPem }: Certificate) {
  const { subject, publicKey } = new X509Certificate(certPem);
  return { subject: { commonName: subject.slice('CN='.length) }, key: createPrivateKey(keyPem), publicKey };
}

/** Without credentials, and whatever the certificate is. */
function healthz(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: '/healthz', rejectUnauthorized: false, agent: false } as const;
    const ask = request(options, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    ask.on('error', reject);
    ask.end();
  });
}

function okOrThrow(status: number): void {
  if (status !== 200) throw new Error(`It answers ${status}`);
}
