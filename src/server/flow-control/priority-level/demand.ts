/**
 * How many seats a level is asked for over time: average, spread and peak since the last look, weighted by how long each
 * lasted, and a smoothed value that rises at once and falls slowly.
 *
 * Always true: between two looks every moment counts exactly once; the peak begins with what there is at the look.
 */
export class Demand {
  readonly #now: () => number;
  #value = 0;
  #since: number;
  #lookedAt: number;
  #sum = 0;
  #sumOfSquares = 0;
  #peak = 0;
  smoothed = 0;

  /** In seconds. */
  constructor(now: () => number) {
    this.#now = now;
    this.#since = now();
    this.#lookedAt = this.#since;
  }

  /** `now`: at hand for whoever has just looked at the clock. */
  set(value: number, now: number = this.#now()): void {
    if (value === this.#value) return;
    this.#count(now);
    this.#value = value;
    if (value > this.#peak) this.#peak = value;
  }

  /** What there was since the last look; the next begins now. */
  look(): { readonly average: number; readonly deviation: number; readonly highWatermark: number } {
    this.#count(this.#now());
    const seconds = this.#since - this.#lookedAt;
    const highWatermark = Math.round(this.#peak);
    let [average, deviation] = [this.#value, 0];
    if (seconds > 0) {
      average = this.#sum / seconds;
      deviation = Math.sqrt(Math.max(0, this.#sumOfSquares / seconds - average * average));
      const envelope = average + deviation;
      this.smoothed = Math.max(envelope, KEPT * this.smoothed + (1 - KEPT) * envelope);
    }
    this.#lookedAt = this.#since;
    this.#sum = 0;
    this.#sumOfSquares = 0;
    this.#peak = this.#value;
    return { average, deviation, highWatermark };
  }

  #count(now: number): void {
    const seconds = Math.max(0, now - this.#since);
    this.#sum += seconds * this.#value;
    this.#sumOfSquares += seconds * this.#value * this.#value;
    this.#since += seconds;
  }
}

/** With a look every ten seconds, half of it is gone after five minutes. */
const KEPT = 0.977;
