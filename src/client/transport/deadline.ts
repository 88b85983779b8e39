/**
 * Everything that can end one request early, in one place: the caller's signal, and the limits of its phases.
 *
 * `signal` is what the request listens to. It fires with the caller's own reason or with a TransportError that names
 * the phase, and only the first counts. Firing, as disposing, takes every timer down and leaves no listener on the
 * caller's signal.
 */
import { setMaxListeners } from 'node:events';
import type { Clock } from '../../api/index.ts';
import { TransportError, type TransportPhase } from '../errors.ts';

/** Milliseconds; 0 is no limit. */
export type Timeouts = {
  /** Until there is a connection, TLS and proxy included. */
  readonly connectMs: number;
  /** From the call until the answer begins, including the wait for a connection. */
  readonly headersMs: number;
  /** How long the answer may be silent while we wait for it. */
  readonly idleMs: number;
  /** For everything, repetitions included. Of a stream: its lifetime. */
  readonly totalMs: number;
};

/** Not 0, though it means no limit: Node 20 throws when it is asked for the limit of a signal that has 0. */
const MANY_LISTENERS = 1_000_000;
/** Cheap to throw again and again: it never reaches a user. */
const lifted = new Error('limit lifted');

export class Deadline {
  readonly #clock: Clock;
  readonly #request: string;
  readonly #caller: AbortSignal | undefined;
  readonly #cut = new AbortController();
  readonly #over = new AbortController();
  readonly #onAbort = () => this.cut(this.#caller?.reason);
  #waitingSince: number | undefined;

  constructor(clock: Clock, request: string, caller?: AbortSignal) {
    this.#clock = clock;
    this.#request = request;
    this.#caller = caller;
    if (caller?.aborted) this.cut(caller.reason);
    else if (caller) {
      // One signal for all watches of a program is the normal case, and ten listeners are no leak there.
      setMaxListeners(MANY_LISTENERS, caller);
      caller.addEventListener('abort', this.#onAbort, { once: true });
    }
  }

  get signal(): AbortSignal {
    return this.#cut.signal;
  }

  /** Ends the request now; what it throws is `reason`. From here on no limit is needed, even if nobody disposes this. */
  cut(reason: unknown): void {
    this.#cut.abort(reason);
    this[Symbol.dispose]();
  }

  /** Returns what lifts the limit again. */
  limit(phase: TransportPhase, ms: number): () => void {
    if (ms <= 0 || this.#over.signal.aborted) return () => {};
    const lift = new AbortController();
    const stop = () => lift.abort(lifted);
    this.#over.signal.addEventListener('abort', stop, { once: true });
    this.#clock.sleep(ms, lift.signal).then(
      () => this.cut(this.#timeout(phase, ms)),
      () => {}, // lifted in time
    );
    return () => {
      this.#over.signal.removeEventListener('abort', stop);
      stop();
    };
  }

  /** From now on, what is between `waiting` and `arrived` may not take longer than this. */
  limitIdle(ms: number): void {
    if (ms > 0) this.#guardIdle(ms).catch(() => {}); // it ends with the request
  }

  waiting(): void {
    this.#waitingSince = this.#clock.now();
  }

  arrived(): void {
    this.#waitingSince = undefined;
  }

  /** What a failure of the request is to be called: the reason of the cut, if there was one. */
  errorOf(cause: unknown, phase: TransportPhase): unknown {
    if (this.#cut.signal.aborted) return this.#cut.signal.reason;
    if (cause instanceof TransportError) return cause;
    return new TransportError(phase, `Cannot finish ${this.#request}: ${(cause as Error).message}`, { cause });
  }

  [Symbol.dispose](): void {
    this.#caller?.removeEventListener('abort', this.#onAbort);
    this.#over.abort(lifted);
  }

  /** One timer for the whole stream, however many chunks come. */
  async #guardIdle(ms: number): Promise<void> {
    for (;;) {
      const waited = this.#waitingSince === undefined ? 0 : this.#clock.now() - this.#waitingSince;
      if (waited >= ms) return this.cut(this.#timeout('idle', ms));
      await this.#clock.sleep(ms - waited, this.#over.signal);
    }
  }

  #timeout(phase: TransportPhase, ms: number): TransportError {
    const what = { connect: 'no connection', headers: 'no answer', body: 'no end', idle: 'silence', total: 'no end' }[
      phase
    ];
    return new TransportError(phase, `Cannot finish ${this.#request}: ${what} within ${ms} ms`, { isTimeout: true });
  }
}
