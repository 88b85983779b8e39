/**
 * How many events one object may have: a bucket of `burst` that fills up slowly, for each object by itself.
 *
 * The numbers are those of the Go client. An object in a failing loop gets about 25 events and then once in five
 * minutes; a thousand objects that fail once each get one each.
 */
import type { Clock } from '../../api/index.ts';
import { RecentMap } from './recent-map.ts';

export type EventBudgetOptions = {
  readonly burst: number;
  /** The time in which one more is gained. */
  readonly refillMs: number;
};

export const DEFAULT_BUDGET: EventBudgetOptions = { burst: 25, refillMs: 300_000 };

type Bucket = { left: number; at: number };

/** Beyond, the one that was quiet the longest starts afresh. */
const SUBJECTS = 4096;

export class EventBudget {
  readonly #options: EventBudgetOptions;
  readonly #clock: Clock;
  readonly #buckets = new RecentMap<string, Bucket>(SUBJECTS);

  constructor(options: EventBudgetOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** False if there is nothing left for this one. */
  take(subject: string): boolean {
    const { burst, refillMs } = this.#options;
    const now = this.#clock.now();
    const bucket = this.#buckets.get(subject) ?? { left: burst, at: now };
    bucket.left = Math.min(burst, bucket.left + (now - bucket.at) / refillMs);
    bucket.at = now;
    this.#buckets.set(subject, bucket);
    if (bucket.left < 1) return false;
    bucket.left--;
    return true;
  }
}
