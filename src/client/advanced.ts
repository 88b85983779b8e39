/**
 * The parts the client is made of, for those who build on one of them instead of a whole client: `longwatch/client/advanced`.
 * What is here may change its shape more easily than what is in `index.ts`.
 */
export type { LogFields, Span, SpanAttributes } from '../api/index.ts';
export type { CheckpointOptions } from './checkpoint/checkpoint-options.ts';
export type { VersionCheckpointOptions } from './checkpoint/version-checkpoint.ts';
export { type WatchFromOptions, watchFrom } from './checkpoint/watch-from.ts';
export { type Identity, noCredentials } from './config/credentials.ts';
export type { InClusterOptions } from './config/in-cluster.ts';
export type { AccessOptions, ContextSummary, Environment, LoadOptions } from './config/kube-config.ts';
export type { Impersonation } from './config/kubeconfig-file.ts';
export { RotatingFile, type RotatingFileOptions } from './config/rotating-file.ts';
export type { TransportPhase } from './errors.ts';
export type { AuditReport } from './informer/audit/audit.ts';
export type { IndexFunction } from './informer/indexer.ts';
export { Informer } from './informer/informer.ts';
export { type InformerDefaults, InformerFactory, type InformerFactoryOptions } from './informer/informer-factory.ts';
export type { InvalidObject, Snapshot, Where } from './informer/informer-options.ts';
export { LazyObject } from './lazy/lazy-object.ts';
export { checkSpec, type ResourceDefinition } from './objects/define-resource.ts';
export type { Applied, DeepPartial, ListMeta, MergePatch, StoredMeta, UnknownFields } from './objects/objects.ts';
export { groupOf, resourceName } from './objects/resource-name.ts';
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
  HandlerMetrics,
  InformerMetrics,
  InformerState,
  ReflectorCounts,
} from './observing/informer-metrics.ts';
export { Observers } from './observing/observers.ts';
export { Reflector } from './reflector/reflector.ts';
export type { LastError, ReflectorOptions, ReflectorSink } from './reflector/reflector-options.ts';
export type { ReflectorState } from './reflector/reflector-state.ts';
export { type DiscoveredResource, Discovery, type ResourceQuery } from './resources/discovery.ts';
export type { ListPage, ListPagesOptions } from './resources/list-pages.ts';
export type { DeleteCollectionOptions } from './resources/options.ts';
export type { JsonPatchOperation } from './resources/patches.ts';
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
} from './transport/transport-options.ts';
export { Backoff, type BackoffOptions } from './watch/backoff.ts';
export { watch } from './watch/watch.ts';
export type { BookmarkEvent, ChangeEvent } from './watch/watch-event.ts';
export { type Interruption, type StartPoint, watchResuming } from './watch/watch-resuming.ts';
