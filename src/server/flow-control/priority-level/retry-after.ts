/**
 * How long those who are rejected should stay away: longer while many are rejected, shorter again when few are.
 *
 * Always true: between 1 and 32 seconds; decided once per second, from the drops of whole seconds before it. Without
 * drops nothing changes: nobody would hear of it.
 */
export class RetryAfter {
  seconds = 1;
  #second = Number.NEGATIVE_INFINITY;
  #raisedAt = Number.NEGATIVE_INFINITY;
  readonly #drops: { readonly second: number; count: number }[] = [];

  /** One more is rejected in this second (of the wall clock); says for how long. */
  drop(second: number): number {
    if (second > this.#second) {
      this.#decide(second);
      this.#second = second;
      this.#drops.push({ second, count: 0 });
    }
    this.#drops[this.#drops.length - 1]!.count++;
    return this.seconds;
  }

  #decide(now: number): void {
    const v = this.seconds;
    let count = 0;
    for (const drop of this.#drops) if (drop.second >= now - v) count += drop.count;
    if (now - this.#raisedAt >= v && count >= 3 * v) {
      this.seconds = Math.min(LONGEST, 2 * v);
      this.#raisedAt = now;
    } else if (count < v && v > 1) this.seconds = v - 1;
    const kept = Math.min(2 * this.seconds, LONGEST);
    while (this.#drops.length > 0 && this.#drops[0]!.second < now - kept) this.#drops.shift();
  }
}

const LONGEST = 32;
