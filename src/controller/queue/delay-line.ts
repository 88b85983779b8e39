/**
 * What is to come back later: one entry per id, and one timer for all. With `put` it comes at the earliest time anybody
 * asked for, with `move` at the last one that was named.
 *
 * Entries fall due in the order of their time, never early. A timer that comes late (a busy loop) releases all that
 * fell due meanwhile at once. `clear` forgets everything and lets the timer go.
 */
import type { Clock } from '../../api/index.ts';
import { Heap, type Placed } from './heap.ts';

type Delayed<T> = Placed & { readonly id: unknown; readonly item: T; dueAt: number; readonly order: number };

/** Timers of the platform hold 2^31 - 1 ms and fire at once beyond; a later time is waited for in stretches. */
const LONGEST_SLEEP_MS = 24 * 60 * 60 * 1000;

export class DelayLine<T> {
  readonly #clock: Clock;
  readonly #onDue: (item: T) => void;
  readonly #heap = new Heap<Delayed<T>>((a, b) => a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order));
  readonly #byId = new Map<unknown, Delayed<T>>();
  #timer: { readonly wakesAt: number; readonly stop: AbortController } | undefined;
  #count = 0;

  constructor(clock: Clock, onDue: (item: T) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  get size(): number {
    return this.#heap.size;
  }

  get(id: unknown): T | undefined {
    return this.#byId.get(id)?.item;
  }

  /** An id that is there already keeps its item, and the earlier of both times. */
  put(id: unknown, item: T, dueAt: number): void {
    const known = this.#byId.get(id);
    if (known && dueAt >= known.dueAt) return;
    this.move(id, item, dueAt);
  }

  /** An id that is there already keeps its item, and gets the new time, later or earlier. */
  move(id: unknown, item: T, dueAt: number): void {
    const known = this.#byId.get(id);
    if (known) {
      known.dueAt = dueAt;
      this.#heap.moved(known);
    } else {
      const delayed = { id, item, dueAt, order: this.#count++, place: -1 };
      this.#byId.set(id, delayed);
      this.#heap.push(delayed);
    }
    this.#arm();
  }

  /** Takes it out before its time, if it is there. */
  take(id: unknown): T | undefined {
    const known = this.#byId.get(id);
    if (!known) return undefined;
    this.#heap.remove(known);
    this.#byId.delete(id);
    this.#arm();
    return known.item;
  }

  clear(): void {
    this.#heap.clear();
    this.#byId.clear();
    this.#arm();
  }

  #arm(): void {
    const next = this.#heap.peek();
    if (next && this.#timer && this.#timer.wakesAt <= next.dueAt) return; // it will look again then
    this.#timer?.stop.abort('another timer has taken over');
    this.#timer = undefined;
    if (!next) return;
    const now = this.#clock.now();
    const sleepMs = Math.min(LONGEST_SLEEP_MS, Math.max(0, Math.ceil(next.dueAt - now)));
    const timer = { wakesAt: Math.min(next.dueAt, now + sleepMs), stop: new AbortController() };
    this.#timer = timer;
    void this.#clock.sleep(sleepMs, timer.stop.signal).then(
      () => this.#wake(timer),
      () => {}, // let go: another timer has taken over, or nothing waits
    );
  }

  #wake(timer: object): void {
    if (this.#timer !== timer) return;
    this.#timer = undefined;
    try {
      for (;;) {
        const next = this.#heap.peek();
        if (!next || next.dueAt > this.#clock.now()) break;
        this.#heap.pop();
        this.#byId.delete(next.id);
        this.#onDue(next.item);
      }
    } finally {
      this.#arm();
    }
  }
}
