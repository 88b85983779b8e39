/**
 * What an informer tells, as async iterables: every event, or the store whenever it has changed.
 *
 * A stream of events has a queue like that of a handler, and an event is handled when the next one is asked for. Streams
 * end when the informer is closed, and throw `signal.reason` or the bug that stopped it. Leaving the loop, by any door,
 * leaves nothing behind.
 */
import type { AnyObject } from '../objects/objects.ts';
import { EventQueue } from './handling/event-queue.ts';
import type { Listeners } from './handling/listeners.ts';
import type { Notifier } from './handling/notifier.ts';
import { QUEUE_LIMIT } from './handling/subscription.ts';
import type { InformerEvent } from './informer-event.ts';
import type { Snapshot } from './informer-options.ts';
import type { InformerStore } from './informer-store.ts';

type StreamsContext<T extends AnyObject> = {
  readonly store: InformerStore<T>;
  readonly listeners: Listeners<T>;
  /** Rings with every change. */
  readonly notifier: Notifier;
  /** Undefined until the whole state has come. */
  readonly resourceVersion: () => string | undefined;
  /** Whoever reads from an informer that a bug has stopped would wait for ever. */
  readonly throwBug: () => void;
  /** Fires when the informer is closed. */
  readonly stop: AbortSignal;
};

export type EventsOptions = {
  readonly signal?: AbortSignal | undefined;
  /** How many events may wait before those of a key are joined: 1000. */
  readonly limit?: number | undefined;
};

export class InformerStreams<T extends AnyObject> {
  readonly #context: StreamsContext<T>;
  readonly #queues = new Set<EventQueue<T>>();

  constructor(context: StreamsContext<T>) {
    this.#context = context;
  }

  /** No more events come, closed or not. */
  end(): void {
    for (const queue of this.#queues) queue.end();
  }

  async *events({ signal, limit = QUEUE_LIMIT }: EventsOptions): AsyncGenerator<InformerEvent<T>, void, void> {
    const { store, listeners, throwBug, stop } = this.#context;
    signal?.throwIfAborted();
    if (stop.aborted) return;
    throwBug();
    const queue = new EventQueue<T>(limit);
    const end = () => queue.end();
    signal?.addEventListener('abort', end, { once: true });
    this.#queues.add(queue);
    listeners.join(queue, store.snapshot());
    try {
      for (;;) {
        await queue.filled();
        const event = queue.shift();
        if (!event) break;
        yield event;
        queue.done();
        listeners.advanced();
      }
      signal?.throwIfAborted();
      throwBug();
    } finally {
      signal?.removeEventListener('abort', end);
      this.#queues.delete(queue);
      queue.end();
      listeners.leave(queue);
    }
  }

  async *snapshots(signal: AbortSignal | undefined): AsyncGenerator<Snapshot<T>, void, void> {
    const { store, notifier, throwBug, stop } = this.#context;
    let last: ReadonlyMap<string, T> | undefined;
    while (!stop.aborted) {
      throwBug();
      const resourceVersion = this.#context.resourceVersion();
      const objects = store.snapshot();
      if (resourceVersion === undefined || objects === last) await notifier.wait(signal);
      else {
        last = objects;
        yield { objects, resourceVersion };
        signal?.throwIfAborted();
      }
    }
  }
}
