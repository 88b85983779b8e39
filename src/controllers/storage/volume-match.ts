/**
 * Which volume a claim gets. Of those with enough access modes the ones with the fewest are looked at first; among them one
 * that is meant for the claim wins, then the smallest that is large enough.
 *
 * A volume that names the claim need be of no class and have no label. Node affinity is not looked at.
 */
import { labelSelectorFromObject, parseQuantity } from '../../api/index.ts';
import type { corev1 } from '../../client/index.ts';
import { isBeingDeleted } from '../../controller/index.ts';
import { classOf } from '../pods/claim-class.ts';

type Claim = corev1.PersistentVolumeClaim;
type Volume = corev1.PersistentVolume;

/** By its maker, or by us: of that name, and of that uid if it says one. */
export function isMeantFor({ spec: { claimRef } }: Volume, { metadata }: Claim): boolean {
  if (claimRef?.name !== metadata.name || claimRef.namespace !== metadata.namespace) return false;
  return !claimRef.uid || claimRef.uid === metadata.uid;
}

/** With `isDelayed` only what is meant for the claim. */
export function findVolume(claim: Claim, volumes: readonly Volume[], isDelayed = false): Volume | undefined {
  const { selector } = claim.spec;
  const isSelected = selector ? labelSelectorFromObject(selector) : undefined;
  const isFree = (volume: Volume) =>
    !isDelayed &&
    !volume.spec.claimRef &&
    volume.status?.phase === 'Available' &&
    classOf(volume) === classOf(claim) &&
    (isSelected?.matches(volume.metadata.labels) ?? true);
  const rank = (volume: Volume) => [modesOf(volume).size, isMeantFor(volume, claim) ? 0 : 1] as const;
  const fitting = volumes.filter(
    (volume) =>
      (isMeantFor(volume, claim) || isFree(volume)) &&
      !isBeingDeleted(volume) &&
      isLargeEnough(volume, claim) &&
      modeOf(volume) === modeOf(claim) &&
      attributesOf(volume) === attributesOf(claim) &&
      hasModes(volume, claim),
  );
  return fitting.reduce<Volume | undefined>((best, volume) => {
    if (!best) return volume;
    const [modes, meant] = rank(volume);
    const [bestModes, bestMeant] = rank(best);
    const order =
      modes - bestModes ||
      meant - bestMeant ||
      sizeOf(volume).compare(sizeOf(best)) ||
      (volume.metadata.name < best.metadata.name ? -1 : 1);
    return order < 0 ? volume : best;
  }, undefined);
}

/** What is against a volume that a claim asks for by name; undefined if nothing is. */
export function misfitOfVolume(claim: Claim, volume: Volume): string | undefined {
  if (isBeingDeleted(volume)) return `the volume is marked for deletion "${volume.metadata.name}"`;
  if (!isLargeEnough(volume, claim)) return 'requested PV is too small';
  if (classOf(volume) !== classOf(claim)) return 'storageClassName does not match';
  if (attributesOf(volume) !== attributesOf(claim)) return 'volumeAttributesClassName does not match';
  if (modeOf(volume) !== modeOf(claim)) return 'incompatible volumeMode';
  return hasModes(volume, claim) ? undefined : 'incompatible accessMode';
}

const modesOf = ({ spec }: Volume) => new Set(spec.accessModes ?? []);
const modeOf = ({ spec }: Volume | Claim) => spec.volumeMode ?? 'Filesystem';
const attributesOf = ({ spec }: Volume | Claim) => spec.volumeAttributesClassName ?? '';
const sizeOf = ({ spec }: Volume) => parseQuantity(String(spec.capacity?.storage ?? '0'));

function isLargeEnough(volume: Volume, claim: Claim): boolean {
  return sizeOf(volume).compare(parseQuantity(String(claim.spec.resources?.requests?.storage ?? '0'))) >= 0;
}

function hasModes(volume: Volume, claim: Claim): boolean {
  const modes = modesOf(volume);
  return (claim.spec.accessModes ?? []).every((mode) => modes.has(mode));
}
