/**
 * Volumes say how they stand, and come to their end: free, bound, released when their claim is gone. Then their reclaim policy
 * counts. What is to be deleted is deleted here only if it was pretended here; whoever made another has to delete it.
 *
 * That a claim is gone is asked of the server before it is believed.
 */
import { corev1, isApiError } from '../../client/index.ts';
import {
  type ControllerDefinition,
  defineController,
  isBeingDeleted,
  type Mapper,
  type ReconcileContext,
} from '../../controller/index.ts';
import { BY_CONTROLLER, isByController, PROVISIONED_BY, setPhase } from './bind.ts';
import { BINDER } from './claim-binder.ts';
import { isPretended } from './provision.ts';

type Claim = corev1.PersistentVolumeClaim;
type Volume = corev1.PersistentVolume;

const VOLUMES = `${BINDER}-volumes`;
const claims = corev1.persistentVolumeClaims;
const volumes = corev1.persistentVolumes;
const BY_CLAIM = 'byClaim';

const toVolumes: Mapper<Claim> = ({ metadata, spec }, { cache }) => {
  const meant = cache.of(volumes).by(BY_CLAIM, `${metadata.namespace}/${metadata.name}`);
  return [...meant, spec.volumeName || undefined];
};

export const volumeBinder: ControllerDefinition<Volume> = defineController({
  name: VOLUMES,
  concurrency: 1,
  for: {
    resource: volumes,
    indexers: { [BY_CLAIM]: ({ spec }) => [spec.claimRef && `${spec.claimRef.namespace}/${spec.claimRef.name}`] },
  },
  watches: [{ resource: claims, map: toVolumes }],
  async reconcile(volume, context) {
    if (!volume) return;
    const { claimRef } = volume.spec;
    if (!claimRef?.uid) {
      await setPhase(volume, 'Available', context);
      return;
    }
    const claim = await claimOf(claimRef, context);
    if (!claim) await release(volume, context);
    else if (claim.spec.volumeName === volume.metadata.name) await setPhase(volume, 'Bound', context);
    else if (claim.spec.volumeName) await giveUp(volume, context);
    // Otherwise it is about to be bound, by the claim's side.
  },
});

async function claimOf(
  { namespace = '', name = '', uid }: corev1.ObjectReference,
  { cache, client }: ReconcileContext,
): Promise<Claim | undefined> {
  const known = cache.of(claims).get(`${namespace}/${name}`);
  if (known?.metadata.uid === uid) return known;
  const found = await client.resource(claims, namespace).find(name);
  return found?.metadata.uid === uid ? found : undefined;
}

/** Its claim has another volume. */
async function giveUp(volume: Volume, context: ReconcileContext): Promise<void> {
  const { persistentVolumeReclaimPolicy: policy, claimRef, ...spec } = volume.spec;
  if (volume.metadata.annotations?.[PROVISIONED_BY] !== undefined && policy === 'Delete') {
    await release(volume, context);
    return;
  }
  const { [BY_CONTROLLER]: _ours, ...annotations } = volume.metadata.annotations ?? {};
  const { uid: _uid, ...meant } = claimRef!;
  const freed = await context.client.resource(volumes).update({
    ...volume,
    metadata: { ...volume.metadata, annotations },
    spec: {
      ...spec,
      ...(policy && { persistentVolumeReclaimPolicy: policy }),
      ...(!isByController(volume) && { claimRef: meant }), // its maker said so
    },
  });
  await setPhase(freed, 'Available', context);
}

/** What has failed goes on saying so. */
async function release(volume: Volume, context: ReconcileContext): Promise<void> {
  const isFailed = volume.status?.phase === 'Failed';
  const released = isFailed ? volume : await setPhase(volume, 'Released', context);
  const { name, uid, resourceVersion } = released.metadata;
  const policy = released.spec.persistentVolumeReclaimPolicy;
  if (policy === 'Recycle')
    await fail(released, ['VolumeFailedRecycle', 'No recycler plugin found for the volume!'], context);
  if (policy !== 'Delete' || isBeingDeleted(released)) return;
  if (isPretended(released)) {
    const preconditions = { uid, resourceVersion };
    await context.client.resource(volumes).delete(name, { preconditions }).catch(ignoreGone);
  } else if (released.metadata.annotations?.[PROVISIONED_BY] === undefined) {
    const why = `error getting deleter volume plugin for volume "${name}": no deletable volume plugin matched`;
    await fail(released, ['VolumeFailedDelete', why], context);
  }
}

async function fail(
  volume: Volume,
  [reason, message]: readonly [reason: string, message: string],
  context: ReconcileContext,
): Promise<void> {
  if (volume.status?.phase === 'Failed') return;
  await setPhase(volume, 'Failed', context, message);
  context.recorder.warning(reason, message);
}

function ignoreGone(err: unknown): void {
  if (!isApiError(err, 'NotFound')) throw err;
}
