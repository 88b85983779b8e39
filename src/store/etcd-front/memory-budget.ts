/**
 * How much memory all calls of a front may take together, for what they have sent of a request and for answers on their
 * way. What goes beyond is refused as etcd refuses when it is overloaded, so that many clients together cost no more
 * than is stated, however slowly they write or read.
 */
import { refusals } from './messages/front-error.ts';

export class MemoryBudget {
  readonly #limitBytes: number;
  #usedBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** A share that grows and is given back as a whole. */
  share(): MemoryShare {
    return new MemoryShare((bytes, mayRefuse) => {
      if (mayRefuse && bytes > 0 && this.#usedBytes + bytes > this.#limitBytes) throw refusals.tooManyRequests();
      this.#usedBytes += bytes;
    });
  }
}

export class MemoryShare implements Disposable {
  readonly #claim: (bytes: number, mayRefuse: boolean) => void;
  #bytes = 0;

  constructor(claim: (bytes: number, mayRefuse: boolean) => void) {
    this.#claim = claim;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(bytes: number): void {
    this.#claim(bytes, true);
    this.#bytes += bytes;
  }

  /** For what is there already, the answer to a change: it is not refused, but others are sooner. */
  atLeast(bytes: number): void {
    if (bytes <= this.#bytes) return;
    this.#claim(bytes - this.#bytes, false);
    this.#bytes = bytes;
  }

  set(bytes: number): void {
    this.add(bytes - this.#bytes);
  }

  [Symbol.dispose](): void {
    this.set(0);
  }
}
