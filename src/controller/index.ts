/**
 * Controllers and their manager, leader election, events, webhooks; rules of conditions, finalizers and owners. Queues, workers and
 * other parts are behind `longwatch/controller/advanced`.
 */
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
export type { FencingToken } from './election/lease-decision.ts';
export type { Role } from './election/role-feed.ts';
export { type BoundRecorder, EventRecorder } from './events/event-recorder.ts';
export { addFinalizer, hasFinalizer, isBeingDeleted, removeFinalizer } from './finalizers.ts';
export { ClusterSet, type ClusterSetOptions } from './manager/cluster-set.ts';
export { type DashboardOptions, dashboardHandler } from './manager/dashboard-handler.ts';
export { healthHandler } from './manager/health-handler.ts';
export type { ManagedController } from './manager/managed-controller.ts';
export { Manager, NotReadyError } from './manager/manager.ts';
export type {
  ElectionOptions,
  HealthOptions,
  ManagerHealth,
  ManagerObserver,
  ManagerOptions,
} from './manager/manager-options.ts';
export { StuckError } from './manager/watchdog.ts';
export {
  controllerOf,
  isControlledBy,
  OwnershipError,
  type ReferenceOptions,
  removeOwnerReference,
  setControllerReference,
  setOwnerReference,
} from './owner-references.ts';
export { isTerminalError, ReconcileTimeoutError, TerminalError } from './queue/terminal-error.ts';
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
export {
  type CreateOrUpdateResult,
  createOrUpdate,
  type RetryOnConflictOptions,
  retryOnConflict,
} from './retry-on-conflict.ts';
export {
  type AdmissionRequest,
  Denial,
  deny,
  type MutatingHandler,
  type Operation,
  type ValidatingHandler,
} from './webhooks/admission-handlers.ts';
export type { Converter } from './webhooks/conversion-handlers.ts';
export type { RuleOptions } from './webhooks/registration.ts';
export { unregister as unregisterWebhooks } from './webhooks/registration.ts';
export type { CertificateOptions } from './webhooks/webhook-certificates.ts';
export { WebhookServer, type WebhookServerOptions } from './webhooks/webhook-server.ts';
export { type WithFinalizerOptions, withFinalizer } from './with-finalizer.ts';
