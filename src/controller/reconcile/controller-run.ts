/**
 * A controller at work: from events to keys, from keys to reconciles. It begins when its informers have the whole state
 * and the process may act, and ends with either; the next run starts from what is in the cache, as a new process would.
 *
 *     informers --where, map--> queue --> workers --own writes seen?--> reconcile
 *
 * What is always true: an event that passes is followed by a reconcile of each key it maps to; nothing is dropped when
 * the queue is full, instead its informer's events wait (and are joined by key) until there is room. A key whose
 * reconcile of an earlier run has not ended waits for that: one key is never in two hands. `cut` fires the signal of
 * every reconcile at once, `stop` gives them their grace; both end within it, whatever the reconciles do.
 */
import { type Clock, closeOnce, type Logger, type Tracer, traced } from '../../api/index.ts';
import type { AnyObject, Informer, InformerEvent, KubeClient, Resource, Subscription } from '../../client/index.ts';
import type { Leadership } from '../election/leader-work.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import type { QueueObserver } from '../queue/queue-metrics.ts';
import { type AddOptions, QueueFullError, WorkQueue } from '../queue/work-queue.ts';
import { type WorkContext, WorkerPool, type WorkOutcome, type WorkResult } from '../queue/worker-pool.ts';
import type { DeclaredCache } from './declared-cache.ts';
import type { ControllerDefinition, MappedWatch, Watched } from './define-controller.ts';
import { EventKeys } from './event-keys.ts';
import { type Holding, OwnWrites } from './own-writes.ts';
import { ReconcileResourceClient } from './reconcile-client.ts';
import type { ReconcileContext } from './reconcile-context.ts';
import { reconcileLog } from './reconcile-log.ts';

/** A declared kind. What has no `map` is only read. */
export type Source = Holding & { readonly watch: Watched<AnyObject> & Partial<MappedWatch<AnyObject>> };

export type RunOptions = {
  readonly definition: ControllerDefinition;
  /** The kind that is reconciled first. */
  readonly sources: readonly Source[];
  readonly cache: DeclaredCache;
  readonly client: KubeClient;
  readonly cluster: string | undefined;
  readonly recorder: EventRecorder;
  readonly logger: Logger | undefined;
  readonly tracer: Tracer | undefined;
  readonly clock: Clock;
  readonly leadership: Leadership | undefined;
  readonly graceMs: number;
  readonly abortGraceMs: number;
  readonly queueObserver: QueueObserver;
  readonly onOutcome: (outcome: WorkOutcome<string>) => void;
  /** A `where` or `map` has failed; what becomes of the event: see EventKeys. */
  readonly onEventError: (error: unknown) => void;
  /** The tracer has failed. */
  readonly onTracerError: (error: unknown) => void;
  /** Keys whose reconcile of an earlier run has not ended. */
  readonly isHeld: (key: string) => boolean;
  /** A reconcile that was abandoned has ended. */
  readonly onLateEnd: (key: string) => void;
};

/** For what was there from the beginning: everybody else first, though age counts (see WaitingLine). */
export const LOW_PRIORITY = -100;
const OWN_WRITES_MS = 5_000;
const FULL_PAUSE_MS = 100;

export class ControllerRun implements AsyncDisposable {
  readonly queue: WorkQueue<string>;
  readonly pool: WorkerPool<string>;
  readonly #options: RunOptions;
  readonly #kind: Resource;
  readonly #informer: Informer<AnyObject>;
  readonly #writes: OwnWrites;
  readonly #subscriptions: readonly Subscription<AnyObject>[];
  readonly #eventKeys: readonly EventKeys[];
  readonly #stopping = new AbortController();

