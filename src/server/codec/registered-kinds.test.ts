import { expect, it } from 'vitest';
import { typeFault } from './decode-body.ts';

it.each([
  ['v1 ConfigMapList', 'v1 ConfigMap', 'converting (v1.ConfigMapList) to (core.ConfigMap): unknown conversion'],
  ['v1 List', 'v1 ConfigMap', 'converting (v1.List) to (core.ConfigMap): unknown conversion'],
  [
    'apps/v1 DeploymentList',
    'apps/v1 Deployment',
    'converting (v1.DeploymentList) to (apps.Deployment): unknown conversion',
  ],
  ['none/v7 Status', 'v1 ConfigMap', 'converting (v1.Status) to (core.ConfigMap): unknown conversion'],
  ['v1 WatchEvent', 'v1 ConfigMap', 'converting (v1.WatchEvent) to (core.ConfigMap): unknown conversion'],
  ['apps/v1 ListOptions', 'v1 ConfigMap', 'converting (v1.ListOptions) to (core.ConfigMap): unknown conversion'],
  ['v1 PodExecOptions', 'v1 Pod', 'converting (v1.PodExecOptions) to (core.Pod): unknown conversion'],
  ['v1 Secret', 'events.k8s.io/v1 Event', 'converting (v1.Secret) to (core.Event): unknown conversion'],
  [
    'autoscaling/v2 HorizontalPodAutoscaler',
    'v1 Pod',
    'converting (v2.HorizontalPodAutoscaler) to (core.Pod): unknown conversion',
  ],
  ['v1 Container', 'v1 Pod', 'no kind "Container" is registered for version "v1"'],
  ['v1 ObjectMeta', 'v1 Pod', 'no kind "ObjectMeta" is registered for version "v1"'],
  ['none/v7 DeleteOptions', 'v1 Pod', 'no kind "DeleteOptions" is registered for version "none/v7"'],
  ['v1 Pod', 'apiextensions.k8s.io/v1 CustomResourceDefinition', 'no kind "Pod" is registered for version "v1"'],
  [
    'apiextensions.k8s.io/v1 CustomResourceDefinition',
    'v1 Pod',
    'no kind "CustomResourceDefinition" is registered for version "apiextensions.k8s.io/v1"',
  ],
  [
    'v1 Status',
    'apiextensions.k8s.io/v1 CustomResourceDefinition',
    'converting (v1.Status) to (apiextensions.CustomResourceDefinition): unknown conversion',
  ],
])('%s sent for %s', (sent, wanted, why) => {
  const [apiVersion = '', kind = ''] = sent.split(' ');
  const [groupVersion = '', wantedKind = ''] = wanted.split(' ');
  expect(typeFault({ apiVersion, kind }, { groupVersion, kind: wantedKind }).why).toBe(why);
});
