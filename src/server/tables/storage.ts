/** The tables of what keeps data: claims, volumes, their classes and drivers. */
import type { KubeObject } from '../../api/objects.ts';
import {
  ageColumn,
  booleanColumn,
  column,
  flag,
  get,
  integerColumn,
  type KindTables,
  list,
  nameColumn,
  scalarText,
  text,
  texts,
  wideColumn,
  withNameAndAge,
} from './columns.ts';

const betaClass = 'volume.beta.kubernetes.io/storage-class';
const defaultClassMarks = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
];

export const storageTables: KindTables = {
  '/persistentvolumeclaims': {
    columns: [
      nameColumn,
      column('Status', phase),
      column('Volume', (claim) => text(claim, 'spec', 'volumeName')),
      column('Capacity', (claim) => (isBound(claim) ? scalarText(claim, 'status', 'capacity', 'storage') || '0' : '')),
      column('Access Modes', (claim) => (isBound(claim) ? accessModes(texts(claim, 'status', 'accessModes')) : '')),
      column('StorageClass', storageClass),
      column('VolumeAttributesClass', attributesClass),
      ageColumn,
      wideColumn('VolumeMode', volumeMode),
    ],
  },
  '/persistentvolumes': {
    columns: [
      nameColumn,
      column('Capacity', (volume) => scalarText(volume, 'spec', 'capacity', 'storage') || '0'),
      column('Access Modes', (volume) => accessModes(texts(volume, 'spec', 'accessModes'))),
      column('Reclaim Policy', (volume) => text(volume, 'spec', 'persistentVolumeReclaimPolicy')),
      column('Status', phase),
      column('Claim', (volume) => {
        const claim = get(volume, 'spec', 'claimRef');
        return claim ? `${text(claim, 'namespace')}/${text(claim, 'name')}` : '';
      }),
      column('StorageClass', storageClass),
      column('VolumeAttributesClass', attributesClass),
      column('Reason', (volume) => text(volume, 'status', 'reason')),
      ageColumn,
      wideColumn('VolumeMode', volumeMode),
    ],
  },
  'storage.k8s.io/storageclasses': {
    columns: [
      { ...nameColumn, cell: storageClassName },
      column('Provisioner', (object) => text(object, 'provisioner')),
      column('ReclaimPolicy', (object) => text(object, 'reclaimPolicy') || 'Delete'),
      column('VolumeBindingMode', (object) => text(object, 'volumeBindingMode') || 'Immediate'),
      column('AllowVolumeExpansion', (object) => flag(object, 'allowVolumeExpansion')),
      ageColumn,
    ],
  },
  'storage.k8s.io/csidrivers': withNameAndAge(
    booleanColumn('AttachRequired', (driver) => get(driver, 'spec', 'attachRequired') !== false),
    booleanColumn('PodInfoOnMount', (driver) => flag(driver, 'spec', 'podInfoOnMount')),
    booleanColumn('StorageCapacity', (driver) => flag(driver, 'spec', 'storageCapacity')),
    column('TokenRequests', (driver) => {
      const audiences = list(driver, 'spec', 'tokenRequests').map((request) => text(request, 'audience'));
      return audiences.length > 0 ? audiences.join(',') : '<unset>';
    }),
    booleanColumn('RequiresRepublish', (driver) => flag(driver, 'spec', 'requiresRepublish')),
    column('Modes', (driver) => texts(driver, 'spec', 'volumeLifecycleModes').join(',') || '<none>'),
  ),
  'storage.k8s.io/csinodes': withNameAndAge(integerColumn('Drivers', (node) => list(node, 'spec', 'drivers').length)),
  'storage.k8s.io/volumeattachments': withNameAndAge(
    column('Attacher', (object) => text(object, 'spec', 'attacher')),
    column('PV', (object) => text(object, 'spec', 'source', 'persistentVolumeName')),
    column('Node', (object) => text(object, 'spec', 'nodeName')),
    booleanColumn('Attached', (object) => flag(object, 'status', 'attached')),
  ),
  'storage.k8s.io/volumeattributesclasses': withNameAndAge(
    column('DriverName', (object) => text(object, 'driverName')),
  ),
};

const shortModes: ReadonlyMap<string, string> = new Map([
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
]);

function accessModes(modes: readonly string[]): string {
  return [...shortModes]
    .filter(([mode]) => modes.includes(mode))
    .map(([, short]) => short)
    .join(',');
}

function phase(object: KubeObject): string {
  return object.metadata.deletionTimestamp ? 'Terminating' : text(object, 'status', 'phase');
}

function isBound(claim: KubeObject): boolean {
  return text(claim, 'spec', 'volumeName') !== '';
}

function storageClass(object: KubeObject): string {
  return object.metadata.annotations?.[betaClass] ?? text(object, 'spec', 'storageClassName');
}

function attributesClass(object: KubeObject): string {
  return text(object, 'spec', 'volumeAttributesClassName') || '<unset>';
}

function volumeMode(object: KubeObject): string {
  return text(object, 'spec', 'volumeMode') || '<unset>';
}

function storageClassName({ metadata }: KubeObject): string {
  const isDefault = defaultClassMarks.some((mark) => metadata.annotations?.[mark] === 'true');
  return isDefault ? `${metadata.name} (default)` : (metadata.name ?? '');
}
