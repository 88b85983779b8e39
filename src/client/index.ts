/**
 * The client: any Kubernetes cluster, its objects as types, watches and informers. What few programs need is in
 * `advanced.ts`, the door `longwatch/client/advanced`.
 */
export { compareVersions, type Logger, type Tracer } from '../api/index.ts';
export { CheckpointError } from './checkpoint/checkpoint-error.ts';
export { type VersionCheckpoint, versionCheckpoint } from './checkpoint/version-checkpoint.ts';
export type { ClusterAccess } from './config/cluster-access.ts';
export {
  basicCredentials,
  type Credentials,
  certificateCredentials,
  tokenCredentials,
  tokenFileCredentials,
} from './config/credentials.ts';
export { KubeConfig } from './config/kube-config.ts';
export { ApiError, ConfigError, isApiError, isExpired, isTransportError, TransportError } from './errors.ts';
export type { EventHandler, HandlerOptions, Subscription } from './informer/handling/subscription.ts';
export type { Indexers } from './informer/indexer.ts';
export type { Informer } from './informer/informer.ts';
export type { InformerEvent } from './informer/informer-event.ts';
export type { InformerFactory, InformerHandle } from './informer/informer-factory.ts';
export type { InformerOptions } from './informer/informer-options.ts';
export { type ConnectOptions, connect, KubeClient } from './kube-client.ts';
export { type LazyObject, lazyOf } from './lazy/lazy-object.ts';
export {
  defineResource,
  defineResourceOf,
  InvalidObjectError,
  metadataOf,
  type ObjectOf,
  type Resource,
  withoutValidator,
} from './objects/define-resource.ts';
export * as admissionregistrationv1 from './objects/generated/admissionregistration-v1.ts';
export * as apiextensionsv1 from './objects/generated/apiextensions-v1.ts';
export * as apiregistrationv1 from './objects/generated/apiregistration-v1.ts';
export * as appsv1 from './objects/generated/apps-v1.ts';
export * as authenticationv1 from './objects/generated/authentication-v1.ts';
export * as authorizationv1 from './objects/generated/authorization-v1.ts';
export * as autoscalingv1 from './objects/generated/autoscaling-v1.ts';
export * as autoscalingv2 from './objects/generated/autoscaling-v2.ts';
export * as batchv1 from './objects/generated/batch-v1.ts';
export * as certificatesv1 from './objects/generated/certificates-v1.ts';
export * as coordinationv1 from './objects/generated/coordination-v1.ts';
export * as corev1 from './objects/generated/core-v1.ts';
export * as discoveryv1 from './objects/generated/discovery-v1.ts';
export * as eventsv1 from './objects/generated/events-v1.ts';
export * as flowcontrolv1 from './objects/generated/flowcontrol-v1.ts';
export type * as metav1 from './objects/generated/meta-v1.ts';
export * as networkingv1 from './objects/generated/networking-v1.ts';
export * as nodev1 from './objects/generated/node-v1.ts';
export * as policyv1 from './objects/generated/policy-v1.ts';
export * as rbacv1 from './objects/generated/rbac-v1.ts';
export * as resourcev1 from './objects/generated/resource-v1.ts';
export * as schedulingv1 from './objects/generated/scheduling-v1.ts';
export * as storagev1 from './objects/generated/storage-v1.ts';
export { keyOf } from './objects/object-key.ts';
export type {
  AnyObject,
  ApiObject,
  Draft,
  DynamicObject,
  ObjectList,
  PartialObjectMetadata,
} from './objects/objects.ts';
export type { Freshness } from './observing/informer-metrics.ts';
export { consoleLogger } from './observing/safe-logger.ts';
export type {
  ApplyOptions,
  CallOptions,
  DeleteOptions,
  GetOptions,
  ListOptions,
  SelectOptions,
  WriteOptions,
} from './resources/options.ts';
export { jsonPatch, mergePatch, type Patch, strategicPatch } from './resources/patches.ts';
export type { ResourceClient } from './resources/resource-client.ts';
export type { TransportOptions } from './transport/transport-options.ts';
export type { WatchOptions } from './watch/watch.ts';
export type { WatchEvent } from './watch/watch-event.ts';
export type { WatchResumingOptions } from './watch/watch-resuming.ts';
