/** Reports one watch to the observers: that it opened, what came, and how it ended. It ends once. */
import { isTransportError } from '../errors.ts';
import type { Resource } from '../objects/define-resource.ts';
import type { WatchEventType } from '../objects/objects.ts';
import type { WatchEnd } from '../observing/client-observer.ts';
import type { Transport } from '../transport/transport.ts';

export class WatchReport {
  readonly #transport: Transport;
  readonly #resource: Resource;
  readonly #signal: AbortSignal | undefined;
  readonly #begin: number;
  #by: WatchEnd['by'] = 'reader'; // who leaves a loop says nothing
  #error: unknown;

  constructor(transport: Transport, resource: Resource, signal: AbortSignal | undefined) {
    this.#transport = transport;
    this.#resource = resource;
    this.#signal = signal;
    this.#begin = transport.clock.now();
  }

  opened(): void {
    this.#transport.observers.tell('onWatchOpen', this.#resource);
  }

  received(bytes: number): void {
    if (!this.#transport.observers.isEmpty) this.#transport.observers.tell('onWatchBytes', this.#resource, bytes);
  }

  event(type: WatchEventType): void {
    if (!this.#transport.observers.isEmpty) this.#transport.observers.tell('onWatchEvent', this.#resource, type);
  }

  failed(error: unknown): void {
    // Who gives a watch up has a reason, and it is no failure of the watch; a limit that has passed is one.
    const isStop = this.#signal?.aborted && !isTransportError(this.#signal.reason);
    if (isStop) return;
    this.#by = 'failure';
    this.#error = error;
  }

  /** All was read that the server had to say. */
  finished(): void {
    this.#by = 'server';
  }

  ended(): void {
    const { clock, observers } = this.#transport;
    const durationMs = clock.now() - this.#begin;
    observers.tell('onWatchEnd', { resource: this.#resource, by: this.#by, error: this.#error, durationMs });
  }
}
