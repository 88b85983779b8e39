/**
 * Who waits for a revision that has not come yet. Each is woken once: by the revision, by its time, or by its signal. While
 * somebody waits, progress is asked for again and again, since one question may go unanswered.
 */
import type { Revision } from '../../../store/index.ts';

type Waiter = { readonly revision: Revision; readonly resolve: () => void };

/** How often progress is asked for while somebody waits. */
const PROGRESS_MS = 100;

export class RevisionWaiters {
  readonly #ask: () => void;
  readonly #waiters = new Set<Waiter>();
  #timer: NodeJS.Timeout | undefined;

  constructor(ask: () => void) {
    this.#ask = ask;
  }

  /** True once `reach` has been told of it; false if it was not within the time. */
  async wait(revision: Revision, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const isReached = await new Promise<boolean>((resolve) => {
      const settle = (isDone: boolean) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        this.#waiters.delete(waiter);
        resolve(isDone);
      };
      const giveUp = () => settle(false);
      const timer = setTimeout(giveUp, timeoutMs);
      const waiter: Waiter = { revision, resolve: () => settle(true) };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiters.add(waiter);
      this.ask();
    });
    signal.throwIfAborted();
    return isReached;
  }

  reach(revision: Revision): void {
    for (const waiter of [...this.#waiters]) if (waiter.revision <= revision) waiter.resolve();
  }

  /** How far it is: now, and again while somebody waits. */
  ask(): void {
    this.#ask();
    if (this.#timer || this.#waiters.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#waiters.size > 0) this.ask();
    }, PROGRESS_MS);
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}
