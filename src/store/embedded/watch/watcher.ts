/**
 * One reader's watch of the embedded store: live from the hub while it keeps up, from the log on disk while it does
 * not.
 *
 *   live    member of the hub; batches wait in a bounded queue
 *   behind  not in the hub and costs nothing; each time the reader asks, the next stretch of the log is read for it
 *   ended   the reader left, or `error` says why
 *
 * Always true: everything up to `#complete` that matches has been queued or delivered, and nothing above it. A reader
 * that falls behind by more than the queue's limits becomes `behind` with its queue intact: it loses nothing, delays
 * nobody, and joins the hub again when it has reached the present. The log is read only when the reader asks, so
 * memory is bounded by the reader, not by the writer.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { StoreError } from '../../errors.ts';
import type { KeyRange, Revision, Watch, WatchBatch, WatchEvent, WatchOptions } from '../../kv.ts';
import type { Delivery, HubMember, WatchHub } from './watch-hub.ts';

/** What a watcher needs to know of its store. */
export type WatchSource = {
  readonly hub: WatchHub;
  readonly limits: WatchLimits;
  published(): Revision;
  compacted(): Revision;
  /** What to wait for before the log can be read; undefined: nothing. */
  pause(): Promise<void> | undefined;
  /** The matching events from a revision on, at most a stretch of them; complete up to and with `revision`. */
  readLog(range: KeyRange, from: Revision, wantsPrevKv: boolean): { events: WatchEvent[]; revision: Revision };
  /** The watcher has come to its end. */
  left(watcher: Watcher): void;
  /** A reader waits: the process has something to live for until it is told otherwise. */
  hold(): void;
  release(): void;
};

/** How far a reader may fall behind before it is sent to the log. */
export type WatchLimits = { readonly events: number; readonly bytes: number };

type State = { kind: 'live' } | { kind: 'behind' } | { kind: 'ended'; error?: unknown };

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };

export class Watcher implements Watch, HubMember {
  readonly range: KeyRange;
  readonly wantsPrevKv: boolean;
  readonly wantsProgress: boolean;
  readonly #source: WatchSource;
  readonly #signal: AbortSignal | undefined;
  readonly #startedAfter: Revision;
  #state: State = { kind: 'behind' };
  #complete: Revision;
  #isProgressAskedFor = false;
  readonly #queue: Delivery[] = [];
  /** Reads that wait, served in the order in which they were asked for. */
  #readers = 0;
  #lastRead: Promise<unknown> = Promise.resolve();
  #queuedEvents = 0;
  #queuedBytes = 0;
  #wakers: (() => void)[] = [];

  constructor(range: KeyRange, options: WatchOptions, source: WatchSource) {
    this.range = range;
    this.wantsPrevKv = options.prevKv ?? false;
    this.wantsProgress = options.progress ?? false;
    this.#source = source;
    this.#signal = options.signal;
    const from = options.fromRevision || source.published() + 1;
    this.#startedAfter = from - 1;
    this.#complete = this.#startedAfter;
  }

