/**
 * Who watches over one client, and which informers of it run. One for each transport, so that whatever uses the
 * connection is seen without registering itself.
 *
 * It costs next to nothing while there is no observer. An observer may come and go at any time; it sees what happens in
 * between, and the informers that run already.
 */
import { CallbackError, type Logger } from '../../api/index.ts';
import type { ClientObserver, ObservedInformer } from './client-observer.ts';
import { logObserver } from './log-observer.ts';

type ObserversOptions = {
  readonly logger?: Logger | undefined;
  readonly onRequest?: ClientObserver['onRequest'] | undefined;
};

export class Observers {
  readonly #observers = new Set<ClientObserver>();
  readonly #informers = new Set<ObservedInformer>();
  /** Which callbacks of an observer have failed, and were warned of. */
  readonly #warned = new WeakMap<ClientObserver, Set<string>>();

  constructor({ logger, onRequest }: ObserversOptions = {}) {
    if (onRequest) this.add({ onRequest });
    if (logger) this.add(logObserver(logger));
  }

  get isEmpty(): boolean {
    return this.#observers.size === 0;
  }

  /** Those that run. */
  get informers(): ReadonlySet<ObservedInformer> {
    return this.#informers;
  }

  /** Until it is disposed. */
  add(observer: ClientObserver): Disposable {
    const entry = { ...observer }; // one observer added twice is two
    this.#observers.add(entry);
    return { [Symbol.dispose]: () => void this.#observers.delete(entry) };
  }

  join(informer: ObservedInformer): void {
    this.#informers.add(informer);
    this.tell('onInformerState', informer);
  }

  leave(informer: ObservedInformer): void {
    this.#informers.delete(informer);
    this.tell('onInformerState', informer);
  }

  tell<F extends keyof ClientObserver>(fact: F, ...about: Parameters<NonNullable<ClientObserver[F]>>): void {
    for (const observer of this.#observers)
      try {
        const answer = (observer[fact] as ((...about: unknown[]) => unknown) | undefined)?.(...about);
        if (answer instanceof Promise) answer.catch((error: unknown) => this.#warn(observer, fact, error));
      } catch (error) {
        this.#warn(observer, fact, error);
      }
  }

  /** Once for each: what throws at one event throws at the next ten thousand. */
  #warn(observer: ClientObserver, fact: string, error: unknown): void {
    const warned = this.#warned.get(observer) ?? new Set();
    this.#warned.set(observer, warned);
    if (warned.has(fact)) return;
    warned.add(fact);
    const warning = new CallbackError(fact, '', 'an observer of the client', error);
    process.emitWarning(Object.assign(warning, { name: 'ObserverWarning' }));
  }
}
