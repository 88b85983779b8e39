/**
 * A volume and a claim are bound in four writes, in this order: the volume names the claim, it is Bound, the claim names the
 * volume, it is Bound. Whoever comes after any of them goes on from there.
 *
 * Each is an update of what was read: of two claims that want one volume the second is told of a Conflict.
 */
import { corev1 } from '../../client/index.ts';
import type { ReconcileContext } from '../../controller/index.ts';
import { writeStatus } from '../write-status.ts';
import { isMeantFor } from './volume-match.ts';

type Claim = corev1.PersistentVolumeClaim;
type Volume = corev1.PersistentVolume;

/** Of either: its binding is our doing, not its maker's. */
export const BY_CONTROLLER = 'pv.kubernetes.io/bound-by-controller';
/** Of a claim: it was bound once. */
const COMPLETED = 'pv.kubernetes.io/bind-completed';
/** Of a volume: who made it for a claim. */
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';

export function wasBound({ metadata }: Claim): boolean {
  return metadata.annotations?.[COMPLETED] !== undefined;
}

export function isByController({ metadata }: Claim | Volume): boolean {
  return metadata.annotations?.[BY_CONTROLLER] !== undefined;
}

export async function bind(volume: Volume, claim: Claim, context: ReconcileContext): Promise<void> {
  const bound = await setPhase(await nameClaim(volume, claim, context), 'Bound', context);
  const named = await nameVolume(claim, bound, context);
  const { accessModes = [], capacity = {}, volumeAttributesClassName } = bound.spec;
  const isNew = named.status?.phase !== 'Bound';
  const before = JSON.stringify(named.status?.accessModes ?? []);
  if (!isNew && before === JSON.stringify(accessModes)) return;
  await writeStatus(context.client.resource(corev1.persistentVolumeClaims), named, {
    phase: 'Bound',
    accessModes,
    // Of a claim that is bound it may differ on purpose, while it grows.
    ...(isNew && { capacity }),
    ...(isNew && volumeAttributesClassName && { currentVolumeAttributesClassName: volumeAttributesClassName }),
  });
}

export function referenceTo({ metadata }: Claim): corev1.ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace: namespace!, name, uid, resourceVersion };
}

export async function setPhase(
  volume: Volume,
  phase: NonNullable<corev1.PersistentVolumeStatus['phase']>,
  { client }: ReconcileContext,
  message?: string,
): Promise<Volume> {
  if (volume.status?.phase === phase) return volume;
  return writeStatus(client.resource(corev1.persistentVolumes), volume, { phase, message: message ?? null });
}

async function nameClaim(volume: Volume, claim: Claim, { client }: ReconcileContext): Promise<Volume> {
  const isMeant = isMeantFor(volume, claim);
  if (isMeant && volume.spec.claimRef?.uid === claim.metadata.uid) return volume;
  const annotations = { ...volume.metadata.annotations, ...(!isMeant && { [BY_CONTROLLER]: 'yes' }) };
  return client.resource(corev1.persistentVolumes).update({
    ...volume,
    metadata: { ...volume.metadata, annotations },
    spec: { ...volume.spec, claimRef: referenceTo(claim) },
  });
}

async function nameVolume(claim: Claim, { metadata: { name } }: Volume, { client }: ReconcileContext): Promise<Claim> {
  const isNamed = claim.spec.volumeName === name;
  if (isNamed && wasBound(claim)) return claim;
  const ours = isNamed ? {} : { [BY_CONTROLLER]: 'yes' };
  const annotations = { ...claim.metadata.annotations, ...ours, [COMPLETED]: 'yes' };
  return client.resource(corev1.persistentVolumeClaims).update({
    ...claim,
    metadata: { ...claim.metadata, annotations },
    spec: { ...claim.spec, volumeName: name },
  });
}
