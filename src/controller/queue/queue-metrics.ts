/**
 * What a queue counts, under the names that dashboards already ask for.
 *
 * Counting is cheap and always on: two histograms of fixed buckets and two counters. `snapshot` is a plain object of
 * numbers, read when somebody looks; callbacks are for those who keep histograms of their own. They run in the middle
 * of the queue's work, so one that throws is a process warning, the first time, and loses nothing but its number.
 */
import { tellSafely } from '../../api/index.ts';

/** All optional; seconds, as the names of the metrics say. */
export type QueueObserver = {
  readonly onAdd?: (() => void) | undefined;
  readonly onDepth?: ((depth: number) => void) | undefined;
  readonly onQueueDuration?: ((seconds: number) => void) | undefined;
  readonly onWorkDuration?: ((seconds: number) => void) | undefined;
  readonly onRetry?: (() => void) | undefined;
};

export type HistogramSnapshot = {
  readonly count: number;
  readonly sum: number;
  /** Upper bound, and how many were at or below it. */
  readonly buckets: readonly (readonly [upperBound: number, count: number])[];
};

export type QueueMetricsSnapshot = {
  readonly workqueue_depth: number;
  readonly workqueue_adds_total: number;
  readonly workqueue_retries_total: number;
  readonly workqueue_queue_duration_seconds: HistogramSnapshot;
  readonly workqueue_work_duration_seconds: HistogramSnapshot;
  /** How long the keys in flight have been worked on, together. */
  readonly workqueue_unfinished_work_seconds: number;
  readonly workqueue_longest_running_processor_seconds: number;
  readonly workqueue_delayed: number;
  readonly workqueue_in_flight: number;
};

/** Ten nanoseconds to a thousand seconds, as in the Go client. */
const BOUNDS: readonly number[] = Array.from({ length: 12 }, (_, power) => Number(`1e${power - 8}`));

export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  constructor(bounds: readonly number[] = BOUNDS) {
    this.#bounds = bounds;
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    this.#sum += value;
    let bucket = 0;
    while (bucket < this.#bounds.length && value > this.#bounds[bucket]!) bucket++;
    this.#counts[bucket]!++;
  }

  snapshot(): HistogramSnapshot {
    let count = 0;
    const buckets = this.#bounds.map((bound, bucket) => {
      count += this.#counts[bucket]!;
      return [bound, count] as const;
    });
    return { count: count + this.#counts[this.#bounds.length]!, sum: this.#sum, buckets };
  }
}

export class QueueMetrics {
  readonly #observer: QueueObserver | undefined;
  readonly #queueDuration = new Histogram();
  readonly #workDuration = new Histogram();
  #adds = 0;
  #retries = 0;
  #hasWarned = false;

  constructor(observer?: QueueObserver) {
    this.#observer = observer;
  }

  added(depth: number): void {
    this.#adds++;
    if (this.#observer === undefined) return;
    this.#tell(({ onAdd }) => onAdd?.());
    this.#tell(({ onDepth }) => onDepth?.(depth));
  }

  taken(waitedMs: number, depth: number): void {
    this.#queueDuration.observe(waitedMs / 1000);
    if (this.#observer === undefined) return;
    this.#tell(({ onQueueDuration }) => onQueueDuration?.(waitedMs / 1000));
    this.#tell(({ onDepth }) => onDepth?.(depth));
  }

  worked(workedMs: number): void {
    this.#workDuration.observe(workedMs / 1000);
    if (this.#observer === undefined) return;
    this.#tell(({ onWorkDuration }) => onWorkDuration?.(workedMs / 1000));
  }

  retried(): void {
    this.#retries++;
    this.#tell(({ onRetry }) => onRetry?.());
  }

  snapshot(now: number, depth: number, delayed: number, startedAt: Iterable<number>): QueueMetricsSnapshot {
    let unfinishedMs = 0;
    let longestMs = 0;
    let inFlight = 0;
    for (const at of startedAt) {
      unfinishedMs += now - at;
      longestMs = Math.max(longestMs, now - at);
      inFlight++;
    }
    return {
      workqueue_depth: depth,
      workqueue_adds_total: this.#adds,
      workqueue_retries_total: this.#retries,
      workqueue_queue_duration_seconds: this.#queueDuration.snapshot(),
      workqueue_work_duration_seconds: this.#workDuration.snapshot(),
      workqueue_unfinished_work_seconds: unfinishedMs / 1000,
      workqueue_longest_running_processor_seconds: longestMs / 1000,
      workqueue_delayed: delayed,
      workqueue_in_flight: inFlight,
    };
  }
  #tell(tell: (observer: QueueObserver) => unknown): void {
    tellSafely(
      () => this.#observer && tell(this.#observer),
      (error) => {
        if (this.#hasWarned) return; // what throws at one key throws at the next ten thousand
        this.#hasWarned = true;
        process.emitWarning(error instanceof Error ? error : String(error), { type: 'ObserverWarning' });
      },
    );
  }
}
