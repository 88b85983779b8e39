import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../api/objects.ts';
import type { PrinterColumn } from '../registry/custom-kind.ts';
import { emptyPartialList, partialObject } from './partial-metadata.ts';
import { bookmarkTable, parseIncludeObject, tableFor } from './table.ts';

const now = Date.parse('2024-01-01T01:00:00Z');
const metadata = { name: 'a', namespace: 'ns', creationTimestamp: '2024-01-01T00:59:55Z', resourceVersion: '7' };
const listMeta = { resourceVersion: '9' };
const options = { now, listMeta };

function object(parts: object): KubeObject {
  return { kind: 'X', apiVersion: 'v1', metadata, ...parts } as KubeObject;
}

/** `group/plural`, the columns (wide ones starred), an object, its cells. */
type Case = [resource: string, columns: string, parts: object, cells: unknown[]];

const template = {
  spec: {
    nodeSelector: { disk: 'ssd' },
    containers: [
      { name: 'c', image: 'i:1' },
      { name: 'd', image: 'j' },
    ],
  },
};
const selector = { matchLabels: { app: 'a' } };
const condition = (type: string, status = 'True', reason = '') => ({ type, status, reason });

const cases: Case[] = [
  ['/configmaps', 'Name,Data,Age', { data: { x: '', y: '' }, binaryData: { z: '' } }, ['a', 3, '5s']],
  ['/secrets', 'Name,Type,Data,Age', { type: 'Opaque', data: { k: '' } }, ['a', 'Opaque', 1, '5s']],
  ['/namespaces', 'Name,Status,Age', { status: { phase: 'Active' } }, ['a', 'Active', '5s']],
  ['/serviceaccounts', 'Name,Age', {}, ['a', '5s']],
  ['/limitranges', 'Name,Created At', {}, ['a', '2024-01-01T00:59:55Z']],
  [
    '/pods',
    'Name,Ready,Status,Restarts,Age,IP*,Node*,Nominated Node*,Readiness Gates*',
    {
      spec: { nodeName: 'n', containers: [{}], readinessGates: [{ conditionType: 'g' }, { conditionType: 'h' }] },
      status: {
        phase: 'Running',
        podIPs: [{ ip: '10.0.0.1' }],
        conditions: [condition('g')],
        containerStatuses: [
          {
            restartCount: 2,
            ready: true,
            state: { running: {} },
            lastState: { terminated: { finishedAt: '2024-01-01T00:55:00Z' } },
          },
        ],
      },
    },
    ['a', '1/1', 'Running', '2 (5m ago)', '5s', '10.0.0.1', 'n', '<none>', '1/2'],
  ],
  [
    '/services',
    'Name,Type,Cluster-IP,External-IP,Port(s),Age,Selector*',
    {
      spec: {
        type: 'LoadBalancer',
        clusterIPs: ['10.0.0.1'],
        externalIPs: ['1.1.1.1'],
        ports: [
          { port: 80, nodePort: 30000, protocol: 'TCP' },
          { port: 53, protocol: 'UDP' },
        ],
        selector: { c: 'd', a: 'b' },
      },
      status: { loadBalancer: { ingress: [{ hostname: 'h' }, { ip: '2.2.2.2' }] } },
    },
    ['a', 'LoadBalancer', '10.0.0.1', '2.2.2.2,h,1.1.1.1', '80:30000/TCP,53/UDP', '5s', 'a=b,c=d'],
  ],
  [
    '/services',
    'Name,Type,Cluster-IP,External-IP,Port(s),Age,Selector*',
    { spec: { type: 'LoadBalancer' } },
    ['a', 'LoadBalancer', '<none>', '<pending>', '<none>', '5s', '<none>'],
  ],
  [
    '/endpoints',
    'Name,Endpoints,Age',
    { subsets: [{ addresses: [{ ip: '1.1.1.1' }, { ip: '::1' }], ports: [{ port: 80 }, { port: 443 }] }] },
    ['a', '1.1.1.1:80,[::1]:80,1.1.1.1:443 + 1 more...', '5s'],
  ],
  [
    'discovery.k8s.io/endpointslices',
    'Name,AddressType,Ports,Endpoints,Age',
    { addressType: 'IPv4', ports: [{ port: 80 }], endpoints: [] },
    ['a', 'IPv4', '80', '<unset>', '5s'],
  ],
  [
    'networking.k8s.io/ingresses',
    'Name,Class,Hosts,Address,Ports,Age',
    { spec: { rules: ['p', 'q', 'r', 's'].map((host) => ({ host })), tls: [{}] } },
    ['a', '<none>', 'p,q,r + 1 more...', '', '80, 443', '5s'],
  ],
  ['networking.k8s.io/networkpolicies', 'Name,Pod-Selector,Age', { spec: { podSelector: {} } }, ['a', '<none>', '5s']],
  [
    'apps/deployments',
    'Name,Ready,Up-to-date,Available,Age,Containers*,Images*,Selector*',
    { spec: { replicas: 3, selector, template }, status: { readyReplicas: 1, updatedReplicas: 2 } },
    ['a', '1/3', 2, 0, '5s', 'c,d', 'i:1,j', 'app=a'],
  ],
  [
    'apps/replicasets',
    'Name,Desired,Current,Ready,Age,Containers*,Images*,Selector*',
    { spec: { replicas: 3, selector, template }, status: { replicas: 2 } },
    ['a', 3, 2, 0, '5s', 'c,d', 'i:1,j', 'app=a'],
  ],
  [
    'apps/daemonsets',
    'Name,Desired,Current,Ready,Up-to-date,Available,Node Selector,Age,Containers*,Images*,Selector*',
    { spec: { selector, template }, status: { desiredNumberScheduled: 2 } },
    ['a', 2, 0, 0, 0, 0, 'disk=ssd', '5s', 'c,d', 'i:1,j', 'app=a'],
  ],
  [
    'apps/statefulsets',
    'Name,Ready,Age,Containers*,Images*',
    { spec: { template } },
    ['a', '0/0', '5s', 'c,d', 'i:1,j'],
  ],
  [
    'apps/controllerrevisions',
    'Name,Controller,Revision,Age',
    {
      metadata: {
        ...metadata,
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 's', uid: 'u', controller: true }],
      },
      revision: 4,
    },
    ['a', 'statefulset.apps/s', 4, '5s'],
  ],
  [
    'batch/jobs',
    'Name,Status,Completions,Duration,Age,Containers*,Images*,Selector*',
    {
      spec: { completions: 2, selector, template },
      status: {
        succeeded: 1,
        startTime: '2024-01-01T00:00:00Z',
        completionTime: '2024-01-01T00:02:30Z',
        conditions: [condition('Suspended', 'False'), condition('Failed')],
      },
    },
    ['a', 'Failed', '1/2', '2m30s', '5s', 'c,d', 'i:1,j', 'app=a'],
  ],
  [
    'batch/cronjobs',
    'Name,Schedule,Timezone,Suspend,Active,Last Schedule,Age,Containers*,Images*,Selector*',
    { spec: { schedule: '* * * * *', suspend: false, jobTemplate: { spec: { template } } }, status: { active: [{}] } },
    ['a', '* * * * *', '<none>', 'False', 1, '<none>', '5s', 'c,d', 'i:1,j', '<none>'],
  ],
  [
    'autoscaling/horizontalpodautoscalers',
    'Name,Reference,Targets,MinPods,MaxPods,Replicas,Age',
    {
      spec: {
        scaleTargetRef: { kind: 'Deployment', name: 'd' },
        minReplicas: 1,
        maxReplicas: 5,
        metrics: [
          { type: 'Resource', resource: { name: 'cpu', target: { averageUtilization: 80 } } },
          { type: 'Resource', resource: { name: 'memory', target: { averageValue: '1Gi' } } },
          { type: 'Pods', pods: { target: { averageValue: '10' } } },
        ],
      },
      status: { currentReplicas: 2, currentMetrics: [{ resource: { current: { averageUtilization: 10 } } }] },
    },
    ['a', 'Deployment/d', 'cpu: 10%/80%, memory: <unknown>/1Gi + 1 more...', '1', 5, 2, '5s'],
  ],
  [
    'policy/poddisruptionbudgets',
    'Name,Min Available,Max Unavailable,Allowed Disruptions,Age',
    { spec: { minAvailable: 1 }, status: { disruptionsAllowed: 2 } },
    ['a', '1', 'N/A', 2, '5s'],
  ],
  [
    '/nodes',
    'Name,Status,Roles,Age,Version,Internal-IP*,External-IP*,OS-Image*,Kernel-Version*,Container-Runtime*',
    {
      metadata: { ...metadata, labels: { 'node-role.kubernetes.io/worker': '', 'kubernetes.io/role': 'master' } },
      spec: { unschedulable: true },
      status: {
        conditions: [condition('Ready')],
        addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
        nodeInfo: { kubeletVersion: 'v1.36.4', kernelVersion: '6.1', architecture: 'arm64' },
      },
    },
    [
      'a',
      'Ready,SchedulingDisabled',
      'master,worker',
      '5s',
      'v1.36.4',
      '10.0.0.1',
      '<none>',
      '<unknown>',
      '6.1 (arm64)',
      '<unknown>',
    ],
  ],
  [
    'events.k8s.io/events',
    'Last Seen,Type,Reason,Object,Subobject*,Source*,Message,First Seen*,Count*,Name*',
    {
      type: 'Normal',
      reason: 'R',
      regarding: { kind: 'Pod', name: 'p', fieldPath: 'f' },
      reportingController: 'ctl',
      note: ' hello\n',
      eventTime: '2024-01-01T00:59:50.000000Z',
      series: { count: 4, lastObservedTime: '2024-01-01T00:59:59.000000Z' },
    },
    ['1s', 'Normal', 'R', 'pod/p', 'f', 'ctl', 'hello', '10s', 4, 'a'],
  ],
  [
    '/resourcequotas',
    'Name,Request,Limit,Age',
    { status: { hard: { pods: '3', 'limits.cpu': '2', cpu: '1' }, used: { pods: '1' } } },
    ['a', 'cpu: 0/1, pods: 1/3', 'limits.cpu: 0/2', '5s'],
  ],
  ['coordination.k8s.io/leases', 'Name,Holder,Age', { spec: { holderIdentity: 'me' } }, ['a', 'me', '5s']],
  [
    '/persistentvolumeclaims',
    'Name,Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age,VolumeMode*',
    {
      spec: { volumeName: 'v', storageClassName: 'fast', volumeMode: 'Filesystem' },
      status: { phase: 'Bound', capacity: { storage: '1Gi' }, accessModes: ['ReadWriteMany', 'ReadWriteOnce'] },
    },
    ['a', 'Bound', 'v', '1Gi', 'RWO,RWX', 'fast', '<unset>', '5s', 'Filesystem'],
  ],
  [
    '/persistentvolumes',
    'Name,Capacity,Access Modes,Reclaim Policy,Status,Claim,StorageClass,VolumeAttributesClass,Reason,Age,VolumeMode*',
    {
      spec: {
        capacity: { storage: '1Gi' },
        claimRef: { namespace: 'ns', name: 'c' },
        accessModes: ['ReadWriteOncePod'],
      },
      status: { phase: 'Bound' },
    },
    ['a', '1Gi', 'RWOP', '', 'Bound', 'ns/c', '', '<unset>', '', '5s', '<unset>'],
  ],
  [
    'storage.k8s.io/storageclasses',
    'Name,Provisioner,ReclaimPolicy,VolumeBindingMode,AllowVolumeExpansion,Age',
    {
      metadata: { ...metadata, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      provisioner: 'p',
    },
    ['a (default)', 'p', 'Delete', 'Immediate', false, '5s'],
  ],
  [
    'rbac.authorization.k8s.io/rolebindings',
    'Name,Role,Age,Users*,Groups*,ServiceAccounts*',
    {
      roleRef: { kind: 'Role', name: 'r' },
      subjects: [
        { kind: 'User', name: 'u' },
        { kind: 'User', name: 'w' },
        { kind: 'ServiceAccount', name: 's', namespace: 'ns' },
      ],
    },
    ['a', 'Role/r', '5s', 'u, w', '', 'ns/s'],
  ],
  [
    'certificates.k8s.io/certificatesigningrequests',
    'Name,Age,SignerName,Requestor,RequestedDuration,Condition',
    {
      spec: { signerName: 's', username: 'u', expirationSeconds: 86400 },
      status: { conditions: [condition('Approved')], certificate: 'x' },
    },
    ['a', '5s', 's', 'u', '24h', 'Approved,Issued'],
  ],
  [
    'apiregistration.k8s.io/apiservices',
    'Name,Service,Available,Age',
    { spec: {}, status: { conditions: [condition('Available', 'False', 'Gone')] } },
    ['a', 'Local', 'False (Gone)', '5s'],
  ],
];

