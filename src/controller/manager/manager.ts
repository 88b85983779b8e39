/**
 * Runs controllers over one client: shared informers, one election, one way to stop.
 *
 *     await using manager = new Manager({ client, election: { name: 'my-operator' } });
 *     manager.add(defineController({ ... }));
 *     await manager.run(signal); // until the signal fires; then all is stopped, in good order
 *
 * A controller waits for its own informers alone: a kind it may not read holds up no other controller, and `health`
 * names it. Those that need leadership run only while this process leads, over informers that are warm before. When it
 * is lost they stop at once and the manager campaigns again. Runtimes that cannot take work back end the process there;
 * here signals fire, writes are refused, and the process does not campaign before the last reconcile has ended or has
 * used up its grace. A reconcile that does not end by then is stuck: it is named in health and log, and blocks nothing
 * but its own key; `onStuck: 'exit'` ends the process instead. Whatever health says is said in the log when it changes.
 *
 * Stopping: no new keys; reconciles have `graceMs` to end while the lease is kept, then their signals fire; the lease
 * is given away and events are written; informers close. A bug stops everything and is thrown by `run`.
 */
import { hostname } from 'node:os';
import {
  CallbackError,
  type Clock,
  closeOnce,
  hardwareClock,
  type Logger,
  systemClock,
  tellSafely,
  untilAborted,
  wallNow,
} from '../../api/index.ts';
import type { AnyObject, Informer, InformerFactory, KubeClient } from '../../client/index.ts';
import type { LeaderElector } from '../election/leader-elector.ts';
import { DEFAULT_TIMINGS } from '../election/lease-decision.ts';
import { EventRecorder } from '../events/event-recorder.ts';
import type { QueueObserver } from '../queue/queue-metrics.ts';
import type { WorkOutcome } from '../queue/worker-pool.ts';
import type { ControllerDefinition } from '../reconcile/define-controller.ts';
import { findProblems, type HealthFacts, healthOf } from './health.ts';
import { type KeptLease, keepLease } from './lease-keeper.ts';
import { ManagedController } from './managed-controller.ts';
import { ManagerLog, stderrLogger } from './manager-log.ts';
import type { ErrorCount, ErrorSource, ManagerHealth, ManagerOptions } from './manager-options.ts';
import { type RecentReconcile, RecentReconciles } from './recent-reconciles.ts';
import { type StuckError, Watchdog } from './watchdog.ts';

/** The manager is not ready in the time its caller has; `problems` says why, `cause` is the reason of the signal. */
export class NotReadyError extends Error {
  override readonly name = 'NotReadyError';
  readonly problems: readonly string[];
  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(`Cannot wait for the manager any longer: ${problems.join('; ') || 'it has just become ready'}`, options);
    this.problems = problems;
  }
}

const GRACE_MS = 30_000;
const ABORT_GRACE_MS = 5_000;
const MAX_LAG_MS = 180_000;
const STUCK_AFTER_MS = 600_000;

export class Manager implements AsyncDisposable {
  readonly client: KubeClient;
  readonly recorder: EventRecorder;
  readonly #options: ManagerOptions;
  readonly #clock: Clock;
  readonly #informers: InformerFactory;
  readonly #controllers = new Map<string, ManagedController>();
  readonly #ending = new AbortController();
  readonly #logger: Logger | undefined;
  readonly #log: ManagerLog;
  readonly #watchdog: Watchdog;
  /** Callbacks of the user's that have failed, and were warned of. */
  readonly #failed = new Set<string>();
  readonly #recent: RecentReconciles;
  /** As many as there are controllers and parts. */
  readonly #errors = new Map<string, Omit<ErrorCount, 'lastMs'> & { readonly at: number }>();
  #lease: KeptLease | undefined;
  #phase: 'new' | 'running' | 'stopping' = 'new';
  #failure: { readonly error: unknown } | undefined;

