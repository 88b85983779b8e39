/**
 * One end of a port: of what is posted in one turn of the loop the first leaves at once, with whatever the promises of that
 * moment post beside it; the rest leaves together at the end of the turn, or when somebody asks for it. So who is alone does not wait, and of many
 * each costs a part of a message only: waking the other thread is what a message costs most.
 */
import type { MessagePort } from 'node:worker_threads';

export class Outbox<T> {
  /** Messages that have left: as long as it stays the same, what is posted goes along with what waits. */
  sent = 0;
  readonly #port: MessagePort;
  readonly #onLeave: () => void;
  #waiting: T[] = [];
  #transfer: ArrayBuffer[] = [];
  /** Something has left in this turn. */
  #hasSent = false;
  #isClosed = false;

  /** `onLeave` is called just before a message leaves. */
  constructor(port: MessagePort, onLeave: () => void = () => {}) {
    this.#port = port;
    this.#onLeave = onLeave;
  }

  post(message: T, transfer?: readonly ArrayBuffer[]): void {
    if (this.#isClosed) return;
    // A tick of Node's comes after all promises that are settled: whatever they post goes along.
    if (this.#waiting.push(message) === 1 && !this.#hasSent) process.nextTick(this.#sendFirst);
    if (transfer) this.#transfer.push(...transfer);
  }

  /** What waits leaves now. */
  flush(): void {
    if (this.#waiting.length === 0 || this.#isClosed) return;
    const [messages, transfer] = [this.#waiting, this.#transfer];
    this.#waiting = [];
    this.#transfer = [];
    this.sent++;
    this.#onLeave();
    this.#port.postMessage(messages, transfer);
  }

  /** What waits still leaves. */
  close(): void {
    this.flush();
    this.#isClosed = true;
  }

  readonly #sendFirst = (): void => {
    this.flush();
    this.#hasSent = true;
    setImmediate(this.#endTurn);
  };

  readonly #endTurn = (): void => {
    this.#hasSent = false;
    this.flush();
  };
}
