/**
 * Where the bytes of a persistent volume are: the sources, in the order in which kube-apiserver looks at them, with
 * what each must say. Exactly one is there: of a second one only its presence is told, its content is not looked at.
 */
import {
  checkDnsLabel,
  checkDnsSubdomain,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  keyPath,
  requiredValue,
} from '../../../api/index.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { atMostBytes, named, oneOf, required } from '../../strategy/validation/checks.ts';
import { type Check, struct } from '../../strategy/validation/field-table.ts';
import {
  fill,
  fillAbsent,
  numberAt,
  objectAt,
  sortedEntries,
  textAt,
  textsAt,
} from '../../strategy/validation/fields.ts';

type Source = {
  readonly field: string;
  readonly check: Check;
  /** Where its fields are told to be, if not below itself. */
  readonly path?: string;
  /** Where it is told that it is one too many, if not at itself. */
  readonly tooManyPath?: string;
  readonly defaults?: JsonObject;
  /** The same for what may be empty and yet said. */
  readonly optional?: JsonObject;
};

/** Each is told with the whole list, so there must be an end to it. */
const MOST_BAD_PAIRS = 20;

const namespace = named(checkDnsLabel);
const noBackstep: Check = (value, path) =>
  typeof value === 'string' && value.split('/').includes('..')
    ? [invalidValue(path, value, "must not contain '..'")]
    : [];

/** A number that counts as 0 when it is absent. */
function inRange(most: number, text: string): Check {
  return (value, path) => {
    const found = Number(value ?? 0);
    return found < 0 || found > most ? [invalidValue(path, value, text)] : [];
  };
}
const partition = inRange(255, 'must be between 1 and 255, inclusive');
const lun = inRange(255, 'must be between 0 and 255, inclusive');

/** Drivers are named by a domain of at most 63 bytes; capitals are no difference. */
export const csiDriverName: Check = (value, path, owner) => {
  const name = typeof value === 'string' ? value : '';
  if (name === '') return [requiredValue(path)];
  return [
    ...atMostBytes(63)(name, path, owner),
    ...checkDnsSubdomain(name.toLowerCase()).map((problem) => invalidValue(path, name, problem)),
  ];
};

const secretRef = struct([
  ['name', required, named(checkDnsSubdomain)],
  ['namespace', required, namespace],
]);
const anySecretRef = struct([
  ['name', required],
  ['namespace', required],
]);

