/**
 * The recent changes of one resource: what a watch that was away for a while is caught up from, without asking the
 * store.
 *
 * Always true: events are in order of revision; the window holds every change above `since`, none at or below it.
 * It keeps what is younger than the freshness limit, within bounds of count and bytes; it shrinks by itself when asked
 * to (`trim`), so a burst does not stay in memory for ever.
 */
import type { CachedObject } from '../stored-object.ts';

export type WindowLimits = {
  /** As long as an event is younger than this it is kept, if the bounds allow. */
  readonly freshMs: number;
  readonly minEvents: number;
  readonly maxEvents: number;
  readonly maxBytes: number;
};

export const defaultWindowLimits: WindowLimits = {
  freshMs: 75_000,
  minEvents: 100,
  maxEvents: 102_400,
  maxBytes: 64 * 1024 * 1024,
};

export class CacheEvent {
  readonly revision: number;
  readonly current: CachedObject | undefined;
  readonly previous: CachedObject | undefined;
  /** When it came, by the cache's clock. */
  readonly at: number;
  /** What is sent for it, by encoding and type of event: made once, shared by all. */
  readonly frames: Map<string, Buffer> = new Map();
  #gone: CachedObject | undefined;

  constructor(revision: number, current: CachedObject | undefined, previous: CachedObject | undefined, at: number) {
    this.revision = revision;
    this.current = current;
    this.previous = previous;
    this.at = at;
  }

  get object(): CachedObject {
    return this.current ?? this.previous!;
  }

  /** What a reader is shown that no longer sees the object: how it was, with the version of this change. */
  get gone(): CachedObject {
    this.#gone ??= this.previous!.withRevision(this.revision);
    return this.#gone;
  }

  /** What it keeps alive that nothing else would: of a deletion that is the object as it was. */
  get bytes(): number {
    return this.object.bytes.length + 200;
  }
}

export class EventWindow {
  readonly #limits: WindowLimits;
  /** Undefined: let go. */
  #events: (CacheEvent | undefined)[] = [];
  #start = 0;
  #bytes = 0;
  /** Everything above it is here. */
  since: number;
  /** How many events there is room for without asking for more: it doubles when they do not fit. */
  capacity: number;
  growths = 0;

  constructor(since: number, limits: WindowLimits = defaultWindowLimits) {
    this.since = since;
    this.#limits = limits;
    this.capacity = limits.minEvents;
  }

  get size(): number {
    return this.#events.length - this.#start;
  }

  push(event: CacheEvent): void {
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

  /** Events above `revision`, at most `limit`, but never part of a revision; `since` must not be above it. */
  after(revision: number, limit: number = Number.POSITIVE_INFINITY): CacheEvent[] {
    let low = this.#start;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#events[middle]!.revision <= revision) low = middle + 1;
      else high = middle;
    }
    if (this.#events.length - low <= limit) return this.#events.slice(low) as CacheEvent[];
    let end = low + limit;
    while (end < this.#events.length && this.#events[end]!.revision === this.#events[end - 1]!.revision) end++;
    return this.#events.slice(low, end) as CacheEvent[];
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
