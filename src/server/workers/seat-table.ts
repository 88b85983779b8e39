/**
 * Seats of a server of several threads, counted in memory that all of them see: a limit is one of the whole server, however few
 * seats it has.
 *
 *   row: | name | in use by all | times seats came free | in use by thread 0 | by thread 1 | …
 *
 * Always true: what is in use by all is the sum of what each thread uses; a seat is taken by one step that fails if another thread
 * was quicker. Seats of a thread that dies are given back by the thread that started it. Names are told from each other by a
 * hash: two that have the same one would count as one.
 */

const ROWS = 1024;
const NAME = 0;
const IN_USE = 1;
const FREED = 2;
const FIRST_THREAD = 3;

/** Seats under one limit. */
export interface SeatCounter {
  /** By all threads. */
  readonly inUse: number;
  /** Takes so many in one step, if `fits` says so of what is in use just before. */
  take(seats: number, fits: (inUse: number) => boolean): boolean;
  giveBack(seats: number): void;
  /** Calls back, later, when seats came free since `mark`. */
  whenFree(mark: number, callback: () => void): void;
  /** To be had before one looks whether there are seats. */
  mark(): number;
}

export class SeatTable {
  readonly #cells: Int32Array;
  readonly threads: number;
  readonly thread: number;

  /** `thread` of `threads`, from 0. */
  constructor(memory: SharedArrayBuffer, thread: number, threads: number) {
    this.#cells = new Int32Array(memory);
    this.thread = thread;
    this.threads = threads;
  }

  static memoryFor(threads: number): SharedArrayBuffer {
    return new SharedArrayBuffer(ROWS * (FIRST_THREAD + threads) * Int32Array.BYTES_PER_ELEMENT);
  }

  /** The same row for the same name on every thread; undefined: there are more names than rows. */
  counter(name: string): SeatCounter | undefined {
    const hash = hashOf(name);
    for (let i = 0; i < ROWS; i++) {
      const row = (((hash >>> 0) + i) % ROWS) * (FIRST_THREAD + this.threads);
      const found = Atomics.compareExchange(this.#cells, row + NAME, 0, hash);
      if (found === 0 || found === hash) return new Row(this.#cells, row, this.thread);
    }
    return undefined;
  }

  /** Gives back what a thread has that is gone. */
  release(thread: number): void {
    for (let i = 0; i < ROWS; i++) {
      const row = i * (FIRST_THREAD + this.threads);
      const seats = Atomics.exchange(this.#cells, row + FIRST_THREAD + thread, 0);
      if (seats !== 0) Atomics.sub(this.#cells, row + IN_USE, seats);
      wake(this.#cells, row);
    }
  }
}

class Row implements SeatCounter {
  readonly #cells: Int32Array;
  readonly #row: number;
  readonly #thread: number;

  constructor(cells: Int32Array, row: number, thread: number) {
    this.#cells = cells;
    this.#row = row;
    this.#thread = thread;
  }

  get inUse(): number {
    return Atomics.load(this.#cells, this.#row + IN_USE);
  }

  take(seats: number, fits: (inUse: number) => boolean): boolean {
    for (;;) {
      const { inUse } = this;
      if (!fits(inUse)) return false;
      if (Atomics.compareExchange(this.#cells, this.#row + IN_USE, inUse, inUse + seats) !== inUse) continue;
      Atomics.add(this.#cells, this.#row + FIRST_THREAD + this.#thread, seats);
      return true;
    }
  }

  giveBack(seats: number): void {
    Atomics.sub(this.#cells, this.#row + FIRST_THREAD + this.#thread, seats);
    Atomics.sub(this.#cells, this.#row + IN_USE, seats);
    wake(this.#cells, this.#row);
  }

  mark(): number {
    return Atomics.load(this.#cells, this.#row + FREED);
  }

  whenFree(mark: number, callback: () => void): void {
    const waited = waitAsync(this.#cells, this.#row + FREED, mark);
    if (waited.async) void waited.value.then(callback);
    else setImmediate(callback);
  }
}

function wake(cells: Int32Array, row: number): void {
  Atomics.add(cells, row + FREED, 1);
  Atomics.notify(cells, row + FREED);
}

type Waited =
  | { readonly async: true; readonly value: Promise<string> }
  | { readonly async: false; readonly value: string };

/** Node has it; the types that we build with do not. */
const { waitAsync } = Atomics as unknown as {
  waitAsync(cells: Int32Array, at: number, value: number): Waited;
};

/** Never 0, which is an empty row. */
function hashOf(name: string): number {
  return fnv1a(name) || 1;
}

/** FNV-1a in 32 bits with a sign: what threads that see no strings of each other tell names apart by. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash | 0;
}
