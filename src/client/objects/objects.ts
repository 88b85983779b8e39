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

/** Fields that nobody has described. */
export type UnknownFields = { [field: string]: unknown };

/** The described fields are typed, any other is there too. */
export type Open<T> = T & UnknownFields;

/** What happened to an object, as a watch says it. */
export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';
export type WatchEventType = ChangeType | 'BOOKMARK';

/** What a caller writes to create: kind and apiVersion are filled in, the server adds the rest of the metadata. */
export type Draft<T extends AnyObject> = Omit<T, 'apiVersion' | 'kind' | 'metadata' | 'status'> & {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
} & (T extends { status?: infer Status } ? { status?: Status } : unknown);

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

export type Condition = {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  observedGeneration?: number;
};

export type ObjectReference = {
  apiVersion?: string;
  kind?: string;
  namespace?: string;
  name?: string;
  uid?: string;
  resourceVersion?: string;
  fieldPath?: string;
};

export type Scale = AnyObject & { spec: { replicas?: number }; status?: { replicas: number; selector?: string } };
