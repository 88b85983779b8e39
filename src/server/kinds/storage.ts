/**
 * Volumes, claims, storage classes and what drivers say of themselves. Nothing is ever bound or provisioned here: that
 * is the work of controllers, which find volumes and claims as pending as in any cluster.
 */
import {
  checkDnsSubdomain,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type KubeObject,
  parseQuantity,
  requiredValue,
} from '../../api/index.ts';
import { labelSelector, named, oneOf, required, requiredWith } from './engine/checks.ts';
import { checksFrom, defaultsFrom, immutable, immutableFields } from './engine/field-table.ts';
import { isEmpty, isObject, objectAt, sameValue, textAt, textsAt } from './engine/fields.ts';
import { claimSpecText } from './engine/internal-text.ts';
import { lineDiff } from './engine/line-diff.ts';
import type { KindRules } from './kind-rules.ts';

const accessModes = oneOf('ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod');
const volumeModes = oneOf('Block', 'Filesystem');
const isDefaultClass = 'storageclass.kubernetes.io/is-default-class';
/** Fields of a volume's spec that hold an object and are not where its bytes are. */
const notSources = new Set(['capacity', 'claimRef', 'nodeAffinity']);

export const persistentVolumeRules: KindRules = {
  setDefaults: defaultsFrom([
    ['spec.persistentVolumeReclaimPolicy', 'Retain'],
    ['spec.volumeMode', 'Filesystem'],
    ['spec.hostPath.type', ''],
  ]),
  prepareCreate: (volume, { now }) => {
    volume.status = { phase: 'Pending', lastPhaseTransitionTime: now };
  },
  prepareUpdate: (volume, old, { subresource, now }) => {
    const [status, before] = [objectAt(volume as JsonObject, 'status'), objectAt(old as JsonObject, 'status')];
    if (subresource === 'status' && status && textAt(status, 'phase') !== textAt(before, 'phase'))
      status.lastPhaseTransitionTime = now;
  },
  validate: (volume) => {
    const errors = checkVolume(volume);
    const spec = objectAt(volume as JsonObject, 'spec') ?? {};
    const sources = sourcesOf(spec);
    if (sources.length === 0) errors.push(requiredValue('spec', 'must specify a volume type'));
    for (const source of sources.slice(1))
      errors.push(forbiddenValue(`spec.${source}`, 'may not specify more than 1 volume type'));
    return errors;
  },
  validateUpdate: (volume, old) => {
    const [spec, before] = [objectAt(volume as JsonObject, 'spec') ?? {}, objectAt(old as JsonObject, 'spec') ?? {}];
    const names = new Set([...sourcesOf(spec), ...sourcesOf(before)]);
    const isSame = [...names].every((name) => sameValue(spec[name], before[name]));
    const path = 'spec.persistentvolumesource';
    const errors = isSame ? [] : [forbiddenValue(path, 'spec.persistentvolumesource is immutable after creation')];
    return [...errors, ...keepsVolumeMode(volume, old)];
  },
};
const keepsVolumeMode = immutableFields(['spec.volumeMode']);
const checkVolume = checksFrom([
  ['spec.accessModes', required],
  ['spec.accessModes[]', accessModes],
  ['spec.capacity', required],
  ['spec.persistentVolumeReclaimPolicy', oneOf('Delete', 'Recycle', 'Retain')],
  ['spec.storageClassName', named(checkDnsSubdomain)],
  ['spec.volumeMode', volumeModes],
]);

function sourcesOf(spec: JsonObject): string[] {
  return Object.keys(spec).filter((name) => isObject(spec[name]) && !notSources.has(name));
}

export const persistentVolumeClaimRules: KindRules = {
  setDefaults: defaultsFrom([['spec.volumeMode', 'Filesystem']]),
  prepareCreate: async (claim, { list }) => {
    claim.status = { phase: 'Pending' };
    const spec = objectAt(claim as JsonObject, 'spec');
    if (!spec || spec.storageClassName !== undefined || spec.volumeName !== undefined) return;
    const classes = await list('storage.k8s.io', 'storageclasses');
    const chosen = newest(classes.filter(({ metadata }) => metadata.annotations?.[isDefaultClass] === 'true'));
    if (chosen?.metadata.name) spec.storageClassName = chosen.metadata.name;
  },
  validate: (claim) => {
    const errors = checkClaim(claim);
    const spec = objectAt(claim as JsonObject, 'spec');
    const requests = objectAt(objectAt(spec, 'resources'), 'requests');
    const path = 'spec.resources[storage]';
    if (requests?.storage === undefined) errors.push(requiredValue(path));
    else if (parseQuantity(String(requests.storage)).sign <= 0)
      errors.push(invalidValue(path, requests.storage, 'must be greater than zero'));
    return errors;
  },
  validateUpdate: validateClaimUpdate,
};
const checkClaim = checksFrom([
  ['spec.accessModes', requiredWith('at least 1 access mode is required')],
  ['spec.selector', labelSelector],
  ['spec.accessModes[]', accessModes],
  ['spec.storageClassName', named(checkDnsSubdomain)],
  ['spec.volumeMode', volumeModes],
]);

