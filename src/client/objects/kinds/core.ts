/** Kinds of the core group, without pods. Useful fields are typed; any other is there as well. */
import { defineResourceOf, type Resource } from '../define-resource.ts';
import type { AnyObject, ApiObject, Condition, ObjectReference, Open } from '../objects.ts';

export type ConfigMap = AnyObject & {
  data?: Record<string, string>;
  /** Base64. */
  binaryData?: Record<string, string>;
  immutable?: boolean;
};

export type Secret = AnyObject & {
  type?: string;
  /** Base64. */
  data?: Record<string, string>;
  /** Plain; taken on writes, never given back. */
  stringData?: Record<string, string>;
  immutable?: boolean;
};

export type ServicePort = {
  name?: string;
  port: number;
  targetPort?: number | string;
  protocol?: 'TCP' | 'UDP' | 'SCTP';
  nodePort?: number;
  appProtocol?: string;
};

export type Service = ApiObject<
  Open<{
    type?: 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName';
    selector?: Record<string, string>;
    ports?: ServicePort[];
    clusterIP?: string;
    clusterIPs?: string[];
    externalName?: string;
    externalTrafficPolicy?: 'Cluster' | 'Local';
    sessionAffinity?: 'None' | 'ClientIP';
    publishNotReadyAddresses?: boolean;
  }>,
  Open<{
    loadBalancer?: { ingress?: { ip?: string; hostname?: string }[] };
    conditions?: Condition[];
  }>
>;

export type Namespace = AnyObject & {
  spec?: { finalizers?: string[] };
  status?: Open<{ phase?: 'Active' | 'Terminating'; conditions?: Condition[] }>;
};

export type Node = ApiObject<
  Open<{
    podCIDR?: string;
    podCIDRs?: string[];
    providerID?: string;
    unschedulable?: boolean;
    taints?: {
      key: string;
      value?: string;
      effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
      timeAdded?: string;
    }[];
  }>,
  Open<{
    capacity?: Record<string, string>;
    allocatable?: Record<string, string>;
    conditions?: (Condition & { lastHeartbeatTime?: string })[];
    addresses?: { type: string; address: string }[];
    nodeInfo?: Open<{ kubeletVersion: string; osImage: string; architecture: string; kernelVersion: string }>;
    images?: { names?: string[]; sizeBytes?: number }[];
  }>
>;

export type Event = AnyObject & {
  involvedObject: ObjectReference;
  type?: 'Normal' | 'Warning' | (string & {});
  reason?: string;
  message?: string;
  count?: number;
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  series?: { count?: number; lastObservedTime?: string };
  source?: { component?: string; host?: string };
  action?: string;
  reportingComponent?: string;
  reportingInstance?: string;
  related?: ObjectReference;
};

export type ServiceAccount = AnyObject & {
  secrets?: ObjectReference[];
  imagePullSecrets?: { name?: string }[];
  automountServiceAccountToken?: boolean;
};

export type PersistentVolumeClaim = ApiObject<
  Open<{
    accessModes?: string[];
    storageClassName?: string;
    volumeName?: string;
    volumeMode?: 'Filesystem' | 'Block';
    resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
  }>,
  Open<{ phase?: 'Pending' | 'Bound' | 'Lost'; capacity?: Record<string, string>; conditions?: Condition[] }>
>;

export type PersistentVolume = ApiObject<
  Open<{
    capacity?: Record<string, string>;
    accessModes?: string[];
    claimRef?: ObjectReference;
    persistentVolumeReclaimPolicy?: 'Retain' | 'Delete' | 'Recycle';
    storageClassName?: string;
  }>,
  Open<{ phase?: 'Pending' | 'Available' | 'Bound' | 'Released' | 'Failed'; reason?: string; message?: string }>
>;

const core = { group: '', version: 'v1' };
const spaced = { ...core, isNamespaced: true };
const global = { ...core, isNamespaced: false };

export const configMaps: Resource<ConfigMap> = defineResourceOf({ ...spaced, plural: 'configmaps', kind: 'ConfigMap' });
export const secrets: Resource<Secret> = defineResourceOf({ ...spaced, plural: 'secrets', kind: 'Secret' });
export const services: Resource<Service> = defineResourceOf({ ...spaced, plural: 'services', kind: 'Service' });
export const events: Resource<Event> = defineResourceOf({ ...spaced, plural: 'events', kind: 'Event' });
export const namespaces: Resource<Namespace> = defineResourceOf({ ...global, plural: 'namespaces', kind: 'Namespace' });
export const nodes: Resource<Node> = defineResourceOf({ ...global, plural: 'nodes', kind: 'Node' });
export const serviceAccounts: Resource<ServiceAccount> = defineResourceOf({
  ...spaced,
  plural: 'serviceaccounts',
  kind: 'ServiceAccount',
});
export const persistentVolumeClaims: Resource<PersistentVolumeClaim> = defineResourceOf({
  ...spaced,
  plural: 'persistentvolumeclaims',
  kind: 'PersistentVolumeClaim',
});
export const persistentVolumes: Resource<PersistentVolume> = defineResourceOf({
  ...global,
  plural: 'persistentvolumes',
  kind: 'PersistentVolume',
});
