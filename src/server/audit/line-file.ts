/**
 * A file that only grows, a line at a time: what many write in a moment goes out in one write.
 *
 * Always true: a writer never waits, and never more than `limitBytes` wait for the disk; lines beyond that are lost,
 * counted, and told of. A write that fails loses its lines in the same way and is not the end: the next is tried. A file
 * that somebody moved or removed is made again, so that logrotate needs no signal; past `maxBytes` it is set
 * aside by itself. `close` writes all that waits.
 */
import type { LineSink, OpenSink } from './line-sink.ts';

export type LineFileOptions = {
  readonly limitBytes?: number;
  readonly delayMs?: number;
  /** Of one file; 0 is no limit. */
  readonly maxBytes?: number;
  readonly log: (line: string) => void;
};

const LIMIT_BYTES = 16 * 1024 * 1024;
const DELAY_MS = 100;
const BATCH_BYTES = 256 * 1024;
/** Losses are told of when they begin, and then no more often than this. */
const TELL_EVERY_MS = 60_000;
const TOO_SLOW = 'the disk is too slow';

export class LineFile {
  readonly #file: string;
  readonly #open: OpenSink;
  readonly #log: (line: string) => void;
  readonly #limitBytes: number;
  readonly #delayMs: number;
  readonly #maxBytes: number;
  #sink: LineSink | undefined;
  #rotateAtBytes: number;
  #waiting: string[] = [];
  #waitingBytes = 0;
  /** Waiting and being written. */
  #heldBytes = 0;
  #lost = 0;
  #whyLost = TOO_SLOW;
  #toldAtMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;

  /** `sink` is what `open` gave, at first. */
  constructor(file: string, sink: LineSink, open: OpenSink, options: LineFileOptions) {
    this.#file = file;
    this.#sink = sink;
    this.#open = open;
    this.#log = options.log;
    this.#limitBytes = options.limitBytes ?? LIMIT_BYTES;
    this.#delayMs = options.delayMs ?? DELAY_MS;
    this.#maxBytes = options.maxBytes ?? 0;
    this.#rotateAtBytes = this.#maxBytes;
  }

  /** `line` without its end. */
  write(line: string): void {
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#heldBytes + bytes > this.#limitBytes) {
      this.#lost++;
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += bytes;
    this.#heldBytes += bytes;
    if (this.#writing !== undefined) return;
    if (this.#waitingBytes >= BATCH_BYTES) this.#start();
    else if (!this.#timer) {
      this.#timer = setTimeout(() => this.#start(), this.#delayMs);
      this.#timer.unref();
    }
  }

  async close(): Promise<void> {
    this.#start();
    await this.#writing;
    this.#tellOfLost();
    await this.#sink?.close();
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#writing === undefined && this.#waiting.length > 0) this.#writing = this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const lines = this.#waiting;
      const bytes = this.#waitingBytes;
      this.#waiting = [];
      this.#waitingBytes = 0;
      try {
        await (await this.#currentSink()).append(`${lines.join('\n')}\n`);
      } catch (err) {
        this.#lost += lines.length;
        this.#whyLost = (err as Error).message;
      }
      if (performance.now() - this.#toldAtMs >= TELL_EVERY_MS) this.#tellOfLost();
      await this.#rotate();
      this.#heldBytes -= bytes;
    }
    this.#writing = undefined;
  }

  /** The one in use, unless the file at its path is another by now, or none. */
  async #currentSink(): Promise<LineSink> {
    const sink = this.#sink;
    if (sink && (await sink.isCurrent())) return sink;
    this.#sink = undefined;
    await sink?.close();
    this.#sink = await this.#open();
    return this.#sink;
  }

  async #rotate(): Promise<void> {
    if (this.#maxBytes === 0 || !this.#sink || this.#sink.sizeBytes < this.#rotateAtBytes) return;
    try {
      await this.#sink.setAside();
      this.#rotateAtBytes = this.#maxBytes;
    } catch (err) {
      this.#rotateAtBytes = this.#sink.sizeBytes + this.#maxBytes;
      this.#log(`Cannot set "${this.#file}" aside, it goes on growing: ${(err as Error).message}`);
    }
  }

  #tellOfLost(): void {
    if (this.#lost === 0) return;
    this.#log(`${this.#lost} lines of "${this.#file}" are lost: ${this.#whyLost}`);
    this.#lost = 0;
    this.#whyLost = TOO_SLOW;
    this.#toldAtMs = performance.now();
  }
}
