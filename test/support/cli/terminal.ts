/**
 * A program in a pseudo-terminal, by `script` of util-linux: what it draws, and keys for it. What is on the screen is found
 * by playing its bytes: the cursor, clearing, and text, as much as our programs use.
 */
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';

export const hasScript: boolean = /util-linux/.test(
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '',
);

export class Terminal implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly exited: Promise<[code: number | null]>;
  output = '';
  readonly #waiting: (() => void)[] = [];
  #hasEnded = false;

  constructor(command: readonly string[], env: NodeJS.ProcessEnv = {}, { rows = 30, columns = 160 } = {}) {
    const quoted = command.map((part) => `'${part.replaceAll("'", `'\\''`)}'`).join(' ');
    const line = `stty rows ${rows} cols ${columns}; exec ${quoted}`;
    this.#child = spawn('script', ['-qefc', line, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { ...process.env, TERM: 'xterm', NO_COLOR: '', ...env },
    });
    this.exited = once(this.#child, 'close') as Promise<[number | null]>;
    const wake = () => {
      for (const waiter of this.#waiting.splice(0)) waiter();
    };
    this.#child.stdout.on('data', (data: Buffer) => {
      this.output += data.toString('utf8');
      wake();
    });
    this.#child.on('close', () => {
      this.#hasEnded = true;
      wake();
    });
  }

  type(keys: string): void {
    this.#child.stdin.write(keys);
  }

  /** The screen as it is now. */
  get screen(): string {
    const lines: string[] = [''];
    let [row, column] = [0, 0];
    for (const part of this.output.match(/\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+|\x1b/g) ?? []) {
      if (part === '\r') column = 0;
      else if (part === '\n') lines[++row] ??= '';
      else if (part === '\x1b[H') [row, column] = [0, 0];
      else if (part === '\x1b[K') lines[row] = lines[row]!.slice(0, column);
      else if (part === '\x1b[J') lines.splice(row + 1);
      else if (!part.startsWith('\x1b')) {
        lines[row] = lines[row]!.slice(0, column).padEnd(column) + part + lines[row]!.slice(column + part.length);
        column += part.length;
      }
    }
    return lines.join('\n');
  }

  async until(isShown: (screen: string) => boolean): Promise<void> {
    while (!isShown(this.screen)) {
      if (this.#hasEnded) throw new Error(`It ended: ${this.output}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.exited;
  }
}
