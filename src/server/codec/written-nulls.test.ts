import { expect, it } from 'vitest';
import type { JsonObject } from '../../api/json.ts';
import { builtInResources } from '../registry/built-in-resources.ts';
import { qualifiedName } from '../registry/resource.ts';
import { checkObject } from './check-object.ts';
import { withNulls, withoutNulls } from './written-nulls.ts';

const schemaOf = (name: string) => builtInResources().find((resource) => qualifiedName(resource) === name)!.schema;

it.each<[name: string, bare: JsonObject, written: JsonObject]>([
  [
    'pods',
    { status: { conditions: [{ type: 'Ready' }], containerStatuses: [{ state: { running: {} } }] } },
    {
      status: {
        conditions: [{ type: 'Ready', lastProbeTime: null, lastTransitionTime: null }],
        containerStatuses: [{ state: { running: { startedAt: null } } }],
      },
    },
  ],
  ['roles.rbac.authorization.k8s.io', {}, { rules: null }],
  ['endpointslices.discovery.k8s.io', {}, { endpoints: null, ports: null }],
  ['horizontalpodautoscalers.autoscaling', { status: {} }, { status: { currentMetrics: null } }],
  ['events', {}, { eventTime: null, firstTimestamp: null, lastTimestamp: null }],
  ['configmaps', { metadata: { name: 'a' }, data: {} }, { metadata: { name: 'a' }, data: {} }],
  [
    'ingresses.networking.k8s.io',
    { spec: { defaultBackend: { resource: { kind: 'K', name: 'n' } } } },
    {
      spec: { defaultBackend: { resource: { kind: 'K', name: 'n', apiGroup: null } } },
    },
  ],
])('%s are written with the nulls of kube-apiserver, and read without them', (name, bare, written) => {
  const schema = schemaOf(name);
  expect(withNulls(bare, schema)).toEqual(written);
  expect(withoutNulls(written, schema)).toEqual(bare);
  expect(withNulls(written, schema)).toBe(written);
  expect(withoutNulls(bare, schema)).toBe(bare);
});

it('withNulls() makes an empty list null', () => {
  expect(withNulls({ rules: [] }, schemaOf('clusterroles.rbac.authorization.k8s.io'))).toEqual({ rules: null });
});

it('a list that is written as null when empty is still what its writer sent, until it is written', () => {
  const { schema } = builtInResources().find(({ kind }) => kind === 'EndpointSlice')!;
  const sent = { addressType: 'IPv4', endpoints: [], ports: [] };
  expect(checkObject(sent, schema).object).toMatchObject({ endpoints: [], ports: [] });
  expect(withNulls(sent, schema)).toMatchObject({ endpoints: null, ports: null });
});
