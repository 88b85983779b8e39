/**
 * Who gets the events of a store, and how far they have come with it.
 *
 * Delivering never waits: each listener has a queue of its own. One that joins first gets what is there. One that
 * leaves before it was through with some deletion counts as not through for five minutes more. If the process ends by
 * then, it left because of that, and the next one has to tell the deletion; if not, it was removed on purpose, and gave
 * it up.
 */
import type { Clock } from '../../../api/index.ts';
import type { AnyObject } from '../../objects/objects.ts';
import type { InformerEvent } from '../informer-event.ts';
import type { EventBatch, EventQueue } from './event-queue.ts';
import { Notifier } from './notifier.ts';

type Listener<T extends AnyObject> = Pick<EventQueue<T>, 'push' | 'pushAll' | 'mark' | 'hasHandled'>;

/** Longer than whoever stops a process commonly waits for its end. */
const LEAVING_MS = 300_000;

export class Listeners<T extends AnyObject> {
  readonly #all = new Set<Listener<T>>();
  readonly #leaving = new Set<Listener<T>>();
  readonly #clock: Clock;
  readonly #stop: AbortSignal;
  readonly #delivered = { added: 0, updated: 0, deleted: 0 };
  readonly #notifier = new Notifier();

  constructor(clock: Clock, stop: AbortSignal) {
    this.#clock = clock;
    this.#stop = stop;
  }

  /** How many events there were so far. */
  get delivered(): Readonly<Record<InformerEvent<T>['type'], number>> {
    return { ...this.#delivered };
  }

  join(listener: Listener<T>, objects: ReadonlyMap<string, T>): void {
    const events = { [Symbol.iterator]: () => additions(objects) };
    listener.pushAll({ count: objects.size, events, has: (key) => objects.has(key) });
    this.#all.add(listener);
  }

  /** To be called when its queue has ended. */
  leave(listener: Listener<T>): void {
    this.#all.delete(listener);
    if (!listener.hasHandled(listener.mark)) void this.#letGo(listener);
    this.#notifier.notify();
  }

  tell(events: readonly InformerEvent<T>[]): void {
    for (const event of events) {
      this.#delivered[event.type]++;
      for (const listener of this.#all) listener.push(event);
    }
  }

  /** All that a new state has brought, each key at most twice: gone, and there again. */
  tellAll(events: readonly InformerEvent<T>[], has: (key: string) => boolean): void {
    for (const { type } of events) this.#delivered[type]++;
    const batch: EventBatch<T> = { count: events.length, events, has };
    for (const listener of this.#all) listener.pushAll(batch);
  }

  /** Calls with every key that changes, until it is disposed. */
  follow(onChange: (key: string) => void): Disposable {
    const listener: Listener<T> = {
      push: ({ key }) => onChange(key),
      pushAll: ({ events }) => {
        for (const { key } of events) onChange(key);
      },
      mark: 0,
      hasHandled: () => true,
    };
    this.#all.add(listener);
    return { [Symbol.dispose]: () => void this.#all.delete(listener) };
  }

  /** To be called when one of them is through with something. */
  advanced(): void {
    this.#notifier.notify();
  }

  /** They are through with everything. */
  get isHandled(): boolean {
    return [...this.#all, ...this.#leaving].every((listener) => listener.hasHandled(listener.mark));
  }

  /** Resolves when they are through with what was delivered up to now, whatever comes after it. */
  async handled(signal: AbortSignal): Promise<void> {
    const marks = [...this.#all, ...this.#leaving].map((listener) => ({ listener, mark: listener.mark }));
    const isThrough = ({ listener, mark }: (typeof marks)[number]) =>
      listener.hasHandled(mark) || this.#isGone(listener);
    while (!marks.every(isThrough)) await this.#notifier.wait(signal);
    signal.throwIfAborted();
  }

  #isGone(listener: Listener<T>): boolean {
    return !this.#all.has(listener) && !this.#leaving.has(listener);
  }

  async #letGo(listener: Listener<T>): Promise<void> {
    this.#leaving.add(listener);
    await this.#clock.sleep(LEAVING_MS, this.#stop).catch(() => {}); // closed: nothing waits for it any more
    this.#leaving.delete(listener);
    this.#notifier.notify();
  }
}

function* additions<T extends AnyObject>(objects: ReadonlyMap<string, T>): Generator<InformerEvent<T>, void, void> {
  for (const [key, object] of objects) yield { type: 'added', key, object, isInitial: true };
}
