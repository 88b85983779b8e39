/**
 * A local copy of one kind of objects that stays true, and tells what changes. It runs from the moment it is made.
 *
 *     await using informer = client.informer(corev1.pods, { allNamespaces: true, indexers: { byNode } });
 *     await informer.synced(signal);
 *     informer.by('byNode', 'n1');
 *     await using log = informer.subscribe(({ type, key }) => console.log(type, key));
 *
 * What is always true: whenever the world is quiet the store equals the server's state, whatever broke before. Reads
 * never wait and never ask the server. Failures are states, shown by `freshness`, not exits; it ends when it is
 * disposed. With a checkpoint it begins with what the last process had: then `synced` means that, until `freshness` is
 * `current`. What it commits, handlers have been through; that they are disposed before it, as above, costs them no
 * deletion.
 */
import { setMaxListeners } from 'node:events';
import {
  CallbackError,
  closeOnce,
  isBehind,
  LabelSelector,
  parseLabelSelector,
  tellSafely,
  untilAborted,
} from '../../api/index.ts';
import type { Resource } from '../objects/define-resource.ts';
import type { AnyObject } from '../objects/objects.ts';
import type { Freshness, InformerMetrics } from '../observing/informer-metrics.ts';
import { labelSelectorText } from '../resources/selectors.ts';
import type { Transport } from '../transport/transport.ts';
import type { AuditReport } from './audit/audit.ts';
import { Auditor } from './audit/auditor.ts';
import { freshnessOf } from './freshness.ts';
import { Handlers } from './handling/handlers.ts';
import { Listeners } from './handling/listeners.ts';
import { Notifier } from './handling/notifier.ts';
import type { EventHandler, HandlerOptions, Subscription } from './handling/subscription.ts';
import type { Indexers } from './indexer.ts';
import { InformerCheckpoint } from './informer-checkpoint.ts';
import type { InformerEvent } from './informer-event.ts';
import type { InformerOptions, Snapshot, Where } from './informer-options.ts';
import { InformerStore } from './informer-store.ts';
import { type EventsOptions, InformerStreams } from './informer-streams.ts';
import { countsOf, Source, type SourceContext, scopesOf } from './source.ts';
import { TransformStep } from './transform-step.ts';

/** Not 0, though it means no limit: Node 20 throws when it is asked for the limit of a signal that has 0. */
const MANY_LISTENERS = 1_000_000;
const AUDIT_MS = 3_600_000;

export class Informer<T extends AnyObject, I extends Indexers<T> = Indexers<T>> implements AsyncDisposable {
  readonly resource: Resource<T>;
  readonly #transport: Transport;
  readonly #options: InformerOptions<T, I>;
  readonly #store: InformerStore<T> = new InformerStore<T>((error) => this.#report(error));
  readonly #sources: readonly Source<T>[];
  readonly #listeners: Listeners<T>;
  readonly #handlers: Handlers<T>;
  readonly #streams: InformerStreams<T>;
  readonly #notifier = new Notifier();
  readonly #checkpoint: InformerCheckpoint<T> | undefined;
  readonly #auditor: Auditor<T>;
  /** Callbacks of the user's that have failed, and were warned of. */
  readonly #failing = new Set<string>();
  readonly #stop = new AbortController();
  readonly #close: () => Promise<void>;
  #bug: { readonly error: unknown } | undefined;

