/** Work queue and workers, leader election, and the rules of conditions, finalizers and owners. */
export {
  type Condition,
  type ConditionStatus,
  findCondition,
  isConditionFalse,
  isConditionTrue,
  type NewCondition,
  removeCondition,
  setCondition,
} from './conditions.ts';
export { LeaderElector, type LeaderElectorOptions } from './election/leader-elector.ts';
export { type LeaderFunction, type Leadership, LeadershipLostError } from './election/leader-work.ts';
export type { Lease, LeaseClient, LeaseName, LeaseSpec } from './election/lease.ts';
export { DEFAULT_TIMINGS, type ElectionTimings, type FencingToken } from './election/lease-decision.ts';
export type { Role } from './election/role-feed.ts';
export { addFinalizer, hasFinalizer, isBeingDeleted, removeFinalizer } from './finalizers.ts';
export {
  controllerOf,
  isControlledBy,
  OwnershipError,
  type OwnershipErrorCode,
  type ReferenceOptions,
  removeOwnerReference,
  setControllerReference,
  setOwnerReference,
} from './owner-references.ts';
export type { HistogramSnapshot, QueueMetricsSnapshot, QueueObserver } from './queue/queue-metrics.ts';
export { DEFAULT_RETRIES, type RetryOptions } from './queue/retry-delays.ts';
export { isTerminalError, PoolStoppedError, ReconcileTimeoutError, TerminalError } from './queue/terminal-error.ts';
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
