/**
 * The stream that is read, and the one that is to take its place: before its planned end a successor is opened beside
 * it, and it is read until that one is accepted.
 *
 * What is always true:
 * - Only the stream that is read, and that the server has accepted, grows old. A successor has no timer before it takes
 *   over, so no successor ever follows one that may still be refused.
 * - There is at most one successor at a time, and the relay alone holds it.
 * - A successor takes over or is broken off, whatever happens: refused, aborted, not wanted any more, the relay disposed
 *   while it was on its way. Who was broken off changes nothing any more.
 * - Disposing breaks off both.
 */
import type { AnyObject } from '../objects/objects.ts';
import type { WatchRequest } from './watch-request.ts';

export type Relaying<T extends AnyObject> = {
  /** The stream nears its planned end: sends the one that shall follow it, or undefined if there shall be none. */
  readonly openSuccessor: () => WatchRequest<T> | undefined;
  /** It was accepted. Says whether it is still wanted. */
  readonly onAccepted: (successor: WatchRequest<T>) => boolean;
  /** It was not accepted, or not wanted: the stream goes on as long as it lasts. */
  readonly onFailed: () => void;
};

type Successor<T extends AnyObject> = { readonly request: WatchRequest<T>; readonly isDecided: Promise<void> };

/** How long before its planned end a stream gets a successor; of a short life, a quarter of it. */
const ROTATION_MS = 30_000;

export class WatchRelay<T extends AnyObject> implements Disposable {
  readonly #relaying: Relaying<T>;
  #current: WatchRequest<T>;
  #successor: Successor<T> | undefined;
  #isOver = false;

  constructor(first: WatchRequest<T>, relaying: Relaying<T>) {
    this.#relaying = relaying;
    this.#current = first;
    this.#letAge(first);
  }

  /** The one to read. Another one as soon as a successor was accepted, and then the one before is superseded. */
  get current(): WatchRequest<T> {
    return this.#current;
  }

  get hasSuccessor(): boolean {
    return this.#successor !== undefined;
  }

  /** Resolves once the successor that is on its way has taken over or failed. */
  async decided(): Promise<void> {
    await this.#successor?.isDecided;
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#successor?.request[Symbol.dispose]();
    this.#successor = undefined;
    this.#current[Symbol.dispose]();
  }

  /**
   * The server counts its life from some moment between the sending and the accepting: from the first, to be in time.
   */
  #letAge(request: WatchRequest<T>): void {
    const { lifeMs } = request;
    const oldMs = lifeMs - Math.min(ROTATION_MS, lifeMs / 4);
    void request.accepted.then((isAccepted) => {
      if (isAccepted) request.after(Math.max(0, oldMs - request.ageMs), () => this.#rotate());
    });
  }

  #rotate(): void {
    const request = this.#relaying.openSuccessor();
    if (!request) return;
    const isDecided = request.accepted.then((isAccepted) => {
      if (this.#isOver) return; // it was disposed with the relay
      this.#successor = undefined;
      if (isAccepted && this.#relaying.onAccepted(request)) this.#handOver(request);
      else {
        request[Symbol.dispose]();
        this.#relaying.onFailed();
      }
    });
    isDecided.catch((bug: unknown) => {
      request[Symbol.dispose]();
      this.#current.fail(bug); // it stops whoever reads
    });
    this.#successor = { request, isDecided };
  }

  #handOver(request: WatchRequest<T>): void {
    const old = this.#current;
    this.#current = request;
    old.supersede();
    old[Symbol.dispose]();
    this.#letAge(request);
  }
}
