/**
 * Something that was read from files and is read again while the server runs: every minute, as kube-apiserver does, and
 * whenever it is asked to.
 *
 * Always true: `apply` is called only with what could be read whole and is different from what is in use. What cannot be
 * used is said once, and the old stays: a certificate and its key are two files, and a reader may come between them.
 */
import type { Clock } from '../../api/index.ts';

export type ReloadingOptions<T> = {
  /** For the log: "the serving certificate". */
  readonly what: string;
  /** What is in use from the start. */
  readonly initial: T;
  /** Throws a sentence when the files cannot be used. */
  readonly read: () => T;
  readonly apply: (fresh: T) => void;
  readonly log: (line: string) => void;
};

const EVERY_MS = 60_000;

/** Calls `check` of each every minute until the signal fires. */
export async function keepReloading(
  all: readonly Pick<Reloading<unknown>, 'check'>[],
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  try {
    for (;;) {
      await clock.sleep(EVERY_MS, signal);
      for (const one of all) one.check();
    }
  } catch (err) {
    if (err !== signal.reason) throw err;
  }
}

export class Reloading<T> {
  readonly #options: ReloadingOptions<T>;
  #inUse: string;
  #saidLast: string | undefined;

  constructor(options: ReloadingOptions<T>) {
    this.#options = options;
    this.#inUse = JSON.stringify(options.initial);
  }

  check(): void {
    const { what, read, apply, log } = this.#options;
    try {
      const fresh = read();
      const text = JSON.stringify(fresh);
      if (text !== this.#inUse) {
        apply(fresh);
        this.#inUse = text;
        log(`${what} changed and was read again`);
      } else if (this.#saidLast !== undefined) log(`${what} is good again`);
      this.#saidLast = undefined;
    } catch (err) {
      const { message } = err as Error;
      if (message !== this.#saidLast) log(`${message}; ${what} that was read before stays in use`);
      this.#saidLast = message;
    }
  }
}
