/** What drivers say of themselves, on which nodes they are, and how much room they have there; and attachments of volumes. */
import {
  checkDnsSubdomain,
  checkQualifiedName,
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
  tooLong,
  unsupportedValue,
} from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { quantityOf } from '../../strategy/validation/amounts.ts';
import { appendAll, faultsOf } from '../../strategy/validation/append-all.ts';
import {
  atLeast,
  atMostBytes,
  labelSelector,
  oneOf,
  required,
  requiredWith,
  text,
} from '../../strategy/validation/checks.ts';
import {
  type Check,
  type CheckRow,
  checksFrom,
  defaultsFrom,
  immutable,
  immutableFields,
  listOf,
  struct,
} from '../../strategy/validation/field-table.ts';
import {
  isObject,
  numberAt,
  objectAt,
  objectsAt,
  sameStruct,
  sameValue,
  sortedEntries,
  textAt,
  textsAt,
} from '../../strategy/validation/fields.ts';
import { labelWarning, warningsForExpressions } from '../../strategy/validation/node-selector.ts';
import { validateVolumeSpec } from './persistent-volumes.ts';
import { csiDriverName, setSourceDefaults } from './volume-sources.ts';

const lifecycleModes = ['Persistent', 'Ephemeral'];
const tokenWarning =
  'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes';

const tokenRequests: Check = (value, path) => {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, request] of objectsAt({ value: value ?? null }, 'value').entries()) {
    const audience = textAt(request, 'audience');
    if (seen.has(audience)) {
      errors.push(duplicateValue(`${path}[${index}].audience`, audience));
      continue;
    }
    seen.add(audience);
    const at = `${path}[${index}].expirationSeconds`;
    const seconds = numberAt(request, 'expirationSeconds') ?? 3600;
    if (seconds < 600)
      errors.push(invalidValue(at, request.expirationSeconds, 'may not specify a duration less than 10 minutes'));
    if (seconds > 2 ** 32)
      errors.push(invalidValue(at, request.expirationSeconds, 'may not specify a duration larger than 2^32 seconds'));
  }
  return errors;
};

export const csiDriverStrategy: Strategy = {
  setDefaults: (driver) => {
    setDriverDefaults(driver);
    const spec = objectAt(driver as JsonObject, 'spec');
    if (spec && textsAt(spec, 'volumeLifecycleModes').length === 0) spec.volumeLifecycleModes = ['Persistent'];
  },
  prepareCreate: (driver) => {
    delete objectAt(driver as JsonObject, 'spec')?.preventPodSchedulingIfMissing;
  },
  prepareUpdate: (driver, old) => {
    delete objectAt(driver as JsonObject, 'spec')?.preventPodSchedulingIfMissing;
    if (!sameStruct(driver.spec, old.spec)) driver.metadata.generation = (old.metadata.generation ?? 0) + 1;
  },
  validate: checksFrom([
    ['spec.fsGroupPolicy', oneOf('File', 'None', 'ReadWriteOnceWithFSType')],
    ['spec.tokenRequests', tokenRequests],
    [
      'spec.volumeLifecycleModes',
      (value, path) =>
        textsAt({ value: value ?? null }, 'value')
          .filter((mode) => !lifecycleModes.includes(mode))
          .map((mode) => unsupportedValue(path, mode ?? '', lifecycleModes)),
    ],
    [
      'spec.nodeAllocatableUpdatePeriodSeconds',
      (value, path) =>
        Number(value ?? 10) < 10 ? [invalidValue(path, value, 'must be greater than or equal to 10 seconds')] : [],
    ],
  ]),
  validateUpdate: (driver, old) => {
    const [spec, before] = [objectAt(driver as JsonObject, 'spec'), objectAt(old as JsonObject, 'spec')];
    const errors = immutableFields(['spec.volumeLifecycleModes'])(driver, old);
    if (spec?.attachRequired !== before?.attachRequired)
      errors.push(immutable('spec.attachedRequired', spec?.attachRequired));
    return errors;
  },
  warnings: (driver, old) => {
    const spec = objectAt(driver as JsonObject, 'spec');
    const requests = objectsAt(spec, 'tokenRequests');
    const isUnset = requests.length > 0 && typeof spec?.serviceAccountTokenInSecrets !== 'boolean';
    const isNew = !sameValue(requests, objectAt(old as JsonObject | undefined, 'spec')?.tokenRequests);
    return isUnset && isNew ? [tokenWarning] : [];
  },
};
const setDriverDefaults = defaultsFrom([
  ['spec.attachRequired', true],
  ['spec.podInfoOnMount', false],
  ['spec.storageCapacity', false],
  ['spec.fsGroupPolicy', 'ReadWriteOnceWithFSType', (spec) => spec.fsGroupPolicy !== ''],
  ['spec.requiresRepublish', false],
  ['spec.seLinuxMount', false],
]);

const MAX_NODE_ID = 256;

const nodeDrivers = listOf(
  struct(
    [
      ['name', csiDriverName],
      [
        'nodeID',
        requiredWith(),
        (value, path) =>
          Buffer.byteLength(String(value)) > MAX_NODE_ID
            ? [invalidValue(path, value, `must be ${MAX_NODE_ID} characters or less`)]
            : [],
      ],
      ['allocatable.count', atLeast(0)],
    ],
    (value, path) => {
      const errors: FieldError[] = [];
      const seen = new Set<string>();
      for (const key of textsAt(value as JsonObject, 'topologyKeys')) {
        if (!key) errors.push(requiredValue(path));
        if (seen.has(key)) errors.push(duplicateValue(path, key));
        seen.add(key);
        appendAll(errors, text(checkQualifiedName)(key, path, {}));
      }
      return errors;
    },
  ),
);

