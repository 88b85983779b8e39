import { expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import { updateFaultsOf } from '../kind-tables.testing.ts';
import { apply, find, refusals, warningsOf } from '../strategy-run.testing.ts';

const volumes = find('persistentvolumes');
const claims = find('persistentvolumeclaims');
const classes = find('storageclasses.storage.k8s.io');
const drivers = find('csidrivers.storage.k8s.io');
const nodes = find('csinodes.storage.k8s.io');
const attachments = find('volumeattachments.storage.k8s.io');

const csi = { driver: 'd.example.com', volumeHandle: 'h' };
const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], csi };
const twice = 'may not specify more than 1 volume type';

it.each<[claim: string, more: JsonObject, want: string[]]>([
  ['no source', { csi: null }, ['spec: Required value: must specify a volume type']],
  [
    'an earlier source too',
    { nfs: { server: 's', path: 'rel' } },
    ['spec.nfs.path: Invalid value: "rel": must be an absolute path', `spec.csi: Forbidden: ${twice}`],
  ],
  ['two of the others', { csi: null, hostPath: { path: '/x' }, cephfs: {} }, [`spec.cephFS: Forbidden: ${twice}`]],
  [
    'a disk by its other name',
    { csi: null, gcePersistentDisk: { partition: 256 } },
    [
      'spec.persistentDisk.pdName: Required value',
      'spec.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive',
    ],
  ],
  [
    'a path that goes back',
    { csi: null, hostPath: { path: '/a/../b', type: 'Odd' } },
    [
      'spec.hostPath.path: Invalid value: "/a/../b": must not contain \'..\'',
      'spec.hostPath.type: Unsupported value: "Odd": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
    ],
  ],
  [
    'a local one anywhere',
    { csi: null, local: { path: '/x' } },
    ['spec.nodeAffinity: Required value: Local volume requires node affinity'],
  ],
  [
    'an initiator of no form',
    { csi: null, iscsi: { targetPortal: 'p', iqn: 'iqn.x', chapAuthSession: true } },
    ['spec.iscsi.iqn: Invalid value: "iqn.x": must be valid format', 'spec.iscsi.secretRef: Required value'],
  ],
  ['an initiator in capitals', { csi: null, iscsi: { targetPortal: 'p', iqn: 'iqn.2015-02.Example.COM:Test' } }, []],
  [
    'an initiator far away',
    {
      csi: null,
      iscsi: { targetPortal: 'p'.repeat(64), iqn: `eui-${'a'.repeat(16)}`, initiatorName: `naa.${'a'.repeat(32)}` },
    },
    [
      `spec.iscsi.targetportal: Invalid value: "${'p'.repeat(64)}": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.`,
    ],
  ],
  [
    'names and ids',
    { csi: null, fc: { targetWWNs: ['a'], wwids: ['b'] } },
    [
      'spec.fc.targetWWNs: Invalid value: ["a"]: targetWWNs and wwids can not be specified simultaneously',
      'spec.fc.lun: Required value: lun is required if targetWWNs is specified',
    ],
  ],
  [
    'a reserved option',
    { csi: null, flexVolume: { driver: 'd', options: { 'x.k8s.io/a': 'b' } } },
    [
      'spec.flexVolume.options[x.k8s.io/a]: Invalid value: "x.k8s.io/a": kubernetes.io and k8s.io namespaces are reserved',
    ],
  ],
  [
    'a blob that is managed',
    { csi: null, azureDisk: { diskName: 'n', diskURI: 'https://x', kind: 'Managed' } },
    [
      'spec.azureDisk.diskURI: Unsupported value: "https://x": supported values: "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"',
    ],
  ],
  [
    'modes that exclude each other',
    { accessModes: ['ReadWriteOncePod', 'ReadWriteOnce', 'x'] },
    [
      'spec.accessModes: Unsupported value: "x": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
      'spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes',
    ],
  ],
  [
    'more than storage',
    { capacity: { storage: '1', cpu: '-1' } },
    [
      'spec.capacity: Unsupported value: {"storage":"1","cpu":"-1"}: supported values: "storage"',
      'spec.capacity[cpu]: Invalid value: -1: must be a valid resource quantity',
      'spec.capacity[cpu]: Invalid value: "-1": must be greater than zero',
    ],
  ],
])('a volume with %s is refused', async (_claim, more, want) => {
  expect((await apply(volumes, { spec: { ...spec, ...more } })).errors).toEqual(want);
});

