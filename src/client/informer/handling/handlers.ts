/** The handlers of one informer: how each gets its events, is watched over and, with the informer, stopped. */
import { CallbackError } from '../../../api/index.ts';
import type { Resource } from '../../objects/define-resource.ts';
import type { AnyObject } from '../../objects/objects.ts';
import type { HandlerMetrics } from '../../observing/informer-metrics.ts';
import type { Transport } from '../../transport/transport.ts';
import type { InformerStore } from '../informer-store.ts';
import type { Listeners } from './listeners.ts';
import { type EventHandler, type HandlerOptions, Subscription } from './subscription.ts';

type HandlersContext<T extends AnyObject> = {
  readonly transport: Transport;
  readonly resource: Resource<T>;
  readonly store: InformerStore<T>;
  readonly listeners: Listeners<T>;
  readonly synced: (signal?: AbortSignal) => Promise<void>;
  /** Of handlers that say nothing else. */
  readonly closeGraceMs: number | undefined;
  /** Takes errors of handlers that do not take their own. */
  readonly report: (error: unknown) => void;
  /** Calls somebody who may throw. */
  readonly guard: (callback: string, tell: () => unknown, subject: string) => void;
};

export class Handlers<T extends AnyObject> {
  readonly #context: HandlersContext<T>;
  readonly #subscriptions = new Set<Subscription<T>>();
  #count = 0;

  constructor(context: HandlersContext<T>) {
    this.#context = context;
  }

  /** How long the slowest of them has been at its present event. */
  get busyMs(): number {
    let longest = 0;
    for (const { metrics } of this.#subscriptions) longest = Math.max(longest, metrics.busyMs);
    return longest;
  }

  get metrics(): HandlerMetrics[] {
    return [...this.#subscriptions].map(({ metrics }) => metrics);
  }

  subscribe(handler: EventHandler<T>, options: HandlerOptions<T>): Subscription<T> {
    const { transport, resource, store, listeners, synced, report, guard, closeGraceMs } = this.#context;
    const { observers, clock } = transport;
    const { name = '', onError } = options;
    const called = options.name ?? `${resource.plural}-${++this.#count}`;
    const whose = `the informer of ${resource.plural}`;
    const subscription: Subscription<T> = new Subscription(
      handler,
      { closeGraceMs, ...options },
      {
        clock,
        name: called,
        objects: () => store.snapshot(),
        synced,
        onError: (error, event) => {
          if (onError) guard(`onError of handler ${called}`, () => onError(error, event), event.key);
          else report(new CallbackError(`handler ${called}`, event.key, whose, error));
        },
        onHandled: (durationMs, isError, conflated) => {
          listeners.advanced();
          if (!observers.isEmpty)
            observers.tell('onHandled', { resource, handler: name, durationMs, isError, conflated });
        },
        onClose: () => {
          listeners.leave(subscription);
          this.#subscriptions.delete(subscription);
        },
      },
    );
    this.#subscriptions.add(subscription);
    listeners.join(subscription, store.snapshot());
    return subscription;
  }

  /** Resolves when none of them is called any more, and what they have in hand has ended or had its time. */
  async close(): Promise<void> {
    await Promise.all([...this.#subscriptions].map((one) => one[Symbol.asyncDispose]()));
  }
}
