/** Controllers and their manager, work queue, leader election, events; rules of conditions, finalizers and owners. */
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
export { DEFAULT_BUDGET, type EventBudgetOptions } from './events/event-budget.ts';
export {
  type BoundRecorder,
  type EventNote,
  EventRecorder,
  type EventRecorderMetrics,
  type EventRecorderOptions,
  type EventSubject,
} from './events/event-recorder.ts';
export { addFinalizer, hasFinalizer, isBeingDeleted, removeFinalizer } from './finalizers.ts';
export { ClusterSet, type ClusterSetOptions } from './manager/cluster-set.ts';
export { healthHandler } from './manager/health-handler.ts';
export type { ControllerMetrics, ManagedController } from './manager/managed-controller.ts';
export { Manager, NotReadyError } from './manager/manager.ts';
export type {
  ControllerHealth,
  ControllerState,
  ElectionOptions,
  ErrorSource,
  HealthOptions,
  InformerHealth,
  ManagerHealth,
  ManagerObserver,
  ManagerOptions,
} from './manager/manager-options.ts';
export { StuckError } from './manager/watchdog.ts';
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
export { LOW_PRIORITY } from './reconcile/controller-run.ts';
export type { Cached, CacheReader } from './reconcile/declared-cache.ts';
export {
  type ControllerDefinition,
  type ControllerDescription,
  type ControllerOptions,
  defineController,
  type MappedWatch,
  type Reconcile,
  type Selected,
  type Watched,
} from './reconcile/define-controller.ts';
export { type MapContext, type Mapper, type Target, toController, toOwners, toSelf } from './reconcile/mappers.ts';
export { StaleCacheError } from './reconcile/own-writes.ts';
export {
  allOf,
  annotationsChanged,
  anyOf,
  generationChanged,
  labelsChanged,
  not,
  type Predicate,
  versionChanged,
  whereObject,
} from './reconcile/predicates.ts';
export type { ReconcileClient, ReconcileContext } from './reconcile/reconcile-context.ts';
export type { ReconcileLog } from './reconcile/reconcile-log.ts';
export { type ReconcileResult, requeueAfter } from './reconcile/requeue.ts';
export { type WithFinalizerOptions, withFinalizer } from './with-finalizer.ts';
