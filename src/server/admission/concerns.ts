/** Which writes a plugin is about, in the form `handles` has: built-in resources, their subresources, operations. */
import { qualifiedName } from '../registry/resource.ts';
import type { AdmissionOperation, AdmissionPlugin } from './admission.ts';

export type Handles = NonNullable<AdmissionPlugin['handles']>;

/** `resources` as messages name them: `pods`, `ingresses.networking.k8s.io`; `''` among the subresources is the object. */
export function concerns(
  operations: readonly AdmissionOperation[],
  resources: readonly string[],
  subresources: readonly string[] = [''],
): Handles {
  return (operation, resource, subresource) =>
    operations.includes(operation) &&
    subresources.includes(subresource) &&
    !resource.isCustom &&
    resources.includes(qualifiedName(resource));
}
