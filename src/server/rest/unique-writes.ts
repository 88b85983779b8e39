/**
 * Writes of objects that are given something no other may have (addresses of services): each takes place only while no
 * other of its kind has changed since it was prepared, and is prepared anew otherwise.
 *
 * That nothing is given twice is the store's doing, whoever writes and wherever. The line here only saves work: without it all
 * that come at once would be prepared on the same state, and all but one of them again. Whoever takes long, such as one
 * that waits for a webhook, loses its place: the next goes on beside it. Whoever leaves while it waits leaves the line as it is.
 */
import { hardwareClock, untilAborted } from '../../api/index.ts';
import { OvertakenError } from '../storage/object-storage.ts';

/** Much longer than it takes to prepare and write one. */
const PATIENCE_MS = 250;

export class UniqueWrites {
  /** Resolves when the last in line has written, or has failed to, or takes too long; undefined: there is none. */
  #last: Promise<void> | undefined;

  /** `attempt` prepares and writes; it rejects with an OvertakenError where it came too late. */
  async run<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await this.#inLine(signal, attempt);
      } catch (err) {
        if (!(err instanceof OvertakenError)) throw err;
      }
    }
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
