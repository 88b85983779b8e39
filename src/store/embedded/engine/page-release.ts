/**
 * Gives what the engine holds of its file back to the system, once nobody has touched it for a while: after the log was
 * read through at the start, after a cache was filled from it, after a burst of writes.
 *
 * Always true: the engine is away only in its turn among the commits (engine-gate.ts) and while no long read is under way. An
 * engine that does not come back ends the store, as a commit that fails does.
 */
import type { LogEngine } from './engine.ts';

/** Below this it is not worth the while. */
const WORTH_BYTES = 8 * 1024 * 1024;

export type PageReleaseOptions = {
  readonly engine: LogEngine;
  /** Closes and opens the engine, with readers kept away. */
  readonly reopen: () => Promise<void>;
  /** Runs work while no commit is under way. */
  readonly alone: (work: () => Promise<void>) => Promise<void>;
  /** Whether a read is under way that takes more than one turn. */
  readonly isInUse: () => boolean;
};

export class PageRelease {
  readonly #options: PageReleaseOptions;
  #heldBefore = 0;

  constructor(options: PageReleaseOptions) {
    this.#options = options;
  }

  /** To be called now and then; lets go if nothing was touched since the last time. */
  async tick(): Promise<void> {
    const { engine, reopen, alone, isInUse } = this.#options;
    const { heldBytes = 0 } = engine;
    const isQuiet = heldBytes === this.#heldBefore;
    this.#heldBefore = heldBytes;
    if (!isQuiet || heldBytes < WORTH_BYTES || isInUse()) return;
    await alone(async () => {
      if (!isInUse()) await reopen(); // somebody may have come while it waited for its turn
    }).catch(() => {}); // the store has ended, and tells everybody itself; or it was full, and another time will do
  }
}
