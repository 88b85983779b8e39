/**
 * A watch on the cacher: from where it starts until it is live, and whenever it falls behind.
 *
 *   behind    what follows its place is read from the watch cache, or from the store's log if that is older
 *   live      the index hands it every batch
 *
 * A slow client leaves the index, and goes on from the watch cache when it can take more.
 */

import { tooOldResourceVersion } from '../../../api/index.ts';
import type { Revision } from '../../../store/index.ts';
import { isExpired } from '../object-storage.ts';
import { type Ahead, ObjectWatch, type ObjectWatchOptions } from '../object-watch.ts';
import type { Cacher } from './cacher.ts';
import type { Subscriber } from './indexes/watch-index.ts';

const STRETCH_EVENTS = 500;

export class CacheWatcher extends ObjectWatch implements Subscriber {
  readonly #cacher: Cacher;
  #startsInFuture = false;

  constructor(cacher: Cacher, options: ObjectWatchOptions) {
    super(cacher.direct, options);
    this.#cacher = cacher;
  }

  /** Runs until the watch is live; after that the index drives it. */
  async start(): Promise<void> {
    try {
      await this.writeInitial();
      await this.#catchUp();
    } catch (err) {
      this.fail(err);
    }
  }

  deliver(frames: readonly Buffer[], revision: Revision, events: number): void {
    if (!this.isLive) return;
    if (revision <= this.after) return; // it starts in the future
    if (this.#startsInFuture) {
      // The batch may hold changes from before the start: the watch cache tells them apart.
      this.#startsInFuture = false;
      this.#goBehind(Promise.resolve());
      return;
    }
    this.complete = revision;
    this.eventsSent += events;
    let canTakeMore = true;
    for (const frame of frames) canTakeMore = this.stream.write(frame);
    if (!canTakeMore) this.#goBehind(this.drained());
  }

  /** Also where it began: on a quiet server nothing else says that the stream is alive. */
  sendBookmark(): boolean {
    const { revision, counts } = this.#cacher;
    if (!this.isLive || revision < this.after) return false;
    this.complete = revision;
    this.stream.write(this.encoding.bookmark(revision, false));
    counts.bookmarks++;
    this.bookmarksSent++;
    return true;
  }

  override askForProgress(): void {
    this.#cacher.askForProgress();
    super.askForProgress();
  }

  protected refusalFor(err: unknown): unknown {
    if (!isExpired(err)) return err;
    this.#cacher.counts.stale++;
    return tooOldResourceVersion(this.after, this.#cacher.watchCache.since);
  }

  protected override ahead(): Ahead {
    const cacher = this.#cacher;
    const { revision } = cacher;
    if (!this.#isInWatchCache()) return { revision };
    const { events, first } = cacher.watchCache.ahead(this.complete);
    return { revision, events, ...(first !== undefined && { oldestMs: cacher.now() - first }) };
  }

  protected leave(): void {
    this.#cacher.watchers.leave(this);
  }

  #goBehind(until: Promise<void>): void {
    if (this.isEnded()) return; // the client left in the middle of a write
    this.#cacher.watchers.leave(this);
    this.fallBehind();
    void until.then(() => this.#catchUp()).catch((err: unknown) => this.fail(err));
  }

  async #catchUp(): Promise<void> {
    const cacher = this.#cacher;
    if (!this.isEnded()) this.fallBehind();
    while (!this.isEnded()) {
      if (!this.#isInWatchCache()) {
        await this.readLog(() => this.#isInWatchCache());
        continue;
      }
      const events = cacher.watchCache.after(this.complete, STRETCH_EVENTS);
      const last = events[events.length - 1];
      if (!last) {
        // There is nothing more: in this very turn it becomes live.
        this.#startsInFuture = this.complete > cacher.revision;
        this.complete = Math.max(this.complete, cacher.revision);
        this.goLive();
        cacher.watchers.join(this);
        return;
      }
      this.complete = last.revision;
      const frames: Buffer[] = [];
      for (const event of events) this.addFrame(event, frames);
      await this.write(frames);
    }
  }

  #isInWatchCache(): boolean {
    const { watchCache } = this.#cacher;
    return this.complete >= watchCache.since && !this.#cacher.isMissed(this.complete);
  }
}
