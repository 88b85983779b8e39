/**
 * One handler at work: takes events from its own queue, one at a time, and waits for each to be handled.
 *
 * A handler that is slow fills its own queue and no other. One that throws, or whose promise rejects, is reported
 * to `onError`, and goes on with the next event; no event is delivered twice. Disposing forgets what waits, and
 * resolves when the event that is being handled is done, or has not ended `closeGraceMs` after its signal, which is
 * reported to `onError`: the handler is not called again. So a handler that waits for its own removal waits for that
 * long. How long it has been at its present event is in its metrics. With a checkpoint, deletions that it forgets
 * within five minutes of the informer's end are delivered by the next process; on one that runs on they are given up.
 */
import { type Clock, closeOnce } from '../../../api/index.ts';
import type { AnyObject } from '../../objects/objects.ts';
import type { HandlerMetrics } from '../../observing/informer-metrics.ts';
import { nextTurn } from '../../slices.ts';
import type { InformerEvent } from '../informer-event.ts';
import { type EventBatch, EventQueue } from './event-queue.ts';
import { Notifier } from './notifier.ts';

export type EventHandler<T extends AnyObject> = (event: InformerEvent<T>, signal: AbortSignal) => unknown;

export type HandlerOptions<T extends AnyObject> = {
  /** In metrics and messages. */
  readonly name?: string | undefined;
  /** How many events may wait before those of a key are joined: 1000. */
  readonly limit?: number | undefined;
  /** Every object is delivered again, as an update that changed nothing, this often. 0 is never, and the default. */
  readonly resyncMs?: number | undefined;
  readonly onError?: ((error: unknown, event: InformerEvent<T>) => void) | undefined;
  /** How long the event in hand may take to end when the handler is removed, or the informer closed: 5 s. */
  readonly closeGraceMs?: number | undefined;
};

type Context<T extends AnyObject> = {
  readonly clock: Clock;
  readonly name: string;
  readonly onError: (error: unknown, event: InformerEvent<T>) => void;
  /** `conflated`: how many events were joined with others since the last time. */
  readonly onHandled?: (durationMs: number, isError: boolean, conflated: number) => void;
  readonly objects: () => ReadonlyMap<string, T>;
  /** Resolves once the informer has the whole state. */
  readonly synced: (signal?: AbortSignal) => Promise<void>;
  readonly onClose: () => void;
};

export const QUEUE_LIMIT = 1000;
const CLOSE_GRACE_MS = 5_000;
/**
 * After so many events, or so long, the others have a turn: a handler that never waits must not hold the event loop, or
 * the copy would lag as far behind as the handler.
 */
const TURN_EVENTS = 1000;
const TURN_MS = 10;

export class Subscription<T extends AnyObject> implements AsyncDisposable {
  readonly name: string;
  readonly #queue: EventQueue<T>;
  readonly #context: Context<T>;
  readonly #stop = new AbortController();
  readonly #close: () => Promise<void>;
  readonly #notifier = new Notifier();
  /** What is in hand, and since when. */
  #present: { readonly event: InformerEvent<T>; readonly since: number } | undefined;
  #delivered = 0;
  #errors = 0;

