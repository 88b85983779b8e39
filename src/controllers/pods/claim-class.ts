/** Classes of storage, as claims and volumes name them, and when a claim of one may be bound. */
import type { corev1, storagev1 } from '../../client/index.ts';

/** Of a claim: for which node it may be bound, once a Pod that uses it has one. */
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
const OLD_CLASS = 'volume.beta.kubernetes.io/storage-class';
const IS_DEFAULT = ['storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class'];

type Classed = Pick<corev1.PersistentVolumeClaim | corev1.PersistentVolume, 'metadata' | 'spec'>;

/** Empty: of none. */
export function classOf({ metadata, spec }: Classed): string {
  return metadata.annotations?.[OLD_CLASS] ?? spec.storageClassName ?? '';
}

/** Whether nothing at all is said: an empty name is an answer. */
export function saysNoClass({ metadata, spec }: Classed): boolean {
  return metadata.annotations?.[OLD_CLASS] === undefined && spec.storageClassName === undefined;
}

/** The youngest of those that are marked, then the first by name. */
export function defaultClassOf(classes: readonly storagev1.StorageClass[]): storagev1.StorageClass | undefined {
  const ageOf = ({ metadata }: storagev1.StorageClass) => Date.parse(metadata.creationTimestamp);
  return classes
    .filter(isDefaultClass)
    .sort((a, b) => ageOf(b) - ageOf(a) || (a.metadata.name < b.metadata.name ? -1 : 1))[0];
}

export function isDefaultClass({ metadata }: storagev1.StorageClass): boolean {
  return IS_DEFAULT.some((annotation) => metadata.annotations?.[annotation] === 'true');
}

/** Claims of such a class are not bound before it is known where they will be used. */
export function waitsForConsumer(storageClass: storagev1.StorageClass | undefined): boolean {
  return storageClass?.volumeBindingMode === 'WaitForFirstConsumer';
}
