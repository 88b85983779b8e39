/**
 * Finalizers: names that keep an object from going away until their owners have taken theirs off.
 *
 * Nothing is changed in place, and where nothing would be different the same object comes back, so `===` tells whether
 * there is anything to write. Write with the object's resourceVersion: the list is replaced as a whole, and another
 * controller may be changing it too.
 */
import type { ObjectMeta } from '../api/index.ts';

type WithMetadata = { readonly metadata: ObjectMeta };

export function hasFinalizer(object: WithMetadata, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

/** Throws for an object that is being deleted: the server takes no new finalizers there. */
export function addFinalizer<T extends WithMetadata>(object: T, finalizer: string): T {
  if (hasFinalizer(object, finalizer)) return object;
  if (isBeingDeleted(object)) {
    const why = `${JSON.stringify(object.metadata.name ?? '')} is being deleted`;
    throw new Error(`Cannot add finalizer ${JSON.stringify(finalizer)}: ${why}`);
  }
  const finalizers = [...(object.metadata.finalizers ?? []), finalizer];
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

export function removeFinalizer<T extends WithMetadata>(object: T, finalizer: string): T {
  if (!hasFinalizer(object, finalizer)) return object;
  const { finalizers, ...metadata } = object.metadata;
  const left = finalizers!.filter((name) => name !== finalizer);
  return { ...object, metadata: left.length > 0 ? { ...metadata, finalizers: left } : metadata };
}

export function isBeingDeleted(object: WithMetadata): boolean {
  return object.metadata.deletionTimestamp !== undefined && object.metadata.deletionTimestamp !== null;
}
