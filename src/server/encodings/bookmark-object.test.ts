import { expect, it } from 'vitest';
import type { JsonObject } from '../../api/json.ts';
import { Registry } from '../registry/registry.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import { bookmarkFor } from './bookmark-object.ts';

const registry = new Registry();
const template = { metadata: {}, spec: { containers: null } };

it.each<[group: string, version: string, plural: string, rest: JsonObject]>([
  ['', 'v1', 'configmaps', {}],
  ['', 'v1', 'pods', { spec: { containers: null }, status: {} }],
  ['', 'v1', 'replicationcontrollers', { spec: {}, status: { replicas: 0 } }],
  ['apps', 'v1', 'deployments', { spec: { replicas: 0, selector: null, strategy: {}, template }, status: {} }],
  [
    'apps',
    'v1',
    'statefulsets',
    {
      spec: { replicas: 0, selector: null, serviceName: '', template, updateStrategy: {} },
      status: { replicas: 0, availableReplicas: 0 },
    },
  ],
  [
    '',
    'v1',
    'events',
    {
      involvedObject: {},
      source: {},
      eventTime: null,
      firstTimestamp: null,
      lastTimestamp: null,
      reportingComponent: '',
      reportingInstance: '',
    },
  ],
  [
    'events.k8s.io',
    'v1',
    'events',
    {
      regarding: {},
      deprecatedSource: {},
      eventTime: null,
      deprecatedFirstTimestamp: null,
      deprecatedLastTimestamp: null,
    },
  ],
  ['rbac.authorization.k8s.io', 'v1', 'roles', { rules: null }],
  ['rbac.authorization.k8s.io', 'v1', 'rolebindings', { roleRef: { apiGroup: '', kind: '', name: '' } }],
  ['discovery.k8s.io', 'v1', 'endpointslices', { addressType: '', endpoints: null, ports: null }],
  ['certificates.k8s.io', 'v1', 'certificatesigningrequests', { spec: { request: null, signerName: '' }, status: {} }],
  [
    'policy',
    'v1',
    'poddisruptionbudgets',
    { spec: {}, status: { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 } },
  ],
  [
    'autoscaling',
    'v1',
    'horizontalpodautoscalers',
    {
      spec: { maxReplicas: 0, scaleTargetRef: { kind: '', name: '' } },
      status: { currentReplicas: 0, desiredReplicas: 0 },
    },
  ],
])('a bookmark of "%s" %s %s has what an empty object has', (group, version, plural, rest) => {
  const resource = registry.find(group, version, plural)!;
  const { metadata, kind, apiVersion, ...others } = bookmarkFor({ resource } as ResourceStorage, 7, true);
  expect([kind, apiVersion]).toEqual([resource.kind, resource.groupVersion]);
  expect(metadata).toEqual({ resourceVersion: '7', annotations: { 'k8s.io/initial-events-end': 'true' } });
  expect(others).toEqual(rest);
});
