/**
 * StorageObjectInUseProtection: volumes, claims and attribute classes are made with a finalizer, so that none goes while
 * others use it. A controller that knows the users takes it away.
 */
import { qualifiedName } from '../../registry/resource.ts';
import type { AdmissionPlugin } from '../admission.ts';
import { concerns } from '../concerns.ts';

const finalizers: Readonly<Record<string, string>> = {
  persistentvolumeclaims: 'kubernetes.io/pvc-protection',
  persistentvolumes: 'kubernetes.io/pv-protection',
  'volumeattributesclasses.storage.k8s.io': 'kubernetes.io/vac-protection',
};

export const storageObjectInUseProtection: AdmissionPlugin = {
  name: 'StorageObjectInUseProtection',
  handles: concerns(['CREATE'], Object.keys(finalizers)),
  admit: ({ object, resource }) => {
    const { metadata } = object!;
    const finalizer = finalizers[qualifiedName(resource)]!;
    if (!metadata.finalizers?.includes(finalizer)) metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
  },
};
