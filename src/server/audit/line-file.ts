/**
 * A file that only grows, a line at a time: what many write in a moment goes out in one write.
 *
 * Always true: a writer never waits, and never more than `limitBytes` wait for the disk; lines beyond that are lost,
 * counted, and told of once the disk is back. A write that fails loses its lines in the same way and is not the end:
 * the next is tried. `close` writes all that waits.
 */
import { type FileHandle, open } from 'node:fs/promises';

export type LineFileOptions = {
  readonly limitBytes?: number;
  readonly delayMs?: number;
  readonly log: (line: string) => void;
};

const LIMIT_BYTES = 16 * 1024 * 1024;
const DELAY_MS = 100;
const BATCH_BYTES = 256 * 1024;

export async function openLineFile(file: string, options: LineFileOptions): Promise<LineFile> {
  try {
    return new LineFile(file, await open(file, 'a', 0o600), options);
  } catch (err) {
    const { code, message } = err as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'its directory does not exist' : message;
    throw new Error(`Cannot write to "${file}": ${why}`, { cause: err });
  }
}

export class LineFile {
  readonly #file: string;
  readonly #handle: Pick<FileHandle, 'appendFile' | 'close'>;
  readonly #log: (line: string) => void;
  readonly #limitBytes: number;
  readonly #delayMs: number;
  #waiting: string[] = [];
  #waitingBytes = 0;
  /** Waiting and being written. */
  #heldBytes = 0;
  #lost = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;

  constructor(
    file: string,
    handle: Pick<FileHandle, 'appendFile' | 'close'>,
    { limitBytes = LIMIT_BYTES, delayMs = DELAY_MS, log }: LineFileOptions,
  ) {
    this.#file = file;
    this.#handle = handle;
    this.#log = log;
    this.#limitBytes = limitBytes;
    this.#delayMs = delayMs;
  }

  /** `line` without its end. */
  write(line: string): void {
    if (this.#heldBytes + line.length > this.#limitBytes) {
      this.#lost++;
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += line.length + 1;
    this.#heldBytes += line.length + 1;
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
    await this.#handle.close();
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
        await this.#handle.appendFile(`${lines.join('\n')}\n`);
        this.#tellOfLost('the disk is too slow');
      } catch (err) {
        this.#lost += lines.length;
        this.#tellOfLost((err as Error).message);
      }
      this.#heldBytes -= bytes;
    }
    this.#writing = undefined;
  }

  #tellOfLost(why: string): void {
    if (this.#lost === 0) return;
    this.#log(`${this.#lost} lines of "${this.#file}" are lost: ${why}`);
    this.#lost = 0;
  }
}