describe('tableFor()', () => {
  it.each(cases)('%s', (resource, columns, parts, cells) => {
    const [group = '', plural = ''] = resource.split('/');
    const table = tableFor({ group, plural, isCustom: false }, [object(parts)], options);
    const names = table.columnDefinitions?.map(({ name, priority }) => (priority > 0 ? `${name}*` : name));
    expect(names?.join(',')).toBe(columns);
    expect(table.rows[0]?.cells).toEqual(cells);
  });

  it('survives objects with nothing in them', () => {
    for (const [resource] of cases) {
      const [group = '', plural = ''] = resource.split('/');
      const bare = { kind: 'X', apiVersion: 'v1', metadata: {} };
      const { columnDefinitions, rows } = tableFor({ group, plural, isCustom: false }, [bare], options);
      expect(rows[0]?.cells).toHaveLength(columnDefinitions?.length ?? 0);
      expect(rows[0]?.cells.includes(undefined as never)).toBe(false);
    }
  });

  const pods = { group: '', plural: 'pods', isCustom: false };
  it('carries the list’s metadata, row conditions and the object as asked', () => {
    const done = object({ status: { phase: 'Succeeded' } });
    const table = tableFor(pods, [done], options);
    expect(table).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata: listMeta });
    expect(table.columnDefinitions?.[0]).toMatchObject({ name: 'Name', type: 'string', format: 'name', priority: 0 });
    expect(table.rows[0]?.conditions?.[0]?.reason).toBe('Succeeded');
    expect(table.rows[0]?.object).toEqual({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata,
    });
    const shown = (includeObject: 'None' | 'Object') => tableFor(pods, [done], { ...options, includeObject }).rows[0];
    expect(shown('None')?.object).toBeNull();
    expect(shown('Object')?.object).toBe(done);
    expect(tableFor(pods, [object({})], options).rows[0]).not.toHaveProperty('conditions');
    expect(tableFor(pods, [], { ...options, version: 'v1beta1' })).toMatchObject({
      apiVersion: 'meta.k8s.io/v1beta1',
      rows: [],
    });
  });

  it('leaves out the columns in later events of a watch, and the cells of a bookmark', () => {
    expect(tableFor(pods, [], { ...options, hasColumns: false }).columnDefinitions).toBeNull();
    const [row] = bookmarkTable(pods, object({}), options).rows;
    expect(row?.cells).toEqual(Array(9).fill(''));
    expect(row?.object?.metadata.resourceVersion).toBe('7');
  });
});

