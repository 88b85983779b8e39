/** A SeatTimer that a test turns by hand. */
import type { SeatTimer } from './seat-timer.ts';

type Due = { readonly at: number; readonly act: () => void };

export class HandTimer implements SeatTimer {
  #now = 0;
  #due: Due[] = [];

  now(): number {
    return this.#now;
  }

  after(seconds: number, act: () => void): () => void {
    const entry = { at: this.#now + seconds, act };
    this.#due.push(entry);
    return () => {
      this.#due = this.#due.filter((other) => other !== entry);
    };
  }

  /** How many things are still to be done. */
  get pending(): number {
    return this.#due.length;
  }

  /** Does everything that falls due, in order of its time. */
  advance(seconds: number): void {
    const end = this.#now + seconds;
    for (;;) {
      let next: Due | undefined;
      for (const entry of this.#due) if (entry.at <= end && (!next || entry.at < next.at)) next = entry;
      if (!next) break;
      this.#due.splice(this.#due.indexOf(next), 1);
      this.#now = Math.max(this.#now, next.at);
      next.act();
    }
    this.#now = end;
  }
}
