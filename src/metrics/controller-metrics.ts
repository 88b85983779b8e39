/**
 * Work queues, reconciles and elections as metrics, from the numbers that these keep by themselves: nothing is hooked,
 * they are read at the scrape.
 *
 * Their counters begin anew with each run, and end with their controller. Ours only add up what came
 * since the last look, and look a last time when something goes; so they never fall. What begins and ends between two
 * looks is not seen.
 */
import type { PoolMetricsSnapshot, QueueMetricsSnapshot } from '../controller/advanced.ts';
import type { Labels } from './family.ts';
import type { MetricSet } from './metric-set.ts';

/** A work queue and its workers, under one name. */
export type ObservedWork = {
  readonly name: string;
  readonly queue: { metrics(): QueueMetricsSnapshot };
  readonly pool?: { metrics(): PoolMetricsSnapshot };
};

/** A controller that has not begun: nothing has happened, and its series are there to say so. */
export type ObservedRest = {
  readonly name: string;
  readonly still: { readonly queue: QueueMetricsSnapshot; readonly pool: PoolMetricsSnapshot };
};

export type ObservedElector = { readonly name: string; isLeading(): boolean };

/** What a manager says of itself. */
export type ObservedHealth = {
  readonly errors: readonly { readonly part: string; readonly controller: string; readonly count: number }[];
  readonly controllers: readonly { readonly name: string; readonly stuck: readonly unknown[] }[];
};

/** What was already added up. */
type Seen = { readonly work: ObservedWork; queue?: QueueMetricsSnapshot; pool?: PoolMetricsSnapshot };

type QueueCounter = 'workqueue_adds_total' | 'workqueue_retries_total';
type QueueHistogram = 'workqueue_queue_duration_seconds' | 'workqueue_work_duration_seconds';
type QueueGauge =
  | 'workqueue_depth'
  | 'workqueue_unfinished_work_seconds'
  | 'workqueue_longest_running_processor_seconds';
type PoolCounter =
  | 'controller_runtime_reconcile_errors_total'
  | 'controller_runtime_terminal_reconcile_errors_total'
  | 'controller_runtime_reconcile_timeouts_total';
type PoolGauge = 'controller_runtime_active_workers' | 'controller_runtime_max_concurrent_reconciles';

const queueCounters: readonly QueueCounter[] = ['workqueue_adds_total', 'workqueue_retries_total'];
const queueHistograms: readonly QueueHistogram[] = [
  'workqueue_queue_duration_seconds',
  'workqueue_work_duration_seconds',
];
const queueGauges: readonly QueueGauge[] = [
  'workqueue_depth',
  'workqueue_unfinished_work_seconds',
  'workqueue_longest_running_processor_seconds',
];
const poolCounters: readonly PoolCounter[] = [
  'controller_runtime_reconcile_errors_total',
  'controller_runtime_terminal_reconcile_errors_total',
  'controller_runtime_reconcile_timeouts_total',
];
const poolGauges: readonly PoolGauge[] = [
  'controller_runtime_active_workers',
  'controller_runtime_max_concurrent_reconciles',
];
const RESULTS = ['success', 'requeue_after', 'error', 'stopped', 'abandoned'] as const;

export class ControllerMetrics implements Disposable {
  readonly #set: MetricSet;
  readonly #common: Labels;
  /** By queue: a controller has another one in each run. */
  readonly #seen = new Map<object, Seen>();
  readonly #errors = new Map<string, number>();

  constructor(set: MetricSet, common: Labels) {
    this.#set = set;
    this.#common = common;
  }

  collect(works: Iterable<ObservedWork | ObservedRest>, electors: Iterable<ObservedElector>): void {
    const gone = new Set(this.#seen.keys());
    for (const work of works) {
      if ('still' in work) {
        this.#rest(work);
        continue;
      }
      gone.delete(work.queue);
      const seen: Seen = this.#seen.get(work.queue) ?? { work };
      this.#seen.set(work.queue, seen);
      this.#count(seen);
      this.#show(work.name, seen);
    }
    for (const queue of gone) this.#last(queue);
    for (const elector of electors) {
      const labels = { name: elector.name, ...this.#common };
      this.#set.values('leader_election_master_status').add(labels, elector.isLeading() ? 1 : 0);
    }
  }

  /** Counts of a manager begin with it and never fall. */
  collectHealth({ errors, controllers }: ObservedHealth): void {
    for (const { part, controller, count } of errors) {
      const id = `${part} ${controller}`;
      const difference = count - (this.#errors.get(id) ?? 0);
      this.#errors.set(id, count);
      this.#set.values('longwatch_manager_errors_total').add({ part, controller, ...this.#common }, difference);
    }
    for (const { name, stuck } of controllers)
      this.#set.values('longwatch_manager_stuck_reconciles').add(this.#poolLabels(name), stuck.length);
  }

  /** Takes a last look at everything. */
  [Symbol.dispose](): void {
    for (const queue of [...this.#seen.keys()]) this.#last(queue);
  }

  #rest({ name, still: { queue, pool } }: ObservedRest): void {
    this.#countQueue(name, queue, queue);
    this.#countPool(name, pool, pool);
    this.#show(name, { queue, pool });
  }

  #show(name: string, { queue, pool }: Pick<Seen, 'queue' | 'pool'>): void {
    if (queue) for (const gauge of queueGauges) this.#set.values(gauge).add(this.#queueLabels(name), queue[gauge]);
    if (pool) for (const gauge of poolGauges) this.#set.values(gauge).add(this.#poolLabels(name), pool[gauge]);
  }

  #last(queue: object): void {
    const seen = this.#seen.get(queue);
    if (seen) this.#count(seen);
    this.#seen.delete(queue);
  }

  #count(seen: Seen): void {
    const { name, queue, pool } = seen.work;
    seen.queue = this.#countQueue(name, queue.metrics(), seen.queue);
    if (pool) seen.pool = this.#countPool(name, pool.metrics(), seen.pool);
  }

  #countQueue(name: string, now: QueueMetricsSnapshot, before?: QueueMetricsSnapshot): QueueMetricsSnapshot {
    const labels = this.#queueLabels(name);
    for (const counter of queueCounters) this.#set.values(counter).add(labels, now[counter] - (before?.[counter] ?? 0));
    for (const histogram of queueHistograms)
      this.#set.histogram(histogram).addDifference(labels, now[histogram], before?.[histogram]);
    return now;
  }

  #countPool(name: string, now: PoolMetricsSnapshot, before?: PoolMetricsSnapshot): PoolMetricsSnapshot {
    const labels = this.#poolLabels(name);
    for (const counter of poolCounters) this.#set.values(counter).add(labels, now[counter] - (before?.[counter] ?? 0));
    for (const result of RESULTS) {
      const difference = countOf(now, result) - (before ? countOf(before, result) : 0);
      this.#set.values('controller_runtime_reconcile_total').add({ result, ...labels }, difference);
    }
    const time = 'controller_runtime_reconcile_time_seconds';
    this.#set.histogram(time).addDifference(labels, now[time], before?.[time]);
    return now;
  }

  #queueLabels(name: string): Labels {
    return { name, controller: name, ...this.#common };
  }

  #poolLabels(name: string): Labels {
    return { controller: name, ...this.#common };
  }
}

/** controller-runtime knows one kind of error here, and tells the terminal ones by a metric of their own. */
function countOf(
  { controller_runtime_reconcile_total: counts }: PoolMetricsSnapshot,
  result: (typeof RESULTS)[number],
) {
  return result === 'error' ? counts.error + counts.terminal_error : counts[result];
}
