/**
 * One controller of a manager: holds its informers for as long as it is there, and runs it, perhaps several times.
 *
 * Informers are acquired when it starts, so that they are warm when its turn comes. Without an election there is one
 * run; with one, a run for each time the process leads. A run waits for this controller's own informers and nobody
 * else's. When leadership is lost the run is cut: signals fire at once, and the process does not campaign again before
 * the last reconcile has ended or has used up its grace. One that ignores its signal for longer is a leftover: it can
 * write nothing any more through the client it was given, its key is held back from later runs until it does end, and
 * `running` names it, so that health can. Disposing stops this controller alone.
 */
import { closeOnce } from '../../api/index.ts';
import { resourceName } from '../../client/advanced.ts';
import type {
  AnyObject,
  Informer,
  InformerFactory,
  InformerHandle,
  InformerOptions,
  Resource,
} from '../../client/index.ts';
import type { LeaderElector } from '../election/leader-elector.ts';
import type { Leadership } from '../election/leader-work.ts';
import type { QueueMetricsSnapshot } from '../queue/queue-metrics.ts';
import { WorkQueue } from '../queue/work-queue.ts';
import { noPoolMetrics, type PoolMetricsSnapshot, type RunningWork } from '../queue/worker-pool.ts';
import { ControllerRun, type RunOptions, type Source } from '../reconcile/controller-run.ts';
import { DeclaredCache } from '../reconcile/declared-cache.ts';
import type { ControllerDefinition, MappedWatch, Selected, Watched } from '../reconcile/define-controller.ts';
import { toController, toSelf } from '../reconcile/mappers.ts';
import { LinkedSignal } from './linked-signal.ts';
import type { ControllerState } from './manager-options.ts';

/** What a manager lends to its controllers. */
export type Surroundings = Omit<
  RunOptions,
  'definition' | 'sources' | 'cache' | 'leadership' | 'isHeld' | 'onLateEnd'
> & {
  readonly informers: InformerFactory;
  readonly elector: LeaderElector | undefined;
  readonly namespace: string | readonly string[] | undefined;
  /** It is over before its time: a bug, or a client that was closed. */
  readonly onFailure: (error: unknown) => void;
  /** A run has begun. */
  readonly onRunning: () => void;
  readonly onRemoved: () => void;
};

export type ControllerMetrics = {
  readonly queue: QueueMetricsSnapshot;
  readonly pool: PoolMetricsSnapshot;
  /** Own writes that did not reach the cache within their time. */
  readonly forgottenWrites: number;
};

export class ManagedController implements AsyncDisposable {
  readonly name: string;
  readonly needsLeadership: boolean;
  readonly #definition: ControllerDefinition;
  readonly #stopping = new AbortController();
  readonly #handles: InformerHandle<AnyObject>[] = [];
  #informers: readonly Informer<AnyObject>[] = [];
  #state: ControllerState = 'stopped';
  #currentRun: ControllerRun | undefined;
  /** Earlier runs of which something still runs. */
  readonly #leftovers = new Set<ControllerRun>();
  #ended: Promise<void> | undefined;
  #onRemoved: () => void = () => {};

  constructor(definition: ControllerDefinition) {
    this.name = definition.name;
    this.needsLeadership = definition.needsLeadership ?? true;
    this.#definition = definition;
  }

  get state(): ControllerState {
    return this.#state;
  }

  /** Those it reads or hears, from its start until it has stopped. */
  get informers(): readonly Informer<AnyObject>[] {
    return this.#informers;
  }

  /** The kinds that have not the whole state yet. */
  get waitsFor(): string[] {
    return this.#informers.filter(({ isSynced }) => !isSynced).map(({ resource }) => resourceName(resource));
  }

  /** What works in the present run, or did in the last; another one for each run. */
  get currentRun(): Pick<ControllerRun, 'queue' | 'pool'> | undefined {
    return this.#currentRun;
  }

