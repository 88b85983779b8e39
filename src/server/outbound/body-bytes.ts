/**
 * The bytes of one body, of which there may be so many. What comes in one piece stays where it is; of more pieces one buffer
 * is made: of the length that was told, where one was told, so that each byte is copied once; twice as long each time it is
 * full where none was, so that no byte is copied more than twice. Many small pieces take no more room than few long ones.
 */
export class TooLongError extends Error {
  constructor(limitBytes: number) {
    super(`the answer is longer than ${limitBytes} bytes`);
  }
}

const NO_BYTES = Buffer.alloc(0);
const LEAST_ROOM = 4096;

export class BodyBytes {
  readonly #limitBytes: number;
  length = 0;
  #held: Buffer = NO_BYTES;
  #expected = 0;
  #isOwn = false;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get bytes(): Buffer {
    return this.#isOwn ? this.#held.subarray(0, this.length) : this.#held;
  }

  /** So many it will be, or more. */
  expect(length: number): void {
    if (length > this.#limitBytes) throw new TooLongError(this.#limitBytes);
    this.#expected = length;
  }

  add(from: Buffer, start: number, end: number): void {
    const length = this.length + end - start;
    if (length > this.#limitBytes) throw new TooLongError(this.#limitBytes);
    if (this.length === 0) this.#held = from.subarray(start, end);
    else {
      if (!this.#isOwn || length > this.#held.length) this.#grow(length);
      from.copy(this.#held, this.length, start, end);
    }
    this.length = length;
  }

  /** What is not written to yet takes no memory: whoever only says that much will come costs nothing. */
  #grow(length: number): void {
    const room = Math.max(length, this.#expected, this.#isOwn ? 2 * this.#held.length : LEAST_ROOM);
    const wider = Buffer.allocUnsafeSlow(Math.min(room, this.#limitBytes));
    this.#held.copy(wider, 0, 0, this.length);
    this.#held = wider;
    this.#isOwn = true;
  }
}
