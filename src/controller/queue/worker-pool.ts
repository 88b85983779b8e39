/**
 * N workers over one queue: they get keys, run the handler, and see to it that nothing is forgotten afterwards.
 *
 *     handler returns                 done, failures forgiven
 *     handler returns requeueAfterMs  the same, and the key comes back then
 *     handler throws TerminalError    done, failures forgiven, no retry
 *     handler throws anything else    the key comes back after its backoff, with its causes and priority
 *
 * Whatever a handler throws ends there: it is reported to `onOutcome` and harms neither its worker nor other keys. When
 * a reconcile takes longer than `timeoutMs` its signal fires with ReconcileTimeoutError, and it has `abortGraceMs` to
 * end. One that ignores its signal is abandoned: its worker goes on with other keys, but its own key stays in flight
 * until it does end, because starting it anew beside that would put one key into two hands.
 *
 * `stop` takes no new keys, gives those in flight `graceMs` to end, then fires their signals and gives them
 * `abortGraceMs` more, and abandons what is left; `cut` fires them at once, and then there is no grace but the latter.
 * Keys that were cut short go back to the queue. `running` names all that has not ended, abandoned or not.
 */
import { setMaxListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, closeOnce, systemClock } from '../../api/index.ts';
import { Histogram, type HistogramSnapshot } from './queue-metrics.ts';
import { isTerminalError, PoolStoppedError, ReconcileTimeoutError } from './terminal-error.ts';
import type { WorkItem, WorkQueue } from './work-queue.ts';

export type WorkContext = {
  readonly causes: readonly string[];
  /** Further causes that there was no room for. */
  readonly omittedCauses: number;
  readonly attempt: number;
  readonly priority: number;
  /** Fires when the time of this reconcile is up, or the pool stops and the grace is over. */
  readonly signal: AbortSignal;
};

// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement is the usual one
export type WorkResult = { readonly requeueAfterMs?: number } | undefined | void;

export type WorkHandler<K> = (key: K, context: WorkContext) => WorkResult | Promise<WorkResult>;

export type WorkOutcome<K> = {
  readonly key: K;
  readonly result: 'success' | 'requeue_after' | 'error' | 'terminal_error' | 'stopped' | 'abandoned';
  readonly attempt: number;
  readonly durationMs: number;
  /** Why it was reconciled. */
  readonly causes: readonly string[];
  readonly error?: unknown;
  /** When the key comes back, if it does. */
  readonly retryAfterMs?: number;
};

/** A reconcile that has not ended. */
export type RunningWork<K> = {
  readonly key: K;
  readonly runningMs: number;
  /** How long ago its signal fired; undefined if it has not. */
  readonly firedMs: number | undefined;
  /** Nobody waits for it any more. */
  readonly isAbandoned: boolean;
};

export type WorkerPoolOptions<K> = {
  readonly queue: WorkQueue<K>;
  readonly handler: WorkHandler<K>;
  readonly workers?: number | undefined;
  /** For one reconcile; none if not set. */
  readonly timeoutMs?: number | undefined;
  readonly graceMs?: number | undefined;
  readonly abortGraceMs?: number | undefined;
  readonly clock?: Clock | undefined;
  /** Hears of every reconcile, successes as well. Must not throw. */
  readonly onOutcome?: ((outcome: WorkOutcome<K>) => void) | undefined;
  /** What was abandoned has ended after all. Must not throw. */
  readonly onLateEnd?: ((key: K) => void) | undefined;
};

export type PoolMetricsSnapshot = {
  readonly controller_runtime_reconcile_total: Readonly<Record<WorkOutcome<unknown>['result'], number>>;
  readonly controller_runtime_reconcile_errors_total: number;
  readonly controller_runtime_terminal_reconcile_errors_total: number;
  readonly controller_runtime_reconcile_timeouts_total: number;
  readonly controller_runtime_reconcile_time_seconds: HistogramSnapshot;
  readonly controller_runtime_active_workers: number;
  readonly controller_runtime_max_concurrent_reconciles: number;
};

/** Of a pool that has not begun. */
export function noPoolMetrics(workers: number): PoolMetricsSnapshot {
  return {
    controller_runtime_reconcile_total: { ...NO_OUTCOMES },
    controller_runtime_reconcile_errors_total: 0,
    controller_runtime_terminal_reconcile_errors_total: 0,
    controller_runtime_reconcile_timeouts_total: 0,
    controller_runtime_reconcile_time_seconds: new Histogram(RECONCILE_BOUNDS).snapshot(),
    controller_runtime_active_workers: 0,
    controller_runtime_max_concurrent_reconciles: workers,
  };
}

/** Seconds, as in controller-runtime: most reconciles are short, and the long ones matter. */
const RECONCILE_BOUNDS: readonly number[] = [
  ...[0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9],
  ...[1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60],
];

