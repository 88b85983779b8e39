/**
 * A local copy of one kind of objects that stays true, and tells what changes. It runs from the moment it is made.
 *
 *     await using informer = new Informer(client, pods, { allNamespaces: true, indexers: { byNode } });
 *     await informer.synced(signal);
 *     informer.by('byNode', 'n1');
 *     await using log = informer.subscribe(({ type, key }) => console.log(type, key));
 *
 * What is always true: whenever the world is quiet the store equals the server's state, whatever broke before. Reads
 * never wait and never ask the server. Failures are states, told by `freshness`, not exits; it ends when it is disposed.
 */
import { closeOnce, LabelSelector, parseLabelSelector } from '../../api/index.ts';
import type { ReflectorCounts } from '../reflector/reflector-options.ts';
import { isBehind } from '../reflector/reflector-state.ts';
import type { Resource } from '../resources/define-resource.ts';
import type { AnyObject } from '../resources/objects.ts';
import { labelSelectorText } from '../resources/selectors.ts';
import type { Transport } from '../transport/transport.ts';
import { Bell } from './bell.ts';
import { EventQueue } from './event-queue.ts';
import { deepFreeze, freezesByDefault } from './freeze.ts';
import { freshnessOf } from './freshness.ts';
import { Indexer, type Indexers } from './indexer.ts';
import type { InformerEvent } from './informer-event.ts';
import type { Freshness, InformerMetrics, InformerOptions, Snapshot, Where } from './informer-options.ts';
import { Source, type SourceContext } from './source.ts';
import { type EventHandler, type HandlerOptions, QUEUE_LIMIT, Subscription } from './subscription.ts';

type Listener<T extends AnyObject> = { push(event: InformerEvent<T>): void };

export class Informer<T extends AnyObject, I extends Indexers<T> = Indexers<T>> implements AsyncDisposable {
  readonly resource: Resource<T>;
  readonly #transport: Transport;
  readonly #options: InformerOptions<T, I>;
  readonly #store: Indexer<T> = new Indexer<T>((error) => this.#report(error));
  readonly #sources: readonly Source<T>[];
  readonly #listeners = new Set<Listener<T>>();
  readonly #subscriptions = new Set<Subscription<T>>();
  readonly #queues = new Set<EventQueue<T>>();
  readonly #bell = new Bell();
  readonly #stop = new AbortController();
  readonly #told = { added: 0, updated: 0, deleted: 0 };
  readonly #freezes: boolean;
  readonly #close: () => Promise<void>;
  #bug: { readonly error: unknown } | undefined;
  #handlers = 0;

