/** Volumes stay while a claim is bound to them: the finalizer they carry is taken off when they are deleted and are not. */
import { corev1, isApiError } from '../../client/index.ts';
import { type ControllerDefinition, defineController, hasFinalizer, isBeingDeleted } from '../../controller/index.ts';
import { addFinalizerOf, removeFinalizerOf } from './protection-finalizer.ts';

const FINALIZER = 'kubernetes.io/pv-protection';

export const volumeProtectionController: ControllerDefinition<corev1.PersistentVolume> = defineController({
  name: 'persistentvolume-protection-controller',
  for: corev1.persistentVolumes,
  async reconcile(volume, { client }) {
    if (!volume) return;
    const isProtected = hasFinalizer(volume, FINALIZER);
    const resource = client.resource(corev1.persistentVolumes);
    if (!isBeingDeleted(volume) && !isProtected) await addFinalizerOf(resource, volume, FINALIZER);
    if (!isBeingDeleted(volume) || !isProtected || volume.status?.phase === 'Bound') return;
    await removeFinalizerOf(resource, volume, FINALIZER).catch((err: unknown) => {
      if (!isApiError(err, 'NotFound')) throw err;
    });
  },
});
