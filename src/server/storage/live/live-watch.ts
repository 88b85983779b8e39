/**
 * A watch on objects that are nowhere stored: what it was not given yet is in the window of the storage, or it ends with
 * 410. It waits while there is nothing new; a client that is slow makes only its own reading wait.
 */
import { tooOldResourceVersion } from '../../../api/index.ts';
import { type Revision, StoreError } from '../../../store/index.ts';
import type { WatchCache } from '../cacher/watch-cache.ts';
import { isExpired } from '../object-storage.ts';
import { type Ahead, ObjectWatch, type ObjectWatchOptions, type WatchedStorage } from '../object-watch.ts';
import type { ObjectEvent } from '../objects/object-event.ts';

/** What it reads from. */
type LiveChanges = WatchedStorage & {
  readonly revision: Revision;
  readonly changes: WatchCache;
  onChange(listener: () => void): () => void;
};

export class LiveWatch extends ObjectWatch {
  readonly #storage: LiveChanges;
  readonly #onInitialised: () => void;
  #wake: () => void = () => {};
  readonly #stopListening: () => void;

  constructor(storage: LiveChanges, options: ObjectWatchOptions, onInitialised: () => void) {
    super(storage, options);
    this.#storage = storage;
    this.#onInitialised = onInitialised;
    this.#stopListening = storage.onChange(() => this.#wake());
  }

  /** Runs until the watch ends. */
  async start(): Promise<void> {
    try {
      await this.writeInitial();
      if (!this.isEnded()) this.#onInitialised();
      while (!this.isEnded()) await this.#writeNext();
    } catch (err) {
      this.fail(err);
    }
  }

  sendBookmark(): boolean {
    if (!this.isLive) return false;
    this.complete = this.#storage.revision;
    this.stream.write(this.encoding.bookmark(this.complete, false));
    this.bookmarksSent++;
    return true;
  }

  protected refusalFor(err: unknown): unknown {
    return isExpired(err) ? tooOldResourceVersion(this.complete, this.#storage.changes.since) : err;
  }

  protected override ahead(): Ahead {
    const { revision, changes } = this.#storage;
    return { revision, events: changes.ahead(this.complete).events };
  }

  /** The metadata of what is made here never changes: who asked for nothing else is told of what comes and goes. */
  protected override addFrame(event: ObjectEvent, frames: Buffer[]): void {
    if (!this.encoding.isMetadataOnly || this.selection.typeOf(event) !== 'MODIFIED') super.addFrame(event, frames);
  }

  protected leave(): void {
    this.#stopListening();
    this.#wake();
  }

  async #writeNext(): Promise<void> {
    const { changes, revision } = this.#storage;
    // A version of another process may be above all of ours: nothing is known of it either.
    if (this.complete < changes.since || this.complete > revision)
      throw new StoreError('Compacted', 'Cannot go on: what was before is not kept', {
        compactRevision: changes.since,
      });
    const events = changes.after(this.complete);
    const last = events[events.length - 1];
    if (!last) {
      this.complete = revision;
      this.goLive();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      return;
    }
    this.fallBehind();
    this.complete = last.revision;
    const frames: Buffer[] = [];
    for (const event of events) this.addFrame(event, frames);
    await this.write(frames);
  }
}
