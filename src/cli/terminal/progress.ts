/**
 * How far something has come, on stderr: on a terminal one line that is drawn over, elsewhere a line now and then. It is
 * gone when it ends, so that what follows stands by itself.
 */
import type { Io } from './io.ts';

const BAR = 30;
/** Without a terminal: a line at each tenth, and no oftener than this. */
const QUIET_MS = 5000;

export class Progress implements Disposable {
  readonly #io: Io;
  readonly #what: string;
  #isDrawn = false;
  #saidAt = 0;

  constructor(io: Io, what: string) {
    this.#io = io;
    this.#what = what;
    this.#saidAt = performance.now();
  }

  /** A share that is not known is undefined. */
  show(share: number | undefined, text: string): void {
    if (this.#io.isNoteTerminal) {
      const bar = share === undefined ? '' : ` ${barOf(share)} ${String(Math.round(share * 100)).padStart(3)} %`;
      this.#io.draw(`\r\x1b[K${this.#what}${bar} ${text}`.slice(0, Math.max(20, this.#io.columns + 3)));
      this.#isDrawn = true;
      return;
    }
    if (performance.now() - this.#saidAt < QUIET_MS) return;
    this.#saidAt = performance.now();
    this.#io.note(`${this.#what}: ${share === undefined ? '' : `${Math.round(share * 100)} %, `}${text}`);
  }

  [Symbol.dispose](): void {
    if (this.#isDrawn) this.#io.draw('\r\x1b[K');
    this.#isDrawn = false;
  }
}

function barOf(share: number, width: number = BAR): string {
  const full = Math.max(0, Math.min(width, Math.round(share * width)));
  return `[${'#'.repeat(full)}${'-'.repeat(width - full)}]`;
}
