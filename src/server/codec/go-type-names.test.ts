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
  ['Namespace', spec({ finalizers: 5 }), 'NamespaceSpec.spec.finalizers of type []v1.FinalizerName'],
])('a %s with %j is told where Go stopped', (kind, value, where) => {
  expect(() => checkObject(value, schemaOf(kind))).toThrow(`into Go struct field ${where}`);
});

it('the name of a reference is left out where it is empty', () => {
  const { object } = checkObject(spec({ imagePullSecrets: [{}] }), schemaOf('Pod'));
  expect((object.spec as JsonObject).imagePullSecrets).toEqual([{}]);
});
