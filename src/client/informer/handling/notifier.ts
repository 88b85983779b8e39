/**
 * A condition to wait for: whoever waits is notified that something may have changed, and looks again. Leaves no listener
 * behind on a signal.
 */
export class Notifier {
  readonly #waiting = new Set<() => void>();

  notify(): void {
    if (this.#waiting.size > 0) for (const wake of [...this.#waiting]) wake();
  }

  /** Until the next notification; rejects with `signal.reason` as soon as the signal fires. */
  wait(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const wake = () => {
        this.#waiting.delete(wake);
        signal?.removeEventListener('abort', stop);
        resolve();
      };
      const stop = () => {
        this.#waiting.delete(wake);
        reject(signal?.reason);
      };
      this.#waiting.add(wake);
      signal?.addEventListener('abort', stop, { once: true });
    });
  }
}
