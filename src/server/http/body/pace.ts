/**
 * How fast a client must send or read: so many bytes within every stretch of time. One that does not keep it up has
 * no more use for what is held for its sake.
 *
 * Looked at once a second for all requests together; one that is done within a second is never looked at.
 */
export type PaceRule = {
  /** At least so many, in each stretch. */
  readonly bytes: number;
  readonly stretchMs: number;
};

export class Pace {
  #sinceMs: number;
  #bytes: number;

  /** The first stretch begins now. */
  constructor(nowMs: number, bytes: number) {
    this.#sinceMs = nowMs;
    this.#bytes = bytes;
  }

  /** `bytes`: all that have moved so far. */
  isKept(nowMs: number, bytes: number, rule: PaceRule): boolean {
    if (bytes - this.#bytes >= rule.bytes) {
      this.#sinceMs = nowMs;
      this.#bytes = bytes;
      return true;
    }
    return nowMs - this.#sinceMs < rule.stretchMs;
  }
}