/** Of several defaults the youngest counts, then the first by name. */
function newest(classes: readonly KubeObject[]): KubeObject | undefined {
  const age = ({ metadata }: KubeObject) => metadata.creationTimestamp ?? '';
  return [...classes].sort((a, b) =>
    age(a) === age(b) ? (a.metadata.name! < b.metadata.name! ? -1 : 1) : age(a) > age(b) ? -1 : 1,
  )[0];
}

function validateClaimUpdate(claim: KubeObject, old: KubeObject): FieldError[] {
  const [spec, before] = [objectAt(claim as JsonObject, 'spec') ?? {}, objectAt(old as JsonObject, 'spec') ?? {}];
  const [next, kept] = [structuredClone(spec), structuredClone(before)];
  if (textAt(before, 'volumeName') === '') kept.volumeName = next.volumeName; // a claim is bound once
  if (textAt(objectAt(old as JsonObject, 'status'), 'phase') === 'Bound') {
    next.resources = kept.resources;
    next.volumeAttributesClassName = kept.volumeAttributesClassName;
  }
  if (sameValue(next, kept)) return [];
  const why =
    'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';
  return [forbiddenValue('spec', `${why}\n${lineDiff(claimSpecText(kept), claimSpecText(next))}`)];
}

const fixedClassFields = ['parameters', 'provisioner', 'reclaimPolicy'];

export const storageClassRules: KindRules = {
  setDefaults: defaultsFrom([
    ['reclaimPolicy', 'Delete'],
    ['volumeBindingMode', 'Immediate'],
  ]),
  validate: checksFrom([
    ['provisioner', required],
    ['reclaimPolicy', oneOf('Delete', 'Retain')],
    ['volumeBindingMode', oneOf('Immediate', 'WaitForFirstConsumer')],
  ]),
  validateUpdate: (object, old) => {
    const errors = fixedClassFields
      .filter((field) => !sameValue(object[field], old[field]))
      .map((field) => forbiddenValue(field, `updates to ${field} are forbidden.`));
    if (!sameValue(object.volumeBindingMode, old.volumeBindingMode))
      errors.push(immutable('volumeBindingMode', object.volumeBindingMode));
    return errors;
  },
};

export const csiDriverRules: KindRules = {
  setDefaults: (driver) => {
    setDriverDefaults(driver);
    const spec = objectAt(driver as JsonObject, 'spec');
    if (spec && textsAt(spec, 'volumeLifecycleModes').length === 0) spec.volumeLifecycleModes = ['Persistent'];
  },
  validate: checksFrom([
    ['spec.fsGroupPolicy', oneOf('File', 'None', 'ReadWriteOnceWithFSType')],
    ['spec.volumeLifecycleModes[]', oneOf('Ephemeral', 'Persistent')],
  ]),
  validateUpdate: immutableFields(['spec.attachRequired', 'spec.volumeLifecycleModes']),
};
const setDriverDefaults = defaultsFrom([
  ['spec.attachRequired', true],
  ['spec.podInfoOnMount', false],
  ['spec.storageCapacity', false],
  ['spec.fsGroupPolicy', 'ReadWriteOnceWithFSType'],
  ['spec.requiresRepublish', false],
  ['spec.seLinuxMount', false],
]);

export const csiNodeRules: KindRules = {
  validate: checksFrom([
    ['spec.drivers[].name', required],
    ['spec.drivers[].nodeID', required],
  ]),
};

export const csiStorageCapacityRules: KindRules = {
  validate: checksFrom([
    ['storageClassName', required],
    ['nodeTopology', labelSelector],
  ]),
  validateUpdate: immutableFields(['nodeTopology', 'storageClassName']),
};

export const volumeAttachmentRules: KindRules = {
  validate: (attachment) => {
    const errors = checkAttachment(attachment);
    const source = objectAt(objectAt(attachment as JsonObject, 'spec'), 'source');
    const isEmptySource = isEmpty(source?.inlineVolumeSpec) && isEmpty(source?.persistentVolumeName);
    if (isEmptySource)
      errors.push(
        requiredValue('spec.source', 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'),
      );
    return errors;
  },
  validateUpdate: immutableFields(['spec']),
};
const checkAttachment = checksFrom([
  ['spec.attacher', required],
  ['spec.nodeName', required],
]);

export const volumeAttributesClassRules: KindRules = {
  validate: checksFrom([
    ['driverName', required],
    ['parameters', required],
  ]),
  validateUpdate: immutableFields(['driverName', 'parameters']),
};