  constructor(options: ManagerOptions) {
    this.#options = options;
    this.client = options.client;
    this.#clock = options.clock ?? systemClock;
    this.#recent = new RecentReconciles(options.wallNow ?? wallNow);
    const { logger = stderrLogger(), cluster } = options;
    this.#logger = logger || undefined;
    this.#log = new ManagerLog(this.#logger, cluster, this.#clock);
    this.#watchdog = new Watchdog({
      // It looks each second of the machine: virtual hours need not be looked at second by second.
      clock: options.clock ?? hardwareClock,
      log: this.#log,
      problems: () => findProblems(this.#facts()),
      controllers: () => this.health().controllers,
      isFatal: options.onStuck === 'exit',
      onStuck: (error) => this.#onStuck(error),
    });
    const onError = (error: unknown) => this.#report(error, { part: 'informer' });
    this.#informers = options.client.informers({ ...options.informers, onError });
    this.recorder = new EventRecorder(options.client, {
      instance: options.election?.identity ?? hostname(),
      clock: this.#clock,
      ...(options.wallNow && { wallNow: options.wallNow }),
      onError: (error) => this.#report(error, { part: 'recorder' }),
    });
  }

  get controllers(): readonly ManagedController[] {
    return [...this.#controllers.values()];
  }

  get informers(): readonly Informer<AnyObject>[] {
    return this.#informers.informers;
  }

  /** Undefined without an election, and before the start. */
  get elector(): LeaderElector | undefined {
    return this.#lease?.elector;
  }

  /** Before the start or after it; disposing what is returned takes this controller away again. */
  add<T extends AnyObject>(definition: ControllerDefinition<T>): ManagedController {
    const { name } = definition;
    if (this.#phase === 'stopping') throw new Error(`Cannot add controller "${name}": the manager is stopping`);
    if (this.#controllers.has(name)) throw new Error(`Cannot add controller "${name}": there is one of that name`);
    const controller = new ManagedController(definition as unknown as ControllerDefinition);
    this.#controllers.set(name, controller);
    try {
      if (this.#phase === 'running') this.#begin(controller);
    } catch (error) {
      this.#controllers.delete(name);
      controller.stop().catch((another: unknown) => this.#report(another, { part: 'informer', controller: name }));
      throw error;
    }
    return controller;
  }

  /** Starts informers, the election and the controllers, and does not wait for any of them. */
  start(): void {
    if (this.#phase === 'stopping') throw new Error('Cannot start the manager: it is stopping');
    if (this.#phase === 'running') return;
    this.#phase = 'running';
    const { client, election, wallNow } = this.#options;
    if (election) {
      const onError = (error: unknown) => this.#report(error, { part: 'election' });
      const onFailure = (error: unknown) => this.#fail(error);
      this.#lease = keepLease(
        client,
        { ...election, wallNow: election.wallNow ?? wallNow },
        { clock: this.#clock, onError, onFailure },
      );
      void this.#tellRoles(this.#lease.elector);
    }
    this.#log.started([...this.#controllers.keys()], election?.name);
    for (const controller of this.controllers) this.#begin(controller);
    void this.#watchdog.run(this.#ending.signal);
  }

  /** Runs until the signal fires or `stop` is called; resolves when all is stopped, rejects with what it failed by. */
  async run(signal?: AbortSignal): Promise<void> {
    try {
      if (!signal?.aborted) {
        this.start();
        await this.#untilEnding(signal);
      }
    } finally {
      await this.stop();
    }
    if (this.#failure) throw this.#failure.error;
  }

  /** Resolves once every informer has the whole state; when the signal fires first, NotReadyError says who has not. */
  async ready(signal?: AbortSignal): Promise<void> {
    if (this.#phase === 'new') throw new Error('Cannot wait for the manager: it has not started');
    if (this.#phase === 'stopping') throw new Error('Cannot wait for the manager: it is stopping');
    try {
      // One listener on the signal, however many informers there are.
      await untilAborted(Promise.all(this.informers.map((informer) => informer.reached('0'))), signal);
    } catch (error) {
      if (!signal?.aborted) throw error;
      throw new NotReadyError(this.health().problems, { cause: signal.reason });
    }
  }

  health(): ManagerHealth {
    return healthOf(this.#facts());
  }

  /** The last few hundred reconciles that have ended, the newest first. */
  recentReconciles(): readonly RecentReconcile[] {
    return this.#recent.newestFirst();
  }

  readonly stop: () => Promise<void> = closeOnce(async () => {
    if (this.#phase === 'running') this.#log.life('manager stops');
    this.#phase = 'stopping';
    this.#ending.abort();
    try {
      await Promise.all(this.controllers.map((controller) => controller.stop()));
      // Those who take over must not meet what still runs here.
      if (this.controllers.some((controller) => controller.running().length > 0)) this.elector?.leaveToRunOut();
      await Promise.all([this.recorder[Symbol.asyncDispose](), this.#lease?.[Symbol.asyncDispose]()]);
    } finally {
      await this.#informers[Symbol.asyncDispose]();
    }
  });

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #untilEnding(signal: AbortSignal | undefined): Promise<void> {
    const ending = new Promise<void>((resolve) => {
      if (this.#ending.signal.aborted) resolve();
      this.#ending.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await untilAborted(ending, signal).catch(() => {});
  }

  #begin(controller: ManagedController): void {
    const { name } = controller;
    const { cluster, tracer, observer, namespace } = this.#options;
    const { graceMs = GRACE_MS, abortGraceMs = ABORT_GRACE_MS } = this.#options;
    let queueObserver: QueueObserver = {};
    tellSafely(() => {
      const given: QueueObserver | undefined = observer?.queue?.(name);
      if (given instanceof Promise) return given; // no observer, but perhaps an error
      queueObserver = given ?? {};
      return undefined;
    }, this.#failing('observer.queue'));
    const logger = this.#logger;
    controller.start({
      client: this.#options.clientFor?.(name) ?? this.client,
      ...{ recorder: this.recorder, clock: this.#clock, logger, tracer, graceMs, abortGraceMs },
      ...{ informers: this.#informers, elector: this.elector, namespace, cluster },
      queueObserver,
      onOutcome: (outcome) => this.#onOutcome(name, outcome),
      onEventError: (error) => this.#report(error, { part: 'informer', controller: name }),
      onTracerError: (error) => this.#reportTracer(error),
      onRunning: () => this.#log.running(name),
      onFailure: (error) => this.#fail(error),
      onRemoved: () => {
        if (this.#phase !== 'stopping') this.#controllers.delete(name);
      },
    });
  }

  #onOutcome(controller: string, outcome: WorkOutcome<string>): void {
    const { key, result, error } = outcome;
    this.#recent.note(controller, outcome);
    tellSafely(() => this.#options.observer?.onReconcile?.(controller, outcome), this.#failing('observer.onReconcile'));
    const source: ErrorSource = { part: 'reconcile', controller, key };
    if (result === 'error' || result === 'terminal_error') this.#report(error, source, outcome);
    if (result === 'abandoned') this.#watchdog.look(); // at once: it may be the last thing to be said
  }

  #facts(): HealthFacts {
    const { health = {}, abortGraceMs = ABORT_GRACE_MS, election } = this.#options;
    return {
      controllers: this.controllers,
      elector: this.elector,
      failure: this.#failure,
      errors: [...this.#errors.values()].map(({ at, ...error }) => ({ ...error, lastMs: this.#clock.now() - at })),
      phase: this.#phase,
      maxLagMs: health.maxLagMs ?? MAX_LAG_MS,
      stuckAfterMs: health.stuckAfterMs ?? STUCK_AFTER_MS,
      abortGraceMs,
      electionMs: Math.max(election?.leaseDurationMs ?? DEFAULT_TIMINGS.leaseDurationMs, 2 * abortGraceMs),
    };
  }

  /** Log and health have it already. */
  #onStuck(error: StuckError): void {
    const { controller, key } = error;
    const { onError, cluster } = this.#options;
    const source: ErrorSource = { ...(cluster !== undefined && { cluster }), part: 'reconcile', controller, key };
    if (onError) tellSafely(() => onError(error, source), this.#failing('onError'));
  }

  async #tellRoles(elector: LeaderElector): Promise<void> {
    for await (const role of elector.roles()) this.#log.role(role);
  }

  /** Once says it: a tracer that fails does so with every reconcile. */
  #reportTracer(error: unknown): void {
    if (this.#failed.has('tracer')) return;
    this.#failed.add('tracer');
    this.#report(new CallbackError('tracer', '', 'the manager', error), { part: 'tracer' });
  }

  /** A process warning, once for each: what has been given to hear of errors and outcomes fails itself. */
  #failing(callback: string): (error: unknown) => void {
    return (error) => {
      if (this.#failed.has(callback)) return;
      this.#failed.add(callback);
      const warning = new CallbackError(callback, '', 'the manager', error);
      process.emitWarning(Object.assign(warning, { name: 'ManagerWarning' }));
    };
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#ending.abort();
  }

  #countError(error: unknown, { part, controller = '' }: ErrorSource): void {
    const id = `${part} ${controller}`;
    const count = (this.#errors.get(id)?.count ?? 0) + 1;
    this.#errors.set(id, { part, controller, count, last: error, at: this.#clock.now() });
  }

  #report(error: unknown, from: ErrorSource, outcome?: WorkOutcome<string>): void {
    const { onError, cluster } = this.#options;
    const source = cluster === undefined ? from : { cluster, ...from };
    this.#countError(error, from);
    if (onError)
      tellSafely(() => onError(error, source), this.#failing('onError')); // nor may it make more of them
    else this.#log.failed(error, source, outcome);
  }
}