it('a volume is told about what is going away', async () => {
  const rbd = { monitors: ['m'], image: 'i' };
  const required = {
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'beta.kubernetes.io/os', operator: 'Exists' }] }],
  };
  const run = await apply(volumes, {
    spec: { ...spec, csi: null, rbd, nodeAffinity: { required }, persistentVolumeReclaimPolicy: 'Recycle' },
  });
  expect(run.errors).toEqual([]);
  expect((run.created.spec as JsonObject).rbd).toEqual({
    ...rbd,
    pool: 'rbd',
    user: 'admin',
    keyring: '/etc/ceph/keyring',
  });
  expect(warningsOf(run)).toEqual([
    'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
    'spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead',
    'spec.rbd: deprecated in v1.28, non-functional in v1.31+',
  ]);
});

it('where a volume is never changes; the labels of its nodes may get their new names', async () => {
  const affinity = (key: string) => ({
    required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'Exists' }] }] },
  });
  const run = await apply(volumes, { spec: { ...spec, nodeAffinity: affinity('beta.kubernetes.io/os') } });
  const change = (more: JsonObject) =>
    refusals(run, { ...run.created, spec: { ...(run.created.spec as JsonObject), ...more } });
  expect(await change({ nodeAffinity: affinity('kubernetes.io/os') })).toEqual([]);
  expect(await change({ nodeAffinity: affinity('other') })).toMatchObject([
    expect.stringMatching(/^nodeAffinity: Invalid value: .*except for updating from beta label to GA$/s),
  ]);
  expect(await change({ csi: { ...csi, fsType: 'x' } })).toEqual([
    'spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation',
  ]);
  expect(await change({ csi: { ...csi, controllerExpandSecretRef: { name: 'a', namespace: 'b' } } })).toEqual([]);
});

it('the phase of a volume is dated', async () => {
  const run = await apply(volumes, { spec });
  const context = { ...run.context, subresource: 'status', now: 'later' };
  const after = async (status: JsonObject) => {
    const next: KubeObject = { ...structuredClone(run.created), status };
    run.strategy.setDefaults?.(next);
    await run.strategy.prepareUpdate?.(next, run.created, context);
    return next.status;
  };
  const { now } = run.context;
  expect(await after({ phase: 'Bound' })).toEqual({ phase: 'Bound', lastPhaseTransitionTime: 'later' });
  expect(await after({ phase: 'Bound', lastPhaseTransitionTime: 'mine' })).toEqual({
    phase: 'Bound',
    lastPhaseTransitionTime: 'mine',
  });
  expect(await after({})).toEqual({ phase: 'Pending', lastPhaseTransitionTime: now });
});

const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const snapshot = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' };
it.each<[claim: string, more: JsonObject, want: JsonObject]>([
  [
    'the newer field speaks for the older',
    { dataSourceRef: snapshot },
    { dataSource: snapshot, dataSourceRef: snapshot },
  ],
  ['and the older for the newer', { dataSource: snapshot }, { dataSource: snapshot, dataSourceRef: snapshot }],
  ['other kinds in the older are forgotten', { dataSource: { kind: 'Thing', name: 'a' } }, {}],
  ['other namespaces are not served', { dataSourceRef: { ...snapshot, namespace: 'n' } }, {}],
])('sources of a claim: %s', async (_claim, more, want) => {
  const { created, errors } = await apply(claims, { spec: { ...claim, ...more } });
  expect(errors).toEqual([]);
  const { dataSource, dataSourceRef } = created.spec as JsonObject;
  expect({ ...(dataSource && { dataSource }), ...(dataSourceRef && { dataSourceRef }) }).toEqual(want);
});

