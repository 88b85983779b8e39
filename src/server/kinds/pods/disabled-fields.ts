/**
 * Fields of pods that belong to features kube-apiserver has switched off: it reads them and forgets them.
 */
import type { JsonObject } from '../../../api/index.ts';
import { isEmpty, objectAt, objectsAt } from '../../strategy/validation/fields.ts';
import { containersOf } from './fields/each-container.ts';

/** Of the spec of a pod or of a template. */
export function dropDisabledFields(spec: JsonObject): void {
  if (spec.schedulingGroup !== undefined) delete spec.schedulingGroup;
  for (const container of containersOf(spec)) {
    const lifecycle = objectAt(container, 'lifecycle');
    if (!lifecycle || lifecycle.stopSignal === undefined) continue;
    delete lifecycle.stopSignal;
    if (isEmpty(lifecycle)) delete container.lifecycle;
  }
  for (const volume of objectsAt(spec, 'volumes')) {
    if (!volume.projected) continue;
    for (const source of objectsAt(objectAt(volume, 'projected'), 'sources')) {
      delete source.clusterTrustBundle;
      delete source.podCertificate;
    }
  }
}

export function dropDisabledStatus(status: JsonObject): void {
  delete status.nodeAllocatableResourceClaimStatuses;
  for (const list of ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'])
    for (const container of objectsAt(status, list))
      for (const mount of objectsAt(container, 'volumeMounts')) delete mount.volumeStatus;
}
