/**
 * Gives what the engine holds of its file back to the system, once nobody has touched it for a while: after the log was
 * read through at the start, after a cache was filled from it, after a burst of writes.
 *
 * Always true: the engine is away only in its turn among the commits and while no long read is under way; whoever wants
 * to read meanwhile waits for `pause`, a few milliseconds. An engine that does not come back ends the store, as a commit
 * that fails does.
 */
import type { LogEngine } from './engine.ts';

/** Below this it is not worth the while. */
const WORTH_BYTES = 8 * 1024 * 1024;

export type PageReleaseOptions = {
  readonly engine: LogEngine;
  /** Runs work while no commit is under way. */
  readonly alone: (work: () => Promise<void>) => Promise<void>;
  /** Whether a read is under way that takes more than one turn. */
  readonly isInUse: () => boolean;
};

export class PageRelease {
  readonly #options: PageReleaseOptions;
  #heldBefore = 0;
  /** While it is set, nothing may be read; it never rejects. */
  pause: Promise<void> | undefined;

  constructor(options: PageReleaseOptions) {
    this.#options = options;
  }

  /** To be called now and then; lets go if nothing was touched since the last time. */
  async tick(): Promise<void> {
    const { engine, alone, isInUse } = this.#options;
    const { heldBytes = 0 } = engine;
    const isQuiet = heldBytes === this.#heldBefore;
    this.#heldBefore = heldBytes;
    if (!isQuiet || heldBytes < WORTH_BYTES || isInUse()) return;
    const done = alone(async () => {
      if (isInUse()) return; // somebody came while it waited for its turn
      this.pause = over;
      await engine.letGo?.();
    });
    const over = done
      .catch(() => {}) // the store has ended, and tells everybody itself
      .then(() => {
        this.pause = undefined;
      });
    await over;
  }
}
