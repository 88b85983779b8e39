/**
 * The parts controllers are made of, for those who build on one of them: queue, workers, leases, what they count. Behind
 * `longwatch/controller/advanced`; it may change its shape more easily than what is in `index.ts`.
 */
export type { Lease, LeaseClient, LeaseName, LeaseSpec } from './election/lease.ts';
export { DEFAULT_TIMINGS, type ElectionTimings } from './election/lease-decision.ts';
export { DEFAULT_BUDGET, type EventBudgetOptions } from './events/event-budget.ts';
export type { EventNote, EventRecorderMetrics, EventRecorderOptions, EventSubject } from './events/event-recorder.ts';
export type { ControllerMetrics } from './manager/managed-controller.ts';
export type {
  ControllerHealth,
  ControllerState,
  ErrorCount,
  ErrorSource,
  InformerHealth,
} from './manager/manager-options.ts';
export type { RecentReconcile } from './manager/recent-reconciles.ts';
export type { OwnershipErrorCode } from './owner-references.ts';
export type { HistogramSnapshot, QueueMetricsSnapshot, QueueObserver } from './queue/queue-metrics.ts';
export { DEFAULT_RETRIES, type RetryOptions } from './queue/retry-delays.ts';
export { PoolStoppedError } from './queue/terminal-error.ts';
export type { AgeingOptions } from './queue/waiting-line.ts';
export {
  type AddOptions,
  QueueFullError,
  type WorkItem,
  WorkQueue,
  type WorkQueueOptions,
} from './queue/work-queue.ts';
export {
  type PoolMetricsSnapshot,
  type WorkContext,
  WorkerPool,
  type WorkerPoolOptions,
  type WorkHandler,
  type WorkOutcome,
  type WorkResult,
} from './queue/worker-pool.ts';