const NO_OUTCOMES = { success: 0, requeue_after: 0, error: 0, terminal_error: 0, stopped: 0, abandoned: 0 };

type Work<K> = {
  readonly item: WorkItem<K>;
  readonly startedAt: number;
  readonly abort: AbortController;
  firedAt: number | undefined;
  /** Lets the worker go on without it. */
  leave: (() => void) | undefined;
};

/** A backlog of handlers that never wait must not keep timers and sockets from their turn. */
const STRETCH_KEYS = 64;
const STRETCH_MS = 5;

const ABORT_GRACE_MS = 5_000;

/** Given as a reason because making the default one, an exception with a stack, costs more than all else here. */
const ENDED = 'the reconcile has ended';

export class WorkerPool<K> implements AsyncDisposable {
  readonly #options: WorkerPoolOptions<K>;
  readonly #clock: Clock;
  readonly #size: number;
  readonly #stopping = new AbortController();
  readonly #active = new Set<Work<K>>();
  readonly #abandoned = new Set<Work<K>>();
  readonly #workers: Promise<unknown>;
  readonly #counts = { ...NO_OUTCOMES };
  readonly #times = new Histogram(RECONCILE_BOUNDS);
  #isCut = false;
  #timeouts = 0;
  #stretchKeys = 0;
  #stretchEnd: number;

  /** Starts at once. */
  constructor(options: WorkerPoolOptions<K>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    setMaxListeners(0, this.#stopping.signal); // every idle worker has one
    this.#size = options.workers ?? 4;
    if (!(Number.isInteger(this.#size) && this.#size > 0))
      throw new RangeError(`Cannot start a worker pool: ${this.#size} workers`);
    this.#stretchEnd = this.#clock.now() + STRETCH_MS;
    this.#workers = Promise.all(Array.from({ length: this.#size }, () => this.#work()));
    this.#workers.catch(() => {}); // thrown by `ended` and `stop`
  }

  /** Ends when the queue has ended or the pool was stopped; rejects only if `onOutcome` throws. */
  get ended(): Promise<void> {
    return this.#workers.then(() => {});
  }

  /** Whatever has not ended, the oldest first; those that were abandoned before all others. */
  running(): RunningWork<K>[] {
    const now = this.#clock.now();
    return [...this.#abandoned, ...this.#active].map((work) => ({
      key: work.item.key,
      runningMs: now - work.startedAt,
      firedMs: work.firedAt === undefined ? undefined : now - work.firedAt,
      isAbandoned: this.#abandoned.has(work),
    }));
  }

  readonly stop: () => Promise<void> = closeOnce(() => this.#stop());

  /** Takes no new keys and fires all signals now, with this reason; `stop` still tells when it is over. */
  cut(reason: unknown): void {
    this.#isCut = true;
    this.#stopping.abort();
    for (const work of this.#active) this.#fire(work, reason);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  metrics(): PoolMetricsSnapshot {
    const { error, terminal_error: terminal } = this.#counts;
    return {
      controller_runtime_reconcile_total: { ...this.#counts },
      controller_runtime_reconcile_errors_total: error + terminal,
      controller_runtime_terminal_reconcile_errors_total: terminal,
      controller_runtime_reconcile_timeouts_total: this.#timeouts,
      controller_runtime_reconcile_time_seconds: this.#times.snapshot(),
      controller_runtime_active_workers: this.#active.size,
      controller_runtime_max_concurrent_reconciles: this.#size,
    };
  }

  async #work(): Promise<void> {
    const { signal } = this.#stopping;
    for (;;) {
      const item = await this.#options.queue.get(signal).catch((err: unknown) => {
        if (signal.aborted) return undefined;
        throw err;
      });
      if (!item) return;
      if (signal.aborted) {
        this.#putBack(item); // handed out in the same breath as the pool was stopped
        return;
      }
      await this.#reconcile(item);
      if (++this.#stretchKeys >= STRETCH_KEYS || this.#clock.now() >= this.#stretchEnd) {
        await nextTurn();
        this.#stretchKeys = 0;
        this.#stretchEnd = this.#clock.now() + STRETCH_MS;
      }
    }
  }

  async #reconcile(item: WorkItem<K>): Promise<void> {
    const abort = new AbortController();
    const work: Work<K> = { item, startedAt: this.#clock.now(), abort, firedAt: undefined, leave: undefined };
    setMaxListeners(0, abort.signal); // a handler may send any number of requests at a time
    this.#active.add(work);
    if (this.#options.timeoutMs === undefined) return await this.#settle(work);
    await new Promise<void>((resolve, reject) => {
      work.leave = resolve;
      this.#settle(work).then(resolve, reject);
    });
  }

  async #settle(work: Work<K>): Promise<void> {
    const verdict = await this.#run(work);
    if ('error' in verdict) this.#fail(work, verdict.error);
    else this.#succeed(work, verdict.requeueAfterMs);
  }

  async #run(work: Work<K>): Promise<{ error: unknown } | { requeueAfterMs: number | undefined }> {
    const { key, causes, omittedCauses, attempt, priority } = work.item;
    const context = { causes, omittedCauses, attempt, priority, signal: work.abort.signal };
    const ended = this.#limitTime(work);
    try {
      const result = await this.#options.handler(key, context);
      const requeueAfterMs = result?.requeueAfterMs;
      if (requeueAfterMs !== undefined && (typeof requeueAfterMs !== 'number' || Number.isNaN(requeueAfterMs)))
        throw new RangeError(
          `Cannot requeue the key: its delay is ${String(requeueAfterMs)}, not a number of milliseconds`,
        );
      return { requeueAfterMs };
    } catch (error) {
      return { error };
    } finally {
      ended?.abort(ENDED);
    }
  }

  #succeed(work: Work<K>, requeueAfterMs: number | undefined): void {
    const { queue } = this.#options;
    const { key, priority } = work.item;
    queue.forget(key);
    if (requeueAfterMs === undefined) {
      this.#finish(work, 'success');
    } else {
      queue.addAfter(key, requeueAfterMs, { cause: 'requeue', priority });
      this.#finish(work, 'requeue_after', { retryAfterMs: requeueAfterMs });
    }
  }

