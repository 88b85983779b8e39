/**
 * The mailbox between a watch stream and its one reader.
 *
 * Always true: batches come out in the order they went in, each once; a reader that waits gets a batch at once. The
 * queue refuses nothing, but tells when it holds `limitBytes` or more, so that its feeder stops; by then it can be over
 * by what the feeder had in hand. Progress that nobody read yet is replaced by newer progress.
 *
 * It ends in one of two ways: `finish` lets the reader have what is queued first, `cut` does not. The error, if there is
 * one, goes to one call of `next`; after it the queue is done.
 */
import type { WatchBatch } from '../../kv.ts';

type Waiter = { resolve: (result: IteratorResult<WatchBatch>) => void; reject: (err: unknown) => void };
type Ending = { readonly error?: unknown };

export class BatchQueue {
  readonly #limitBytes: number;
  readonly #onDrain: () => void;
  #entries: { batch: WatchBatch; bytes: number }[] = [];
  #head = 0;
  #bytes = 0;
  #waiters: Waiter[] = [];
  #ending: Ending | undefined;

  /** `onDrain` is called when a queue that was full has shrunk to half its limit. */
  constructor(limitBytes: number, onDrain: () => void) {
    this.#limitBytes = limitBytes;
    this.#onDrain = onDrain;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isFull(): boolean {
    return this.#bytes >= this.#limitBytes;
  }

  get isEnded(): boolean {
    return this.#ending !== undefined;
  }

  push(batch: WatchBatch, bytes: number): void {
    if (this.#ending) return;
    const waiter = this.#waiters.shift();
    if (waiter) {
      waiter.resolve({ value: batch, done: false });
      return;
    }
    const newest = this.#head < this.#entries.length ? this.#entries.at(-1) : undefined;
    if (newest && newest.batch.events.length === 0 && batch.events.length === 0) newest.batch = batch;
    else {
      this.#entries.push({ batch, bytes });
      this.#bytes += bytes;
    }
  }

  next(): Promise<IteratorResult<WatchBatch>> {
    const entry = this.#entries[this.#head];
    if (entry) {
      this.#take(entry.bytes);
      return Promise.resolve({ value: entry.batch, done: false });
    }
    if (!this.#ending) return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
    const { error } = this.#ending;
    this.#ending = {};
    return error === undefined ? Promise.resolve({ value: undefined, done: true }) : Promise.reject(error);
  }

  finish(error?: unknown): void {
    if (this.#ending) return;
    this.#ending = { error };
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { resolve, reject } of waiters) this.next().then(resolve, reject);
  }

  cut(error?: unknown): void {
    this.#entries = [];
    this.#head = 0;
    this.#bytes = 0;
    if (this.#ending) this.#ending = { error };
    else this.finish(error);
  }

  #take(bytes: number): void {
    const wasFull = this.#bytes > this.#limitBytes / 2;
    this.#bytes -= bytes;
    this.#head++;
    if (this.#head === this.#entries.length) {
      this.#entries = [];
      this.#head = 0;
    } else if (this.#head >= 1024) {
      this.#entries.splice(0, this.#head);
      this.#head = 0;
    }
    if (wasFull && this.#bytes <= this.#limitBytes / 2) this.#onDrain();
  }
}
