/** PersistentVolumeClaimResize: a claim may grow if the class that provisions it says that volumes can be expanded. */
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import { quantityOf } from '../../strategy/validation/amounts.ts';
import { objectAt, textAt } from '../../strategy/validation/fields.ts';
import { type AdmissionAttributes, type AdmissionPlugin, refuse } from '../admission.ts';
import { concerns } from '../concerns.ts';

const betaClass = 'volume.beta.kubernetes.io/storage-class';

export const persistentVolumeClaimResize: AdmissionPlugin = {
  name: 'PersistentVolumeClaimResize',
  handles: concerns(['UPDATE'], ['persistentvolumeclaims']),
  validate: (a) => {
    if (sizeOf(a.object!).compare(sizeOf(a.oldObject!)) <= 0) return;
    return mayGrow(a).then((may) => {
      if (may) return;
      const why =
        'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize';
      throw refuse(a, why);
    });
  },
};

function sizeOf(claim: KubeObject): ReturnType<typeof quantityOf> {
  const requests = objectAt(objectAt(objectAt(claim as JsonObject, 'spec'), 'resources'), 'requests');
  return quantityOf(String(requests?.storage ?? '0'));
}

async function mayGrow({ object, oldObject, context }: AdmissionAttributes): Promise<boolean> {
  const name = classOf(object!);
  if (name === '' || name !== classOf(oldObject!)) return false;
  const found = await context.known('storage.k8s.io', 'storageclasses', '', name);
  return found?.allowVolumeExpansion === true;
}

function classOf(claim: KubeObject): string {
  return claim.metadata.annotations?.[betaClass] ?? textAt(objectAt(claim as JsonObject, 'spec'), 'storageClassName');
}
