/** What a verb says, and a hand on it: runs verbs of the command line in this process, with nobody's terminal. */
import { Interrupted, type Io } from '../../../src/cli/terminal/io.ts';
import { paintWith } from '../../../src/cli/terminal/paint.ts';
import { codeOf, type Verb } from '../../../src/cli/terminal/run-verb.ts';

export class TestIo implements Io, AsyncDisposable {
  out = '';
  err = '';
  readonly paint = paintWith(false);
  readonly notePaint = paintWith(false);
  readonly isTerminal = false;
  readonly isNoteTerminal = false;
  readonly columns = 100;
  readonly rows = 30;
  readonly env: NodeJS.ProcessEnv;
  readonly #stop = new AbortController();
  readonly signal = this.#stop.signal;
  readonly #waiting: (() => void)[] = [];
  /** The exit code of the verb that runs. */
  readonly ended: Promise<number>;
  #hasEnded = false;

  constructor(verb: Verb, env: NodeJS.ProcessEnv = {}) {
    this.env = env;
    this.ended = codeOf(verb, this).finally(() => {
      this.#hasEnded = true;
      this.#wake();
    });
  }

  write(text: string): void {
    this.out += text;
    this.#wake();
  }

  print(line: string): void {
    this.write(`${line}\n`);
  }

  note(line: string): void {
    this.draw(`${line}\n`);
  }

  draw(text: string): void {
    this.err += text;
    this.#wake();
  }

  get lines(): string[] {
    return this.out.split('\n').filter((line) => line !== '');
  }

  async until(isSaid: (io: this) => boolean): Promise<void> {
    while (!isSaid(this)) {
      if (this.#hasEnded) throw new Error(`It ended: ${this.err}${this.out}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** As Ctrl-C does. */
  async interrupt(): Promise<number> {
    this.#stop.abort(new Interrupted('It was interrupted'));
    return this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.interrupt();
  }

  #wake(): void {
    for (const waiter of this.#waiting.splice(0)) waiter();
  }
}

/** Runs a verb to its end. */
export async function runToEnd(
  verb: Verb,
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: number; out: string; err: string; lines: string[] }> {
  const io = new TestIo(verb, env);
  const code = await io.ended;
  return { code, out: io.out, err: io.err, lines: io.lines };
}
