/**
 * Who is told what happens to a store, and how far they have come with it.
 *
 * Telling never waits: each listener has a queue of its own. One that joins is told first what is there.
 */
import type { AnyObject } from '../resources/objects.ts';
import { Bell } from './bell.ts';
import type { EventQueue } from './event-queue.ts';
import type { InformerEvent } from './informer-event.ts';

type Listener<T extends AnyObject> = Pick<EventQueue<T>, 'push' | 'mark' | 'hasHandled'>;

export class Listeners<T extends AnyObject> {
  readonly #all = new Set<Listener<T>>();
  readonly #told = { added: 0, updated: 0, deleted: 0 };
  readonly #bell = new Bell();

  /** How many events there were so far. */
  get told(): Readonly<Record<InformerEvent<T>['type'], number>> {
    return { ...this.#told };
  }

  join(listener: Listener<T>, objects: Iterable<readonly [string, T]>): void {
    for (const [key, object] of objects) listener.push({ type: 'added', key, object, isInitial: true });
    this.#all.add(listener);
  }

  leave(listener: Listener<T>): void {
    this.#all.delete(listener);
    this.#bell.ring();
  }

  tell(events: readonly InformerEvent<T>[]): void {
    for (const event of events) {
      this.#told[event.type]++;
      for (const listener of this.#all) listener.push(event);
    }
  }

  /** Calls with every key that changes, until it is disposed. */
  follow(onChange: (key: string) => void): Disposable {
    const listener: Listener<T> = { push: ({ key }) => onChange(key), mark: 0, hasHandled: () => true };
    this.#all.add(listener);
    return { [Symbol.dispose]: () => void this.#all.delete(listener) };
  }

  /** To be called when one of them is through with something. */
  advanced(): void {
    this.#bell.ring();
  }

  /** They are through with everything. */
  get isHandled(): boolean {
    return [...this.#all].every((listener) => listener.hasHandled(listener.mark));
  }

  /** Resolves when they are through with what they were told up to now, whatever comes after it. */
  async handled(signal: AbortSignal): Promise<void> {
    const marks = [...this.#all].map((listener) => ({ listener, mark: listener.mark }));
    while (!marks.every(({ listener, mark }) => listener.hasHandled(mark))) await this.#bell.wait(signal);
    signal.throwIfAborted();
  }
}