export const csiNodeStrategy: Strategy = {
  validate: (node) => {
    const spec = objectAt(node as JsonObject, 'spec') ?? {};
    const errors = nodeDrivers(spec.drivers ?? undefined, 'spec.drivers', spec);
    const seen = new Set<string>();
    for (const [index, driver] of objectsAt(spec, 'drivers').entries()) {
      const name = textAt(driver, 'name');
      if (seen.has(name)) errors.push(duplicateValue(`spec.drivers[${index}].name`, name));
      seen.add(name);
    }
    return errors;
  },
  validateUpdate: (node, old) => {
    const driversOf = (object: unknown) => objectsAt(objectAt(object as JsonObject, 'spec'), 'drivers');
    const had = new Map(driversOf(old).map((driver) => [textAt(driver, 'name'), driver]));
    return faultsOf(driversOf(node), (driver) => {
      const before = had.get(textAt(driver, 'name'));
      const isSame = !before || sameStruct({ ...driver, allocatable: null }, { ...before, allocatable: null });
      return isSame ? [] : [immutable('spec.drivers', { ...driver, allocatable: null })];
    });
  },
};

export const csiStorageCapacityStrategy: Strategy = {
  validate: checksFrom([
    ['nodeTopology', labelSelector],
    ['storageClassName', text(checkDnsSubdomain)],
    [
      'capacity',
      (value, path) => {
        const quantity = quantityOf(String(value ?? '0'));
        return quantity.sign < 0 ? [invalidValue(path, `${quantity}`, 'must be greater than or equal to 0')] : [];
      },
    ],
  ]),
  validateUpdate: (capacity, old) => {
    const isSame = sameStruct(capacity.nodeTopology, old.nodeTopology);
    const errors = isSame ? [] : [immutable('nodeTopology', capacity.nodeTopology)];
    return [...errors, ...immutableFields(['storageClassName'])(capacity, old)];
  },
  warnings: (capacity) => {
    const topology = objectAt(capacity as JsonObject, 'nodeTopology');
    const warnings = warningsForExpressions(topology, 'nodeTopology');
    for (const [label] of sortedEntries(objectAt(topology, 'matchLabels')))
      if (labelWarning(label)) warnings.push(`nodeTopology.matchLabels.${label}: ${labelWarning(label)}`);
    return warnings;
  },
};

const exactlyOne = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';
const MAX_METADATA_BYTES = 256 * 1024;
const MAX_MESSAGE_BYTES = 1024;

/** Only in a new one names are looked at. */
const attachmentSource =
  (isNew: boolean): Check =>
  (value, path, owner) => {
    const source = isObject(value) ? value : {};
    const [inline, name] = [objectAt(source, 'inlineVolumeSpec'), source.persistentVolumeName];
    const isNamed = typeof name === 'string';
    if (!inline && !isNamed) return [requiredValue(path, exactlyOne)];
    const at = `${path}.persistentVolumeName`;
    const nameErrors = isNamed && isNew ? text(checkDnsSubdomain)(name, at, owner) : [];
    if (inline && isNamed) return [forbiddenValue(path, exactlyOne), ...nameErrors];
    if (inline) return validateVolumeSpec(inline, `${path}.inlineVolumeSpec`);
    return name === '' ? [requiredValue(at, 'must specify non empty persistentVolumeName'), ...nameErrors] : nameErrors;
  };

/** The limit that is told is that of the metadata, whatever was too long. */
const volumeError = struct([
  [
    'message',
    (value, path, owner) =>
      atMostBytes(MAX_MESSAGE_BYTES)(value, path, owner).length > 0 ? [tooLong(path, MAX_METADATA_BYTES)] : [],
  ],
  [
    'errorCode',
    (value, path) =>
      Number(value ?? 0) < 0 ? [invalidValue(path, value, 'must be between 0 and 2147483647, inclusive')] : [],
  ],
]);

export const volumeAttachmentStrategy: Strategy = {
  setDefaults: (attachment) => {
    const source = objectAt(objectAt(attachment as JsonObject, 'spec'), 'source');
    setSourceDefaults(objectAt(source, 'inlineVolumeSpec'));
  },
  validate: (attachment, old) => {
    const spec = objectAt(attachment as JsonObject, 'spec') ?? {};
    return (old ? checkOldAttachment : checkNewAttachment)({ ...attachment, spec });
  },
  validateUpdate: (attachment, old) =>
    sameStruct(attachment.spec, old.spec) ? [] : [immutable('spec', attachment.spec)],
};
const attachmentRows: CheckRow[] = [
  ['spec.nodeName', text(checkDnsSubdomain)],
  [
    'status.attachmentMetadata',
    (value, path) => {
      let bytes = 0;
      for (const [key, one] of Object.entries((value ?? {}) as JsonObject))
        bytes += Buffer.byteLength(key) + Buffer.byteLength(String(one));
      return bytes > MAX_METADATA_BYTES ? [tooLong(path, MAX_METADATA_BYTES)] : [];
    },
  ],
  ['status.attachError', volumeError],
  ['status.detachError', volumeError],
];
const checkNewAttachment = checksFrom([
  ['spec.attacher', csiDriverName],
  ['spec.source', attachmentSource(true)],
  ...attachmentRows,
]);
const checkOldAttachment = checksFrom([
  ['spec.attacher', required],
  ['spec.source', attachmentSource(false)],
  ...attachmentRows,
]);
