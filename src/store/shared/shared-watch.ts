/**
 * One watch of a store that another thread has: batches wait here until its reader takes them.
 *
 * Always true: what waits here and what is on its way is bounded by the room that the owner knows of; it is told of room
 * when half of it is free again, so that a reader who keeps up costs no messages of its own.
 */
import type { Revision, Watch, WatchBatch } from '../kv.ts';
import { onAbort } from './abort-calls.ts';
import { type Order, type Report, WATCH_ROOM } from './shared-messages.ts';

type WatchOrder = Extract<Order, { kind: 'took' | 'progress' | 'leave' }>;

export type SharedWatchOptions = {
  readonly signal: AbortSignal | undefined;
  readonly order: (
    order: WatchOrder extends infer O ? (O extends { id: number } ? Omit<O, 'id'> : never) : never,
  ) => void;
  readonly onEnd: () => void;
};

type Arrived = Extract<Report, { kind: 'batch' }>;

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };

export class SharedWatch implements Watch {
  answersProgress?: boolean;
  readonly #options: SharedWatchOptions;
  readonly #queue: Arrived[] = [];
  readonly #started: Promise<Revision>;
  #start!: { resolve: (revision: Revision) => void; reject: (reason: unknown) => void };
  /** What the reader has taken and the owner does not know of. */
  #taken = 0;
  #end: { error?: unknown } | undefined;
  #wakers: (() => void)[] = [];
  #forget: (() => void) | undefined;
  /** Reads that wait, served in the order in which they were asked for. */
  #lastRead: Promise<unknown> | undefined;

  constructor(options: SharedWatchOptions) {
    this.#options = options;
    this.#started = new Promise((resolve, reject) => {
      this.#start = { resolve, reject };
    });
    this.#started.catch(() => {}); // told by `next` as well
    const { signal } = options;
    if (signal?.aborted) this.end(signal.reason, false);
    else this.#forget = onAbort(signal, () => this.end(signal?.reason));
  }

  get isOver(): boolean {
    return this.#end !== undefined;
  }

  started(): Promise<Revision> {
    return this.#started;
  }

  hasStarted(revision: Revision): void {
    this.#start.resolve(revision);
  }

  requestProgress(): void {
    if (!this.#end) this.#options.order({ kind: 'progress' });
  }

  hear(arrived: Arrived): void {
    if (this.#end) return;
    if (arrived.answersProgress !== undefined) this.answersProgress = arrived.answersProgress;
    this.#queue.push(arrived);
    this.#wake();
  }

  next(): Promise<IteratorResult<WatchBatch>> {
    if (this.#lastRead === undefined && this.#queue.length > 0) return Promise.resolve(this.#take());
    const before = this.#lastRead;
    const read = before === undefined ? this.#waitForNext() : before.then(() => this.#waitForNext());
    const settled = read.then(ignore, ignore).then(() => {
      if (this.#lastRead === settled) this.#lastRead = undefined;
    });
    this.#lastRead = settled;
    return read;
  }

  async return(): Promise<IteratorResult<WatchBatch>> {
    this.end();
    return DONE;
  }

  [Symbol.asyncIterator](): Watch {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.end();
  }

  /**
   * Ends it; without an error the reader's loop just finishes. What arrived before its owner ended it is still to be read;
   * who ends it here reads no more.
   */
  end(error?: unknown, isHere = true): void {
    if (this.#end) return;
    this.#end = { error };
    this.#start.reject(error ?? new Error('the watch has ended'));
    this.#forget?.();
    if (isHere) {
      this.#queue.length = 0;
      this.#options.order({ kind: 'leave' });
    }
    this.#options.onEnd();
    this.#wake();
  }

  async #waitForNext(): Promise<IteratorResult<WatchBatch>> {
    for (;;) {
      if (this.#queue.length > 0) return this.#take();
      if (this.#end) {
        const { error } = this.#end;
        this.#end = {}; // an error is told once
        if (error !== undefined) throw error;
        return DONE;
      }
      await new Promise<void>((resolve) => this.#wakers.push(resolve));
    }
  }

  #take(): IteratorResult<WatchBatch> {
    const { batch, weight } = this.#queue.shift()!;
    this.#taken += weight;
    if (this.#taken >= WATCH_ROOM / 2 && !this.#end) {
      this.#options.order({ kind: 'took', weight: this.#taken });
      this.#taken = 0;
    }
    return { done: false, value: batch };
  }

  #wake(): void {
    const wakers = this.#wakers;
    if (wakers.length === 0) return;
    this.#wakers = [];
    for (const wake of wakers) wake();
  }
}

function ignore(): void {}
