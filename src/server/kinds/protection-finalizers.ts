/**
 * Finalizers that every object of some kinds gets when it is made, so that none goes while others use it. Whoever knows
 * the users, a controller, takes them away.
 */
import type { KubeObject } from '../../api/index.ts';
import { qualifiedName, type Resource } from '../registry/resource.ts';

const finalizers: ReadonlyMap<string, string> = new Map([
  ['persistentvolumeclaims', 'kubernetes.io/pvc-protection'],
  ['persistentvolumes', 'kubernetes.io/pv-protection'],
  ['volumeattributesclasses.storage.k8s.io', 'kubernetes.io/vac-protection'],
]);

export function protectObject({ metadata }: KubeObject, resource: Resource): void {
  const finalizer = resource.isCustom ? undefined : finalizers.get(qualifiedName(resource));
  if (finalizer === undefined || metadata.finalizers?.includes(finalizer)) return;
  metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
}
