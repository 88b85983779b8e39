/**
 * A watch that reads the store's own log from its start to its end: one watch of the store for each. It is live between
 * two batches of the log; a client that is slow makes only its own reading wait.
 */
import { tooOldResourceVersion } from '../../../api/index.ts';
import { isStoreError } from '../../../store/index.ts';
import { ObjectWatch, type ObjectWatchOptions } from '../object-watch.ts';
import type { DirectStorage } from './direct-storage.ts';

export class DirectWatch extends ObjectWatch {
  readonly #onInitialised: () => void;

  /** `onInitialised`: told when everything that was there is on its way. */
  constructor(direct: DirectStorage, options: ObjectWatchOptions, onInitialised: () => void = () => {}) {
    super(direct, options);
    this.#onInitialised = onInitialised;
  }

  /** Runs until the watch ends. */
  async start(): Promise<void> {
    try {
      await this.writeInitial();
      if (this.isEnded()) return;
      this.#onInitialised();
      await this.readLog(() => this.#waitForMore());
      this.fail(new Error('the log of the store has ended')); // it does not: this watch has
    } catch (err) {
      this.fail(err);
    }
  }

  sendBookmark(): boolean {
    if (!this.isLive || this.complete < this.after) return false;
    this.stream.write(this.encoding.bookmark(this.complete, false));
    this.bookmarksSent++;
    return true;
  }

  protected refusalFor(err: unknown): unknown {
    if (!isStoreError(err, 'Compacted')) return err;
    return tooOldResourceVersion(this.after, err.compactRevision ?? this.after);
  }

  protected leave(): void {}

  #waitForMore(): boolean {
    this.goLive();
    return false;
  }
}
