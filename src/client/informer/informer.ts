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
 * With a checkpoint it begins with what the last process had: then `synced` means that, until `freshness` is `current`.
 */
import { setMaxListeners } from 'node:events';
import { closeOnce, isBehind, LabelSelector, parseLabelSelector, untilAborted } from '../../api/index.ts';
import { Checkpoint } from '../checkpoint/checkpoint.ts';
import { clusterIdOf, headerOf } from '../checkpoint/checkpoint-header.ts';
import type { CheckpointOptions } from '../checkpoint/checkpoint-options.ts';
import { isApiError, isTransportError } from '../errors.ts';
import { tellSafely } from '../observing/tell-safely.ts';
import type { ReflectorCounts } from '../reflector/reflector-options.ts';
import { checkSpec, type Resource } from '../resources/define-resource.ts';
import type { AnyObject } from '../resources/objects.ts';
import { labelSelectorText } from '../resources/selectors.ts';
import type { Transport } from '../transport/transport.ts';
import { type AuditReport, auditSource } from './audit.ts';
import { Bell } from './bell.ts';
import { EventQueue } from './event-queue.ts';
import { deepFreeze, freezesByDefault } from './freeze.ts';
import { freshnessOf } from './freshness.ts';
import { Indexer, type Indexers } from './indexer.ts';
import type { InformerEvent } from './informer-event.ts';
import type { Freshness, InformerMetrics, InformerOptions, Snapshot, Where } from './informer-options.ts';
import { Listeners } from './listeners.ts';
import { Source, type SourceContext } from './source.ts';
import { type EventHandler, type HandlerOptions, QUEUE_LIMIT, Subscription } from './subscription.ts';

/** Not 0, though it means no limit: Node 20 throws when it is asked for the limit of a signal that has 0. */
const MANY_LISTENERS = 1_000_000;

