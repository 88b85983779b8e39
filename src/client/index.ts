/** The client: configuration, typed resources and watches against any Kubernetes cluster. */
export {
  compareVersions,
  type LogFields,
  type Logger,
  type Span,
  type SpanAttributes,
  type Tracer,
} from '../api/index.ts';
export { CheckpointError } from './checkpoint/checkpoint-error.ts';
export type { CheckpointOptions } from './checkpoint/checkpoint-options.ts';
export {
  type VersionCheckpoint,
  type VersionCheckpointOptions,
  versionCheckpoint,
} from './checkpoint/version-checkpoint.ts';
export { type WatchFromOptions, watchFrom } from './checkpoint/watch-from.ts';
export type { ClusterAccess } from './config/cluster-access.ts';
export {
  basicCredentials,
  type Credentials,
  certificateCredentials,
  type Identity,
  noCredentials,
  tokenCredentials,
  tokenFileCredentials,
} from './config/credentials.ts';
export type { InClusterOptions } from './config/in-cluster.ts';
export {
  type AccessOptions,
  type ContextSummary,
  type Environment,
  KubeConfig,
  type LoadOptions,
} from './config/kube-config.ts';
export type { Impersonation } from './config/kubeconfig-file.ts';
export { RotatingFile, type RotatingFileOptions } from './config/rotating-file.ts';
export {
  ApiError,
  ConfigError,
  isApiError,
  isExpired,
  isTransportError,
  TransportError,
  type TransportPhase,
} from './errors.ts';
export type { AuditReport } from './informer/audit.ts';
export type { Indexers, IndexFunction } from './informer/indexer.ts';
export { Informer } from './informer/informer.ts';
export type { Added, Deleted, InformerEvent, Updated } from './informer/informer-event.ts';
export {
  type InformerDefaults,
  InformerFactory,
  type InformerFactoryOptions,
  type InformerLease,
} from './informer/informer-factory.ts';
export type {
  InformerOptions,
  InvalidObject,
  Snapshot,
  Where,
} from './informer/informer-options.ts';
export type { EventHandler, HandlerOptions, Subscription } from './informer/subscription.ts';
export { type ConnectOptions, connect, KubeClient } from './kube-client.ts';
export { LazyObject, lazyOf } from './lazy/lazy-object.ts';
export {
  checkSpec,
  defineResource,
  defineResourceOf,
  InvalidObjectError,
  metadataOf,
  type ObjectOf,
  type Resource,
  type ResourceDefinition,
} from './objects/define-resource.ts';
export {
  type ClusterRole,
  type ClusterRoleBinding,
  type CustomResourceDefinition,
  clusterRoleBindings,
  clusterRoles,
  customResourceDefinitions,
  type EndpointSlice,
  endpointSlices,
  type Ingress,
  type IngressBackend,
  ingresses,
  type Lease,
  leases,
  type NetworkPolicy,
  networkPolicies,
  type PodDisruptionBudget,
  type PolicyRule,
  podDisruptionBudgets,
  type Role,
  type RoleBinding,
  type RoleRef,
  roleBindings,
  roles,
  type Subject,
} from './objects/kinds/cluster.ts';
export {
  type ConfigMap,
  configMaps,
  type Event,
  events,
  type Namespace,
  type Node,
  namespaces,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type Secret,
  type Service,
  type ServiceAccount,
  type ServicePort,
  secrets,
  serviceAccounts,
  services,
} from './objects/kinds/core.ts';
export {
  type Container,
  type ContainerPort,
  type ContainerState,
  type ContainerStatus,
  type EnvVar,
  type Pod,
  type PodSpec,
  type PodStatus,
  type PodTemplate,
  type Probe,
  pods,
  type Resources,
  type Volume,
} from './objects/kinds/pod.ts';
export {
  type CronJob,
  cronJobs,
  type DaemonSet,
  type Deployment,
  daemonSets,
  deployments,
  type Job,
  type JobSpec,
  jobs,
  type ReplicaSet,
  replicaSets,
  type StatefulSet,
  statefulSets,
} from './objects/kinds/workloads.ts';
export { keyOf } from './objects/object-key.ts';
export type {
  AnyObject,
  ApiObject,
  Applied,
  Condition,
  DeepPartial,
  Draft,
  DynamicObject,
  ListMeta,
  MergePatch,
  ObjectList,
  ObjectReference,
  Open,
  PartialObjectMetadata,
  Scale,
  StoredMeta,
  UnknownFields,
} from './objects/objects.ts';
export type { SchemaIssue, SchemaResult, StandardSchemaV1 } from './objects/standard-schema.ts';
export type {
  ClientObserver,
  HandledSample,
  ListSample,
  ObservedInformer,
  RequestSample,
  RetrySample,
  WatchEnd,
} from './observing/client-observer.ts';
export { errorReason } from './observing/error-reason.ts';
export type {
  CheckpointMetrics,
  Freshness,
  HandlerMetrics,
  InformerMetrics,
  InformerState,
  ReflectorCounts,
} from './observing/informer-metrics.ts';
export { Observers } from './observing/observers.ts';
export { consoleLogger } from './observing/safe-logger.ts';
export { Reflector } from './reflector/reflector.ts';
export type { ReflectorOptions, ReflectorSink, Trouble } from './reflector/reflector-options.ts';
export type { Checking, Filling, ReflectorState, Waiting, Watching } from './reflector/reflector-state.ts';
export { type DiscoveredResource, Discovery, type ResourceQuery } from './resources/discovery.ts';
export type { ListPage, ListPagesOptions } from './resources/list-pages.ts';
export type {
  ApplyOptions,
  CallOptions,
  DeleteCollectionOptions,
  DeleteOptions,
  GetOptions,
  ListOptions,
  SelectOptions,
  WriteOptions,
} from './resources/options.ts';
export { type JsonPatchOperation, jsonPatch, mergePatch, type Patch, strategicPatch } from './resources/patches.ts';
export { ResourceClient } from './resources/resource-client.ts';
export {
  type FieldSelection,
  fieldSelectorText,
  type LabelSelection,
  labelSelectorText,
} from './resources/selectors.ts';
export { SubresourceClient } from './resources/subresource-client.ts';
export type { Timeouts } from './transport/deadline.ts';
export type { RateLimit } from './transport/rate-limit.ts';
export { Transport } from './transport/transport.ts';
export type {
  Answer,
  Headers,
  Query,
  QueryValue,
  RequestOptions,
  StreamAnswer,
  TransportOptions,
} from './transport/transport-options.ts';
export { Backoff, type BackoffOptions } from './watch/backoff.ts';
export { type WatchOptions, watch } from './watch/watch.ts';
export type { BookmarkEvent, ChangeEvent, WatchEvent } from './watch/watch-event.ts';
export {
  type Interruption,
  type StartPoint,
  type WatchResumingOptions,
  watchResuming,
} from './watch/watch-resuming.ts';
