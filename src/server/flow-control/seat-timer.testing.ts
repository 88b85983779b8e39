/** A SeatTimer that a test turns by hand, and dice that a seed repeats. */
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

/** Numbers from 0 up to 1. */
export function dice(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
