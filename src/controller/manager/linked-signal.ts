/** A signal that fires with the first of several, and leaves no listener on them once it is let go. */
import { setMaxListeners } from 'node:events';

export class LinkedSignal {
  readonly #abort = new AbortController();
  readonly #unlink: (() => void)[] = [];

  constructor(...signals: readonly (AbortSignal | undefined)[]) {
    for (const signal of signals) {
      if (!signal) continue;
      const stop = () => this.#abort.abort(signal.reason);
      if (signal.aborted) stop();
      setMaxListeners(0, signal); // one for all reconciles of a controller is the normal case
      signal.addEventListener('abort', stop, { once: true });
      this.#unlink.push(() => signal.removeEventListener('abort', stop));
    }
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  release(): void {
    for (const unlink of this.#unlink.splice(0)) unlink();
  }

  /** Resolves when it fires. */
  fired(): Promise<void> {
    const { signal } = this;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  }
}