describe('custom resources', () => {
  const widgets = { group: 'ex.io', plural: 'widgets', isCustom: true };
  const at = (name: string, type: string, jsonPath: string): PrinterColumn => ({ name, type, jsonPath });

  it('show name and age without columns of their own', () => {
    const table = tableFor(widgets, [object({})], options);
    expect(table.columnDefinitions?.map(({ name, type }) => [name, type])).toEqual([
      ['Name', 'string'],
      ['Age', 'date'],
    ]);
    expect(table.rows[0]?.cells).toEqual(['a', '5s']);
  });

  it.each<[column: PrinterColumn, cell: unknown]>([
    [at('Size', 'integer', '.spec.size'), 3],
    [at('Size', 'string', '.spec.size'), '3'],
    [at('Size', 'boolean', '.spec.size'), null],
    [at('Half', 'number', '.spec.half'), 0.5],
    [at('On', 'boolean', '.spec.on'), true],
    [at('On', 'string', '.spec.on'), 'true'],
    [at('List', 'string', '.spec.list'), '["a","b"]'],
    [at('First', 'string', '.spec.list[*]'), 'a'],
    [at('None', 'string', '.spec.none'), null],
    [at('Absent', 'string', '.status.phase'), null],
    [at('Created', 'date', '.metadata.creationTimestamp'), '5s'],
    [at('When', 'date', '.spec.when'), '<invalid>'],
    [at('Broken', 'string', '.spec['), null],
  ])('%o', (column, cell) => {
    const item = object({ spec: { size: 3, half: 0.5, on: true, list: ['a', 'b'], none: null, when: 'yesterday' } });
    const table = tableFor(widgets, [item], { ...options, printerColumns: [column] });
    expect(table.rows[0]?.cells).toEqual(['a', cell]);
  });

  it('keep format, priority and description of a column', () => {
    const column = { ...at('P', 'string', '.p'), format: 'password', priority: 1, description: 'd' };
    const table = tableFor(widgets, [], { ...options, printerColumns: [column] });
    expect(table.columnDefinitions?.[1]).toEqual({
      name: 'P',
      type: 'string',
      format: 'password',
      description: 'd',
      priority: 1,
    });
  });
});

