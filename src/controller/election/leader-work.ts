/**
 * What runs while we lead: started with a term, told to stop when it ends, and known until it really has ended.
 *
 * A function runs once per term, never beside itself. `isIdle` is what keeps an elector from campaigning again, or from
 * handing the lease over, while work of an earlier term is still on its way out.
 */
import { setMaxListeners } from 'node:events';
import type { FencingToken } from './lease-decision.ts';

/** The reason of a leader's signal when its term is over. */
export class LeadershipLostError extends Error {
  override readonly name = 'LeadershipLostError';
  constructor() {
    super('Cannot go on as leader: the term has ended');
  }
}

export type Leadership = {
  readonly token: FencingToken;
  /** Fires when the term ends, and only then: not when the function is told to stop for another reason. */
  readonly signal: AbortSignal;
  /** Looks at the clock, so it is right even if nothing else had a chance to run since the lease ran out. */
  isLeading(): boolean;
  /** Throws LeadershipLostError unless leading: to be called right before what only a leader may do. */
  check(): void;
};

export type LeaderFunction = (signal: AbortSignal, leadership: Leadership) => Promise<void> | void;

type Runner = { readonly begin: () => void; readonly end: () => void };

export class LeaderWork {
  readonly #runners = new Set<Runner>();
  #running = 0;
  #onIdle: (() => void)[] = [];
  #leadership: Leadership | undefined;
  #abort: AbortController | undefined;
  #hasEnded = false;

  get isIdle(): boolean {
    return this.#running === 0;
  }

  untilIdle(): Promise<void> {
    return this.isIdle ? Promise.resolve() : new Promise((resolve) => this.#onIdle.push(resolve));
  }

  begin(token: FencingToken, isLeading: () => boolean): void {
    const abort = new AbortController();
    setMaxListeners(0, abort.signal); // as many as there are functions
    const leadership: Leadership = {
      token,
      signal: abort.signal,
      isLeading: () => !abort.signal.aborted && isLeading(),
      check: () => {
        if (!leadership.isLeading()) throw new LeadershipLostError();
      },
    };
    this.#abort = abort;
    this.#leadership = leadership;
    for (const { begin } of [...this.#runners]) begin();
  }

  end(): void {
    this.#leadership = undefined;
    this.#abort?.abort(new LeadershipLostError());
  }

  /** No term follows. */
  close(): void {
    this.#hasEnded = true;
    for (const { end } of [...this.#runners]) end();
  }

  /** Resolves after `close` or `signal`, once the function has ended; rejects if it throws of its own accord. */
  run(work: LeaderFunction, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      let isRunning = false;
      const leave = () => {
        this.#runners.delete(runner);
        signal?.removeEventListener('abort', leave);
        if (!isRunning) resolve();
      };
      const runner: Runner = {
        begin: () => {
          const leadership = this.#leadership;
          if (!leadership || isRunning || signal?.aborted) return;
          isRunning = true;
          void this.#once(work, leadership, signal)
            .catch((err: unknown) => {
              reject(err);
              leave();
            })
            .finally(() => {
              isRunning = false;
              if (!this.#runners.has(runner)) resolve();
            });
        },
        end: leave,
      };
      if (this.#hasEnded || signal?.aborted) return resolve();
      this.#runners.add(runner);
      signal?.addEventListener('abort', leave, { once: true });
      runner.begin();
    });
  }

  async #once(work: LeaderFunction, leadership: Leadership, signal: AbortSignal | undefined): Promise<void> {
    const abort = new AbortController();
    const stopByTerm = () => abort.abort(leadership.signal.reason);
    const stopByCaller = () => abort.abort(signal?.reason);
    leadership.signal.addEventListener('abort', stopByTerm, { once: true });
    signal?.addEventListener('abort', stopByCaller, { once: true });
    this.#running++;
    try {
      await work(abort.signal, leadership);
    } catch (err) {
      if (!abort.signal.aborted) throw err; // told to stop, it may end as it likes
    } finally {
      leadership.signal.removeEventListener('abort', stopByTerm);
      signal?.removeEventListener('abort', stopByCaller);
      this.#running--;
      if (this.isIdle) for (const resolve of this.#onIdle.splice(0)) resolve();
    }
  }
}
