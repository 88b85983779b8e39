/**
 * Objects with nothing but their metadata, for readers that care for nothing else. The metadata is passed on as it is,
 * not copied.
 */
import type { KubeObject, ObjectMeta } from '../../api/objects.ts';

/** The version of `meta.k8s.io` that was asked for. */
export type MetaVersion = 'v1' | 'v1beta1';

export type ListMeta = { resourceVersion?: string; continue?: string; remainingItemCount?: number };

export type PartialObjectMetadata = { kind: 'PartialObjectMetadata'; apiVersion: string; metadata: ObjectMeta };

export type PartialObjectMetadataList = {
  kind: 'PartialObjectMetadataList';
  apiVersion: string;
  metadata: ListMeta;
  items: PartialObjectMetadata[];
};

export function partialObject({ metadata }: KubeObject, version: MetaVersion = 'v1'): PartialObjectMetadata {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata };
}

/** A list without items. */
export function emptyPartialList(metadata: ListMeta, version: MetaVersion = 'v1'): PartialObjectMetadataList {
  return { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${version}`, metadata, items: [] };
}