it('parseIncludeObject() knows three words', () => {
  expect([null, '', 'None', 'Object'].map(parseIncludeObject)).toEqual(['Metadata', 'Metadata', 'None', 'Object']);
  expect(() => parseIncludeObject('Foo')).toThrow(
    `Unable to convert to Table as requested: includeObject: Invalid value: "Foo": must be 'Metadata', 'Object', 'None', or empty`,
  );
});

it('emptyPartialList() keeps the metadata of the list, partialObject() that of an object', () => {
  expect(emptyPartialList(listMeta)).toEqual({
    kind: 'PartialObjectMetadataList',
    apiVersion: 'meta.k8s.io/v1',
    metadata: listMeta,
    items: [],
  });
  const partial = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata };
  expect(partialObject(object({ data: {} }))).toEqual(partial);
});

it('a row whose paths would take too many steps has no value in the cells that are too many', () => {
  const custom = { group: 'a.example', plural: 'xs', isCustom: true };
  const printerColumns: PrinterColumn[] = [
    { name: 'First', type: 'string', jsonPath: '.spec.name' },
    { name: 'Slow', type: 'string', jsonPath: `.spec.list${'[*]'.repeat(300)}` },
    { name: 'Last', type: 'string', jsonPath: '.spec.name' },
  ];
  let list: unknown = 'end';
  for (let depth = 0; depth < 300; depth++) list = [list];
  const rowsOf = (count: number) => {
    const spec = { name: 'x', list: Array.from({ length: count }, () => (list as unknown[])[0]) };
    return tableFor(custom, [object({ spec }), object({ spec: { name: 'y' } })], { ...options, printerColumns }).rows;
  };
  expect(rowsOf(100).map(({ cells }) => cells)).toEqual([
    ['a', 'x', 'end', 'x'],
    ['a', 'y', null, 'y'],
  ]);
  expect(rowsOf(10_000).map(({ cells }) => cells)).toEqual([
    ['a', 'x', null, null],
    ['a', 'y', null, 'y'],
  ]);
});
