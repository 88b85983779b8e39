import { expect, it } from 'vitest';
import type { JsonObject } from '../../api/index.ts';
import { builtInResources } from '../registry/built-in-resources.ts';
import { checkObject } from './check-object.ts';

const schemaOf = (kind: string) => builtInResources().find((one) => one.kind === kind && !one.isCustom)!.schema;
const spec = (fields: JsonObject): JsonObject => ({ spec: fields });

it.each<[kind: string, value: JsonObject, where: string]>([
  ['Pod', spec({ restartPolicy: 5 }), 'PodSpec.spec.restartPolicy of type v1.RestartPolicy'],
  [
    'Pod',
    spec({ volumes: [{ emptyDir: 5 }] }),
    'Volume.spec.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource',
  ],
  ['Pod', spec({ volumes: [{ name: 5 }] }), 'Volume.spec.volumes.name of type string'],
  [
    'Pod',
    spec({ containers: [{ livenessProbe: { exec: 5 } }] }),
    'Probe.spec.containers.livenessProbe.ProbeHandler.exec of type v1.ExecAction',
  ],
  [
    'Pod',
    spec({ containers: [{ resources: { limits: 5 } }] }),
    'ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList',
  ],
  [
    'Pod',
    { metadata: { ownerReferences: [{ uid: 5 }] } },
    'OwnerReference.metadata.ownerReferences.uid of type types.UID',
  ],
  [
    'Deployment',
    spec({ strategy: { rollingUpdate: { maxSurge: {} } } }),
    'RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32',
  ],
  ['Namespace', spec({ finalizers: [5] }), 'NamespaceSpec.spec.finalizers of type v1.FinalizerName'],
  [
    'PodDisruptionBudget',
    { status: { disruptedPods: [] } },
    'PodDisruptionBudgetStatus.status.disruptedPods of type map[string]v1.Time',
  ],
  [
    'PersistentVolumeClaim',
    { status: { allocatedResourceStatuses: { storage: 5 } } },
    'PersistentVolumeClaimStatus.status.allocatedResourceStatuses of type v1.ClaimResourceStatus',
  ],
  [
    'PersistentVolumeClaim',
    { status: { allocatedResourceStatuses: 'x' } },
    'PersistentVolumeClaimStatus.status.allocatedResourceStatuses of type map[v1.ResourceName]v1.ClaimResourceStatus',
  ],
  [
    'Job',
    { status: { uncountedTerminatedPods: { failed: [5] } } },
    'UncountedTerminatedPods.status.uncountedTerminatedPods.failed of type types.UID',
  ],
  [
    'Pod',
    { status: { containerStatuses: [{ allocatedResourcesStatus: [{ resources: [{ health: 5 }] }] }] } },
    'ResourceHealth.status.containerStatuses.allocatedResourcesStatus.resources.health of type v1.ResourceHealthStatus',
  ],
  [
    'Pod',
    { status: { nodeAllocatableResourceClaimStatuses: [{ resources: 'x' }] } },
    'NodeAllocatableResourceClaimStatus.status.nodeAllocatableResourceClaimStatuses.resources of type map[v1.ResourceName]resource.Quantity',
  ],
  [
    'ResourceSlice',
    spec({ devices: [{ nodeAllocatableResourceMappings: 'x' }] }),
    'Device.spec.devices.nodeAllocatableResourceMappings of type map[v1.ResourceName]v1.NodeAllocatableResourceMapping',
  ],
  ['RuntimeClass', { overhead: { podFixed: [] } }, 'Overhead.overhead.podFixed of type v1.ResourceList'],
  [
    'ResourceSlice',
    spec({ devices: [{ attributes: 'x' }] }),
    'Device.spec.devices.attributes of type map[v1.QualifiedName]v1.DeviceAttribute',
  ],
  ['Namespace', spec({ finalizers: 5 }), 'NamespaceSpec.spec.finalizers of type []v1.FinalizerName'],
])('a %s with %j is told where Go stopped', (kind, value, where) => {
  expect(() => checkObject(value, schemaOf(kind))).toThrow(`into Go struct field ${where}`);
});

it('the name of a reference is left out where it is empty', () => {
  const { object } = checkObject(spec({ imagePullSecrets: [{}] }), schemaOf('Pod'));
  expect((object.spec as JsonObject).imagePullSecrets).toEqual([{}]);
});
