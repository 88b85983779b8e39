/**
 * The recent changes of one resource, in a ring: what a watch that was away for a while is caught up from, without
 * asking the store.
 *
 * Always true: events are in order of revision; the window holds every change above `since`, none at or below it.
 * It keeps what is younger than the freshness limit, within bounds of count and bytes; it shrinks by itself when asked
 * to (`trim`), so a burst does not stay in memory for ever.
 */
import type { ObjectEvent } from '../objects/object-event.ts';

export type WatchCacheLimits = {
  /** As long as an event is younger than this it is kept, if the bounds allow. */
  readonly freshMs: number;
  readonly minEvents: number;
  readonly maxEvents: number;
  readonly maxBytes: number;
};

export const defaultWatchCacheLimits: WatchCacheLimits = {
  freshMs: 75_000,
  minEvents: 100,
  maxEvents: 102_400,
  maxBytes: 64 * 1024 * 1024,
};

export class WatchCache {
  readonly #limits: WatchCacheLimits;
  /** Undefined: let go. */
  #events: (ObjectEvent | undefined)[] = [];
  #start = 0;
  #bytes = 0;
  /** Everything above it is here. */
  since: number;
  /** How many events there is room for without asking for more: it doubles when they do not fit. */
  capacity: number;
  growths = 0;

  constructor(since: number, limits: WatchCacheLimits = defaultWatchCacheLimits) {
    this.since = since;
    this.#limits = limits;
    this.capacity = limits.minEvents;
  }

  get size(): number {
    return this.#events.length - this.#start;
  }

  push(event: ObjectEvent): void {
    this.#events.push(event);
    this.#bytes += event.bytes;
    if (this.size > this.capacity) {
      this.capacity *= 2;
      this.growths++;
    }
    while (this.size > this.#limits.maxEvents || (this.#bytes > this.#limits.maxBytes && this.size > 1)) this.#drop();
  }

  /** Lets go of what is old; events of one revision go together. */
  trim(now: number): void {
    while (this.size > this.#limits.minEvents && now - this.#events[this.#start]!.at > this.#limits.freshMs)
      this.#drop();
    while (this.capacity > this.#limits.minEvents && this.size <= this.capacity / 4) this.capacity /= 2;
  }

  clear(since: number): void {
    this.#events = [];
    this.#start = 0;
    this.#bytes = 0;
    this.since = since;
  }

  /** How many events are above `revision`, and when the first of them came. */
  ahead(revision: number): { readonly events: number; readonly first: number | undefined } {
    const at = this.#firstAbove(revision);
    return { events: this.#events.length - at, first: this.#events[at]?.at };
  }

  /** How many events have come since a moment. */
  countSince(time: number): number {
    let count = 0;
    for (let at = this.#events.length - 1; at >= this.#start && this.#events[at]!.at >= time; at--) count++;
    return count;
  }

  /** When the first and the last of its events came. */
  get times(): { readonly first: number; readonly last: number } | undefined {
    if (this.size === 0) return undefined;
    return { first: this.#events[this.#start]!.at, last: this.#events[this.#events.length - 1]!.at };
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Events above `revision`, at most `limit`, but never part of a revision; `since` must not be above it. */
  after(revision: number, limit: number = Number.POSITIVE_INFINITY): ObjectEvent[] {
    const low = this.#firstAbove(revision);
    if (this.#events.length - low <= limit) return this.#events.slice(low) as ObjectEvent[];
    let end = low + limit;
    while (end < this.#events.length && this.#events[end]!.revision === this.#events[end - 1]!.revision) end++;
    return this.#events.slice(low, end) as ObjectEvent[];
  }

  #firstAbove(revision: number): number {
    let low = this.#start;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#events[middle]!.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #drop(): void {
    const { revision } = this.#events[this.#start]!;
    do {
      this.#bytes -= this.#events[this.#start]!.bytes;
      this.#events[this.#start] = undefined;
      this.#start++;
    } while (this.#events[this.#start]?.revision === revision);
    this.since = revision;
    if (this.#start > 1024 && this.#start * 2 > this.#events.length) {
      this.#events = this.#events.slice(this.#start);
      this.#start = 0;
    }
  }
}
