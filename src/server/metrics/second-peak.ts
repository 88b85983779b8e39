/**
 * A number that comes and goes, told as kube-apiserver tells it: the highest value that it had at a change during the last
 * whole second. What does not change is forgotten, so one slow request is seen for a second only.
 *
 * Without a timer: a change costs a look at the clock and a comparison, the rest is done when somebody asks.
 */
export class SecondPeak {
  readonly #now: () => number;
  #value = 0;
  /** The last second in which there was a change, what was highest in it, and in the one before. */
  #second = 0;
  #highest = 0;
  #before = 0;

  /** `now` in seconds. */
  constructor(now: () => number = () => performance.now() / 1000) {
    this.#now = now;
  }

  change(by: number): void {
    this.#value += by;
    const second = Math.floor(this.#now());
    if (second !== this.#second) {
      this.#before = second === this.#second + 1 ? this.#highest : 0;
      this.#second = second;
      this.#highest = this.#value;
    } else if (this.#value > this.#highest) this.#highest = this.#value;
  }

  get lastSecond(): number {
    const second = Math.floor(this.#now());
    if (second === this.#second) return this.#before;
    return second === this.#second + 1 ? this.#highest : 0;
  }
}
