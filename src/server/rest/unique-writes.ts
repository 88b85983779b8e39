/**
 * Creates of objects that are given something no other may have (addresses of services): each takes place only while no
 * other of its kind has changed since it was looked whether that is so, and is looked at again otherwise.
 *
 * That nothing is given twice is the store's doing, whoever writes and wherever. The line here only saves work: without it of all
 * that come at once one would be written, and all others looked at again. It is for the write alone: whoever waits for a webhook is not in it
 * yet. Whoever takes long all the same loses its place: the next goes on beside it. Whoever leaves while it waits leaves the line as it is.
 */
import { hardwareClock, untilAborted } from '../../api/index.ts';
import { OvertakenError } from '../storage/object-storage.ts';

/** Much longer than it takes to write one. */
const PATIENCE_MS = 250;

export class UniqueWrites {
  /** Resolves when the last in line has written, or has failed to, or takes too long; undefined: there is none. */
  #last: Promise<void> | undefined;

  /**
   * `write` rejects with an OvertakenError where it came too late. Then it is tried again, if it still may be, and otherwise is
   * overtaken for good.
   */
  run<T>(signal: AbortSignal, write: () => Promise<T>, mayStill: () => Promise<boolean>): Promise<T> {
    return this.#inLine(signal, async () => {
      for (;;) {
        try {
          return await write();
        } catch (err) {
          if (!(err instanceof OvertakenError) || !(await mayStill())) throw err;
          signal.throwIfAborted();
        }
      }
    });
  }

  async #inLine<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
    const ahead = this.#last ?? Promise.resolve();
    let leave = () => {};
    const place = new Promise<void>((resolve) => {
      leave = resolve;
    });
    this.#last = place;
    const done = new AbortController();
    try {
      await untilAborted(ahead, signal);
    } catch (reason) {
      void ahead.then(leave);
      throw reason;
    }
    try {
      signal.throwIfAborted();
      hardwareClock.sleep(PATIENCE_MS, done.signal).then(leave, () => {});
      return await attempt();
    } finally {
      done.abort();
      leave();
      if (this.#last === place) this.#last = undefined;
    }
  }
}
