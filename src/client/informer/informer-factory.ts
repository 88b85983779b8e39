/**
 * Informers that are shared: whoever asks for the same objects gets the same copy of them, and the same watch.
 *
 *     const informers = client.informers();
 *     await using handle = informers.acquire(corev1.pods, { allNamespaces: true });
 *     await handle.informer.synced(signal);
 *
 * Two selections are the same if resource, namespaces, selectors, `freeze` and the `transform` function are; indexes
 * are added to what is there, all other options are those of the first. The informer is closed with its last handle, or
 * `idleMs` after it if it was not acquired again by then. Handlers belong to whoever subscribed them, and must be
 * disposed on their own while others hold the informer. One with a checkpoint that is acquired again while it closes
 * begins when that is done: the file has one owner.
 */
import { closeOnce, untilAborted } from '../../api/index.ts';
import type { Resource } from '../objects/define-resource.ts';
import type { AnyObject } from '../objects/objects.ts';
import { fieldSelectorText, labelSelectorText } from '../resources/selectors.ts';
import type { Transport } from '../transport/transport.ts';
import type { Indexers } from './indexer.ts';
import { Informer } from './informer.ts';
import type { InformerOptions } from './informer-options.ts';

export type InformerHandle<T extends AnyObject, I extends Indexers<T> = Indexers<T>> = AsyncDisposable & {
  readonly informer: Informer<T, I>;
  /** Gives it back, as disposing does. */
  close(): Promise<void>;
};

/** Used where an informer says nothing else. A checkpoint for all of them must be a folder. */
export type InformerDefaults = Pick<
  InformerOptions<AnyObject>,
  'auditMs' | 'checkpoint' | 'closeGraceMs' | 'freeze' | 'onError' | 'onFreshness' | 'reflector'
>;

export type InformerFactoryOptions = InformerDefaults & {
  /** How long an informer without a handle runs on, in case somebody comes back: 0. */
  readonly idleMs?: number | undefined;
};

type Shared = {
  readonly informer: Informer<AnyObject>;
  handles: number;
  /** Ends the wait for somebody to come back. */
  idle?: AbortController | undefined;
};

export class InformerFactory implements AsyncDisposable {
  readonly #client: { readonly transport: Transport };
  readonly #defaults: InformerDefaults;
  readonly #idleMs: number;
  readonly #shared = new Map<string, Shared>();
  /** Those that are on their way out. */
  readonly #closing = new Map<string, Promise<void>>();
  readonly #functions = new WeakMap<object, number>();
  readonly #close: () => Promise<void>;
  #functionCount = 0;
  #isClosed = false;

  constructor(client: { readonly transport: Transport }, { idleMs = 0, ...defaults }: InformerFactoryOptions = {}) {
    this.#client = client;
    this.#defaults = defaults;
    this.#idleMs = idleMs;
    this.#close = closeOnce(async () => {
      this.#isClosed = true;
      for (const { idle } of this.#shared.values()) idle?.abort();
      const all = this.informers;
      this.#shared.clear();
      await Promise.all([...this.#closing.values(), ...all.map((informer) => informer[Symbol.asyncDispose]())]);
    });
  }

  /** Those that run, held or idle. */
  get informers(): Informer<AnyObject>[] {
    return [...this.#shared.values()].map(({ informer }) => informer);
  }

  acquire<T extends AnyObject, I extends Indexers<T> = Indexers<T>>(
    resource: Resource<T>,
    options: InformerOptions<T, I> = {} as InformerOptions<T, I>,
  ): InformerHandle<T, I> {
    if (this.#isClosed) throw new Error(`Cannot watch ${resource.plural}: the informer factory is closed`);
    const key = this.#keyOf(resource, options as unknown as InformerOptions<AnyObject>);
    let shared = this.#shared.get(key);
    if (!shared) {
      const all = { ...this.#defaults, ...said(options) };
      const after = all.checkpoint === undefined ? undefined : this.#closing.get(key);
      const informer = new Informer<T, I>(this.#client, resource, all, after);
      shared = { informer: informer as unknown as Informer<AnyObject>, handles: 0 };
      this.#shared.set(key, shared);
    }
    const informer = shared.informer as unknown as Informer<T, I>;
    if (options.indexers) informer.addIndexers(options.indexers);
    shared.handles++;
    shared.idle?.abort();
    shared.idle = undefined;
    const close = closeOnce(() => this.#release(key, shared));
    return { informer, close, [Symbol.asyncDispose]: close };
  }

  /** Of all that are held now; rejects with the first that is refused. */
  async synced(signal?: AbortSignal): Promise<void> {
    // One listener on the signal, however many informers there are.
    await untilAborted(Promise.all(this.informers.map((informer) => informer.synced())), signal);
  }

  /** Closes all of them, held or not. */
  async close(): Promise<void> {
    await this.#close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #release(key: string, shared: Shared): Promise<void> {
    if (--shared.handles > 0) return;
    if (this.#idleMs > 0 && !this.#isClosed) void this.#closeLater(key, shared);
    else await this.#closeNow(key, shared);
  }

  async #closeLater(key: string, shared: Shared): Promise<void> {
    const idle = new AbortController();
    shared.idle = idle;
    await this.#client.transport.clock.sleep(this.#idleMs, idle.signal).catch(() => {}); // somebody came back
    if (!idle.signal.aborted) await this.#closeNow(key, shared);
  }

  async #closeNow(key: string, shared: Shared): Promise<void> {
    if (this.#shared.get(key) === shared) this.#shared.delete(key);
    const closed = shared.informer[Symbol.asyncDispose]();
    // One that waited for another to close may be closed before that is.
    const closing = Promise.allSettled([this.#closing.get(key), closed]).then(() => {
      if (this.#closing.get(key) === closing) this.#closing.delete(key);
    });
    this.#closing.set(key, closing);
    await closed;
  }

  #keyOf(resource: Resource, options: InformerOptions<AnyObject>): string {
    const { namespace, allNamespaces, labelSelector, fieldSelector, shardSelector, transform } = options;
    const isAll = allNamespaces || !resource.isNamespaced;
    const names = [namespace ?? this.#client.transport.access.namespace].flat();
    return JSON.stringify([
      resource.apiVersion,
      resource.plural,
      resource.isMetadataOnly ?? false,
      resource.isLazy ?? false,
      isAll ? '*' : [...new Set(names)].sort(),
      labelSelectorText(labelSelector) ?? '',
      fieldSelectorText(fieldSelector) ?? '',
      shardSelector ?? '',
      transform ? this.#numberOf(transform) : 0,
      options.freeze ?? this.#defaults.freeze ?? null,
    ]);
  }

  #numberOf(transform: object): number {
    const number = this.#functions.get(transform) ?? ++this.#functionCount;
    this.#functions.set(transform, number);
    return number;
  }
}

/** Without what is undefined: that says nothing, and hides no default. */
function said<O extends object>(options: O): O {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as O;
}
