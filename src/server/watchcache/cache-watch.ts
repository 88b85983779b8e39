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
import { isStoreError, type Revision, StoreError, type Watch, type WatchEvent } from '../../store/index.ts';
import type { ByteStream } from '../http/exchange.ts';
import type { CachedObject } from './cached-object.ts';
import { type EventEncoding, frameOf } from './encoding.ts';
import { CacheEvent } from './event-window.ts';
import type { ResourceCache } from './resource-cache.ts';
import type { Selection } from './selection.ts';
import type { Subscriber } from './watch-index.ts';

export type CacheWatchOptions = {
  readonly cache: ResourceCache;
  readonly stream: ByteStream;
  readonly selection: Selection;
  readonly encoding: EventEncoding;
  /** Everything after it is delivered. */
  readonly after: Revision;
  /** The state to begin with, as of `after`; unfiltered. */
  readonly initial?: readonly CachedObject[];
  readonly allowsBookmarks: boolean;
  /** The frame that tells of an error, from its Status. */
  readonly errorFrame: (err: unknown) => Buffer;
};

const STRETCH_EVENTS = 500;
const STRETCH_BYTES = 256 * 1024;
/** Objects looked at before others get their turn. */
const STRETCH_OBJECTS = 250;

export class CacheWatch implements Subscriber {
  readonly selection: Selection;
  readonly encoding: EventEncoding;
  readonly #options: CacheWatchOptions;
  #state: 'initial' | 'behind' | 'live' | 'ended' = 'initial';
  #complete: Revision;
  #onDrained: (() => void) | undefined;
  /** While it reads from the store's log. */
  #log: Watch | undefined;
  #endListeners: (() => void)[] = [];
  #startsInFuture = false;
  /** When the next bookmark is due, by the clock of whoever asks. */
  bookmarkAt = 0;

  constructor(options: CacheWatchOptions) {
    this.selection = options.selection;
    this.encoding = options.encoding;
    this.#options = options;
    this.#complete = options.after;
    options.cache.watches.add(this);
    options.stream.onDrain(() => this.#onDrained?.());
    options.stream.onClose(() => this.end());
  }

  get isLive(): boolean {
    return this.#state === 'live';
  }

  get allowsBookmarks(): boolean {
    return this.#options.allowsBookmarks;
  }

  /** Runs until the watch is live; after that the index drives it. Never rejects. */
  async start(): Promise<void> {
    try {
      const { initial, after, stream, allowsBookmarks } = this.#options;
      if (initial) {
        await this.#writeInitial(initial);
        if (allowsBookmarks && !this.#isEnded()) stream.write(this.encoding.bookmark(after, true));
      }
      await this.#catchUp();
    } catch (err) {
      this.fail(err);
    }
  }

  deliver(frames: readonly Buffer[], revision: Revision): void {
    if (this.#state !== 'live') return;
    if (revision <= this.#options.after) return; // it starts in the future
    if (this.#startsInFuture) {
      // The batch may hold changes from before the start: the window tells them apart.
      this.#startsInFuture = false;
      this.#goBehind(Promise.resolve());
      return;
    }
    this.#complete = revision;
    let canTakeMore = true;
    for (const frame of frames) canTakeMore = this.#options.stream.write(frame);
    if (!canTakeMore) this.#goBehind(this.#drained());
  }

  #goBehind(until: Promise<void>): void {
    if (this.#isEnded()) return; // the client left in the middle of a write
    this.#options.cache.watchers.leave(this);
    this.#state = 'behind';
    void until.then(() => this.#catchUp()).catch((err: unknown) => this.fail(err));
  }

  /** Only on a live stream that takes it: a bookmark must not overtake anything. False: not now. */
  sendBookmark(): boolean {
    const { revision } = this.#options.cache;
    if (this.#state !== 'live' || revision <= this.#options.after) return false;
    this.#complete = revision;
    this.#options.stream.write(this.encoding.bookmark(revision, false));
    this.#options.cache.counts.bookmarks++;
    return true;
  }

  askForProgress(): void {
    this.#options.cache.askForProgress();
    this.#log?.requestProgress();
  }

  /** Called once, when nothing more will be written. */
  onEnd(listener: () => void): void {
    if (this.#isEnded()) listener();
    else this.#endListeners.push(listener);
  }

  /** Tells the client why, and ends. */
  fail(err: unknown): void {
    if (this.#isEnded()) return;
    if (isHistoryGone(err)) this.#options.cache.counts.stale++;
    this.#options.stream.write(this.#options.errorFrame(err));
    this.end();
  }

  end(): void {
    if (this.#isEnded()) return;
    this.#options.cache.watchers.leave(this);
    this.#options.cache.watches.delete(this);
    this.#state = 'ended';
    this.#onDrained?.();
    void this.#log?.return();
    this.#options.stream.end();
    for (const listener of this.#endListeners.splice(0)) listener();
  }

  async #writeInitial(objects: readonly CachedObject[]): Promise<void> {
    const run = this.encoding.run?.('ADDED');
    let parts: Buffer[] = [];
    let bytes = 0;
    let seen = 0;
    for (const object of objects) {
      if (++seen % STRETCH_OBJECTS === 0) await nextTurn();
      if (this.#isEnded()) return;
      if (!this.selection.matches(object)) continue;
      if (run) parts.push(parts.length === 0 ? run.first : run.next);
      const piece = run ? run.piece(object) : this.encoding.frame('ADDED', object);
      parts.push(piece);
      bytes += piece.length;
      if (bytes < STRETCH_BYTES) continue;
      if (run) parts.push(run.last);
      await this.#write(parts);
      parts = [];
      bytes = 0;
    }
    if (run && parts.length > 0) parts.push(run.last);
    await this.#write(parts);
  }

  async #catchUp(): Promise<void> {
    const { cache } = this.#options;
    this.#state = this.#isEnded() ? 'ended' : 'behind';
    while (!this.#isEnded()) {
      if (!this.#isInWindow()) {
        await this.#readLog();
        continue;
      }
      const events = cache.window.after(this.#complete, STRETCH_EVENTS);
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
    const { cache } = this.#options;
    const options = { fromRevision: this.#complete + 1, prevKv: true, progress: true };
    const watch = cache.store.watch({ prefix: cache.keyPrefix }, options);
    this.#log = watch;
    watch.requestProgress(); // nothing may follow at all: then this says that it has caught up
    try {
      for await (const batch of watch) {
        const events = batch.events.map((event) => toCacheEvent(event, cache));
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
    const { cache } = this.#options;
    return this.#complete >= cache.window.since && !cache.isMissed(this.#complete);
  }

  #framesOf(events: readonly CacheEvent[]): Buffer[] {
    const frames: Buffer[] = [];
    for (const event of events) {
      if (event.revision <= this.#options.after) continue;
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
        canTakeMore = this.#options.stream.write(parts[at]!); // what is written in one turn leaves as one
      }
      if (canTakeMore) await nextTurn();
      else await this.#drained();
    } while (at < parts.length && !this.#isEnded());
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

export function toCacheEvent({ type, kv, prevKv }: WatchEvent, cache: ResourceCache): CacheEvent {
  if (!prevKv && kv.createRevision !== kv.modRevision)
    throw new StoreError(
      'Compacted',
      `Cannot tell what ${JSON.stringify(kv.key)} was before revision ${kv.modRevision}: that is compacted`,
      { compactRevision: kv.modRevision },
    );
  const current = type === 'put' ? cache.read(kv) : undefined;
  return new CacheEvent(kv.modRevision, current, prevKv && cache.read(prevKv), 0);
}