const quobyte: Check = (value, path) => {
  const source = value as JsonObject;
  const [registry, at] = [textAt(source, 'registry'), `${path}.registry`];
  const why = 'must be a host:port pair or multiple pairs separated by commas';
  if (registry === '') return [requiredValue(at, why)];
  if (textAt(source, 'tenant').length >= 65)
    return [requiredValue(`${path}.tenant`, 'must be a UUID and may not exceed a length of 64 characters')];
  return registry
    .split(',')
    .filter((pair) => !/^(\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/.test(pair))
    .slice(0, MOST_BAD_PAIRS)
    .map(() => invalidValue(at, registry, why));
};

const flocker: Check = (value, path) => {
  const source = value as JsonObject;
  const [name, uuid] = [textAt(source, 'datasetName'), textAt(source, 'datasetUUID')];
  const errors: FieldError[] = [];
  if (name === '' && uuid === '') errors.push(requiredValue(path, 'one of datasetName and datasetUUID is required'));
  if (name !== '' && uuid !== '')
    errors.push(invalidValue(path, 'resource', 'datasetName and datasetUUID can not be specified simultaneously'));
  if (name.includes('/')) errors.push(invalidValue(`${path}.datasetName`, name, "must not contain '/'"));
  return errors;
};

const fibreChannel: Check = (value, path, owner) => {
  const source = value as JsonObject;
  const [names, ids] = [textsAt(source, 'targetWWNs'), textsAt(source, 'wwids')];
  const at = `${path}.targetWWNs`;
  if (names.length === 0)
    return ids.length > 0 ? [] : [requiredValue(at, 'must specify either targetWWNs or wwids, but not both')];
  const errors: FieldError[] = [];
  if (ids.length > 0) errors.push(invalidValue(at, names, 'targetWWNs and wwids can not be specified simultaneously'));
  if (numberAt(source, 'lun') === undefined)
    return [...errors, requiredValue(`${path}.lun`, 'lun is required if targetWWNs is specified')];
  return [...errors, ...lun(source.lun ?? undefined, `${path}.lun`, owner)];
};

/** Names of initiators and targets by the prefix they begin with; what parts the latter two from it may be anything. */
export const iscsiNames: readonly (readonly [prefix: string, form: RegExp])[] = [
  ['iqn', /^iqn\.\d{4}-\d{2}\.(?:[A-Za-z0-9.-]+)(?::[^,;*&$|\s]+)$/],
  ['eui', /^eui.[a-zA-Z0-9]{16}$/],
  ['naa', /^naa.[a-zA-Z0-9]{32}$/],
];

function checkIscsiName(name: string, path: string): FieldError[] {
  const isGood = name.length <= 1000 && iscsiNames.some(([prefix, form]) => name.startsWith(prefix) && form.test(name));
  return isGood ? [] : [invalidValue(path, name, 'must be valid format')];
}

const iscsi: Check = (value, path) => {
  const source = value as JsonObject;
  const name = textAt(source, 'iqn');
  const errors = name === '' ? [requiredValue(`${path}.iqn`)] : checkIscsiName(name, `${path}.iqn`);
  const secret = objectAt(source, 'secretRef');
  if ((source.chapAuthDiscovery === true || source.chapAuthSession === true) && !secret)
    errors.push(requiredValue(`${path}.secretRef`));
  if (secret && textAt(secret, 'name') === '') errors.push(requiredValue(`${path}.secretRef.name`));
  const { initiatorName } = source;
  return typeof initiatorName === 'string'
    ? [...errors, ...checkIscsiName(initiatorName, `${path}.initiatorname`)]
    : errors;
};

const flexOptions: Check = (value, path) =>
  sortedEntries(objectAt(value as JsonObject, 'options'))
    .filter(([key]) => /\.(kubernetes|k8s)\.io$/.test(`.${key.split('/')[0]!.toLowerCase()}`))
    .map(([key]) =>
      invalidValue(keyPath(`${path}.options`, key), key, 'kubernetes.io and k8s.io namespaces are reserved'),
    );

const diskUris = {
  managed: '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}',
  blob: 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd',
};
const azureUri: Check = (value, path, owner) => {
  const source = value as JsonObject;
  if (typeof source.kind !== 'string') return [];
  const uri = textAt(source, 'diskURI');
  const isManaged = source.kind === 'Managed';
  if (uri.startsWith(isManaged ? '/subscriptions/' : 'https://')) return [];
  return oneOf(isManaged ? diskUris.managed : diskUris.blob)(uri, `${path}.diskURI`, owner);
};

const scaleIo = ['gateway', 'system', 'volumeName'].map((field) => [field, required] as const);

const sources: readonly Source[] = [
  {
    field: 'hostPath',
    check: struct([['path', required, noBackstep]], (value, path, owner) => {
      const source = value as JsonObject;
      if (textAt(source, 'path') === '') return [];
      return hostPathType(source.type ?? undefined, `${path}.type`, owner);
    }),
    optional: { type: '' },
  },
  {
    field: 'gcePersistentDisk',
    path: 'persistentDisk',
    check: struct([
      ['pdName', required],
      ['partition', partition],
    ]),
  },
  {
    field: 'awsElasticBlockStore',
    check: struct([
      ['volumeID', required],
      ['partition', partition],
    ]),
  },
  {
    field: 'glusterfs',
    check: struct([
      ['endpoints', required],
      ['path', required],
      [
        'endpointsNamespace',
        (value, path) =>
          value === ''
            ? [invalidValue(path, value, 'if the endpointnamespace is set, it must be a valid namespace name')]
            : [],
        namespace,
      ],
    ]),
  },
  { field: 'flocker', check: flocker },
  {
    field: 'nfs',
    check: struct([
      ['server', required],
      ['path', required],
      [
        'path',
        (value, path) =>
          String(value ?? '').startsWith('/') ? [] : [invalidValue(path, value ?? '', 'must be an absolute path')],
      ],
    ]),
  },
  {
    field: 'rbd',
    check: struct([
      ['monitors', required],
      ['image', required],
    ]),
    defaults: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' },
  },
  { field: 'quobyte', check: struct([['volume', required]], quobyte) },
  { field: 'cephfs', tooManyPath: 'cephFS', check: struct([['monitors', required]]) },
  {
    field: 'iscsi',
    check: struct(
      [
        ['targetPortal', required],
        ['lun', lun],
      ],
      iscsi,
    ),
    defaults: { iscsiInterface: 'default' },
  },
  {
    field: 'cinder',
    check: struct([
      ['volumeID', required],
      ['secretRef', anySecretRef],
    ]),
  },
  { field: 'fc', check: fibreChannel },
  { field: 'flexVolume', check: struct([['driver', required]], flexOptions) },
  {
    field: 'azureFile',
    check: struct([
      ['secretName', required],
      ['shareName', required],
      ['secretNamespace', (value, path) => (value === '' ? [requiredValue(path)] : [])],
    ]),
  },
  { field: 'vsphereVolume', check: struct([['volumePath', required]]) },
  { field: 'photonPersistentDisk', check: struct([['pdID', required]]) },
  { field: 'portworxVolume', check: struct([['volumeID', required]]) },
  {
    field: 'azureDisk',
    check: struct(
      [
        ['diskName', required],
        ['diskURI', required],
        ['cachingMode', oneOf('None', 'ReadOnly', 'ReadWrite')],
        ['kind', oneOf('Dedicated', 'Managed', 'Shared')],
      ],
      azureUri,
    ),
    optional: { cachingMode: 'ReadWrite', kind: 'Shared', fsType: 'ext4', readOnly: false },
  },
  { field: 'scaleIO', check: struct(scaleIo), defaults: { storageMode: 'ThinProvisioned', fsType: 'xfs' } },
  { field: 'local', check: struct([['path', required, noBackstep]]) },
  {
    field: 'storageos',
    check: struct([
      ['volumeName', required, named(checkDnsLabel)],
      ['volumeNamespace', named(checkDnsLabel)],
      ['secretRef', anySecretRef],
    ]),
  },
  {
    field: 'csi',
    check: struct([
      ['driver', csiDriverName],
      ['volumeHandle', required],
      ['controllerPublishSecretRef', secretRef],
      ['controllerExpandSecretRef', secretRef],
      ['nodePublishSecretRef', secretRef],
      ['nodeExpandSecretRef', secretRef],
    ]),
  },
];
const hostPathType = oneOf(
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
);

export const sourceFields: readonly string[] = sources.map(({ field }) => field);

const MOST_TARGET_BYTES = 64;

/** With an initiator of its own a volume is found by its name and where it is. */
function checkTarget(source: JsonObject, path: string, volume: string): FieldError[] {
  const portal = textAt(source, 'targetPortal');
  if (typeof source.initiatorName !== 'string' || Buffer.byteLength(`${volume}:${portal}`) <= MOST_TARGET_BYTES)
    return [];
  const why =
    'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';
  return [invalidValue(`${path}.targetportal`, portal, why)];
}

/** `spec` is at `path`, of the volume of that name; a flex volume is one that may stand behind another. */
export function validateSource(spec: JsonObject, path: string, volume: string): FieldError[] {
  const errors: FieldError[] = [];
  let count = 0;
  for (const { field, check, path: place = field, tooManyPath = field } of sources) {
    const source = objectAt(spec, field);
    if (!source) continue;
    if (count > 0 && field !== 'flexVolume')
      errors.push(forbiddenValue(`${path}.${tooManyPath}`, 'may not specify more than 1 volume type'));
    else {
      appendAll(errors, check(source, `${path}.${place}`, spec));
      if (field === 'iscsi') appendAll(errors, checkTarget(source, `${path}.${place}`, volume));
    }
    count++;
  }
  return count === 0 ? [requiredValue(path, 'must specify a volume type')] : errors;
}

export function setSourceDefaults(spec: JsonObject | undefined): void {
  for (const { field, defaults, optional } of sources) {
    const source = objectAt(spec, field);
    if (source && defaults) fill(source, defaults);
    if (source && optional) fillAbsent(source, optional);
  }
}
