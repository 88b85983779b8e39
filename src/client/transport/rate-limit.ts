/**
 * How often one client may ask: a bucket of `burst` requests that fills up by `perSecond`.
 *
 * Off unless it is asked for. Servers have been fair to their clients by themselves for years (API Priority and
 * Fairness: 429 and Retry-After, which the transport waits for), and a limit that nobody knows of makes a program slow
 * where nobody looks. It is for servers without that, and for programs that shall stay small guests.
 *
 * What is always true: within any time no more than `burst` and what was gained in it are sent, but for urgent
 * requests. Those never wait, so that a lease is renewed however much is in line, and are paid for by whoever comes
 * after them. Requests wait in the order they came; one whose signal fires gives its turn back. What waits is not
 * bounded here: whoever asks waits for the answer.
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
  /** Called before it waits. */
  readonly onWait: (waitMs: number) => void;
};

/** Tokens are gained in fractions: what is this near to one is one. */
const ONE = 1 - 1e-6;

export class RateLimiter {
  readonly #limit: RateLimit;
  readonly #clock: Clock;
  /** Those who wait, in their order; each is called when it is its turn. */
  readonly #line = new Set<() => void>();
  /** Below 0 after urgent requests. */
  #tokens: number;
  #countedAt: number;
  /** Ends the wait for the next token. There is one while somebody is in line. */
  #timer: AbortController | undefined;

  constructor(limit: RateLimit, clock: Clock) {
    const { perSecond, burst } = limit;
    if (!(perSecond > 0 && Number.isFinite(perSecond) && burst >= 1))
      throw new RangeError(`Cannot limit requests to ${perSecond} a second, ${burst} at once: that is no limit`);
    this.#limit = limit;
    this.#clock = clock;
    this.#tokens = burst;
    this.#countedAt = clock.now();
  }

  /** Resolves when it is this one's turn; rejects with the reason of its signal. */
  async take({ signal, isUrgent, onWait }: Turn): Promise<void> {
    signal.throwIfAborted();
    this.#count();
    if (isUrgent || (this.#line.size === 0 && this.#tokens >= ONE)) {
      this.#tokens--;
      return;
    }
    onWait(this.#msUntil(this.#line.size + 1));
    await new Promise<void>((resolve, reject) => {
      const go = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        this.#line.delete(go);
        if (this.#line.size === 0) this.#timer?.abort();
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#line.add(go);
      if (this.#line.size === 1) void this.#serve();
    });
  }

  /** Until nobody is in line. */
  async #serve(): Promise<void> {
    const timer = new AbortController();
    this.#timer = timer;
    while (!timer.signal.aborted) {
      await this.#clock.sleep(this.#msUntil(1), timer.signal).catch(() => {}); // whoever was in line has left
      this.#count();
      for (const go of this.#line) {
        if (this.#tokens < ONE || timer.signal.aborted) break;
        this.#tokens--;
        this.#line.delete(go);
        go();
      }
      if (this.#line.size === 0) timer.abort();
    }
  }

  #count(): void {
    const { perSecond, burst } = this.#limit;
    const now = this.#clock.now();
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#countedAt) / 1000) * perSecond);
    this.#countedAt = now;
  }

  #msUntil(tokens: number): number {
    return Math.max(0, Math.ceil(((tokens - this.#tokens) / this.#limit.perSecond) * 1000));
  }
}
