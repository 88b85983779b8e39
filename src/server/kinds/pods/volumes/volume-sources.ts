/**
 * The sources a volume of a pod may have, in the order in which kube-apiserver looks at them, and what each of
 * them needs. Of several only the first is checked; the others are refused for being others.
 */
import {
  checkDnsLabel,
  checkDnsSubdomain,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
  unsupportedValue,
} from '../../../../api/index.ts';
import { quantityOf } from '../../../strategy/validation/amounts.ts';
import { appendAll } from '../../../strategy/validation/append-all.ts';
import { between, named, oneOf, required, requiredWith } from '../../../strategy/validation/checks.ts';
import type { Check } from '../../../strategy/validation/field-table.ts';
import { isEmpty, numberAt, objectAt, sortedEntries, textAt, textsAt } from '../../../strategy/validation/fields.ts';
import { allOf, checkStruct, type StructCheck, structChecks } from '../../../strategy/validation/struct-checks.ts';
import { csiDriverName, iscsiNames } from '../../storage/volume-sources.ts';
import { checkLocalPath, checkNoBacksteps } from '../fields/paths.ts';
import { validateClaimTemplate } from './claim-template.ts';
import { checkConfigMapVolume, checkDownwardVolume, checkProjectedVolume, checkSecretVolume } from './file-volumes.ts';

const partition: Check = (value, path) =>
  typeof value === 'number' && (value < 0 || value > 255)
    ? [invalidValue(path, value, 'must be between 1 and 255, inclusive')]
    : [];
const lun = between(0, 255);
const needsName = structChecks([['name', required]]);

/** A struct of which these fields may not be empty. */
const needs = (...fields: readonly string[]): StructCheck => structChecks(fields.map((field) => [field, required]));

const emptyDir: StructCheck = (source, path, errors) => {
  if (source.sizeLimit !== undefined && quantityOf(String(source.sizeLimit)).sign < 0)
    errors.push(forbiddenValue(`${path}.sizeLimit`, 'SizeLimit field must be a valid resource quantity'));
};

const hostPathTypes = 'BlockDevice CharDevice Directory DirectoryOrCreate File FileOrCreate Socket'.split(' ');
const hostPathType = oneOf('', ...hostPathTypes);

const hostPath: StructCheck = (source, path, errors) => {
  const target = textAt(source, 'path');
  if (target === '') {
    errors.push(requiredValue(`${path}.path`));
    return;
  }
  checkNoBacksteps(target, `${path}.path`, errors);
  for (const error of hostPathType(source.type ?? undefined, `${path}.type`, source)) errors.push(error);
};

const gitRepo: StructCheck = (source, path, errors) => {
  if (textAt(source, 'repository') === '') errors.push(requiredValue(`${path}.repository`));
  checkLocalPath(textAt(source, 'directory'), `${path}.directory`, errors);
};

const nfs: StructCheck = (source, path, errors) => {
  if (textAt(source, 'server') === '') errors.push(requiredValue(`${path}.server`));
  const target = textAt(source, 'path');
  if (target === '') errors.push(requiredValue(`${path}.path`));
  if (!target.startsWith('/')) errors.push(invalidValue(`${path}.path`, target, 'must be an absolute path'));
};

function checkIscsiName(name: string, path: string, errors: FieldError[]): void {
  const kind = iscsiNames.find(([prefix]) => name.startsWith(prefix));
  if (!kind) errors.push(invalidValue(path, name, 'must be valid format starting with iqn, eui, or naa'));
  else if (!kind[1].test(name)) errors.push(invalidValue(path, name, 'must be valid format'));
}

