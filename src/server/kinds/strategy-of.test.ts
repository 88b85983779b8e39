import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type JsonObject, type KubeObject, StatusError } from '../../api/index.ts';
import { anyObjectOf } from '../codec/any-object.testing.ts';
import { checkObject, encodeObject } from '../codec/index.ts';
import { builtInResources } from '../registry/built-in-resources.ts';
import { apply, find } from './strategy-run.testing.ts';

it.each(builtInResources().map((resource) => [`${resource.groupVersion}/${resource.plural}`, resource] as const))(
  'strategyOf(%s) takes an object with nothing but a name, and an update that changes nothing',
  async (_name, resource) => {
    const body = { kind: resource.kind, apiVersion: resource.groupVersion, metadata: { name: 'a', namespace: 'b' } };
    const object = structuredClone(checkObject(body, resource.schema).object) as unknown as KubeObject;
    const { created, strategy, context } = await apply(resource, object);
    const old = structuredClone(created);
    await strategy.prepareUpdate?.(created, old, context);
    expect(strategy.validateUpdate?.(created, old) ?? []).toEqual([]);
    expect(old).toEqual(structuredClone(old));
  },
);

it.each(builtInResources().map((resource) => [`${resource.groupVersion}/${resource.plural}`, resource] as const))(
  'strategyOf(%s) judge any object, with integers beyond 2^53 in it, and leave those as they are',
  async (_name, resource) => {
    const type = { kind: resource.kind, apiVersion: resource.groupVersion };
    await fc.assert(
      fc.asyncProperty(anyObjectOf(resource.schema, 7), async (fields) => {
        const { object } = checkObject({ ...fields, ...type }, resource.schema);
        try {
          const { created, strategy, context } = await apply(resource, object);
          const old = structuredClone(created);
          await strategy.prepareUpdate?.(created, old, context);
          strategy.validateUpdate?.(created, old);
          strategy.gracePeriodSeconds?.(created, {});
          expect(encodeObject(created as unknown as JsonObject).length).toBeGreaterThan(0);
        } catch (err) {
          expect(err).toBeInstanceOf(StatusError); // anything else is a fault of ours
        }
      }),
      { numRuns: 20 },
    );
  },
);

it.each<[kind: string, body: JsonObject, want: JsonObject]>([
  ['namespaces', {}, { spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } }],
  ['leases.coordination.k8s.io', { spec: { leaseTransitions: 0 } }, { spec: { leaseTransitions: 0 } }],
  ['roles.rbac.authorization.k8s.io', {}, {}],
  [
    'rolebindings.rbac.authorization.k8s.io',
    { roleRef: { kind: 'Role', name: 'r' }, subjects: [{ kind: 'User', name: 'u' }] },
    {
      roleRef: { kind: 'Role', name: 'r', apiGroup: 'rbac.authorization.k8s.io' },
      subjects: [{ kind: 'User', name: 'u', apiGroup: 'rbac.authorization.k8s.io' }],
    },
  ],
  [
    'persistentvolumeclaims',
    { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
    {
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeMode: 'Filesystem' },
      status: { phase: 'Pending' },
    },
  ],
  [
    'storageclasses.storage.k8s.io',
    { provisioner: 'p' },
    { provisioner: 'p', reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' },
  ],
  [
    'networkpolicies.networking.k8s.io',
    { spec: { podSelector: {}, egress: [{ ports: [{ port: 53 }] }] } },
    {
      spec: {
        podSelector: {},
        egress: [{ ports: [{ port: 53, protocol: 'TCP' }] }],
        policyTypes: ['Ingress', 'Egress'],
      },
    },
  ],
  [
    'poddisruptionbudgets.policy',
    { spec: { minAvailable: 1 }, status: { disruptionsAllowed: 9 } },
    {
      spec: { minAvailable: 1 },
      status: { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 },
    },
  ],
  [
    'limitranges',
    { spec: { limits: [{ type: 'Container', max: { cpu: '2' }, min: { memory: '1Mi' } }] } },
    {
      spec: {
        limits: [
          {
            type: 'Container',
            max: { cpu: '2' },
            min: { memory: '1Mi' },
            default: { cpu: '2' },
            defaultRequest: { cpu: '2', memory: '1Mi' },
          },
        ],
      },
    },
  ],
  [
    'events',
    { involvedObject: { namespace: 'ns' }, reason: 'Tested' },
    {
      involvedObject: { namespace: 'ns' },
      reason: 'Tested',
      source: {},
      reportingComponent: '',
      reportingInstance: '',
    },
  ],
])('a new object of %s is stored with its defaults', async (kind, body, want) => {
  const { created, errors } = await apply(find(kind), body);
  const { kind: _kind, apiVersion: _version, metadata: _metadata, ...rest } = created;
  expect(errors).toEqual([]);
  expect(rest).toEqual(want);
});

it.each<[kind: string, body: JsonObject, want: string[]]>([
  [
    'leases.coordination.k8s.io',
    { spec: { leaseDurationSeconds: 0 } },
    ['spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0'],
  ],
  [
    'leases.coordination.k8s.io',
    { spec: { leaseTransitions: -1 } },
    ['spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0'],
  ],
  [
    'events',
    { involvedObject: { kind: 'Pod', namespace: 'other', name: 'p' } },
    ['involvedObject.namespace: Invalid value: "other": does not match event.namespace'],
  ],
  [
    'clusterrolebindings.rbac.authorization.k8s.io',
    { roleRef: { kind: 'Role', name: '' } },
    ['roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"', 'roleRef.name: Required value'],
  ],
  [
    'roles.rbac.authorization.k8s.io',
    { rules: [{ verbs: [], apiGroups: [''], resources: ['pods'] }] },
    ['rules[0].verbs: Required value: verbs must contain at least one value'],
  ],
  [
    'ingresses.networking.k8s.io',
    {
      spec: {
        rules: [
          {
            http: {
              paths: [{ path: 'x', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }],
            },
          },
        ],
      },
    },
    ['spec.rules[0].http.paths[0].path: Invalid value: "x": must be an absolute path'],
  ],
  [
    'priorityclasses.scheduling.k8s.io',
    { value: 2_000_000_000 },
    ['value: Forbidden: maximum allowed value of a user defined priority is 1000000000'],
  ],
])('a new object of %s is refused: %j', async (kind, body, want) => {
  const { errors } = await apply(find(kind), body);
  expect(errors).toEqual(want);
});

it('a namespace keeps its label and its finalizers, except through finalize', async () => {
  const { created, strategy, context } = await apply(find('namespaces'), {});
  const next = structuredClone(created);
  next.metadata.labels = {};
  next.spec = {};
  await strategy.prepareUpdate?.(next, created, context);
  expect(next).toEqual(created);
  next.spec = { finalizers: [] };
  await strategy.prepareUpdate?.(next, created, { ...context, subresource: 'finalize' });
  expect(next.spec).toEqual({});
});

it('a binding cannot be pointed at another role', async () => {
  const roleRef = { kind: 'Role', name: 'r' };
  const { created, strategy } = await apply(find('rolebindings.rbac.authorization.k8s.io'), { roleRef });
  const next = { ...structuredClone(created), roleRef: { ...roleRef, name: 'other' } };
  expect(strategy.validateUpdate?.(next, created)).toMatchObject([
    { field: 'roleRef', message: expect.stringContaining('cannot change roleRef') },
  ]);
});
