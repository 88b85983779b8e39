/** The volumes of a pod: each has a name of its own and one source. */
import {
  checkDnsLabel,
  checkDnsSubdomain,
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
} from '../../../../api/index.ts';
import { appendAll } from '../../../strategy/validation/append-all.ts';
import { isObject, objectAt, textAt } from '../../../strategy/validation/fields.ts';
import { type Source, volumeSources } from './volume-sources.ts';

/** `podName` is empty where the pod is only to be made from a template. */
export type VolumesOwner = {
  readonly isPod: boolean;
  readonly podName: string;
  /** Of a kubelet that has it from a file. */
  readonly isStatic?: boolean;
};

/** The volumes that mounts may name: those without a fault. */
export function validateVolumes(
  volumes: readonly JsonObject[],
  path: string,
  owner: VolumesOwner,
  errors: FieldError[],
): ReadonlyMap<string, JsonObject> {
  const known = new Map<string, JsonObject>();
  const made = madeClaims(volumes, owner.podName);
  for (const [index, volume] of volumes.entries()) {
    const at = `${path}[${index}]`;
    const name = textAt(volume, 'name');
    const faults: FieldError[] = [];
    validateSources(volume, at, owner, faults);
    if (name === '') faults.push(requiredValue(`${at}.name`));
    else for (const problem of checkDnsLabel(name)) faults.push(invalidValue(`${at}.name`, name, problem));
    if (known.has(name)) faults.push(duplicateValue(`${at}.name`, name));
    if (faults.length === 0) known.set(name, volume);
    else appendAll(errors, faults);
    const claim = textAt(objectAt(volume, 'persistentVolumeClaim'), 'claimName');
    if (claim !== '' && made.has(claim)) {
      const why = 'must not reference a PVC that gets created for an ephemeral volume';
      errors.push(invalidValue(`${at}.persistentVolumeClaim.claimName`, claim, why));
    }
  }
  return known;
}

/** The claims that will be made for ephemeral volumes of this pod. */
function madeClaims(volumes: readonly JsonObject[], podName: string): ReadonlySet<string> {
  const made = new Set<string>();
  if (podName === '') return made;
  for (const volume of volumes) if (volume.ephemeral) made.add(`${podName}-${textAt(volume, 'name')}`);
  return made;
}

const sourceOf: ReadonlyMap<string, Source> = new Map(volumeSources.map((source) => [source.field, source]));

/** In their order; nearly always it is one. */
function sourcesIn(volume: JsonObject): readonly Source[] {
  const found: Source[] = [];
  for (const field in volume) {
    const source = sourceOf.get(field);
    if (source) found.push(source);
  }
  return found.length < 2 ? found : volumeSources.filter((source) => found.includes(source));
}

function validateSources(volume: JsonObject, path: string, owner: VolumesOwner, errors: FieldError[]): void {
  let found = 0;
  for (const { field, check, asFirst = field, asSecond = field } of sourcesIn(volume)) {
    const source = volume[field];
    if (!isObject(source)) continue;
    if (found++ > 0) errors.push(forbiddenValue(`${path}.${asSecond}`, 'may not specify more than 1 volume type'));
    else {
      check(source, `${path}.${asFirst}`, errors);
      if (field === 'ephemeral') checkClaimName(textAt(volume, 'name'), path, owner, errors);
      if (field === 'image' && owner.isPod && textAt(source, 'reference') === '')
        errors.push(requiredValue(`${path}.image.reference`));
    }
    if (field === 'iscsi') checkIscsiLength(volume, source, path, errors);
  }
  if (found === 0) errors.push(requiredValue(path, 'must specify a volume type'));
}

function checkClaimName(name: string, path: string, { podName }: VolumesOwner, errors: FieldError[]): void {
  if (podName === '' || name === '') return;
  const claim = `${podName}-${name}`;
  for (const problem of checkDnsSubdomain(claim))
    errors.push(invalidValue(`${path}.name`, name, `PVC name "${claim}": ${problem}`));
}

const iscsiText =
  'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';

function checkIscsiLength(volume: JsonObject, source: JsonObject, path: string, errors: FieldError[]): void {
  const name = textAt(volume, 'name');
  if (source.initiatorName !== undefined && `${name}:${textAt(source, 'targetPortal')}`.length > 64)
    errors.push(invalidValue(`${path}.name`, name, iscsiText));
}
