/** Objects as types: what the server gives, and what it takes. */
import type { ObjectMeta } from '../../api/index.ts';

/** Metadata of what is stored: these fields are always there. */
export type StoredMeta = ObjectMeta & {
  name: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: string;
};

/** What every object has. */
export type AnyObject = { apiVersion: string; kind: string; metadata: StoredMeta };

/** What is left of an object of any kind if only its metadata is asked for. */
export type PartialObjectMetadata = AnyObject & { kind: 'PartialObjectMetadata'; apiVersion: 'meta.k8s.io/v1' };

export type ApiObject<Spec = UnknownFields, Status = UnknownFields> = AnyObject & { spec: Spec; status?: Status };

/** An object whose kind is known only when the program runs. */
export type DynamicObject = AnyObject & { [field: string]: unknown };

/** Fields without a description. */
export type UnknownFields = { [field: string]: unknown };

/** What happened to an object, as a watch says it. */
export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';
export type WatchEventType = ChangeType | 'BOOKMARK';

/**
 * What a caller writes to create: kind and apiVersion are filled in, the server adds the rest of the metadata. A spec
 * that needs no field need not be there.
 */
export type Draft<T extends AnyObject> = Omit<T, 'apiVersion' | 'kind' | 'metadata' | 'spec' | 'status'> & {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
} & DraftSpec<T> &
  (T extends { status?: infer Status } ? { status?: Status } : unknown);

type DraftSpec<T> = T extends { spec: infer Spec }
  ? object extends Spec
    ? { spec?: Spec }
    : { spec: Spec }
  : T extends { spec?: infer Spec }
    ? { spec?: Spec }
    : unknown;

/** What a caller writes to apply: the fields to own, and the name. */
export type Applied<T extends AnyObject> = DeepPartial<Omit<Draft<T>, 'metadata'>> & {
  metadata: ObjectMeta & { name: string };
};

export type DeepPartial<T> = T extends readonly unknown[]
  ? Readonly<T>
  : T extends object
    ? { [K in keyof T]?: DeepPartial<T[K]> }
    : T;

/** The same with `null` allowed everywhere, by which a merge patch removes. */
export type MergePatch<T> = T extends readonly unknown[]
  ? Readonly<T>
  : T extends object
    ? { [K in keyof T]?: MergePatch<T[K]> | null }
    : T;

export type ListMeta = { resourceVersion: string; continue?: string; remainingItemCount?: number };

export type ObjectList<T> = { apiVersion: string; kind: string; metadata: ListMeta; items: T[] };
