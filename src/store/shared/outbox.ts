/**
 * One end of a port: what is posted in one turn leaves as one message when all of that turn's promises have run, and
 * what comes is taken apart again.
 */
import type { MessagePort } from 'node:worker_threads';

export class Outbox<T> {
  readonly #port: MessagePort;
  #waiting: T[] = [];
  #transfer: ArrayBuffer[] = [];
  #isClosed = false;

  constructor(port: MessagePort) {
    this.#port = port;
  }

  post(message: T, transfer?: readonly ArrayBuffer[]): void {
    if (this.#isClosed) return;
    // A tick of Node's comes after all promises that are settled: whatever they post goes along.
    if (this.#waiting.push(message) === 1) process.nextTick(this.#flush);
    if (transfer) this.#transfer.push(...transfer);
  }

  /** What waits still leaves. */
  close(): void {
    this.#flush();
    this.#isClosed = true;
  }

  readonly #flush = (): void => {
    if (this.#waiting.length === 0 || this.#isClosed) return;
    const [messages, transfer] = [this.#waiting, this.#transfer];
    this.#waiting = [];
    this.#transfer = [];
    this.#port.postMessage(messages, transfer);
  };
}
