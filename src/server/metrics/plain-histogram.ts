/**
 * A histogram in plain numbers, for what is counted with every request: an observation is an addition or two.
 *
 * Observations may have a weight. `TimedRatio` uses it for values that last: each nanosecond of a value is one
 * observation of it.
 */
import type { Sample } from './metrics.ts';

export class PlainHistogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;
  #count = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  observe(value: number, weight = 1): void {
    this.#sum += value * weight;
    this.#count += weight;
    for (let i = 0; i < this.#bounds.length; i++)
      if (value <= this.#bounds[i]!) {
        this.#counts[i]! += weight;
        return;
      }
  }

  *samples(labels: Sample['labels']): Generator<Sample, void, void> {
    let upTo = 0;
    for (const [i, bound] of this.#bounds.entries()) {
      upTo += this.#counts[i]!;
      yield { labels: { ...labels, le: bound }, value: upTo, suffix: '_bucket' };
    }
    yield { labels: { ...labels, le: '+Inf' }, value: this.#count, suffix: '_bucket' };
    yield { labels, value: this.#sum, suffix: '_sum' };
    yield { labels, value: this.#count, suffix: '_count' };
  }
}

const NANOSECONDS = 1e9;

/** A value over what it could be, for as long as it lasts. */
export class TimedRatio {
  readonly #histogram: PlainHistogram;
  readonly #now: () => number;
  #since: number;
  #value = 0;
  #whole: number;

  /** `now` in seconds. */
  constructor(bounds: readonly number[], whole: number, now: () => number) {
    this.#histogram = new PlainHistogram(bounds);
    this.#now = now;
    this.#since = now();
    this.#whole = whole;
  }

  /** `now`: at hand for whoever has just looked at the clock. */
  set(value: number, whole: number = this.#whole, now: number = this.#now()): void {
    if (value === this.#value && whole === this.#whole) return;
    this.#last(now);
    this.#value = value;
    this.#whole = whole;
  }

  samples(labels: Sample['labels']): Iterable<Sample> {
    this.#last(this.#now());
    return this.#histogram.samples(labels);
  }

  #last(now: number): void {
    if (now <= this.#since) return;
    this.#histogram.observe(this.#value / this.#whole, (now - this.#since) * NANOSECONDS);
    this.#since = now;
  }
}