  constructor(
    client: { readonly transport: Transport },
    resource: Resource<T>,
    options: InformerOptions<T, I> = {} as InformerOptions<T, I>,
    /** Begins when this has come to its end: an informer that still has the same checkpoint. */
    after?: Promise<void>,
  ) {
    this.resource = resource;
    this.#transport = client.transport;
    this.#options = options;
    const { signal: stop } = this.#stop;
    setMaxListeners(MANY_LISTENERS, stop); // a few for each namespace
    if (options.indexers) this.#store.addIndexers(options.indexers);
    const listeners = new Listeners<T>(this.#transport.clock, stop);
    this.#listeners = listeners;
    const report = (error: unknown) => this.#report(error);
    const guard = (callback: string, tell: () => unknown, subject: string) => this.#guard(callback, tell, subject);
    const transformStep = new TransformStep<T>({ resource, options, report, guard });
    const shared = { transport: this.#transport, resource, store: this.#store };
    const context: SourceContext<T> = {
      ...shared,
      // What a transform gives may be the caller's own, and what is frozen it could not change.
      isSharing: !resource.isLazy && !options.transform && options.freeze !== false,
      prepare: (object) => transformStep.prepare(object),
      note: (key, object) => this.#checkpoint?.note(key, object),
      noteAll: () => this.#checkpoint?.noteAll(),
      check: (key, object) => transformStep.check(key, object),
      tell: (events) => listeners.tell(events),
      tellAll: (events, has) => listeners.tellAll(events, has),
      onChange: (isState) => this.#onChange(isState),
    };
    const { labelSelector, fieldSelector, shardSelector } = options;
    const selection = { labelSelector, fieldSelector, shardSelector };
    const sources = scopesOf(resource, options).map(
      (scope) => new Source(context, { ...options.reflector, ...selection, ...scope }),
    );
    this.#sources = sources;
    if (options.checkpoint !== undefined) {
      const lagMs = () => this.freshness.lagMs;
      const parts = { ...shared, options, sources, transformStep, listeners, lagMs, report };
      this.#checkpoint = new InformerCheckpoint(options.checkpoint, parts);
    }
    const notifier = this.#notifier;
    const synced = (signal?: AbortSignal) => this.synced(signal);
    const { closeGraceMs } = options;
    this.#handlers = new Handlers({ ...shared, listeners, synced, closeGraceMs, report, guard });
    this.#auditor = new Auditor({ ...shared, selection, sources, listeners, notifier, synced, report, stop });
    const [resourceVersion, throwBug] = [() => this.resourceVersion, () => this.#throwBug()];
    this.#streams = new InformerStreams({ store: this.#store, listeners, notifier, resourceVersion, throwBug, stop });
    const { observers } = this.#transport;
    observers.join(this);
    const restored = this.#restore(after);
    const runs = sources.map((source) => this.#run(source, restored));
    const auditing = this.#auditor.run(options.auditMs ?? AUDIT_MS);
    const saving = restored.then(() => this.#checkpoint?.run(stop)).catch(() => {}); // reported by the runs
    this.#close = closeOnce(async () => {
      const { isHandled, delivered } = listeners;
      this.#stop.abort(new Error(`The informer of ${resource.plural} was closed`));
      this.#streams.end();
      this.#notifier.notify(); // a handler may wait for what will not come any more
      await Promise.all([...runs, saving, auditing, this.#handlers.close()]);
      // A deletion that was half done when the handlers were stopped has reached none of them.
      await this.#checkpoint?.close(isHandled && listeners.delivered.deleted === delivered.deleted);
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

  /** The same informer, of a type that knows the new indexes as well. */
  addIndexers<J extends Indexers<T>>(indexers: J): Informer<T, I & J> {
    this.#store.addIndexers(indexers);
    return this as unknown as Informer<T, I & J>;
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
    const { busyMs } = this.#handlers;
    return freshnessOf({ watches, isStopped, bug: this.#bug?.error, resourceVersion, isSynced, now, busyMs });
  }

  /** Resolves once the whole state has come. Rejects with the refusal, the bug or the closing that prevents it. */
  async synced(signal?: AbortSignal): Promise<void> {
    while (!this.isSynced) {
      const { state, error } = this.freshness;
      if (state === 'refused' || state === 'stopped') throw error ?? this.#stop.signal.reason;
      await this.#notifier.wait(signal);
    }
  }

  /**
   * Resolves when all that is in the store now is in the checkpoint, and handlers are through with it: a process that
   * starts again goes on from there, or later. Through failures of the disk it waits, and up to five minutes if a
   * handler was disposed before it got some deletion; it rejects if there is no checkpoint, if that could not be
   * opened, if the informer is closed before, and as `synced` does. Not to be waited for by a handler or inside a loop
   * over `events`: that would wait for itself.
   */
  async saved(signal?: AbortSignal): Promise<void> {
    if (!this.#checkpoint) throw new Error(`Cannot save the store of ${this.resource.plural}: it has no checkpoint`);
    await this.synced(signal);
    await this.#checkpoint.saved(signal);
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
      await this.#notifier.wait(signal);
    }
  }

  get metrics(): InformerMetrics {
    const checkpoint = this.#checkpoint?.metrics;
    return {
      ...countsOf(this.#sources),
      ...this.#listeners.delivered,
      ...this.#auditor.counts,
      objects: this.#store.size,
      handlers: this.#handlers.metrics,
      ...(checkpoint && { checkpoint }),
    };
  }

  /**
   * Holds the store against the server, by a list of metadata; where they do not agree, the whole state is fetched
   * anew. Throws what the list throws.
   */
  async audit(caller?: AbortSignal): Promise<AuditReport> {
    return this.#auditor.audit(caller);
  }

  // ---- telling ----

  /** The handler gets what is there as initial additions, and then every change. */
  subscribe(handler: EventHandler<T>, options: HandlerOptions<T> = {}): Subscription<T> {
    this.#stop.signal.throwIfAborted();
    return this.#handlers.subscribe(handler, options);
  }

  /** The same as a stream; ends when the informer is closed, throws `signal.reason` or the bug that stopped it. */
  events(options: EventsOptions = {}): AsyncGenerator<InformerEvent<T>, void, void> {
    return this.#streams.events(options);
  }

  /** The store when it is synced, and after changes: always the newest, so a slow reader skips some. */
  snapshots({ signal }: { signal?: AbortSignal | undefined } = {}): AsyncGenerator<Snapshot<T>, void, void> {
    return this.#streams.snapshots(signal);
  }

  /**
   * Resolves when watches and handlers have come to rest, or handlers had their time; not to be waited for by a
   * handler.
   */
  async close(): Promise<void> {
    await this.#close();
  }

  /** The same, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #restore(after: Promise<void> | undefined): Promise<void> {
    if (after !== undefined) await untilAborted(after, this.#stop.signal);
    await this.#checkpoint?.restore(this.#stop.signal);
  }

  async #run({ reflector }: Source<T>, restored: Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    try {
      await restored; // no callback runs before the constructor is through
      await reflector.run(signal);
    } catch (error) {
      if (signal.aborted || this.#bug?.error === error) return;
      this.#bug ??= { error };
      this.#streams.end();
      this.#report(error);
      this.#onChange(true);
    }
  }

  /** What reads from one that a bug has stopped would wait for ever. */
  #throwBug(): void {
    if (this.#bug) throw this.#bug.error;
  }

  #onChange(isState: boolean): void {
    this.#notifier.notify();
    if (isState && !this.#stop.signal.aborted) this.#transport.observers.tell('onInformerState', this);
    if (isState && this.#options.onFreshness)
      this.#guard('onFreshness', () => this.#options.onFreshness!(this.freshness));
  }

  #report(error: unknown): void {
    if (this.#options.onError) this.#guard('onError', () => this.#options.onError!(error));
    else warn(error);
  }

  /** A callback for errors may not make more of them: once says that it does. */
  #guard(callback: string, tell: () => unknown, subject = ''): void {
    tellSafely(tell, (error) => {
      if (this.#failing.has(callback)) return;
      this.#failing.add(callback);
      warn(new CallbackError(callback, subject, `the informer of ${this.resource.plural}`, error));
    });
  }
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error), { type: 'InformerWarning' });
}