const iscsi: StructCheck = (source, path, errors) => {
  if (textAt(source, 'targetPortal') === '') errors.push(requiredValue(`${path}.targetPortal`));
  const iqn = textAt(source, 'iqn');
  if (iqn === '') errors.push(requiredValue(`${path}.iqn`));
  else checkIscsiName(iqn, `${path}.iqn`, errors);
  for (const error of lun(source.lun ?? undefined, `${path}.lun`, source)) errors.push(error);
  if ((source.chapAuthDiscovery === true || source.chapAuthSession === true) && !objectAt(source, 'secretRef'))
    errors.push(requiredValue(`${path}.secretRef`));
  if (typeof source.initiatorName === 'string') checkIscsiName(source.initiatorName, `${path}.initiatorname`, errors);
};

const flocker: StructCheck = (source, path, errors) => {
  const [name, uuid] = [textAt(source, 'datasetName'), textAt(source, 'datasetUUID')];
  if (name === '' && uuid === '') errors.push(requiredValue(path, 'one of datasetName and datasetUUID is required'));
  if (name !== '' && uuid !== '')
    errors.push(invalidValue(path, 'resource', 'datasetName and datasetUUID can not be specified simultaneously'));
  if (name.includes('/')) errors.push(invalidValue(`${path}.datasetName`, name, "must not contain '/'"));
};

const cinder: StructCheck = allOf(needs('volumeID'), (source, path, errors) =>
  checkStruct(needsName, source, 'secretRef', path, errors),
);

const pairsText = 'must be a host:port pair or multiple pairs separated by commas';

const quobyte: StructCheck = (source, path, errors) => {
  const registry = textAt(source, 'registry');
  if (registry === '') errors.push(requiredValue(`${path}.registry`, pairsText));
  else if (textAt(source, 'tenant').length >= 65)
    errors.push(requiredValue(`${path}.tenant`, 'must be a UUID and may not exceed a length of 64 characters'));
  else {
    for (const pair of registry.split(','))
      if (!isHostAndPort(pair)) errors.push(invalidValue(`${path}.registry`, registry, pairsText));
  }
  if (textAt(source, 'volume') === '') errors.push(requiredValue(`${path}.volume`));
};

/** As Go splits them: one colon, or a host in brackets. */
function isHostAndPort(text: string): boolean {
  if (text.startsWith('[')) {
    const end = text.indexOf(']');
    return end > 0 && text[end + 1] === ':' && !/[:[\]]/.test(text.slice(end + 2));
  }
  return text.split(':').length === 2 && !/[[\]]/.test(text);
}

const fc: StructCheck = (source, path, errors) => {
  const [names, ids] = [textsAt(source, 'targetWWNs'), textsAt(source, 'wwids')];
  const at = `${path}.targetWWNs`;
  if (names.length === 0 && ids.length === 0)
    errors.push(requiredValue(at, 'must specify either targetWWNs or wwids, but not both'));
  if (names.length === 0) return;
  if (ids.length > 0) errors.push(invalidValue(at, names, 'targetWWNs and wwids can not be specified simultaneously'));
  if (numberAt(source, 'lun') === undefined)
    errors.push(requiredValue(`${path}.lun`, 'lun is required if targetWWNs is specified'));
  else for (const error of lun(source.lun, `${path}.lun`, source)) errors.push(error);
};

const flexVolume: StructCheck = allOf(needs('driver'), (source, path, errors) => {
  for (const [key] of sortedEntries(objectAt(source, 'options'))) {
    const owner = `.${key.split('/')[0]!.toLowerCase()}`;
    if (owner.endsWith('.kubernetes.io') || owner.endsWith('.k8s.io')) {
      const why = 'kubernetes.io and k8s.io namespaces are reserved';
      errors.push(invalidValue(`${path}.options[${key}]`, key, why));
    }
  }
});

const managedDisk = '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}';
const blobDisk = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd';

const azureDisk: StructCheck = allOf(
  structChecks([
    ['diskName', required],
    ['diskURI', required],
    ['cachingMode', oneOf('None', 'ReadOnly', 'ReadWrite')],
    ['kind', oneOf('Dedicated', 'Managed', 'Shared')],
  ]),
  (source, path, errors) => {
    const [kind, uri] = [textAt(source, 'kind'), textAt(source, 'diskURI')];
    if (kind === 'Managed' && !uri.startsWith('/subscriptions/'))
      errors.push(unsupportedValue(`${path}.diskURI`, uri, [managedDisk]));
    if (source.kind !== undefined && kind !== 'Managed' && !uri.startsWith('https://'))
      errors.push(unsupportedValue(`${path}.diskURI`, uri, [blobDisk]));
  },
);