  /** Starts at once: all informers must have the whole state. */
  constructor(options: RunOptions) {
    this.#options = options;
    const { definition, sources, cache, clock, onEventError: onError } = options;
    this.#informer = sources[0]!.informer;
    this.#kind = this.#informer.resource;
    this.#writes = new OwnWrites(sources, { timeoutMs: definition.ownWritesTimeoutMs ?? OWN_WRITES_MS, clock });
    this.queue = new WorkQueue<string>({ ...definition.queue, clock, observer: options.queueObserver });
    this.#eventKeys = sources.map(({ watch }) => {
      const onLateKeys = (event: InformerEvent<AnyObject>, keys: ReadonlySet<string>) =>
        void this.#want(watch, event, keys, this.#stopping.signal)?.catch(() => {}); // only when it stops
      return new EventKeys({ controller: definition.name, watch, cache, clock, onError, onLateKeys });
    });
    this.#subscriptions = sources.map(({ informer, watch }, index) => {
      const { resyncMs = 0 } = watch;
      const name = `${definition.name}/${informer.resource.plural}`;
      const hear = (event: InformerEvent<AnyObject>, signal: AbortSignal) => {
        this.#writes.notice();
        return this.#want(watch, event, this.#eventKeys[index]!.of(event), signal);
      };
      return informer.subscribe(hear, { name, resyncMs, onError });
    });
    this.pool = new WorkerPool<string>({
      queue: this.queue,
      handler: (key, work) => this.#reconcile(key, work),
      workers: definition.concurrency ?? 4,
      ...(definition.timeoutMs !== undefined && { timeoutMs: definition.timeoutMs }),
      graceMs: options.graceMs,
      abortGraceMs: options.abortGraceMs,
      clock,
      onOutcome: options.onOutcome,
      onLateEnd: options.onLateEnd,
    });
  }

  /** Own writes that never reached the cache. */
  get forgottenWrites(): number {
    return this.#writes.forgotten;
  }

  /** Fires the signals of all reconciles, now; none begins any more. */
  cut(reason: unknown): void {
    this.pool.cut(reason);
    this.queue.close();
  }

  /** Begins nothing, lets what runs end, and resolves when it has or when its grace is over. */
  readonly stop: () => Promise<void> = closeOnce(async () => {
    this.#stopping.abort();
    for (const eventKeys of this.#eventKeys) eventKeys.close();
    try {
      await this.pool.stop(); // what waits for its own writes must hear of them until then
    } finally {
      this.queue.close();
      await Promise.all(this.#subscriptions.map((one) => one[Symbol.asyncDispose]()));
    }
  });

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** A key that was held is free now: it is reconciled, whatever became of it meanwhile. */
  release(key: string): void {
    if (!this.#stopping.signal.aborted) this.queue.add(key, { cause: 'its reconcile of an earlier run has ended' });
  }

  /** A promise only if the queue is full. */
  #want(
    watch: Source['watch'],
    event: InformerEvent<AnyObject>,
    keys: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<void> | undefined {
    if (keys.size === 0) return undefined;
    const { priority = 0 } = watch;
    const { word, isOld } = newsOf(event);
    const options = {
      cause: `${word} ${watch.resource.kind} ${event.key}`,
      priority: isOld ? Math.min(priority, LOW_PRIORITY) : priority,
    };
    const quietMs = watch.debounceMs ?? this.#options.definition.debounceMs ?? 0;
    return this.#add([...keys], quietMs, options, signal);
  }

  #add(keys: readonly string[], quietMs: number, options: AddOptions, signal: AbortSignal): Promise<void> | undefined {
    for (const [index, key] of keys.entries()) {
      try {
        this.queue.addWhenQuiet(key, quietMs, options);
      } catch (err) {
        if (!(err instanceof QueueFullError)) throw err;
        const rest = keys.slice(index);
        return this.#options.clock.sleep(FULL_PAUSE_MS, signal).then(() => this.#add(rest, quietMs, options, signal));
      }
    }
    return undefined;
  }

  async #reconcile(key: string, work: WorkContext): Promise<WorkResult> {
    if (this.#options.isHeld(key)) return; // `release` brings it back
    await this.#writes.seen(key, work.signal);
    const { definition, tracer, onTracerError: onFailure, cluster, leadership } = this.#options;
    work.signal.throwIfAborted();
    leadership?.check(); // leadership may be over by the clock before its signal has had a chance to fire
    const object = this.#informer.get(key);
    const context = this.#contextOf(key, object, work);
    const attributes = {
      ...(cluster !== undefined && { cluster }),
      ...{ controller: definition.name, key, attempt: work.attempt, causes: work.causes.join(', ') },
    };
    return await traced(tracer, 'reconcile', attributes, () => definition.reconcile(object, context), onFailure);
  }

  #contextOf(key: string, object: AnyObject | undefined, work: WorkContext): ReconcileContext {
    const { definition, cache, client, cluster, recorder, logger, leadership } = this.#options;
    const { signal } = work;
    const slash = key.indexOf('/');
    const [namespace, name] = [key.slice(0, Math.max(0, slash)), key.slice(slash + 1)];
    const { apiVersion, kind } = this.#kind;
    const subject = object ?? { apiVersion, kind, metadata: { name, ...(namespace && { namespace }) } };
    const isGated = definition.ownWritesTimeoutMs !== 0;
    const wrote = (resource: Resource, written: AnyObject) => {
      if (isGated) this.#writes.wrote(key, resource, written);
    };
    const scope = {
      signal,
      check: () => {
        signal.throwIfAborted();
        leadership?.check();
      },
      wrote,
      deleted: (resource: Resource, objectKey: string, uid?: string) => {
        if (isGated) this.#writes.deleted(key, resource, objectKey, uid);
      },
    };
    return {
      controller: definition.name,
      ...{ cluster, key, namespace, name, signal, cache, leadership },
      causes: work.causes,
      omittedCauses: work.omittedCauses,
      attempt: work.attempt,
      priority: work.priority,
      client: {
        resource: (resource, where = namespace || client.namespace) =>
          new ReconcileResourceClient(client.transport, resource, where, scope),
      },
      recorder: recorder.bind(definition.name, subject),
      log: reconcileLog(logger, { ...(cluster !== undefined && { cluster }), controller: definition.name, key }),
      wrote: (written) => {
        const resource = cache.declaredAs(written);
        if (resource) wrote(resource, written);
      },
    };
  }
}

function newsOf(event: InformerEvent<AnyObject>): { word: string; isOld: boolean } {
  if (event.type === 'added' && event.isInitial) return { word: 'initial', isOld: true };
  if (event.type === 'updated' && event.isResync) return { word: 'resynced', isOld: true };
  return { word: event.type, isOld: false };
}
