/**
 * Reads a request's body whole, up to a limit.
 *
 * Always true: what a body holds in memory is about its length, into however many pieces a client has cut it, and every
 * byte of it is granted by a budget before it is kept.
 *
 * A body that is refused (too long, too many pieces, no budget, too slow) is refused at once, but the rest is still read
 * and thrown away for a while: a client that is cut off in the middle of sending never reads the answer. One that goes
 * on and on is cut off all the same.
 */
import type { Readable } from 'node:stream';
import { badRequest, bodyTooLarge } from '../../../api/errors/status-error.ts';
import { paceReading } from '../../event-loop/intake.ts';

/** How much more than the limit is swallowed before the connection is closed. */
const SWALLOW_BYTES = 16 * 1024 * 1024;
/** Each costs more than its bytes: a body of the longest kind may come 192 at a time. */
const MAX_PIECES = 16 * 1024;
/** Smaller pieces are copied together; a Buffer of its own takes more than they do. */
const SMALL_BYTES = 4 * 1024;
const BLOCK_BYTES = 16 * 1024;

export type BodyOptions = {
  readonly limitBytes: number;
  /** From the header, where there is one. */
  readonly announcedBytes: number | undefined;
  /** Asked before bytes are kept. False: no, and the body is refused with what `refusal` says. */
  readonly grant: (bytes: number) => boolean;
  readonly refusal: () => Error;
  readonly cutOff: () => void;
};

export class BodyReader {
  readonly whole: Promise<Buffer>;
  readonly #options: BodyOptions;
  #parts: Buffer[] = [];
  #block: Buffer | undefined;
  #filled = 0;
  #receivedBytes = 0;
  #pieces = 0;
  #isSettled = false;
  #resolve!: (body: Buffer) => void;
  #reject!: (reason: unknown) => void;

  constructor(source: Readable, options: BodyOptions) {
    this.#options = options;
    this.whole = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const { announcedBytes, limitBytes } = options;
    if (announcedBytes !== undefined && announcedBytes > limitBytes) this.refuse(bodyTooLarge(limitBytes));
    source.on('data', (piece: Buffer) => this.#take(piece));
    paceReading(source);
    source.once('end', () => this.#end());
    source.once('error', (err) => this.refuse(err));
    if (source.readableEnded) this.#end();
  }

  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  /** Whole, refused or given up. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  refuse(reason: unknown): void {
    if (!this.#settle()) return;
    this.#parts = [];
    this.#block = undefined;
    this.#reject(reason);
  }

  #take(piece: Buffer): void {
    const { limitBytes, cutOff } = this.#options;
    this.#receivedBytes += piece.length;
    this.#pieces++;
    if (this.#receivedBytes > limitBytes + SWALLOW_BYTES || this.#pieces > 2 * MAX_PIECES) cutOff();
    else if (this.#receivedBytes > limitBytes) this.refuse(bodyTooLarge(limitBytes));
    else if (this.#pieces > MAX_PIECES)
      this.refuse(badRequest(`the body of the request came in more than ${MAX_PIECES} pieces`));
    else if (!this.#isSettled && !this.#keep(piece)) this.refuse(this.#options.refusal());
  }

  /** False: there is no room for it. */
  #keep(piece: Buffer): boolean {
    if (piece.length >= SMALL_BYTES || (this.#parts.length === 0 && !this.#block)) {
      if (!this.#options.grant(piece.length)) return false;
      this.#closeBlock();
      this.#parts.push(piece);
      return true;
    }
    if (this.#block && this.#filled + piece.length > BLOCK_BYTES) this.#closeBlock();
    if (!this.#block) {
      if (!this.#options.grant(BLOCK_BYTES)) return false;
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    }
    this.#filled += piece.copy(this.#block, this.#filled);
    return true;
  }

  #closeBlock(): void {
    if (!this.#block) return;
    this.#parts.push(this.#block.subarray(0, this.#filled));
    this.#block = undefined;
    this.#filled = 0;
  }

  #end(): void {
    if (!this.#settle()) return;
    this.#closeBlock();
    const parts = this.#parts;
    this.#parts = [];
    this.#resolve(parts.length === 1 ? parts[0]! : Buffer.concat(parts));
  }

  #settle(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    return true;
  }
}

/** Reads and throws away what nobody wants; a client that goes on and on is cut off. */
export function discardBody(source: Readable, cutOff: () => void): void {
  let bytes = 0;
  let pieces = 0;
  source.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > SWALLOW_BYTES || ++pieces > 2 * MAX_PIECES) cutOff();
  });
  paceReading(source);
}
