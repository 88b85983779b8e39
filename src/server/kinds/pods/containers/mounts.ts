/** Where a container finds its volumes: mounts in its file system, devices for volumes of blocks. */
import {
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
  unsupportedValue,
  valueNotFound,
} from '../../../../api/index.ts';
import { objectAt, objectsAt, textAt } from '../../../strategy/validation/fields.ts';
import { checkLocalPath } from '../fields/paths.ts';
import { isClaimed } from '../volumes/volume-sources.ts';

type Volumes = ReadonlyMap<string, JsonObject>;

const propagations = ['Bidirectional', 'HostToContainer', 'None'];
const readOnlyModes = ['Disabled', 'Enabled', 'IfPossible'];

/** Some refusals name the list instead of its element, as kube-apiserver does. */
export function validateMounts(container: JsonObject, path: string, volumes: Volumes, errors: FieldError[]): void {
  const mounts = objectsAt(container, 'volumeMounts');
  const devices = objectsAt(container, 'volumeDevices');
  const [deviceNames, devicePaths] = [textsOf(devices, 'name'), textsOf(devices, 'devicePath')];
  const paths = new Set<string>();
  for (const [index, mount] of mounts.entries()) {
    const at = `${path}[${index}]`;
    const [name, mountPath] = [textAt(mount, 'name'), textAt(mount, 'mountPath')];
    if (name === '') errors.push(requiredValue(`${at}.name`));
    if (!volumes.has(name)) errors.push(valueNotFound(`${at}.name`, name));
    if (mountPath === '') errors.push(requiredValue(`${at}.mountPath`));
    if (paths.has(mountPath)) errors.push(invalidValue(`${at}.mountPath`, mountPath, 'must be unique'));
    paths.add(mountPath);
    if (deviceNames.has(name)) errors.push(invalidValue(`${at}.name`, name, 'must not already exist in volumeDevices'));
    if (devicePaths.has(mountPath))
      errors.push(invalidValue(`${at}.mountPath`, mountPath, 'must not already exist as a path in volumeDevices'));
    validateSubPaths(mount, at, path, errors);
    validateModes(mount, container, path, errors);
  }
}

function textsOf(list: readonly JsonObject[], field: string): ReadonlySet<string> {
  return new Set(list.map((one) => textAt(one, field)));
}

function validateSubPaths(mount: JsonObject, at: string, path: string, errors: FieldError[]): void {
  const [subPath, expression] = [textAt(mount, 'subPath'), textAt(mount, 'subPathExpr')];
  if (subPath === '' && expression === '') return;
  checkLocalPath(subPath, `${path}.subPath`, errors);
  if (subPath !== '' && expression !== '')
    errors.push(invalidValue(`${at}.subPathExpr`, expression, 'subPathExpr and subPath are mutually exclusive'));
  checkLocalPath(expression, `${path}.subPathExpr`, errors);
}

function validateModes(mount: JsonObject, container: JsonObject, path: string, errors: FieldError[]): void {
  const propagation = mount.mountPropagation;
  if (typeof propagation === 'string') {
    const at = `${path}.mountPropagation`;
    if (!propagations.includes(propagation)) errors.push(unsupportedValue(at, propagation, propagations));
    if (propagation === 'Bidirectional' && objectAt(container, 'securityContext')?.privileged !== true) {
      const why = 'Bidirectional mount propagation is available only to privileged containers';
      errors.push(forbiddenValue(at, why));
    }
  }
  const mode = mount.recursiveReadOnly;
  if (typeof mode !== 'string' || mode === 'Disabled') return;
  const at = `${path}.recursiveReadOnly`;
  if (!readOnlyModes.includes(mode)) {
    errors.push(unsupportedValue(at, mode, readOnlyModes));
    return;
  }
  if (mount.readOnly !== true) errors.push(forbiddenValue(at, 'may only be specified when readOnly is true'));
  if (propagation !== undefined && propagation !== 'None')
    errors.push(forbiddenValue(at, 'may only be specified when mountPropagation is None or not specified'));
}

const notBlockText = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode';

export function validateDevices(container: JsonObject, path: string, volumes: Volumes, errors: FieldError[]): void {
  const mounts = objectsAt(container, 'volumeMounts');
  const [mountNames, mountPaths] = [textsOf(mounts, 'name'), textsOf(mounts, 'mountPath')];
  const [paths, names] = [new Set<string>(), new Set<string>()];
  for (const [index, device] of objectsAt(container, 'volumeDevices').entries()) {
    const at = `${path}[${index}]`;
    const [name, devicePath] = [textAt(device, 'name'), textAt(device, 'devicePath')];
    const volume = volumes.get(name);
    if (name === '') errors.push(requiredValue(`${at}.name`));
    if (names.has(name)) errors.push(invalidValue(`${at}.name`, name, 'must be unique'));
    if (!volume) errors.push(valueNotFound(`${at}.name`, name));
    else if (!isClaimed(volume)) errors.push(invalidValue(`${at}.name`, name, notBlockText));
    if (devicePath === '') errors.push(requiredValue(`${at}.devicePath`));
    if (paths.has(devicePath)) errors.push(invalidValue(`${at}.devicePath`, devicePath, 'must be unique'));
    if (devicePath.split('/').includes('..'))
      errors.push(invalidValue(`${at}.devicePath`, devicePath, "can not contain backsteps ('..')"));
    else paths.add(devicePath);
    if (mountNames.has(name)) errors.push(invalidValue(`${at}.name`, name, 'must not already exist in volumeMounts'));
    if (mountPaths.has(devicePath))
      errors.push(invalidValue(`${at}.devicePath`, devicePath, 'must not already exist as a path in volumeMounts'));
    if (name !== '') names.add(name);
  }
}