it.each<[claim: string, more: JsonObject, want: string[]]>([
  [
    'nothing',
    { accessModes: [], resources: {} },
    ['spec.accessModes: Required value: at least 1 access mode is required', 'spec.resources[storage]: Required value'],
  ],
  [
    'no room',
    { resources: { requests: { storage: '0' } } },
    ['spec.resources[storage]: Invalid value: "0": must be greater than zero'],
  ],
  [
    'a source of no group',
    { dataSourceRef: { kind: 'Thing', name: '' } },
    [
      'spec.dataSource.name: Required value',
      'spec.dataSource: Invalid value: "Thing": must be \'PersistentVolumeClaim\' when referencing the default apiGroup',
      'spec.dataSourceRef.name: Required value',
      'spec.dataSourceRef: Invalid value: "Thing": must be \'PersistentVolumeClaim\' when referencing the default apiGroup',
    ],
  ],
])('a claim with %s is refused', async (_claim, more, want) => {
  expect((await apply(claims, { spec: { ...claim, ...more } })).errors).toEqual(want);
});

it('a bound claim may grow and change its class of attributes; no claim may do else', async () => {
  const run = await apply(claims, { spec: { ...claim, volumeAttributesClassName: 'gold' } });
  run.created.status = { phase: 'Bound', capacity: { storage: '1Gi' } };
  const change = (more: JsonObject) =>
    refusals(run, { ...run.created, spec: { ...(run.created.spec as JsonObject), ...more } });
  expect(
    await change({
      resources: { requests: { storage: '2Gi' } },
      volumeAttributesClassName: 'silver',
      volumeName: 'v',
      storageClassName: 'c',
    }),
  ).toEqual([]);
  expect(await change({ resources: { requests: { storage: '1Mi' } } })).toEqual([
    'spec.resources.requests.storage: Forbidden: field can not be less than status.capacity',
  ]);
  expect((await change({ volumeMode: 'Block' })).map((text) => text.split('\n')[0])).toEqual([
    'spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims',
    'volumeMode: Invalid value: "Block": field is immutable',
  ]);
});

it('a class of attributes that was applied is not taken away again', async () => {
  const path = 'spec.volumeAttributesClassName';
  const given = 'when status.currentVolumeAttributesClassName is not nil';
  const run = await apply(claims, { spec: { ...claim, volumeAttributesClassName: 'gold' } });
  const change = (volumeAttributesClassName: string | undefined, more: JsonObject) => {
    run.created.status = { phase: 'Bound', capacity: { storage: '1Gi' }, ...more };
    const { volumeAttributesClassName: _, ...spec } = run.created.spec as JsonObject;
    const next = volumeAttributesClassName === undefined ? spec : { ...spec, volumeAttributesClassName };
    return refusals(run, { ...run.created, spec: next });
  };
  expect(await change(undefined, {})).toEqual([]);
  expect(await change('', {})).toEqual([]);
  const applied = { currentVolumeAttributesClassName: 'gold' };
  expect(await change('silver', applied)).toEqual([]);
  expect(await change(undefined, applied)).toEqual([`${path}: Forbidden: update to nil is forbidden ${given}`]);
  expect(await change('', applied)).toEqual([`${path}: Forbidden: update to empty string is forbidden ${given}`]);
});