  /** Every reconcile that has not ended, also those of earlier runs that nobody waits for any more. */
  running(): RunningWork<string>[] {
    const runs = new Set([...this.#leftovers, ...(this.#currentRun ? [this.#currentRun] : [])]);
    return [...runs].flatMap(({ pool }) => pool.running());
  }

  /** How many keys at a time. */
  get concurrency(): number {
    return this.#definition.concurrency ?? 4;
  }

  /** Of the present run, or of the last; counters begin anew with each. */
  metrics(): ControllerMetrics {
    const { concurrency } = this;
    return {
      queue: this.#currentRun?.queue.metrics() ?? new WorkQueue<string>().metrics(),
      pool: this.#currentRun?.pool.metrics() ?? noPoolMetrics(concurrency),
      forgottenWrites: this.#currentRun?.forgottenWrites ?? 0,
    };
  }

  /** To be called once, by the manager. */
  start(surroundings: Surroundings): void {
    this.#onRemoved = surroundings.onRemoved;
    const cache = new DeclaredCache(this.name);
    const sources = this.#declare(cache, surroundings);
    this.#informers = cache.informers;
    const elector = this.needsLeadership ? surroundings.elector : undefined;
    this.#state = elector ? 'standby' : 'waiting';
    const run = (leadership?: Leadership) => {
      const isHeld = (key: string) => this.#isHeld(key);
      const onLateEnd = (key: string) => this.#onLateEnd(key);
      const own = { definition: this.#definition, sources, cache, leadership, isHeld, onLateEnd };
      return this.#run({ ...surroundings, ...own }, surroundings.onRunning);
    };
    const { signal } = this.#stopping;
    const ended = (elector ? elector.runWhenLeading((_signal, leadership) => run(leadership), signal) : run())
      .catch((error: unknown) => {
        if (!this.#stopping.signal.aborted) surroundings.onFailure(error);
      })
      .finally(() => {
        this.#state = 'stopped';
      });
    this.#ended = ended;
  }

  /** Resolves when nothing of it runs any more, or when what runs has used up its grace; gives up its informers. */
  readonly stop: () => Promise<void> = closeOnce(async () => {
    this.#stopping.abort(new Error(`Cannot go on with controller "${this.name}": it was stopped`));
    await this.#ended;
    this.#state = 'stopped';
    this.#informers = []; // from here on they are closed on purpose: health is not about them
    await Promise.all(this.#handles.map((handle) => handle[Symbol.asyncDispose]()));
    this.#onRemoved();
  });

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** From when its informers have everything until it is stopped or leads no more. */
  async #run(options: RunOptions, onRunning: () => void): Promise<void> {
    const { signal: stopping } = this.#stopping;
    const leadershipEnd = options.leadership?.signal;
    const link = new LinkedSignal(stopping, leadershipEnd);
    try {
      this.#state = 'waiting';
      // Everything there is has reached version 0; unlike `synced`, this waits through refusals.
      await Promise.all(this.#informers.map((informer) => informer.reached('0', link.signal)));
      const run = new ControllerRun(options);
      this.#currentRun = run;
      this.#state = 'running';
      onRunning();
      await link.fired();
      // The lease is kept while reconciles use up their grace; should it be lost then, that is the end of it.
      const cut = () => run.cut(leadershipEnd?.reason);
      if (leadershipEnd?.aborted) cut();
      leadershipEnd?.addEventListener('abort', cut, { once: true });
      await run.stop();
      leadershipEnd?.removeEventListener('abort', cut);
      // What still runs has used up its grace: nobody waits for it, neither a next run nor whoever stops us.
      if (run.pool.running().length > 0) this.#leftovers.add(run);
    } catch (error) {
      if (!link.signal.aborted) throw error;
    } finally {
      link.release();
      if (!stopping.aborted) this.#state = options.leadership ? 'standby' : 'stopped';
    }
  }

  #isHeld(key: string): boolean {
    for (const { pool } of this.#leftovers) if (pool.running().some((work) => work.key === key)) return true;
    return false;
  }

  #onLateEnd(key: string): void {
    if (this.#leftovers.size === 0) return; // of the present run: its queue knows already
    for (const run of this.#leftovers) if (run.pool.running().length === 0) this.#leftovers.delete(run);
    if (this.#currentRun && !this.#isHeld(key)) this.#currentRun.release(key);
  }

  #declare(cache: DeclaredCache, { informers, namespace }: Surroundings): Source[] {
    const { for: primary, owns, watches, reads } = this.#definition;
    const declare = (watch: Watched<AnyObject> & Partial<MappedWatch<AnyObject>>): Source => {
      const selection = selectionOf(watch, namespace, cache);
      const handle = this.#acquire(informers, watch.resource, selection);
      this.#handles.push(handle);
      cache.declare(handle.informer);
      return { informer: handle.informer, selection, watch };
    };
    return [
      declare({ ...primary, map: toSelf() }),
      ...owns.map((watch) => declare({ ...watch, map: toController(primary.resource) })),
      ...watches.map(declare),
      ...reads.map((read) => declare(read)),
    ];
  }

  #acquire(informers: InformerFactory, resource: Resource, selection: InformerOptions<AnyObject>) {
    try {
      return informers.acquire(resource, selection);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`Cannot start controller "${this.name}" on ${resourceName(resource)}: ${why}`, { cause });
    }
  }
}

/** Everywhere, unless somebody has named a namespace. */
function selectionOf(
  selected: Selected<AnyObject>,
  common: string | readonly string[] | undefined,
  cache: DeclaredCache,
): InformerOptions<AnyObject> {
  const {
    namespace = common,
    allNamespaces,
    labelSelector,
    fieldSelector,
    shardSelector,
    transform,
    indexers,
  } = selected;
  return {
    ...(allNamespaces || namespace === undefined ? { allNamespaces: true } : { namespace }),
    ...(labelSelector !== undefined && { labelSelector }),
    ...(fieldSelector !== undefined && { fieldSelector }),
    ...(shardSelector !== undefined && { shardSelector }),
    ...(transform && { transform }),
    ...(indexers && { indexers: cache.indexersFor(indexers) }),
  };
}
