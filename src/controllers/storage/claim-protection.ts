/**
 * Claims that Pods use stay until nobody uses them: a claim carries a finalizer from the start, which is taken off when it
 * is deleted and no Pod that has a node mentions it. That is asked of the server before it is believed: a Pod that the
 * cache has not heard of may be about to start.
 */
import {
  corev1,
  isApiError,
  type LazyObject,
  lazyOf,
  metadataOf,
  type PartialObjectMetadata,
  type Resource,
} from '../../client/index.ts';
import {
  type ControllerDefinition,
  controllerOf,
  defineController,
  hasFinalizer,
  isBeingDeleted,
  type Mapper,
} from '../../controller/index.ts';
import { addFinalizerOf, removeFinalizerOf } from './protection-finalizer.ts';

const FINALIZER = 'kubernetes.io/pvc-protection';
/** Whole, since their finalizers are written by updates: the role of this controller allows no patches. */
const claims: Resource<corev1.PersistentVolumeClaim> = corev1.persistentVolumeClaims;
/** Only that something happened to one: which claims it has is asked when one of them is to go. */
const podChanges: Resource<LazyObject<PartialObjectMetadata>> = lazyOf(metadataOf(corev1.pods));

const toGoingClaims: Mapper<LazyObject<PartialObjectMetadata>> = ({ metadata }, { cache }) =>
  cache.of(claims).list({ namespace: metadata.namespace! }).filter(isBeingDeleted);

export const claimProtectionController: ControllerDefinition<corev1.PersistentVolumeClaim> = defineController({
  name: 'persistentvolumeclaim-protection-controller',
  for: claims,
  watches: [{ resource: podChanges, map: toGoingClaims, debounceMs: 100 }],
  async reconcile(claim, { client, namespace, name }) {
    if (!claim) return;
    const isProtected = hasFinalizer(claim, FINALIZER);
    if (!isBeingDeleted(claim) && !isProtected) await addFinalizerOf(client.resource(claims), claim, FINALIZER);
    if (!isBeingDeleted(claim) || !isProtected) return;
    const found = await client.resource(corev1.pods, namespace).list();
    if (found.items.some((pod) => usesClaim(pod, name, claim))) return;
    await removeFinalizerOf(client.resource(claims), claim, FINALIZER).catch((err: unknown) => {
      if (!isApiError(err, 'NotFound')) throw err;
    });
  },
});

/** A Pod without a node does not start with a claim that is going. */
function usesClaim({ metadata, spec }: corev1.Pod, name: string, claim: corev1.PersistentVolumeClaim): boolean {
  if (!spec.nodeName) return false;
  const isShutDown = metadata.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0;
  return (spec.volumes ?? []).some((volume) => {
    if (volume.persistentVolumeClaim) return volume.persistentVolumeClaim.claimName === name;
    const isItsOwn = `${metadata.name}-${volume.name}` === name && controllerOf(claim)?.uid === metadata.uid;
    return volume.ephemeral !== undefined && isItsOwn && !isShutDown;
  });
}
