/**
 * What can end one stream from our side: the caller's signal, and a limit on its initial state that can be lifted before
 * it strikes. Disposing leaves no timer and no listener behind.
 */
import { TransportError } from '../errors.ts';
import { NO_INITIAL_END } from './reflector-state.ts';

export class StreamLimit implements Disposable {
  readonly #caller: AbortSignal;
  readonly #cut = new AbortController();
  readonly #lift = new AbortController();
  readonly #onAbort = () => this.#cut.abort(this.#caller.reason);

  constructor(caller: AbortSignal) {
    this.#caller = caller;
    if (caller.aborted) this.#onAbort();
    else caller.addEventListener('abort', this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#cut.signal;
  }

  get lifted(): AbortSignal {
    return this.#lift.signal;
  }

  start(time: Promise<void>): void {
    const message = 'Cannot use the watch: its initial state did not end in time';
    time.then(
      () => this.#cut.abort(new TransportError('total', message, { code: NO_INITIAL_END, isTimeout: true })),
      () => {}, // lifted in time
    );
  }

  lift(): void {
    this.#lift.abort();
  }

  [Symbol.dispose](): void {
    this.lift();
    this.#caller.removeEventListener('abort', this.#onAbort);
  }
}
