/**
 * What a claim got, who uses it, and what drivers say of the devices. An allocation is made once: after that it can
 * only be taken back as a whole. Which requests there are is read from the claim itself.
 */
import {
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type JsonValue,
  type KubeObject,
} from '../../../api/index.ts';
import { allOf, atMostBytes, oneOf, required } from '../../strategy/validation/checks.ts';
import { conditions } from '../../strategy/validation/conditions.ts';
import { always, type Check, immutable, listOf, struct, textsOf } from '../../strategy/validation/field-table.ts';
import { isEmpty, objectAt, objectsAt, sameStruct, textAt } from '../../strategy/validation/fields.ts';
import { interfaceAddress } from '../../strategy/validation/ip-address.ts';
import { nodeSelector } from '../../strategy/validation/node-selector.ts';
import { requestNames, requestRef, requestRefs } from './claim-spec.ts';
import {
  bindingConditions,
  deviceConfiguration,
  driverName,
  label,
  MAX_LIST,
  MAX_PARAMETERS_BYTES,
  poolName,
  rawObject,
} from './device-checks.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const normalText =
  'uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters';

const shareId: Check = (value, path) => {
  if (value === undefined || uuid.test(value as string)) return [];
  const found = String(value);
  if (uuid.test(found.toLowerCase())) return [invalidValue(path, found, normalText)];
  const why = found.length === 36 ? 'invalid UUID format' : `invalid UUID length: ${found.length}`;
  return [invalidValue(path, found, `error validating uid: ${why}`)];
};

const deviceId = (device: JsonObject): JsonObject => ({
  driver: textAt(device, 'driver'),
  pool: textAt(device, 'pool'),
  device: textAt(device, 'device'),
  ...(typeof device.shareID === 'string' && { shareID: device.shareID }),
});

const reservedFor = listOf(
  struct([
    ['resource', required],
    ['name', required],
    ['uid', required],
  ]),
  { atMost: 256, key: (consumer) => textAt(consumer, 'uid') },
);

const device = struct([
  ['driver', driverName],
  ['pool', poolName],
  ['device', label],
  ['shareID', shareId],
  ['conditions', listOf(() => [], { atMost: 8 }), conditions],
  ['data', (value, path, owner) => (value === undefined ? [] : rawObject(MAX_PARAMETERS_BYTES)(value, path, owner))],
  ['networkData.interfaceName', atMostBytes(256)],
  ['networkData.hardwareAddress', atMostBytes(128)],
  ['networkData.ips', textsOf(interfaceAddress, { atMost: 16, isSet: true })],
]);

export function validateClaimStatus(claim: KubeObject, old: KubeObject): FieldError[] {
  const [status, before] = [statusOf(claim), statusOf(old)];
  const [allocation, had] = [objectAt(status, 'allocation'), objectAt(before, 'allocation')];
  const allocated = new Set(objectsAt(objectAt(allocation, 'devices'), 'results').map((one) => text(deviceId(one))));
  const known: Check = (value, path) => {
    const id = deviceId(value as JsonObject);
    return allocated.has(text(id)) ? [] : [invalidValue(path, id, 'must be an allocated device in the claim')];
  };
  const devices = listOf(allOf(device, known), { key: deviceId });
  const errors = [
    ...reservedFor(status.reservedFor ?? undefined, 'status.reservedFor', status),
    ...devices(status.devices ?? undefined, 'status.devices', status),
    ...validateConsumers(status, before, claim.metadata.deletionTimestamp !== undefined),
  ];
  if (allocation && had)
    return sameStruct(allocation, had) ? errors : [...errors, immutable('status.allocation', allocation)];
  if (!allocation) return errors;
  const names = requestNames(objectAt(objectAt(claim as JsonObject, 'spec'), 'devices'));
  return [...errors, ...allocationOf(names)(allocation, 'status.allocation', status)];
}

function statusOf(claim: KubeObject): JsonObject {
  return objectAt(claim as JsonObject, 'status') ?? {};
}

function text(id: JsonValue): string {
  return JSON.stringify(id);
}

function validateConsumers(status: JsonObject, before: JsonObject, isDeleted: boolean): FieldError[] {
  if (isEmpty(status.reservedFor)) return [];
  const path = 'status.reservedFor';
  if (!objectAt(status, 'allocation'))
    return [forbiddenValue(path, 'may not be specified when `allocated` is not set')];
  if (!isDeleted) return [];
  const had = new Set(objectsAt(before, 'reservedFor').map(text));
  const isNew = objectsAt(status, 'reservedFor').some((one) => !had.has(text(one)));
  const why = 'new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set';
  return isNew ? [forbiddenValue(path, why)] : [];
}

const configuration = deviceConfiguration(false);

function allocationOf(names: ReadonlySet<string>): Check {
  const result = struct(
    [
      ['request', requestRef(names)],
      ['driver', driverName],
      ['pool', poolName],
      ['device', label],
      ['shareID', shareId],
    ],
    bindingConditions,
  );
  const config = struct(
    [
      ['source', required, oneOf('FromClaim', 'FromClass')],
      ['requests', requestRefs(names)],
    ],
    always(configuration),
  );
  return struct([
    ['devices.results', listOf(result, { atMost: MAX_LIST })],
    ['devices.config', listOf(config, { atMost: 2 * MAX_LIST })],
    ['nodeSelector', nodeSelector],
  ]);
}
