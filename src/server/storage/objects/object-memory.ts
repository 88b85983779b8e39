/**
 * Where the bytes of objects lie: in memory of this thread's, or in memory that all threads of a server see, so that they
 * are made once and read by all.
 *
 * Always true: what was given out is written once, before anybody is shown it. Nobody counts who holds shared memory: V8
 * does, across threads, and frees a piece when the last view of it is gone in the last of them.
 */

export interface ObjectMemory {
  /** A piece by itself, whose first byte is the first of its memory. */
  allocate(bytes: number): Buffer;
  /** Room for what comes next, which is used side by side: for what comes, stays and goes together. */
  expect(bytes: number): void;
  take(bytes: number): Buffer;
}

/** Not from Node's pool: a few bytes there would keep the whole pool alive. */
export const ownMemory: ObjectMemory = {
  allocate: (bytes) => Buffer.allocUnsafeSlow(bytes),
  expect: () => {},
  take: (bytes) => Buffer.allocUnsafeSlow(bytes),
};

export class SharedMemory implements ObjectMemory {
  #expected: Buffer | undefined;
  #used = 0;

  allocate(bytes: number): Buffer {
    return Buffer.from(new SharedArrayBuffer(bytes));
  }

  expect(bytes: number): void {
    this.#expected = bytes > 0 ? this.allocate(bytes) : undefined;
    this.#used = 0;
  }

  take(bytes: number): Buffer {
    const at = this.#used;
    if (!this.#expected || at + bytes > this.#expected.length) return this.allocate(bytes);
    this.#used += bytes;
    return this.#expected.subarray(at, this.#used);
  }
}