export class Informer<T extends AnyObject, I extends Indexers<T> = Indexers<T>> implements AsyncDisposable {
  readonly resource: Resource<T>;
  readonly #transport: Transport;
  readonly #options: InformerOptions<T, I>;
  readonly #store: Indexer<T> = new Indexer<T>((error) => this.#report(error));
  readonly #sources: readonly Source<T>[];
  readonly #listeners = new Listeners<T>();
  readonly #subscriptions = new Set<Subscription<T>>();
  readonly #queues = new Set<EventQueue<T>>();
  readonly #bell = new Bell();
  readonly #checkpoint: Checkpoint<T> | undefined;
  readonly #stop = new AbortController();
  readonly #audited = { audits: 0, divergences: 0 };
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
    setMaxListeners(MANY_LISTENERS, this.#stop.signal); // a few for each namespace
    this.#freezes = options.freeze ?? freezesByDefault();
    if (options.indexers) this.#store.addIndexers(options.indexers);
    const context: SourceContext<T> = {
      transport: this.#transport,
      resource,
      store: this.#store,
      prepare: (object) => this.#prepare(object),
      note: (key, object) => this.#checkpoint?.note(key, object),
      check: (key, object) => this.#check(key, object),
      tell: (events) => this.#listeners.tell(events),
      onChange: (isState) => this.#onChange(isState),
    };
    this.#sources = this.#scopes().map((scope) => {
      const { labelSelector, fieldSelector, shardSelector, reflector } = options;
      return new Source(context, { ...reflector, labelSelector, fieldSelector, shardSelector, ...scope });
    });
    this.#checkpoint = options.checkpoint === undefined ? undefined : this.#makeCheckpoint(options.checkpoint);
    const { observers } = this.#transport;
    observers.join(this);
    const restored = this.#restore();
    const runs = this.#sources.map((source) => this.#run(source, restored));
    const auditing = this.#auditAgainAndAgain(options.auditMs ?? 0);
    const saving = restored.then(() => this.#checkpoint?.run(this.#stop.signal)).catch(() => {}); // told by the runs
    this.#close = closeOnce(async () => {
      const { isHandled } = this.#listeners;
      this.#stop.abort(new Error(`The informer of ${resource.plural} was closed`));
      for (const queue of this.#queues) queue.end();
      this.#bell.ring(); // a handler may wait for what will not come any more
      await Promise.all([
        ...runs,
        saving,
        auditing,
        ...[...this.#subscriptions].map((one) => one[Symbol.asyncDispose]()),
      ]);
      await this.#checkpoint?.close(isHandled);
      observers.leave(this);
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

  /**
   * Resolves when all that is in the store now is in the checkpoint, and handlers are through with it: a process that
   * starts again goes on from there, or later. Through failures of the disk it waits; it rejects if there is no
   * checkpoint, if that could not be opened, if the informer is closed before, and as `synced` does. Not to be waited for
   * by a handler or inside a loop over `events`: that would wait for itself.
   */
  async saved(signal?: AbortSignal): Promise<void> {
    if (!this.#checkpoint) throw new Error(`Cannot save the store of ${this.resource.plural}: it has no checkpoint`);
    await this.synced(signal);
    await untilAborted(this.#checkpoint.saved(), signal);
  }

  /**
   * Resolves once the store has everything up to this version, such as that of a write of one's own. Versions are those
   * of this kind: one of another kind is reached when this kind has gone past it, which on a quiet one takes until the
   * next bookmark, a minute or so, and on servers that number kinds apart means nothing.
   */
  async reached(resourceVersion: string, signal?: AbortSignal): Promise<void> {
    for (;;) {
      const { resourceVersion: known } = this;
      if (known !== undefined && !isBehind(known, resourceVersion)) return;
      if (this.#stop.signal.aborted || this.#bug) throw this.#bug?.error ?? this.#stop.signal.reason;
      await this.#bell.wait(signal);
    }
  }

  get metrics(): InformerMetrics {
    const total = { fills: 0, pagedFills: 0, streams: 0, rotations: 0, failures: 0, events: 0, bookmarks: 0 };
    for (const { reflector } of this.#sources) {
      const { counts } = reflector;
      for (const name of Object.keys(total) as (keyof ReflectorCounts)[]) total[name] += counts[name];
    }
    const handlers = [...this.#subscriptions].map(({ metrics }) => metrics);
    const checkpoint = this.#checkpoint?.metrics;
    return {
      ...total,
      ...this.#listeners.told,
      ...this.#audited,
      objects: this.#store.size,
      handlers,
      ...(checkpoint && { checkpoint }),
    };
  }

  /**
   * Holds the store against the server, by a list of metadata; where they do not agree, the whole state is fetched anew.
   * Throws what the list throws.
   */
  async audit(caller?: AbortSignal): Promise<AuditReport> {
    const { signal: stop } = this.#stop;
    const signal = caller ? AbortSignal.any([caller, stop]) : stop;
    const reports: AuditReport[] = [];
    for (const source of this.#sources) {
      const report = await auditSource(
        source,
        this.resource,
        {
          transport: this.#transport,
          selection: this.#options,
          objects: (scope) => this.#store.list(scope === '*' ? undefined : scope),
          follow: (onChange) => this.#listeners.follow(onChange),
          bell: this.#bell,
        },
        signal,
      );
      reports.push(report);
      this.#audited.divergences += report.divergent.length;
      if (report.isLate || report.divergent.length > 0) source.reflector.renew();
    }
    this.#audited.audits++;
    return {
      objects: reports.reduce((sum, { objects }) => sum + objects, 0),
      divergent: reports.flatMap(({ divergent }) => divergent),
      isLate: reports.some(({ isLate }) => isLate),
    };
  }

  // ---- telling ----

  /** The handler is told what is there as initial additions, and then every change. */
  subscribe(handler: EventHandler<T>, options: HandlerOptions<T> = {}): Subscription<T> {
    this.#stop.signal.throwIfAborted();
    const { resource } = this;
    const subscription: Subscription<T> = new Subscription(handler, options, {
      clock: this.#transport.clock,
      name: options.name ?? `${this.resource.plural}-${++this.#handlers}`,
      objects: () => this.#store.snapshot(),
      synced: (signal) => this.synced(signal),
      onError: (error, event) =>
        options.onError ? this.#guard(() => options.onError!(error, event)) : this.#report(error),
      onHandled: (durationMs, isError, conflated) => {
        this.#listeners.advanced();
        const { observers } = this.#transport;
        const { name: handler = '' } = options;
        if (!observers.isEmpty) observers.tell('onHandled', { resource, handler, durationMs, isError, conflated });
      },
      onClose: () => {
        this.#listeners.leave(subscription);
        this.#subscriptions.delete(subscription);
      },
    });
    this.#subscriptions.add(subscription);
    this.#listeners.join(subscription, this.#store.snapshot());
    return subscription;
  }

  /** The same as a stream; ends when the informer is closed, throws `signal.reason` or the bug that stopped it. */
  async *events(
    options: { signal?: AbortSignal | undefined; limit?: number | undefined } = {},
  ): AsyncGenerator<InformerEvent<T>, void, void> {
    const { signal, limit = QUEUE_LIMIT } = options;
    signal?.throwIfAborted();
    if (this.#stop.signal.aborted) return;
    this.#throwBug();
    const queue = new EventQueue<T>(limit);
    const stop = () => queue.end();
    signal?.addEventListener('abort', stop, { once: true });
    this.#queues.add(queue);
    this.#listeners.join(queue, this.#store.snapshot());
    try {
      for (;;) {
        await queue.filled();
        const event = queue.shift();
        if (!event) break;
        yield event;
        queue.done();
        this.#listeners.advanced();
      }
      signal?.throwIfAborted();
      this.#throwBug();
    } finally {
      signal?.removeEventListener('abort', stop);
      this.#queues.delete(queue);
      queue.end();
      this.#listeners.leave(queue);
    }
  }

  /** The store when it is synced, and after changes: always the newest, so a slow reader skips some. */
  async *snapshots({ signal }: { signal?: AbortSignal | undefined } = {}): AsyncGenerator<Snapshot<T>, void, void> {
    let last: ReadonlyMap<string, T> | undefined;
    while (!this.#stop.signal.aborted) {
      this.#throwBug();
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

  async #run({ reflector }: Source<T>, restored: Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    try {
      await restored; // nobody is called before the constructor is through
      await reflector.run(signal);
    } catch (error) {
      if (signal.aborted || this.#bug?.error === error) return;
      this.#bug ??= { error };
      for (const queue of this.#queues) queue.end();
      this.#report(error);
      this.#onChange(true);
    }
  }

  /** What reads from one that a bug has stopped would wait for ever. */
  #throwBug(): void {
    if (this.#bug) throw this.#bug.error;
  }

  async #auditAgainAndAgain(everyMs: number): Promise<void> {
    const { signal } = this.#stop;
    const { clock, random } = this.#transport;
    while (everyMs > 0 && !signal.aborted) {
      try {
        await clock.sleep(everyMs * (0.9 + 0.2 * random()), signal); // not all at once
        await this.synced(signal);
        const { divergent, isLate } = await this.audit();
        if (divergent.length > 0 || isLate) this.#report(divergence(this.resource.plural, divergent, isLate));
      } catch (error) {
        if (!signal.aborted && !isApiError(error) && !isTransportError(error)) this.#report(error);
      }
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

  #makeCheckpoint(given: string | CheckpointOptions): Checkpoint<T> {
    const options = typeof given === 'string' ? { file: given } : given;
    const { labelSelector, fieldSelector, shardSelector, transform } = this.#options;
    const scopes = this.#sources.map(({ scope }) => scope);
    const selected = { resource: this.resource, scopes, labelSelector, fieldSelector, shardSelector, transform };
    return new Checkpoint(options, {
      clock: this.#transport.clock,
      header: headerOf(this.#transport.access.server, selected, options),
      clusterId: () => clusterIdOf(this.#transport),
      snapshot: () => this.#store.snapshot(),
      commit: () => {
        const known = this.#sources.filter(({ version }) => version !== undefined);
        const at = Date.now() - (this.freshness.lagMs ?? 0);
        return { at, versions: Object.fromEntries(known.map(({ scope, version }) => [scope, version!])) };
      },
      handled: (signal) => this.#listeners.handled(signal),
      report: (error) => this.#report(error),
    });
  }

  /** Begins with what the checkpoint has, if there is one. */
  async #restore(): Promise<void> {
    const { signal } = this.#stop;
    const saved = await this.#checkpoint?.open(signal);
    if (!saved || signal.aborted) return;
    const lastContact = this.#transport.clock.now() - Math.max(0, Date.now() - saved.at);
    if (this.#freezes) for (const object of saved.objects.values()) deepFreeze(object);
    for (const source of this.#sources) {
      const version = saved.versions[source.scope];
      if (version !== undefined) source.restore(saved.objects, version, lastContact);
    }
    // Reads are answered meanwhile. Versions of another cluster mean nothing: then the whole state is fetched.
    if (!(await this.#checkpoint!.isOfThisCluster(signal)))
      for (const { reflector } of this.#sources) reflector.forget();
  }

  #check(key: string, object: T): void {
    const { onInvalid } = this.#options;
    if (!onInvalid || !this.resource.validate) return;
    checkSpec(this.resource, object).then(
      (issues) => issues.length > 0 && this.#guard(() => onInvalid({ key, object, issues })),
      (error: unknown) => this.#report(error), // the validator threw
    );
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

  #onChange(isState: boolean): void {
    this.#bell.ring();
    if (isState && !this.#stop.signal.aborted) this.#transport.observers.tell('onInformerState', this);
    if (isState && this.#options.onFreshness) this.#guard(() => this.#options.onFreshness!(this.freshness));
  }

  #report(error: unknown): void {
    if (this.#options.onError) this.#guard(() => this.#options.onError!(error));
    else warn(error);
  }

  /** Whoever is told of errors may not make more of them. */
  #guard(tell: () => unknown): void {
    tellSafely(tell, warn);
  }
}

function divergence(plural: string, keys: readonly string[], isLate: boolean): Error {
  const found = isLate ? 'it lags behind the server' : `${keys.length} objects differ, such as "${keys[0]}"`;
  return new Error(`Cannot trust the store of ${plural}: ${found}; it is fetched anew`);
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error), { type: 'InformerWarning' });
}