  constructor(
    client: { readonly transport: Transport },
    resource: Resource<T>,
    options: InformerOptions<T, I> = {} as InformerOptions<T, I>,
  ) {
    this.resource = resource;
    this.#transport = client.transport;
    this.#options = options;
    this.#freezes = options.freeze ?? freezesByDefault();
    if (options.indexers) this.#store.addIndexers(options.indexers);
    const context: SourceContext<T> = {
      transport: this.#transport,
      resource,
      store: this.#store,
      prepare: (object) => this.#prepare(object),
      tell: (events) => this.#tell(events),
      onChange: (isState) => this.#onChange(isState),
    };
    this.#sources = this.#scopes().map((scope) => {
      const { labelSelector, fieldSelector, reflector } = options;
      const selectors = { ...(labelSelector && { labelSelector }), ...(fieldSelector && { fieldSelector }) };
      return new Source(context, { ...reflector, ...selectors, ...scope });
    });
    const runs = this.#sources.map((source) => this.#run(source));
    this.#close = closeOnce(async () => {
      this.#stop.abort(new Error(`The informer of ${resource.plural} was closed`));
      for (const queue of this.#queues) queue.end();
      await Promise.all([...runs, ...[...this.#subscriptions].map((one) => one[Symbol.asyncDispose]())]);
      this.#onChange(true);
    });
  }

  // ---- reading ----

  get size(): number {
    return this.#store.size;
  }

  /** By `namespace/name`, or `name` of what is cluster-wide. The object is shared: not to be changed. */
  get(key: string): T | undefined {
    return this.#store.get(key);
  }

  list({ namespace, labelSelector }: Where = {}): T[] {
    if (labelSelector === undefined) return this.#store.list(namespace);
    const selector =
      labelSelector instanceof LabelSelector
        ? labelSelector
        : parseLabelSelector(labelSelectorText(labelSelector) ?? '');
    return this.#store.select(selector, namespace);
  }

  by(index: keyof I & string, value: string): T[] {
    return this.#store.by(index, value);
  }

  /** The values of an index that objects have now. */
  valuesOf(index: keyof I & string): string[] {
    return this.#store.valuesOf(index);
  }

  /** As it is now, for as long as the caller holds it. */
  snapshot(): ReadonlyMap<string, T> {
    return this.#store.snapshot();
  }

  addIndexers(indexers: Indexers<T>): void {
    this.#store.addIndexers(indexers);
  }

  // ---- how true it is ----

  get isSynced(): boolean {
    return this.#sources.every(({ version }) => version !== undefined);
  }

  /** Everything up to this version is in the store; with several watches, the oldest of theirs. */
  get resourceVersion(): string | undefined {
    if (!this.isSynced) return undefined;
    const versions = this.#sources.map(({ version }) => version!);
    return versions.reduce((oldest, version) => (isBehind(version, oldest) ? version : oldest));
  }

  get freshness(): Freshness {
    const watches = this.#sources.map(({ reflector }) => reflector);
    const isStopped = this.#stop.signal.aborted || this.#bug !== undefined;
    const { resourceVersion, isSynced } = this;
    const now = this.#transport.clock.now();
    return freshnessOf({ watches, isStopped, bug: this.#bug?.error, resourceVersion, isSynced, now });
  }

  /** Resolves once the whole state has come. Rejects with the refusal, the bug or the closing that prevents it. */
  async synced(signal?: AbortSignal): Promise<void> {
    while (!this.isSynced) {
      const { state, error } = this.freshness;
      if (state === 'refused' || state === 'stopped') throw error ?? this.#stop.signal.reason;
      await this.#bell.wait(signal);
    }
  }

  /** Resolves once the store has everything up to this version, such as that of a write of one's own. */
  async reached(resourceVersion: string, signal?: AbortSignal): Promise<void> {
    for (;;) {
      const { resourceVersion: known } = this;
      if (known !== undefined && !isBehind(known, resourceVersion)) return;
      if (this.#stop.signal.aborted || this.#bug) throw this.#bug?.error ?? this.#stop.signal.reason;
      await this.#bell.wait(signal);
    }
  }

  get metrics(): InformerMetrics {
    const total = { fills: 0, pagedFills: 0, streams: 0, failures: 0, events: 0, bookmarks: 0 };
    for (const { reflector } of this.#sources) {
      const { counts } = reflector;
      for (const name of Object.keys(total) as (keyof ReflectorCounts)[]) total[name] += counts[name];
    }
    const handlers = [...this.#subscriptions].map(({ metrics }) => metrics);
    return { ...total, ...this.#told, objects: this.#store.size, handlers };
  }

  // ---- telling ----

  /** The handler is told what is there as initial additions, and then every change. */
  subscribe(handler: EventHandler<T>, options: HandlerOptions<T> = {}): Subscription<T> {
    this.#stop.signal.throwIfAborted();
    const subscription: Subscription<T> = new Subscription(handler, options, {
      clock: this.#transport.clock,
      name: options.name ?? `${this.resource.plural}-${++this.#handlers}`,
      objects: () => this.#store.snapshot(),
      synced: (signal) => this.synced(signal),
      onError: (error, event) =>
        options.onError ? this.#guard(() => options.onError!(error, event)) : this.#report(error),
      onClose: () => {
        this.#listeners.delete(subscription);
        this.#subscriptions.delete(subscription);
      },
    });
    this.#subscriptions.add(subscription);
    this.#join(subscription);
    return subscription;
  }

  /** The same as a stream; ends when the informer is closed, throws `signal.reason`. */
  async *events(options: { signal?: AbortSignal; limit?: number } = {}): AsyncGenerator<InformerEvent<T>, void, void> {
    const { signal, limit = QUEUE_LIMIT } = options;
    signal?.throwIfAborted();
    if (this.#stop.signal.aborted) return;
    const queue = new EventQueue<T>(limit);
    const stop = () => queue.end();
    signal?.addEventListener('abort', stop, { once: true });
    this.#queues.add(queue);
    this.#join(queue);
    try {
      for (;;) {
        await queue.filled();
        const event = queue.shift();
        if (!event) break;
        yield event;
      }
      signal?.throwIfAborted();
    } finally {
      signal?.removeEventListener('abort', stop);
      this.#listeners.delete(queue);
      this.#queues.delete(queue);
    }
  }

  /** The store when it is synced, and after changes: always the newest, so a slow reader skips some. */
  async *snapshots({ signal }: { signal?: AbortSignal } = {}): AsyncGenerator<Snapshot<T>, void, void> {
    let last: ReadonlyMap<string, T> | undefined;
    while (!this.#stop.signal.aborted) {
      const { resourceVersion } = this;
      const objects = this.#store.snapshot();
      if (resourceVersion === undefined || objects === last) await this.#bell.wait(signal);
      else {
        last = objects;
        yield { objects, resourceVersion };
        signal?.throwIfAborted();
      }
    }
  }

  /** Resolves when watches and handlers have come to rest; not to be waited for by a handler. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }

  async #run({ reflector }: Source<T>): Promise<void> {
    const { signal } = this.#stop;
    await Promise.resolve(); // nobody is called before the constructor is through
    try {
      await reflector.run(signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#bug ??= { error };
      this.#report(error);
      this.#onChange(true);
    }
  }

  #scopes(): { namespace?: string; allNamespaces?: boolean }[] {
    const { namespace, allNamespaces } = this.#options;
    if (allNamespaces || !this.resource.isNamespaced) return [{ allNamespaces: true }];
    if (namespace === undefined) return [{}];
    const names = typeof namespace === 'string' ? [namespace] : [...new Set(namespace)];
    if (names.length === 0)
      throw new TypeError(`Cannot watch ${this.resource.plural}: the list of namespaces is empty`);
    return names.map((name) => ({ namespace: name }));
  }

  #prepare(object: T): T {
    let kept = object;
    try {
      kept = this.#options.transform?.(object) ?? object;
    } catch (error) {
      this.#report(error);
    }
    return this.#freezes ? deepFreeze(kept) : kept;
  }

  #join(listener: Listener<T>): void {
    for (const [key, object] of this.#store.snapshot()) listener.push({ type: 'added', key, object, isInitial: true });
    this.#listeners.add(listener);
  }

  #tell(events: readonly InformerEvent<T>[]): void {
    for (const event of events) {
      this.#told[event.type]++;
      for (const listener of this.#listeners) listener.push(event);
    }
  }

  #onChange(isState: boolean): void {
    this.#bell.ring();
    if (isState && this.#options.onFreshness) this.#guard(() => this.#options.onFreshness!(this.freshness));
  }

  #report(error: unknown): void {
    if (this.#options.onError) this.#guard(() => this.#options.onError!(error));
    else warn(error);
  }

  /** Whoever is told of errors may not make more of them. */
  #guard(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      warn(error);
    }
  }
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error), { type: 'InformerWarning' });
}
