/**
 * Tells other threads what this one's caches hold: the state, and then everything that happens, by where the bytes lie.
 *
 *   cacher ─► Follower (one for each cache of each other thread) ─► line to its thread
 *
 * Always true: a follower has at most its room under way. One that is further behind is told nothing until it has taken half
 * of that, and then the state as it is by then: it costs no memory while it is slow, and slows nobody. A state goes out in
 * parts, a turn of the loop for each.
 */
import type { Revision, SideLine } from '../../../store/index.ts';
import type { Cacher } from '../cacher/cacher.ts';
import type { CacheFollower } from '../cacher/object-source.ts';
import type { ObjectEvent } from '../objects/object-event.ts';
import type { Slab } from '../objects/slab.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import {
  FEED_ROOM,
  type FeedOrder,
  type FeedReport,
  type Followed,
  type Memory,
  OBJECT_WEIGHT,
} from './feed-messages.ts';

/** Objects in one part of a state. */
const PART_OBJECTS = 512;

/** The cache of just these objects, in just this form. */
export type FindCacher = (what: Followed) => Promise<Cacher | undefined>;

/** Answers another thread on its line until that ends; `find` knows the caches of this one. */
export function serveFeed(line: SideLine, find: FindCacher): void {
  const followers = new Map<number, Follower>();
  const follow = async (id: number, what: Followed) => {
    const follower = new Follower(id, (report) => line.post(report));
    followers.set(id, follower);
    const cacher = await find(what).catch(() => undefined);
    if (followers.get(id) !== follower) return;
    if (cacher) follower.start(cacher);
    else follower.end(true);
  };
  line.listen(
    (message) => {
      const order = message as FeedOrder;
      switch (order.kind) {
        case 'follow':
          void follow(order.id, order.what);
          return;
        case 'took':
          followers.get(order.id)?.took(order.weight);
          return;
        case 'progress':
          followers.get(order.id)?.requestProgress();
          return;
        case 'leave':
          followers.get(order.id)?.leave();
          followers.delete(order.id);
          return;
      }
    },
    () => {
      for (const follower of followers.values()) follower.leave();
      followers.clear();
    },
  );
}

class Follower implements CacheFollower {
  readonly #id: number;
  readonly #send: (report: FeedReport) => void;
  #cacher: Cacher | undefined;
  #detach: (() => void) | undefined;
  #sentWeight = 0;
  /** It has missed something: a new state is due. */
  #isBehind = false;
  /** The state that is being sent; another begins with another number. */
  #state = 0;
  #onRoom: (() => void) | undefined;

  constructor(id: number, send: (report: FeedReport) => void) {
    this.#id = id;
    this.#send = send;
  }

  start(cacher: Cacher): void {
    this.#cacher = cacher;
    this.#detach = cacher.copyTo(this);
    if (cacher.isReady) void this.#sendState();
  }

  /** Tells the other thread that nothing more comes. */
  end(isUnknown: boolean): void {
    this.leave();
    this.#send({ kind: 'ended', id: this.#id, isUnknown });
  }

  leave(): void {
    this.#detach?.();
    this.#cacher = undefined;
    this.#state++;
    this.#onRoom?.();
  }

  requestProgress(): void {
    this.#cacher?.requestProgress();
  }

  took(weight: number): void {
    this.#sentWeight -= weight;
    this.#onRoom?.();
    if (!this.#isBehind || this.#sentWeight > FEED_ROOM / 2) return;
    this.#isBehind = false;
    void this.#sendState();
  }

  replaced(): void {
    if (!this.#isBehind) void this.#sendState();
  }

  closed(): void {
    this.end(false);
  }

  published(events: readonly ObjectEvent[], moved: readonly boolean[], revision: Revision): void {
    if (this.#isBehind || this.#state === 0) return;
    const memories = new Memories();
    const keys: string[] = [];
    const numbers: number[] = [];
    let weight = 0;
    for (const [i, { current, previous, object, revision: changedAt }] of events.entries()) {
      keys.push(object.key);
      numbers.push(changedAt);
      if (current)
        numbers.push(memories.of(current), current.bytes.byteOffset, current.bytes.length, current.versionAt);
      else numbers.push(-1, 0, 0, 0);
      if (previous && moved[i]) numbers.push(memories.of(previous), previous.bytes.byteOffset, previous.bytes.length);
      else numbers.push(-1, 0, 0);
      weight += OBJECT_WEIGHT + object.bytes.length;
    }
    const { answersProgress } = this.#cacher!;
    if (!this.#hasRoomFor(weight)) return;
    this.#send({
      kind: 'batch',
      id: this.#id,
      revision,
      answersProgress,
      weight,
      memories: memories.all,
      keys,
      numbers,
    });
  }

  packed(slab: Slab, objects: readonly StoredObject[]): void {
    if (this.#isBehind || this.#state === 0) return;
    const weight = objects.length * OBJECT_WEIGHT;
    if (!this.#hasRoomFor(weight)) return;
    const keys = objects.map(({ key }) => key);
    const numbers = objects.flatMap(({ revision, bytes }) => [revision, bytes.byteOffset, bytes.length]);
    this.#send({ kind: 'packed', id: this.#id, weight, slab: sharedBytes(slab.bytes), keys, numbers });
  }

  #hasRoomFor(weight: number): boolean {
    if (this.#sentWeight > 0 && this.#sentWeight + weight > FEED_ROOM) {
      this.#isBehind = true;
      this.#state++; // what is left of one makes no sense without what is missed now
      return false;
    }
    this.#sentWeight += weight;
    return true;
  }

  async #sendState(): Promise<void> {
    const cacher = this.#cacher;
    if (!cacher) return;
    const state = ++this.#state;
    const { revision } = cacher;
    const objects = cacher.objects.values();
    for (let at = 0; at === 0 || at < objects.length; at += PART_OBJECTS) {
      if (at > 0) await new Promise((resolve) => setImmediate(resolve));
      if (this.#state !== state) return;
      const part = objects.slice(at, at + PART_OBJECTS);
      const weight = part.length * OBJECT_WEIGHT;
      while (this.#sentWeight > 0 && this.#sentWeight + weight > FEED_ROOM) {
        await new Promise<void>((resolve) => {
          this.#onRoom = resolve;
        });
        if (this.#state !== state) return;
      }
      this.#sentWeight += weight;
      const memories = new Memories();
      const numbers: number[] = [];
      for (const object of part) {
        const { bytes, versionAt } = object;
        numbers.push(object.revision, memories.of(object), bytes.byteOffset, bytes.length, versionAt);
      }
      this.#send({
        kind: 'state',
        id: this.#id,
        isFirst: at === 0,
        isLast: at + PART_OBJECTS >= objects.length,
        revision,
        weight,
        memories: memories.all,
        keys: part.map(({ key }) => key),
        numbers,
      });
    }
  }
}

/** The pieces of memory that one message speaks of, each once. */
class Memories {
  readonly all: Memory[] = [];
  readonly #places = new Map<SharedArrayBuffer, number>();

  of({ bytes, slab }: StoredObject): number {
    const memory = sharedBytes(bytes);
    let place = this.#places.get(memory);
    if (place === undefined) {
      place = this.all.push({ bytes: memory, isSlab: slab !== undefined }) - 1;
      this.#places.set(memory, place);
    }
    return place;
  }
}

function sharedBytes({ buffer }: Buffer): SharedArrayBuffer {
  if (!(buffer instanceof SharedArrayBuffer)) throw new Error('the bytes of an object lie in memory of one thread');
  return buffer;
}
