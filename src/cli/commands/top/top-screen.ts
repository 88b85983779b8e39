/**
 * The terminal of `longwatch top`: the other screen, drawn over and over, and keys as they are typed. Whatever happens, the
 * terminal is as it was when it ends.
 */
import type { Io } from '../../terminal/io.ts';
import { keysIn } from './top-state.ts';

const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';

export class TopScreen implements Disposable {
  readonly #io: Io;
  readonly #onData: (data: Buffer) => void;
  readonly #onResize: () => void;

  constructor(io: Io, { onKey, onResize }: { readonly onKey: (key: string) => void; readonly onResize: () => void }) {
    this.#io = io;
    this.#onData = (data) => {
      for (const key of keysIn(data.toString('utf8'))) onKey(key);
    };
    this.#onResize = onResize;
    if (process.stdin.isTTY) process.stdin.setRawMode(true);
    process.stdin.on('data', this.#onData);
    process.stdout.on('resize', this.#onResize);
    process.on('exit', this.#restore);
    io.write(ENTER);
  }

  draw(lines: readonly string[]): void {
    // From the corner, each line cleared behind its end: nothing flickers.
    this.#io.write(`\x1b[H${lines.map((line) => `${line}\x1b[K`).join('\r\n')}\x1b[J`);
  }

  [Symbol.dispose](): void {
    process.stdin.off('data', this.#onData);
    process.stdin.pause();
    process.stdout.off('resize', this.#onResize);
    process.off('exit', this.#restore);
    this.#restore();
  }

  readonly #restore = (): void => {
    if (process.stdin.isTTY) process.stdin.setRawMode(false);
    process.stdout.write(LEAVE); // not through io: after an interrupt it is silent
  };
}