const storageos: StructCheck = allOf(
  structChecks([
    ['volumeName', required, named(checkDnsLabel)],
    ['volumeNamespace', named(checkDnsLabel)],
  ]),
  (source, path, errors) => checkStruct(needsName, source, 'secretRef', path, errors),
);

const csi: StructCheck = (source, path, errors) => {
  appendAll(errors, csiDriverName(source.driver ?? undefined, `${path}.driver`, source));
  const secret = objectAt(source, 'nodePublishSecretRef');
  if (!secret) return;
  const name = textAt(secret, 'name');
  if (name === '') errors.push(requiredValue(`${path}.nodePublishSecretRef.name`));
  else for (const problem of checkDnsSubdomain(name)) errors.push(invalidValue(`${path}.name`, name, problem));
};

const ephemeral: StructCheck = (source, path, errors) => {
  const at = `${path}.volumeClaimTemplate`;
  const template = objectAt(source, 'volumeClaimTemplate');
  if (template) validateClaimTemplate(template, at, errors);
  else errors.push(requiredValue(at));
};

const disk = (id: string): StructCheck =>
  structChecks([
    [id, required],
    ['partition', partition],
  ]);

export type Source = {
  readonly field: string;
  readonly check: StructCheck;
  /** How refusals name it beside another source, and how they name what is wrong in it. */
  readonly asSecond?: string;
  readonly asFirst?: string;
};

/** `image` is checked where it is known whether the spec is that of a pod. */
export const volumeSources: readonly Source[] = [
  { field: 'emptyDir', check: emptyDir },
  { field: 'hostPath', check: hostPath },
  { field: 'gitRepo', check: gitRepo },
  { field: 'gcePersistentDisk', check: disk('pdName'), asFirst: 'persistentDisk' },
  { field: 'awsElasticBlockStore', check: disk('volumeID') },
  { field: 'secret', check: checkSecretVolume },
  { field: 'nfs', check: nfs },
  { field: 'iscsi', check: iscsi },
  { field: 'glusterfs', check: needs('endpoints', 'path') },
  { field: 'flocker', check: flocker },
  { field: 'persistentVolumeClaim', check: needs('claimName') },
  { field: 'rbd', check: needs('monitors', 'image') },
  { field: 'cinder', check: cinder },
  { field: 'cephfs', check: needs('monitors'), asSecond: 'cephFS' },
  { field: 'quobyte', check: quobyte },
  { field: 'downwardAPI', check: checkDownwardVolume, asSecond: 'downwarAPI' },
  { field: 'fc', check: fc },
  { field: 'flexVolume', check: flexVolume },
  { field: 'configMap', check: checkConfigMapVolume },
  { field: 'azureFile', check: needs('secretName', 'shareName') },
  { field: 'vsphereVolume', check: needs('volumePath') },
  { field: 'photonPersistentDisk', check: needs('pdID') },
  { field: 'portworxVolume', check: needs('volumeID') },
  { field: 'azureDisk', check: azureDisk },
  { field: 'storageos', check: storageos },
  { field: 'projected', check: checkProjectedVolume },
  { field: 'scaleIO', check: needs('gateway', 'system', 'volumeName') },
  { field: 'csi', check: csi },
  { field: 'ephemeral', check: ephemeral },
  { field: 'image', check: structChecks([['pullPolicy', requiredWith(), oneOf('Always', 'IfNotPresent', 'Never')]]) },
];

/** Whether the source of a volume is of the kinds that may be a block device. */
export function isClaimed(volume: JsonObject): boolean {
  return !isEmpty(volume.persistentVolumeClaim) || volume.ephemeral !== undefined;
}
