/** Pods, and the template that workloads make them from. */
import type { ObjectMeta } from '../../../api/index.ts';
import { defineResourceOf, type Resource } from '../define-resource.ts';
import type { ApiObject, Condition, Open, UnknownFields } from '../objects.ts';

export type EnvVar = { name: string; value?: string; valueFrom?: UnknownFields };

export type ContainerPort = {
  name?: string;
  containerPort: number;
  protocol?: 'TCP' | 'UDP' | 'SCTP';
  hostPort?: number;
};

export type Probe = Open<{
  httpGet?: { path?: string; port: number | string; scheme?: 'HTTP' | 'HTTPS'; host?: string };
  tcpSocket?: { port: number | string; host?: string };
  exec?: { command?: string[] };
  grpc?: { port: number; service?: string };
  initialDelaySeconds?: number;
  periodSeconds?: number;
  timeoutSeconds?: number;
  successThreshold?: number;
  failureThreshold?: number;
}>;

export type Resources = {
  requests?: Record<string, string>;
  limits?: Record<string, string>;
  claims?: { name: string }[];
};

export type Container = Open<{
  name: string;
  image?: string;
  imagePullPolicy?: 'Always' | 'IfNotPresent' | 'Never';
  command?: string[];
  args?: string[];
  workingDir?: string;
  env?: EnvVar[];
  envFrom?: { prefix?: string; configMapRef?: { name: string }; secretRef?: { name: string } }[];
  ports?: ContainerPort[];
  resources?: Resources;
  volumeMounts?: { name: string; mountPath: string; subPath?: string; readOnly?: boolean }[];
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  startupProbe?: Probe;
  restartPolicy?: string;
  securityContext?: UnknownFields;
}>;

export type Volume = Open<{
  name: string;
  configMap?: Open<{ name?: string }>;
  secret?: Open<{ secretName?: string }>;
  emptyDir?: { medium?: string; sizeLimit?: string };
  hostPath?: { path: string; type?: string };
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean };
}>;

export type PodSpec = Open<{
  containers: Container[];
  initContainers?: Container[];
  volumes?: Volume[];
  nodeName?: string;
  nodeSelector?: Record<string, string>;
  serviceAccountName?: string;
  restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  terminationGracePeriodSeconds?: number;
  activeDeadlineSeconds?: number;
  hostNetwork?: boolean;
  imagePullSecrets?: { name?: string }[];
  priorityClassName?: string;
  schedulerName?: string;
  tolerations?: { key?: string; operator?: string; value?: string; effect?: string; tolerationSeconds?: number }[];
  affinity?: UnknownFields;
  securityContext?: UnknownFields;
}>;

export type ContainerState = {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: {
    exitCode: number;
    signal?: number;
    reason?: string;
    message?: string;
    startedAt?: string;
    finishedAt?: string;
  };
};

export type ContainerStatus = Open<{
  name: string;
  ready: boolean;
  restartCount: number;
  image: string;
  imageID: string;
  containerID?: string;
  started?: boolean;
  state?: ContainerState;
  lastState?: ContainerState;
}>;

export type PodStatus = Open<{
  phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  conditions?: Condition[];
  reason?: string;
  message?: string;
  podIP?: string;
  podIPs?: { ip: string }[];
  hostIP?: string;
  startTime?: string;
  containerStatuses?: ContainerStatus[];
  initContainerStatuses?: ContainerStatus[];
  qosClass?: 'Guaranteed' | 'Burstable' | 'BestEffort';
}>;

export type Pod = ApiObject<PodSpec, PodStatus>;

export type PodTemplate = { metadata?: ObjectMeta; spec: PodSpec };

export const pods: Resource<Pod> = defineResourceOf({
  group: '',
  version: 'v1',
  plural: 'pods',
  kind: 'Pod',
  isNamespaced: true,
});
