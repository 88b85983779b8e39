/**
 * Who sleeps by a clock that is turned by hand, in the order in which they are due; those of one moment in the order in
 * which they went to sleep. The clocks differ in when they wake them, and in nothing else.
 *
 * Always true: a sleep ends once, by being woken or by its signal, and leaves no listener behind on that.
 */
export type Sleeper = {
  readonly at: number;
  /** How many went to sleep before it. */
  readonly order: number;
  /** Once it was taken. */
  readonly wake: () => void;
};

export class Sleepers {
  readonly #waiting: Sleeper[] = [];
  #order = 0;

  get size(): number {
    return this.#waiting.length;
  }

  /** The one that is due first, if anybody sleeps. */
  get first(): Sleeper | undefined {
    return this.#waiting[0];
  }

  sleepUntil(at: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const sleeper: Sleeper = {
        at,
        order: this.#order++,
        wake: () => {
          signal?.removeEventListener('abort', stop);
          resolve();
        },
      };
      const stop = () => {
        const index = this.#waiting.indexOf(sleeper);
        if (index >= 0) this.#waiting.splice(index, 1);
        reject(signal?.reason);
      };
      this.#insert(sleeper);
      signal?.addEventListener('abort', stop, { once: true });
    });
  }

  /** Takes the first one, for whom it is to wake it. */
  take(): Sleeper | undefined {
    return this.#waiting.shift();
  }

  /** Wakes all who are due by then, and nobody who goes to sleep meanwhile. */
  wakeDue(now: number): void {
    const later = this.#waiting.findIndex(({ at }) => at > now);
    for (const sleeper of this.#waiting.splice(0, later < 0 ? this.#waiting.length : later)) sleeper.wake();
  }

  #insert(sleeper: Sleeper): void {
    let [low, high] = [0, this.#waiting.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#waiting[middle]!.at <= sleeper.at) low = middle + 1;
      else high = middle;
    }
    this.#waiting.splice(low, 0, sleeper);
  }
}

/** As timers do: a fraction could be too small to move time at all. */
export function dueAfter(now: number, ms: number): number {
  return now + Math.max(1, Math.ceil(ms));
}