  #fail(work: Work<K>, error: unknown): void {
    const { queue } = this.#options;
    const { key, causes, priority } = work.item;
    if (this.#isCut || work.abort.signal.reason instanceof PoolStoppedError) {
      queue.add(key, { cause: causes, priority });
      this.#finish(work, 'stopped', { error });
    } else if (isTerminalError(error)) {
      queue.forget(key);
      this.#finish(work, 'terminal_error', { error });
    } else {
      const retryAfterMs = queue.addRateLimited(key, { cause: causes, priority });
      this.#finish(work, 'error', { error, ...(retryAfterMs !== undefined && { retryAfterMs }) });
    }
  }

  #finish(work: Work<K>, result: WorkOutcome<K>['result'], more: Partial<WorkOutcome<K>> = {}): void {
    this.#options.queue.done(work.item.key);
    if (this.#abandoned.delete(work)) this.#options.onLateEnd?.(work.item.key); // the rest was reported when it was abandoned
    if (this.#active.delete(work)) this.#tell(work, result, more);
  }

  #tell({ item, startedAt }: Work<K>, result: WorkOutcome<K>['result'], more: Partial<WorkOutcome<K>> = {}): void {
    this.#counts[result]++;
    const { key, attempt, causes } = item;
    const durationMs = this.#clock.now() - startedAt;
    this.#times.observe(durationMs / 1000);
    this.#options.onOutcome?.({ key, result, attempt, durationMs, causes, ...more });
  }

  /** To be aborted when the reconcile has ended. */
  #limitTime(work: Work<K>): AbortController | undefined {
    const { timeoutMs, abortGraceMs = ABORT_GRACE_MS } = this.#options;
    if (timeoutMs === undefined) return undefined;
    const ended = new AbortController();
    const enforce = async () => {
      await this.#clock.sleep(timeoutMs, ended.signal);
      this.#timeouts++;
      this.#fire(work, new ReconcileTimeoutError(timeoutMs));
      await this.#clock.sleep(abortGraceMs, ended.signal);
      this.#abandon(work);
    };
    enforce().catch(() => {}); // it has ended in time
    return ended;
  }

  #fire(work: Work<K>, reason: unknown): void {
    if (work.abort.signal.aborted) return;
    work.firedAt = this.#clock.now();
    work.abort.abort(reason);
  }

  #abandon(work: Work<K>): void {
    if (!this.#active.delete(work)) return;
    this.#abandoned.add(work);
    this.#tell(work, 'abandoned', { error: work.abort.signal.reason });
    work.leave?.();
  }

  #putBack({ key, causes, priority }: WorkItem<K>): void {
    this.#options.queue.add(key, { cause: causes, priority });
    this.#options.queue.done(key);
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    const { graceMs = 30_000, abortGraceMs = ABORT_GRACE_MS } = this.#options;
    // Those that were cut have had their signal: there is nothing left to be graceful about.
    if (!this.#isCut && (await this.#endsWithin(graceMs))) return;
    for (const work of this.#active) this.#fire(work, new PoolStoppedError());
    if (await this.#endsWithin(abortGraceMs)) return;
    for (const work of this.#active) this.#abandon(work);
  }

  async #endsWithin(ms: number): Promise<boolean> {
    const waited = new AbortController();
    const late = this.#clock.sleep(ms, waited.signal).then(
      () => false,
      () => true,
    );
    try {
      return await Promise.race([this.#workers.then(() => true), late]);
    } finally {
      waited.abort();
    }
  }
}
