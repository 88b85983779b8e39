/**
 * Who was refused because somebody else was faster stands in line, one line for each object: the first is told at once, the
 * next when that one has written, or has had its time to. Told all together, all would read the same version and write on
 * it, and all but one would be refused again.
 *
 * Always true: a refusal is held back for so long and behind so many at most, and one alone not at all. It changes no
 * outcome: what is refused stays so.
 */
export type ConflictLineOptions = {
  /** To read the object and write it again. */
  readonly patienceMs?: number;
  /** Whoever finds so many before it is told at once. */
  readonly mostWaiting?: number;
  /** Returns how to call it off. */
  readonly after?: (ms: number, act: () => void) => () => void;
};

type Line = { readonly waiting: (() => void)[]; stopTimer: () => void };

export class ConflictLine {
  readonly #lines = new Map<string, Line>();
  readonly #patienceMs: number;
  readonly #mostWaiting: number;
  readonly #after: NonNullable<ConflictLineOptions['after']>;

  constructor({ patienceMs = 50, mostWaiting = 16, after = afterMs }: ConflictLineOptions = {}) {
    this.#patienceMs = patienceMs;
    this.#mostWaiting = mostWaiting;
    this.#after = after;
  }

  /** Resolves when it is time to tell; undefined: now. */
  turn(key: string): Promise<void> | undefined {
    const line = this.#lines.get(key);
    if (!line) {
      const first: Line = { waiting: [], stopTimer: () => {} };
      this.#lines.set(key, first);
      this.#giveTime(key, first);
      return undefined;
    }
    if (line.waiting.length >= this.#mostWaiting) return undefined;
    return new Promise((resolve) => line.waiting.push(resolve));
  }

  /** The object was written. */
  written(key: string): void {
    const line = this.#lines.get(key);
    if (!line) return;
    line.stopTimer();
    this.#next(key, line);
  }

  #next(key: string, line: Line): void {
    const tell = line.waiting.shift();
    if (!tell) {
      this.#lines.delete(key);
      return;
    }
    this.#giveTime(key, line);
    tell();
  }

  #giveTime(key: string, line: Line): void {
    line.stopTimer = this.#after(this.#patienceMs, () => this.#next(key, line));
  }
}

function afterMs(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, ms);
  timer.unref();
  return () => clearTimeout(timer);
}
