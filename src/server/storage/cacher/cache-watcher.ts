/**
 * One client's watch on the cache: from where it starts until it is live, and whenever it falls behind.
 *
 *   initial   the state it begins with is being written, as fast as the client takes it
 *   behind    its place is `#complete`; what follows is read from the window, or from the store's log if that is older
 *   live      the index hands it every batch
 *   ended     nothing more is written
 *
 * Always true: everything that matches, up to and with `#complete`, has been written; nothing above it. A slow client
 * costs its own place and nothing else: it leaves the index, and goes on from the window when it can take more. Only
 * when its history is compacted away is it sent 410 and ended.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isStoreError, type Revision, StoreError, type Watch, type WatchEvent } from '../../../store/index.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import type { ByteStream } from '../../request/request-context.ts';

import { type EventEncoding, frameOf } from '../event-encoding.ts';
import { ObjectEvent } from '../object-event.ts';
import type { Selection } from '../selection.ts';
import type { StoredObject } from '../stored-object.ts';
import type { Cacher } from './cacher.ts';
import type { Subscriber } from './watch-index.ts';

export type CacheWatcherOptions = {
  readonly cache: Cacher;
  readonly stream: ByteStream;
  readonly selection: Selection;
  readonly encoding: EventEncoding;
  /** Everything after it is delivered. */
  readonly after: Revision;
  /** The state to begin with, as of `after`; unfiltered. */
  readonly initial?: readonly StoredObject[];
  readonly allowsBookmarks: boolean;
  /** The frame that tells the client of an error. */
  readonly errorFrame: (watch: CacheWatcher, err: unknown) => Buffer;
};

const STRETCH_EVENTS = 500;
const STRETCH_BYTES = 256 * 1024;

export class CacheWatcher implements Subscriber {
  readonly selection: Selection;
  readonly encoding: EventEncoding;
  readonly cache: Cacher;
  /** Where it began. */
  readonly after: Revision;
  readonly allowsBookmarks: boolean;
  readonly #stream: ByteStream;
  readonly #errorFrame: CacheWatcherOptions['errorFrame'];
  /** Until it is written: it would keep objects alive that have long changed. */
  #initial: readonly StoredObject[] | undefined;
  #state: 'initial' | 'behind' | 'live' | 'ended' = 'initial';
  #complete: Revision;
  #onDrained: (() => void) | undefined;
  /** While it reads from the store's log. */
  #log: Watch | undefined;
  #endListeners: readonly (() => void)[] = [];
  #startsInFuture = false;
  /** When the next bookmark is due, by the clock of whoever asks. */
  bookmarkAt = 0;