it.each<[body: JsonObject, want: string[]]>([
  [
    { provisioner: 'A B' },
    [
      "provisioner: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  ],
  [{ provisioner: 'p', allowedTopologies: [{}] }, ['allowedTopologies[0].matchLabelExpressions: Duplicate value: ""']],
  [
    {
      provisioner: 'p',
      allowedTopologies: [
        {
          matchLabelExpressions: [
            { key: 'k', values: ['a', 'a'] },
            { key: 'k', values: [] },
          ],
        },
      ],
    },
    [
      'allowedTopologies[0].matchLabelExpressions[1].values: Required value',
      'allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "a"',
      'allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: "k"',
    ],
  ],
  [
    { provisioner: 'p', reclaimPolicy: 'Recycle', volumeBindingMode: '' },
    [
      'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
      'volumeBindingMode: Unsupported value: "": supported values: "Immediate", "WaitForFirstConsumer"',
    ],
  ],
])('the class %j is refused', async (body, want) => {
  expect((await apply(classes, body)).errors).toEqual(want);
});

it('a driver counts its changes, and is told of tokens that may be logged', async () => {
  const run = await apply(drivers, { spec: { tokenRequests: [{ audience: 'a' }] } });
  expect([run.errors, warningsOf(run).length, run.created.metadata.generation]).toEqual([[], 1, undefined]);
  const next: KubeObject = {
    ...structuredClone(run.created),
    spec: { ...(run.created.spec as JsonObject), podInfoOnMount: true },
  };
  await run.strategy.prepareUpdate?.(next, run.created, run.context);
  expect(next.metadata.generation).toBe(1);
  expect(
    (await apply(drivers, { spec: { tokenRequests: [{ audience: 'a', expirationSeconds: 1 }, { audience: 'a' }] } }))
      .errors,
  ).toEqual([
    'spec.tokenRequests[0].expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes',
    'spec.tokenRequests[1].audience: Duplicate value: "a"',
  ]);
});

it('a driver on a node may change what can be allocated, and nothing else', async () => {
  const driver = { name: 'd', nodeID: 'n', allocatable: { count: 1 } };
  const run = await apply(nodes, { spec: { drivers: [driver] } });
  const change = (more: JsonObject) => refusals(run, { ...run.created, spec: { drivers: [{ ...driver, ...more }] } });
  expect(await change({ allocatable: { count: 2 } })).toEqual([]);
  expect((await change({ nodeID: 'm' }))[0]).toMatch(/^spec.drivers: Invalid value: .*: field is immutable$/);
});

const one = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';
it.each<[source: JsonObject, want: string[]]>([
  [{}, [`spec.source: Required value: ${one}`]],
  [{ persistentVolumeName: 'v', inlineVolumeSpec: {} }, [`spec.source: Forbidden: ${one}`]],
  [
    { inlineVolumeSpec: { accessModes: ['ReadWriteOnce'], csi, capacity: { storage: '1' }, storageClassName: 'c' } },
    [
      'spec.source.inlineVolumeSpec.capacity: Forbidden: may not be specified in the context of inline volumes',
      'spec.source.inlineVolumeSpec.storageClassName: Forbidden: may not be specified in the context of inline volumes',
    ],
  ],
])('an attachment of %j is refused', async (source, want) => {
  expect((await apply(attachments, { spec: { attacher: 'a', nodeName: 'n', source } })).errors).toEqual(want);
});

it('the names in an attachment are looked at when it is made, and no more', async () => {
  const spec = { attacher: 'a', nodeName: 'n', source: { persistentVolumeName: 'v' } };
  const run = await apply(attachments, { spec });
  const changed = { ...spec, attacher: 'a b', source: { persistentVolumeName: 'V' } };
  const [first, ...more] = await refusals(run, { ...run.created, spec: changed });
  expect(first).toMatch(/^spec: Invalid value: .*: field is immutable$/);
  expect(more).toEqual([]);
  expect((await apply(attachments, { spec: changed })).errors.map((text) => text.split(':')[0])).toEqual([
    'spec.attacher',
    'spec.source.persistentVolumeName',
  ]);
});

it.each([
  [
    'storageclasses.storage.k8s.io',
    { provisioner: 'p' },
    'parameters: Invalid value: {"a":"b","c":""}: field is immutable',
  ],
  [
    'volumeattributesclasses.storage.k8s.io',
    { driverName: 'd' },
    'parameters: Forbidden: updates to parameters are forbidden.',
  ],
])('a parameter without a value is another one for %s', async (kind, more, want) => {
  const parameters = { a: 'b' };
  const good = { metadata: { name: 'c' }, ...more, parameters };
  expect(await updateFaultsOf(kind, good, ['parameters', { ...parameters }])).toEqual([]);
  expect(await updateFaultsOf(kind, good, ['parameters', { ...parameters, c: '' }])).toEqual([want]);
});