  /** Called once, when the store knows of it. */
  start(): void {
    if (this.#complete >= this.#source.published()) this.#goLive();
    else this.#endIfCompacted();
    this.#signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (this.#signal?.aborted) this.#onAbort();
  }

  async started(): Promise<Revision> {
    if (this.#state.kind === 'ended' && this.#state.error) throw this.#state.error;
    return this.#startedAfter;
  }

  requestProgress(): void {
    this.#isProgressAskedFor = true;
    if (this.#state.kind === 'live') this.#queueProgress();
  }

  next(): Promise<IteratorResult<WatchBatch>> {
    if (this.#readers === 0 && this.#state.kind !== 'ended' && this.#queue.length > 0)
      return Promise.resolve(this.#take());
    const read = this.#readers++ === 0 ? this.#waitForNext() : this.#lastRead.then(() => this.#waitForNext());
    this.#lastRead = read.catch(() => {}).finally(() => this.#readers--);
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

  /** Ends the watch; without an error the reader's loop just finishes. */
  end(error?: unknown): void {
    if (this.#state.kind === 'ended') return;
    this.#source.hub.leave(this);
    this.#state = { kind: 'ended', error };
    this.#queue.length = 0;
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#source.left(this);
    this.#wake();
  }

  offer(delivery: Delivery): void {
    if (this.#state.kind !== 'live') return;
    const { batch, bytes } = this.#startedAfter < delivery.batch.revision ? this.#withoutPast(delivery) : delivery;
    if (batch.revision <= this.#startedAfter) return; // a start in the future has not come yet
    const isFull =
      this.#queue.length > 0 &&
      (this.#queuedEvents + batch.events.length > this.#source.limits.events ||
        this.#queuedBytes + bytes > this.#source.limits.bytes);
    if (isFull) {
      // The hub offers all that matches, so nothing lies between what is queued and this batch.
      this.#complete = Math.max(this.#complete, batch.events[0]!.kv.modRevision - 1);
      this.#source.hub.leave(this);
      this.#state = { kind: 'behind' };
      return;
    }
    this.#complete = batch.revision;
    if (batch.events.length === 0) return;
    this.#push({ batch, bytes });
  }

  /** Puts progress in the queue, unless a batch that says the same is there already. */
  #queueProgress(): void {
    const revision = this.#source.published();
    if (revision < this.#startedAfter) return;
    this.#isProgressAskedFor = false;
    this.#complete = Math.max(this.#complete, revision);
    const last = this.#queue[this.#queue.length - 1];
    if (last && last.batch.revision >= revision) return;
    const progress = { batch: { revision, events: [] }, bytes: 0 };
    if (last && last.batch.events.length === 0) this.#queue[this.#queue.length - 1] = progress;
    else this.#push(progress);
  }

  async #waitForNext(): Promise<IteratorResult<WatchBatch>> {
    for (;;) {
      if (this.#state.kind === 'ended') {
        const { error } = this.#state;
        this.#state = { kind: 'ended' }; // an error is told once
        if (error) throw error;
        return DONE;
      }
      if (this.#queue.length > 0) return this.#take();
      if (this.#state.kind === 'behind') await this.#catchUp();
      else await this.#change();
    }
  }

  async #change(): Promise<void> {
    this.#source.hold();
    await new Promise<void>((resolve) => this.#wakers.push(resolve));
    this.#source.release();
  }

  /** Reads one stretch of the log; the turn of the loop in between keeps a long way back from holding others up. */
  async #catchUp(): Promise<void> {
    while (this.#source.pause() !== undefined) await this.#source.pause();
    if (this.#state.kind === 'ended' || this.#endIfCompacted()) return;
    let stretch: ReturnType<WatchSource['readLog']>;
    try {
      stretch = this.#source.readLog(this.range, this.#complete + 1, this.wantsPrevKv);
    } catch (err) {
      this.end(err); // a damaged log: it cannot go on without a gap
      return;
    }
    const { events, revision } = stretch;
    this.#complete = revision;
    if (events.length > 0) this.#push({ batch: { revision, events }, bytes: 0 });
    if (revision >= this.#source.published()) this.#goLive();
    else if (events.length === 0) await nextTurn();
  }

  #endIfCompacted(): boolean {
    const compactRevision = this.#source.compacted();
    if (this.#complete + 1 >= compactRevision) return false;
    const message = `Cannot watch from revision ${this.#complete + 1}: history before ${compactRevision} is compacted`;
    this.end(new StoreError('Compacted', message, { compactRevision }));
    return true;
  }

  #goLive(): void {
    this.#state = { kind: 'live' };
    this.#source.hub.join(this);
    if (this.#isProgressAskedFor) this.#queueProgress();
  }

  /** A watch that starts in the middle of a batch gets the part that it asked for. */
  #withoutPast(delivery: Delivery): Delivery {
    const { events, revision } = delivery.batch;
    const first = events[0];
    if (!first || first.kv.modRevision > this.#startedAfter) return delivery;
    return {
      batch: { revision, events: events.filter((event) => event.kv.modRevision > this.#startedAfter) },
      bytes: delivery.bytes,
    };
  }

  #push(delivery: Delivery): void {
    this.#queue.push(delivery);
    this.#queuedEvents += delivery.batch.events.length;
    this.#queuedBytes += delivery.bytes;
    this.#wake();
  }

  #take(): IteratorResult<WatchBatch> {
    const { batch, bytes } = this.#queue.shift()!;
    this.#queuedEvents -= batch.events.length;
    this.#queuedBytes -= bytes;
    return { done: false, value: batch };
  }

  #wake(): void {
    const wakers = this.#wakers;
    if (wakers.length === 0) return;
    this.#wakers = [];
    for (const wake of wakers) wake();
  }

  readonly #onAbort = (): void => this.end(this.#signal?.reason ?? new Error('aborted'));
}