  constructor(options: CacheWatcherOptions) {
    this.selection = options.selection;
    this.encoding = options.encoding;
    this.cache = options.cache;
    this.after = options.after;
    this.allowsBookmarks = options.allowsBookmarks;
    this.#stream = options.stream;
    this.#errorFrame = options.errorFrame;
    this.#initial = options.initial;
    this.#complete = options.after;
    options.cache.watches.add(this);
    options.stream.onDrain(() => this.#onDrained?.());
    options.stream.onClose(() => this.end());
  }

  get isLive(): boolean {
    return this.#state === 'live';
  }

  /** Runs until the watch is live; after that the index drives it. Never rejects. */
  async start(): Promise<void> {
    try {
      if (this.#initial) {
        await this.#writeInitial(this.#initial);
        this.#initial = undefined;
        if (this.allowsBookmarks && !this.#isEnded()) this.#stream.write(this.encoding.bookmark(this.after, true));
      }
      await this.#catchUp();
    } catch (err) {
      this.fail(err);
    }
  }

  deliver(frames: readonly Buffer[], revision: Revision): void {
    if (this.#state !== 'live') return;
    if (revision <= this.after) return; // it starts in the future
    if (this.#startsInFuture) {
      // The batch may hold changes from before the start: the window tells them apart.
      this.#startsInFuture = false;
      this.#goBehind(Promise.resolve());
      return;
    }
    this.#complete = revision;
    let canTakeMore = true;
    for (const frame of frames) canTakeMore = this.#stream.write(frame);
    if (!canTakeMore) this.#goBehind(this.#drained());
  }

  #goBehind(until: Promise<void>): void {
    if (this.#isEnded()) return; // the client left in the middle of a write
    this.cache.watchers.leave(this);
    this.#state = 'behind';
    void until.then(() => this.#catchUp()).catch((err: unknown) => this.fail(err));
  }

  /** Only on a live stream that takes it: a bookmark must not overtake anything. False: not now. */
  sendBookmark(): boolean {
    const { revision } = this.cache;
    if (this.#state !== 'live' || revision <= this.after) return false;
    this.#complete = revision;
    this.#stream.write(this.encoding.bookmark(revision, false));
    this.cache.counts.bookmarks++;
    return true;
  }

  askForProgress(): void {
    this.cache.askForProgress();
    this.#log?.requestProgress();
  }

  /** Called once, when nothing more will be written. */
  onEnd(listener: () => void): void {
    if (this.#isEnded()) listener();
    else this.#endListeners = this.#endListeners.concat(listener); // exactly as long as it must be
  }

  /** Tells the client why, and ends. */
  fail(err: unknown): void {
    if (this.#isEnded()) return;
    if (isHistoryGone(err)) this.cache.counts.stale++;
    this.#stream.write(this.#errorFrame(this, err));
    this.end();
  }

  end(): void {
    if (this.#isEnded()) return;
    this.cache.watchers.leave(this);
    this.cache.watches.delete(this);
    this.#state = 'ended';
    this.#onDrained?.();
    void this.#log?.return();
    this.#stream.end();
    for (const listener of this.#endListeners) listener();
  }

  async #writeInitial(objects: readonly StoredObject[]): Promise<void> {
    const stream = this.#stream;
    const { direct } = this.encoding;
    let stretch: StoredObject[] = [];
    let bytes = 0;
    const slices = new WorkSlices();
    for (const object of objects) {
      if (slices.isOver) await slices.pause();
      if (this.#isEnded()) return;
      if (!this.selection.matches(object)) continue;
      stretch.push(object);
      bytes += direct ? direct.bytesOf('ADDED', object) : object.bytes.length;
      if (bytes < stream.stretchBytes) continue;
      await this.#writeAdded(stretch, bytes);
      stretch = [];
      bytes = 0;
    }
    await this.#writeAdded(stretch, bytes);
  }

  async #writeAdded(objects: readonly StoredObject[], bytes: number): Promise<void> {
    const { direct } = this.encoding;
    if (!direct) return this.#write(objects.map((object) => this.encoding.frame('ADDED', object)));
    const canTakeMore = this.#stream.writeLong(bytes, (target, begin) => {
      let at = begin;
      for (const object of objects) at = direct.write('ADDED', object, target, at);
    });
    await this.#turn(canTakeMore);
  }

  async #catchUp(): Promise<void> {
    const { cache } = this;
    this.#state = this.#isEnded() ? 'ended' : 'behind';
    while (!this.#isEnded()) {
      if (!this.#isInWindow()) {
        await this.#readLog();
        continue;
      }
      const events = cache.watchCache.after(this.#complete, STRETCH_EVENTS);
      const last = events[events.length - 1];
      if (!last) {
        // The window has nothing more: in this very turn it becomes live.
        this.#startsInFuture = this.#complete > cache.revision;
        this.#complete = Math.max(this.#complete, cache.revision);
        this.#state = 'live';
        cache.watchers.join(this);
        return;
      }
      this.#complete = last.revision;
      await this.#write(this.#framesOf(events));
    }
  }

  /** From the store's own history, until the window takes over. */
  async #readLog(): Promise<void> {
    const { cache } = this;
    const options = { fromRevision: this.#complete + 1, prevKv: true, progress: true };
    const watch = cache.store.watch({ prefix: cache.keyPrefix }, options);
    this.#log = watch;
    watch.requestProgress(); // nothing may follow at all: then this says that it has caught up
    try {
      for await (const batch of watch) {
        const events = batch.events.map((event) => toObjectEvent(event, cache));
        this.#complete = batch.revision;
        await this.#write(this.#framesOf(events));
        if (this.#isEnded() || this.#isInWindow()) return;
      }
    } finally {
      this.#log = undefined;
      await watch.return();
    }
  }

  #isInWindow(): boolean {
    const { cache } = this;
    return this.#complete >= cache.watchCache.since && !cache.isMissed(this.#complete);
  }

  #framesOf(events: readonly ObjectEvent[]): Buffer[] {
    const frames: Buffer[] = [];
    for (const event of events) {
      if (event.revision <= this.after) continue;
      const type = this.selection.typeOf(event);
      if (type) frames.push(frameOf(event, type, this.encoding));
    }
    return frames;
  }

  /** Writes a stretch at a time and waits until the client can take the next; others get their turn in between. */
  async #write(parts: readonly Buffer[]): Promise<void> {
    let at = 0;
    do {
      let canTakeMore = true;
      for (let bytes = 0; at < parts.length && bytes < STRETCH_BYTES; at++) {
        bytes += parts[at]!.length;
        canTakeMore = this.#stream.write(parts[at]!); // what is written in one turn leaves as one
      }
      await this.#turn(canTakeMore);
    } while (at < parts.length && !this.#isEnded());
  }

  #turn(canTakeMore: boolean): Promise<void> {
    return canTakeMore ? nextTurn() : this.#drained();
  }

  #drained(): Promise<void> {
    if (this.#isEnded()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onDrained = () => {
        this.#onDrained = undefined;
        resolve();
      };
    });
  }

  #isEnded(): boolean {
    return this.#state === 'ended';
  }
}

/** Whether an error means that the history a watch needs is gone. */
export function isHistoryGone(err: unknown): boolean {
  return isStoreError(err, 'Compacted');
}

export function toObjectEvent({ type, kv, prevKv }: WatchEvent, cache: Cacher): ObjectEvent {
  if (!prevKv && kv.createRevision !== kv.modRevision)
    throw new StoreError(
      'Compacted',
      `Cannot tell what ${JSON.stringify(kv.key)} was before revision ${kv.modRevision}: that is compacted`,
      { compactRevision: kv.modRevision },
    );
  const current = type === 'put' ? cache.read(kv) : undefined;
  return new ObjectEvent(kv.modRevision, current, prevKv && cache.read(prevKv), 0);
}
