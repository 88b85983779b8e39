/**
 * Runs controllers over one client: shared informers, one election, one way to stop.
 *
 *     await using manager = new Manager({ client, election: { name: 'my-operator' } });
 *     manager.add(defineController({ ... }));
 *     await manager.run(signal); // until the signal fires; then all is stopped, in good order
 *
 * A controller waits for its own informers alone: a kind it may not read holds up nobody else, and `health` names it.
 * Those that need leadership run only while this process leads, over informers that are warm before. When it is lost
 * they stop at once and the manager campaigns again. Runtimes that cannot take work back end the process there; here
 * signals fire, writes are refused, and nobody campaigns before the last reconcile has ended.
 *
 * Stopping: no new keys; reconciles have `graceMs` to end while the lease is kept, then their signals fire; the lease
 * is given away and events are written; informers close. A bug stops everything and is thrown by `run`.
 */
import { hostname } from 'node:os';
import { type Clock, closeOnce, systemClock, tellSafely, untilAborted } from '../../api/index.ts';
import { type AnyObject, type Informer, InformerFactory, type KubeClient } from '../../client/index.ts';
import type { LeaderElector } from '../election/leader-elector.ts';
import { EventRecorder } from '../events/event-recorder.ts';
import type { QueueObserver } from '../queue/queue-metrics.ts';
import type { WorkOutcome } from '../queue/worker-pool.ts';
import type { ControllerDefinition } from '../reconcile/define-controller.ts';
import { healthOf } from './health.ts';
import { type KeptLease, keepLease } from './lease-keeper.ts';
import { ManagedController } from './managed-controller.ts';
import type { ErrorSource, ManagerHealth, ManagerOptions } from './manager-options.ts';

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

export class Manager implements AsyncDisposable {
  readonly client: KubeClient;
  readonly recorder: EventRecorder;
  readonly #options: ManagerOptions;
  readonly #clock: Clock;
  readonly #informers: InformerFactory;
  readonly #controllers = new Map<string, ManagedController>();
  readonly #ending = new AbortController();
  #lease: KeptLease | undefined;
  #phase: 'new' | 'running' | 'stopping' = 'new';
  #failure: { readonly error: unknown } | undefined;

  constructor(options: ManagerOptions) {
    this.#options = options;
    this.client = options.client;
    this.#clock = options.clock ?? systemClock;
    const onError = (error: unknown) => this.#report(error, { part: 'informer' });
    this.#informers = new InformerFactory(options.client, { ...options.informers, onError });
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
      this.#lease = keepLease(
        client,
        { ...election, wallNow: election.wallNow ?? wallNow },
        { clock: this.#clock, onError },
      );
    }
    for (const controller of this.controllers) this.#begin(controller);
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
    return healthOf({
      controllers: this.controllers,
      role: this.elector?.role,
      failure: this.#failure,
      phase: this.#phase,
      maxLagMs: this.#options.health?.maxLagMs ?? MAX_LAG_MS,
    });
  }

  readonly stop: () => Promise<void> = closeOnce(async () => {
    this.#phase = 'stopping';
    this.#ending.abort();
    try {
      await Promise.all(this.controllers.map((controller) => controller.stop()));
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
    const { cluster, logger, tracer, observer, namespace } = this.#options;
    const { graceMs = GRACE_MS, abortGraceMs = ABORT_GRACE_MS } = this.#options;
    let queueObserver: QueueObserver = {};
    tellSafely(() => {
      queueObserver = observer?.queue?.(name) ?? {};
    }, warn);
    controller.start({
      ...{ client: this.client, recorder: this.recorder, clock: this.#clock, logger, tracer, graceMs, abortGraceMs },
      ...{ informers: this.#informers, elector: this.elector, namespace, cluster },
      queueObserver,
      onOutcome: (outcome) => this.#onOutcome(name, outcome),
      onMisheard: (error) => this.#report(error, { part: 'informer', controller: name }),
      onFailure: (error) => this.#fail(error),
      onRemoved: () => {
        if (this.#phase !== 'stopping') this.#controllers.delete(name);
      },
    });
  }

  #onOutcome(controller: string, outcome: WorkOutcome<string>): void {
    const { key, result, error } = outcome;
    tellSafely(() => this.#options.observer?.onReconcile?.(controller, outcome), warn);
    if (result === 'error' || result === 'terminal_error') this.#report(error, { part: 'reconcile', controller, key });
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#ending.abort();
  }

  #report(error: unknown, from: ErrorSource): void {
    const { onError, logger, cluster } = this.#options;
    const source = cluster === undefined ? from : { cluster, ...from };
    const tell = (): unknown => {
      if (onError) return onError(error, source);
      if (logger) return logger.log(0, error instanceof Error ? error.message : String(error), { ...source, error });
      return warn(error);
    };
    tellSafely(tell, warn); // whoever is told of errors may not make more of them
  }
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error), { type: 'ManagerWarning' });
}
