/**
 * How long to wait before the next attempt: exponential, with full jitter, so that clients that lost the same server do
 * not come back to it together. Time in good health takes it back to the start.
 */
export type BackoffOptions = {
  /** 800 */
  readonly minMs?: number | undefined;
  /** 30 000 */
  readonly maxMs?: number | undefined;
  /** In [0, 1). */
  readonly random?: (() => number) | undefined;
};

export class Backoff {
  readonly #minMs: number;
  readonly #maxMs: number;
  readonly #random: () => number;
  #failures = 0;

  constructor({ minMs = 800, maxMs = 30_000, random = Math.random }: BackoffOptions = {}) {
    this.#minMs = minMs;
    this.#maxMs = maxMs;
    this.#random = random;
  }

  get failures(): number {
    return this.#failures;
  }

  /** The pause after one more failure. */
  next(): number {
    const ceiling = Math.min(this.#minMs * 2 ** this.#failures, this.#maxMs);
    this.#failures++;
    return this.#random() * ceiling;
  }

  reset(): void {
    this.#failures = 0;
  }
}
