/**
 * Buffers to put writes together in, used again and again: fresh memory for each would cost more than the copy.
 *
 * Always true: a buffer is lent to one write, until that says it is done; what does not fit, or finds all of them lent,
 * gets a buffer of its own. One that never comes back, as of a write that waited behind others on a connection that broke, is
 * forgotten and collected, and then another is made in its place.
 */

/** Measured: in writes of this size a long body costs a quarter less than in writes of 256 KB. */
const LONG_BYTES = 1024 * 1024;
/** While many write at once, what waits for all of them together counts more. */
const SHORT_BYTES = 128 * 1024;
const SCRATCH_BYTES = LONG_BYTES + 64 * 1024;
const KEPT = 4;

export class Scratch {
  /** Of each buffer. */
  readonly #bytes: number;
  readonly #kept: number;
  readonly #free: Buffer[] = [];
  #made = 0;
  readonly #lost = new FinalizationRegistry<void>(() => {
    this.#made--;
  });

  constructor(bytes: number = SCRATCH_BYTES, kept: number = KEPT) {
    this.#bytes = bytes;
    this.#kept = kept;
  }

  /** How much is best written at once, now. */
  get stretchBytes(): number {
    return this.#free.length > 0 || this.#made < this.#kept ? LONG_BYTES : SHORT_BYTES;
  }

  /** At least `bytes` long. */
  take(bytes: number): Buffer {
    const free = bytes <= this.#bytes ? this.#free.pop() : undefined;
    if (free) return free;
    // Never as long as those that are kept, by which these are known.
    if (bytes > this.#bytes || this.#made === this.#kept)
      return Buffer.allocUnsafeSlow(bytes === this.#bytes ? bytes + 1 : bytes);
    this.#made++;
    const made = Buffer.allocUnsafeSlow(this.#bytes);
    this.#lost.register(made, undefined);
    return made;
  }

  giveBack(buffer: Buffer): void {
    if (buffer.length === this.#bytes) this.#free.push(buffer);
  }
}