  constructor(handler: EventHandler<T>, options: HandlerOptions<T>, context: Context<T>) {
    const { limit = QUEUE_LIMIT, resyncMs = 0, closeGraceMs = CLOSE_GRACE_MS } = options;
    this.name = context.name;
    this.#context = context;
    this.#queue = new EventQueue(limit);
    const work = this.#work(handler);
    const resync = resyncMs > 0 ? this.#resync(resyncMs) : undefined;
    this.#close = closeOnce(async () => {
      this.#queue.end();
      context.onClose();
      this.#stop.abort(new Error(`Handler "${this.name}" was removed`));
      await this.#ended(work, closeGraceMs);
      await resync;
    });
  }

  get metrics(): HandlerMetrics {
    const { size: backlog, conflated } = this.#queue;
    const busyMs = this.#present ? this.#context.clock.now() - this.#present.since : 0;
    return { name: this.name, backlog, delivered: this.#delivered, conflated, errors: this.#errors, busyMs };
  }

  push(event: InformerEvent<T>): void {
    this.#queue.push(event);
  }

  pushAll(batch: EventBatch<T>): void {
    this.#queue.pushAll(batch);
  }

  /** Stands for everything that was queued so far. */
  get mark(): number {
    return this.#queue.mark;
  }

  /** Everything before the mark is handled; of what it forgot when it was disposed, only deletions count. */
  hasHandled(mark: number): boolean {
    return this.#queue.hasHandled(mark);
  }

  /** Resolves once the handler got the whole initial state; rejects as the informer's `synced` does. */
  async synced(signal?: AbortSignal): Promise<void> {
    await this.#context.synced(signal);
    const mark = this.#queue.mark;
    while (this.#present || !this.#queue.isPast(mark)) await this.#notifier.wait(signal);
    this.#stop.signal.throwIfAborted();
  }

  /** Resolves when nothing waits and nothing is being handled, or when it was removed. */
  async idle(signal?: AbortSignal): Promise<void> {
    while (this.#present || this.#queue.size > 0) await this.#notifier.wait(signal);
  }

  async close(): Promise<void> {
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }

  async #work(handler: EventHandler<T>): Promise<void> {
    const { signal } = this.#stop;
    let reported = 0;
    let turnBegin = this.#context.clock.now();
    for (;;) {
      if (this.#queue.size === 0) await this.#queue.filled();
      const event = this.#queue.shift();
      if (!event) break; // ended
      const begin = this.#context.clock.now();
      this.#present = { event, since: begin };
      let isError = false;
      try {
        const handling = handler(event, signal);
        if (handling instanceof Object && 'then' in handling) await handling; // a wait for nothing costs more than most handlers
      } catch (error) {
        this.#errors++;
        isError = true;
        if (!signal.aborted) this.#context.onError(error, event);
      }
      this.#present = undefined;
      this.#queue.done();
      this.#delivered++;
      const { conflated } = this.#queue;
      const end = this.#context.clock.now();
      this.#context.onHandled?.(end - begin, isError, conflated - reported);
      reported = conflated;
      this.#notifier.notify();
      if (this.#delivered % TURN_EVENTS === 0 || end - turnBegin >= TURN_MS) {
        await nextTurn();
        turnBegin = this.#context.clock.now();
      }
    }
    this.#notifier.notify();
  }

  /** Waits for what is in hand, but not for ever: nothing else could tell that a handler hangs. */
  async #ended(work: Promise<void>, graceMs: number): Promise<void> {
    if (!this.#present) return await work;
    const { clock, onError } = this.#context;
    const over = new AbortController();
    const late = clock.sleep(graceMs, over.signal).then(
      () => true,
      () => false, // it has ended in time
    );
    const isLate = await Promise.race([work.then(() => false), late]);
    over.abort();
    if (isLate && this.#present)
      onError(new Error(`it has not ended within ${graceMs} ms of its signal`), this.#present.event);
  }

  async #resync(everyMs: number): Promise<void> {
    const { clock, objects } = this.#context;
    while (!this.#stop.signal.aborted) {
      await clock.sleep(everyMs, this.#stop.signal).catch(() => {}); // it ends below
      if (this.#stop.signal.aborted) return;
      const all = objects();
      const events = { [Symbol.iterator]: () => again(all) };
      if (this.#queue.size === 0) this.pushAll({ count: all.size, events, has: (key) => all.has(key) });
      else for (const event of events) if (!this.#queue.has(event.key)) this.push(event); // what waits will be delivered anyway
    }
  }
}

function* again<T extends AnyObject>(objects: ReadonlyMap<string, T>): Generator<InformerEvent<T>, void, void> {
  for (const [key, object] of objects) yield { type: 'updated', key, object, old: object, isResync: true };
}
