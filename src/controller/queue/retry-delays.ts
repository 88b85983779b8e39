/**
 * How long a failed key waits: the longer of its own backoff and of what the bucket for all keys allows.
 *
 * The backoff doubles with each failure of that key. The bucket holds `burst` tokens and gains `perSecond`; whoever
 * finds it empty takes a token from the future and waits for it, but never longer than `maxBucketMs`: it is there to
 * spread a herd, and a short outage that failed every key must not put them off for long after it is over. Failures of
 * at most `limit` keys are remembered: beyond, those that first failed longest ago are forgotten and start over.
 */
import type { Clock } from '../../api/index.ts';

export type RetryOptions = {
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  /** Retries of all keys together; Infinity for no such limit. */
  readonly perSecond: number;
  readonly burst: number;
  /** The longest that the bucket alone puts a key off. */
  readonly maxBucketMs: number;
};

/** The backoff is the one people know from the Go client. Its bucket (10 a second) makes 400 keys wait for 40 s. */
export const DEFAULT_RETRIES: RetryOptions = {
  baseDelayMs: 5,
  maxDelayMs: 1_000_000,
  perSecond: 100,
  burst: 1_000,
  maxBucketMs: 5_000,
};

export class RetryDelays {
  readonly #options: RetryOptions;
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #failures = new Map<unknown, number>();
  #tokens: number;
  #countedAt: number;

  constructor(options: RetryOptions, clock: Clock, limit: number) {
    const { baseDelayMs, maxDelayMs, perSecond, burst, maxBucketMs } = options;
    const isSound = baseDelayMs >= 0 && maxDelayMs >= baseDelayMs && perSecond > 0 && burst >= 1 && maxBucketMs >= 0;
    if (!isSound) throw new RangeError(`Cannot set up retries: ${JSON.stringify(options)}`);
    this.#options = options;
    this.#clock = clock;
    this.#limit = limit;
    this.#tokens = burst;
    this.#countedAt = clock.now();
  }

  failures(id: unknown): number {
    return this.#failures.size === 0 ? 0 : (this.#failures.get(id) ?? 0);
  }

  /** Counts a failure; the delay before the next attempt. */
  next(id: unknown): number {
    const failures = this.failures(id);
    if (failures === 0 && this.#failures.size >= this.#limit) this.#forgetOldest();
    this.#failures.set(id, failures + 1);
    const { baseDelayMs, maxDelayMs } = this.#options;
    const backoffMs = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(failures, 1000)); // 2 ** 1000 is still finite
    return Math.max(backoffMs, this.#takeToken());
  }

  forget(id: unknown): void {
    this.#failures.delete(id);
  }

  #takeToken(): number {
    const { perSecond, burst, maxDelayMs, maxBucketMs } = this.#options;
    if (perSecond === Infinity) return 0;
    const now = this.#clock.now();
    const gained = ((now - this.#countedAt) / 1000) * perSecond;
    this.#countedAt = now;
    const deepest = -(Math.min(maxDelayMs, maxBucketMs) / 1000) * perSecond;
    this.#tokens = Math.max(deepest, Math.min(burst, this.#tokens + gained) - 1);
    return this.#tokens >= 0 ? 0 : (-this.#tokens / perSecond) * 1000;
  }

  /** A tenth at a time: deleting one by one from the front of a large Map is slow. */
  #forgetOldest(): void {
    let left = Math.ceil(this.#limit / 10);
    for (const id of this.#failures.keys()) {
      this.#failures.delete(id);
      if (--left === 0) break;
    }
  }
}
