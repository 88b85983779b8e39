/** Rings when something may have changed: whoever waits looks again. Leaves no listener behind on a signal. */
export class Bell {
  readonly #waiting = new Set<() => void>();

  ring(): void {
    if (this.#waiting.size > 0) for (const wake of [...this.#waiting]) wake();
  }

  /** Until the next ring; rejects with `signal.reason` as soon as the signal fires. */
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
