/**
 * That a request is given up, for whoever waits in its name: what a wait needs of an AbortSignal, which will do wherever a
 * notice is asked for. A signal of its own for each short request costs more than the wait: to V8 of Node 20 each is of
 * another shape, so that nothing done with it is ever known from the last one.
 *
 * Always true: a listener is called once at most, and not after it was removed.
 */
export type AbortNotice = {
  readonly aborted: boolean;
  /** Why; undefined while it is not aborted. */
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
};

export class RequestNotice implements AbortNotice {
  aborted = false;
  reason: unknown;
  readonly #listeners = new Set<() => void>();

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (!this.aborted) this.#listeners.add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.delete(listener);
  }

  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }
}
