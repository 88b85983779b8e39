/**
 * `longwatch serve` as people start it: the built program in a process of its own, with what it says and how it ends.
 * Whatever a test does, the process is gone after it.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { ApiClient } from '../../../src/testing/api-client.ts';

export const COMMAND: string = fileURLToPath(new URL('../../../bin/longwatch.js', import.meta.url));
/** A user who has nothing: for what root is allowed and others are not. */
export const NOBODY = 65534;
export const isRoot: boolean = process.getuid?.() === 0;

export type ServeOptions = {
  readonly uid?: number;
  readonly umask?: number;
  /** What to run in the place of our program. */
  readonly command?: readonly [string, ...string[]];
  readonly env?: NodeJS.ProcessEnv;
};

export class ServeCommand implements AsyncDisposable {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly exited: Promise<[code: number | null, signal: string | null]>;
  out = '';
  err = '';
  readonly #waiting: (() => void)[] = [];
  #hasEnded = false;

  constructor(args: readonly string[], { uid, umask, command = [process.execPath, COMMAND], env }: ServeOptions = {}) {
    // The umask is set by a shell that then becomes the program.
    const line =
      umask === undefined ? command : ['sh', '-c', `umask ${umask.toString(8)}; exec "$@"`, 'sh', ...command];
    const [first = '', ...more] = [...line, ...args];
    this.child = spawn(first, more, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
      ...(uid !== undefined && { uid, gid: uid }),
    });
    const wake = () => {
      for (const waiter of this.#waiting.splice(0)) waiter();
    };
    this.child.stdout.on('data', (text) => {
      this.out += text;
      wake();
    });
    this.child.stderr.on('data', (text) => {
      this.err += text;
      wake();
    });
    this.exited = once(this.child, 'close') as Promise<[number | null, string | null]>;
    this.child.on('close', () => {
      this.#hasEnded = true;
      wake();
    });
  }

  /** Its address, once it is ready; throws what it said if it ends before. */
  async ready(): Promise<{ url: string; kubeconfig: string }> {
    await this.until(() => /^longwatch ready .*\n/m.test(this.out));
    const [, url = '', kubeconfig = ''] = /longwatch ready (\S+) kubeconfig=(\S+) in/.exec(this.out) ?? [];
    return { url, kubeconfig };
  }

  /** Until what it has said is so. */
  async until(isSaid: () => boolean): Promise<void> {
    while (!isSaid()) {
      if (this.#hasEnded) throw new Error(`It ended: ${this.err}${this.out}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** The administrator. */
  async client(): Promise<ApiClient> {
    const { url, kubeconfig } = await this.ready();
    return new ApiClient({ url, ...adminOf(kubeconfig) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exited;
  }
}

export function adminOf(kubeconfig: string): { ca: string; token: string } {
  const text = readFileSync(kubeconfig, 'utf8');
  const [ca = '', token = ''] = [/certificate-authority-data: (\S+)/, /token: (\S+)/].map(
    (found) => found.exec(text)?.[1],
  );
  return { ca: Buffer.from(ca, 'base64').toString(), token };
}
