/**
 * How often one client may ask: a bucket of `burst` requests that fills up by `perSecond`.
 *
 * Off unless it is asked for. Servers have been fair to their clients by themselves for years (API Priority and
 * Fairness: 429 and Retry-After, which the transport waits for), and a limit that nobody knows of makes a program slow
 * where nobody looks. It is for servers without that, and for programs that shall stay small guests.
 *
 * What is always true: within any time no more than `burst` and what was gained in it are sent, but for urgent requests.
 * Those never wait, so that a lease is renewed however much is in line, and are paid for by whoever comes after them.
 * Requests wait in the order they came; one whose signal fires gives its turn back. What waits is not bounded here:
 * whoever asks waits for the answer.
 */
import type { Clock } from '../../api/index.ts';

export type RateLimit = {
  /** Requests in the long run; a watch counts once, when it opens. */
  readonly perSecond: number;
  /** How many may be sent at once after a quiet time: 1 and up. */
  readonly burst: number;
};

type Turn = {
  readonly signal: AbortSignal;
  readonly isUrgent: boolean | undefined;
  /** Told before it waits. */
  readonly onWait: (waitMs: number) => void;
};

export class RateLimiter {
  readonly #limit: RateLimit;
  readonly #clock: Clock;
  /** Below 0: so many have a turn that is still to come. */
  #tokens: number;
  #countedAt: number;

  constructor(limit: RateLimit, clock: Clock) {
    const { perSecond, burst } = limit;
    if (!(perSecond > 0 && burst >= 1))
      throw new RangeError(`Cannot limit requests to ${perSecond} a second, ${burst} at once: there would be none`);
    this.#limit = limit;
    this.#clock = clock;
    this.#tokens = burst;
    this.#countedAt = clock.now();
  }

  /** Resolves when it is this one's turn; rejects with the reason of its signal. */
  async take({ signal, isUrgent, onWait }: Turn): Promise<void> {
    const { perSecond, burst } = this.#limit;
    const now = this.#clock.now();
    const gained = ((now - this.#countedAt) / 1000) * perSecond;
    this.#countedAt = now;
    this.#tokens = Math.min(burst, this.#tokens + gained) - 1;
    if (this.#tokens >= 0) return;
    const waitMs = Math.ceil((-this.#tokens / perSecond) * 1000);
    onWait(waitMs);
    try {
      await this.#clock.sleep(waitMs, signal);
    } catch (error) {
      this.#tokens++;
      throw error;
    }
  }
}
