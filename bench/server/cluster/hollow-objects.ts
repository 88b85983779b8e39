/** The objects of a hollow cluster, as its components send them. */

import { ENDPOINTS_PER_SLICE } from '../../lib/cluster-shape.ts';
import { nodeName } from '../load/server-data.ts';
import { sentMark } from './cluster-connection.ts';

export const paths = {
  nodes: '/api/v1/nodes',
  pods: '/api/v1/namespaces/default/pods',
  services: '/api/v1/namespaces/default/services',
  configMaps: '/api/v1/namespaces/default/configmaps',
  secrets: '/api/v1/namespaces/default/secrets',
  slices: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
  leases: '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases',
} as const;

export function serviceName(i: number): string {
  return `service-${String(i).padStart(4, '0')}`;
}

export function configName(node: number): string {
  return `config-${nodeName(node)}`;
}

export function node(i: number): object {
  const capacity = { cpu: '16', memory: '64Gi', pods: '110', 'ephemeral-storage': '100Gi' };
  return {
    metadata: { name: nodeName(i), labels: { 'kubernetes.io/hostname': nodeName(i), 'kubernetes.io/os': 'linux' } },
    spec: { podCIDR: `10.${i >> 8}.${i & 255}.0/24` },
    status: { capacity, allocatable: capacity, ...nodeStatus() },
  };
}

export function nodeStatus(): object {
  const now = new Date().toISOString().replace(/\.\d+/, '');
  const condition = (type: string, status: string) => ({
    ...{ type, status, lastHeartbeatTime: now, lastTransitionTime: now },
    ...{ reason: `Kubelet${type}`, message: `kubelet has ${type}` },
  });
  return {
    conditions: [
      condition('MemoryPressure', 'False'),
      condition('DiskPressure', 'False'),
      condition('PIDPressure', 'False'),
      condition('Ready', 'True'),
    ],
  };
}

export function lease(i: number, resourceVersion?: string): object {
  const renewTime = `${new Date().toISOString().slice(0, -1)}000Z`;
  return {
    metadata: { name: nodeName(i), namespace: 'kube-node-lease', ...(resourceVersion && { resourceVersion }) },
    spec: { holderIdentity: nodeName(i), leaseDurationSeconds: 40, renewTime },
  };
}

export function service(i: number): object {
  return {
    metadata: { name: serviceName(i) },
    spec: { selector: { app: serviceName(i) }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
  };
}

/** With one address that changes, as when a pod has come or gone. */
export function slice(i: number, turn: number): object {
  const endpoints = Array.from({ length: ENDPOINTS_PER_SLICE }, (_, at) => ({
    addresses: [`10.${i & 255}.${at === 0 ? turn & 255 : 1}.${at + 1}`],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: nodeName(at),
    targetRef: { kind: 'Pod', namespace: 'default', name: `${serviceName(i)}-${at}` },
  }));
  return {
    metadata: {
      name: serviceName(i),
      labels: { 'kubernetes.io/service-name': serviceName(i) },
      annotations: sentMark(),
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints,
  };
}

export function configMap(i: number): object {
  return { metadata: { name: configName(i) }, data: { 'config.yaml': 'key: value\n'.repeat(40) } };
}

export function secret(i: number): object {
  return { metadata: { name: configName(i) }, stringData: { token: 'x'.repeat(400) } };
}

export function binding(name: string, to: string): object {
  return { metadata: { name, annotations: sentMark() }, target: { kind: 'Node', name: to } };
}

export function runningStatus(): object {
  const now = new Date().toISOString().replace(/\.\d+/, '');
  const container = (name: string) => ({
    name,
    ready: true,
    started: true,
    restartCount: 0,
    image: `registry.example.com/${name}:1`,
    imageID: `registry.example.com/${name}@sha256:${'0'.repeat(64)}`,
    containerID: `containerd://${'1'.repeat(64)}`,
    state: { running: { startedAt: now } },
  });
  return {
    metadata: { annotations: sentMark() },
    status: {
      phase: 'Running',
      podIP: '10.1.2.3',
      startTime: now,
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: now }],
      containerStatuses: [container('web'), container('proxy')],
    },
  };
}
