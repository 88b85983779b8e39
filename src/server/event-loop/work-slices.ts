/**
 * Long work in slices: whoever walks over many objects asks between two of them whether it is somebody else's turn. It goes
 * on when it is its own again (run-queue.ts), which is the later the more its flow has used.
 *
 * By time and not by number: one object may take a microsecond or, when it is as large as they come, twenty milliseconds.
 * With a signal the work ends, with its reason, at the next pause after whoever wanted it has gone.
 */
import { accountOf, type CpuAccount, runQueue } from './run-queue.ts';

const SLICE_MS = 2;

export class WorkSlices {
  readonly #asking: AbortSignal | { readonly signal?: AbortSignal } | undefined;
  #account: CpuAccount | undefined;
  #until: number = performance.now() + SLICE_MS;

  /**
   * The signal, or who has one: then it is asked for at the first pause, and most work is over before that.
   * `account`: who is charged, where the signal does not say it.
   */
  constructor(asking?: AbortSignal | { readonly signal?: AbortSignal }, account?: CpuAccount) {
    this.#asking = asking;
    this.#account = account;
  }

  /** To be asked before `pause` is awaited: to wait for nothing costs more than most objects do. */
  get isOver(): boolean {
    return performance.now() >= this.#until;
  }

  /** Runs steps to their end, with a pause between two of them whenever it is due. */
  async run<T>(steps: Generator<unknown, T, undefined>): Promise<T> {
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
      if (this.isOver) await this.pause();
    }
  }

  async pause(): Promise<void> {
    const signal = this.#asking instanceof AbortSignal ? this.#asking : this.#asking?.signal;
    this.#account ??= accountOf(signal);
    await runQueue.turn(this.#account);
    signal?.throwIfAborted();
    this.#until = performance.now() + SLICE_MS;
  }
}
