/**
 * Owner references: whose an object is, and which of its owners is the one that manages it.
 *
 * The rules are those of the garbage collector: an owner is cluster-scoped or lives in the object's own namespace, and an
 * object has at most one controller. References are told apart by group, kind and name, not by version or uid, so that
 * an owner made anew under its old name takes the place of the one that is gone. What breaks a rule throws
 * OwnershipError with a code; nothing is changed in place, and where nothing would be different the same object returns.
 */
import type { ObjectMeta, OwnerReference } from '../api/index.ts';
import { groupOf } from '../client/advanced.ts';
import { keyOf } from '../client/index.ts';

type WithMetadata = { readonly metadata: ObjectMeta };
type Owner = WithMetadata & { readonly kind: string; readonly apiVersion: string };

export type OwnershipErrorCode = 'AlreadyOwned' | 'CrossNamespace' | 'Incomplete';

export class OwnershipError extends Error {
  override readonly name = 'OwnershipError';
  readonly code: OwnershipErrorCode;
  constructor(code: OwnershipErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

export type ReferenceOptions = {
  /** Whether the owner waits for this object when it is deleted in the foreground. */
  readonly blockOwnerDeletion?: boolean | undefined;
};

/** Makes `owner` the one controller of the object; AlreadyOwned if it has another. */
export function setControllerReference<T extends WithMetadata>(
  owner: Owner,
  object: T,
  { blockOwnerDeletion = true }: ReferenceOptions = {},
): T {
  const reference = { ...referenceTo(owner, object), controller: true, blockOwnerDeletion };
  const known = controllerOf(object);
  if (known && !refersToSame(known, reference)) {
    const why = `it is controlled by ${known.kind} ${JSON.stringify(known.name)}`;
    throw new OwnershipError('AlreadyOwned', `Cannot control ${show(object)}: ${why}`);
  }
  return putReference(object, reference);
}

/** Adds an owner that does not control; one that controls already goes on to. */
export function setOwnerReference<T extends WithMetadata>(
  owner: Owner,
  object: T,
  { blockOwnerDeletion }: ReferenceOptions = {},
): T {
  const reference = referenceTo(owner, object);
  const known = object.metadata.ownerReferences?.find((one) => refersToSame(one, reference));
  const blocks = blockOwnerDeletion ?? known?.blockOwnerDeletion;
  return putReference(object, {
    ...reference,
    ...(known?.controller !== undefined && { controller: known.controller }),
    ...(blocks !== undefined && { blockOwnerDeletion: blocks }),
  });
}

export function removeOwnerReference<T extends WithMetadata>(owner: Owner, object: T): T {
  const { ownerReferences = [], ...metadata } = object.metadata;
  const reference = { apiVersion: owner.apiVersion, kind: owner.kind, name: owner.metadata.name ?? '' };
  const left = ownerReferences.filter((one) => !refersToSame(one, reference));
  if (left.length === ownerReferences.length) return object;
  return { ...object, metadata: left.length > 0 ? { ...metadata, ownerReferences: left } : metadata };
}

export function controllerOf(object: WithMetadata): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find(({ controller }) => controller === true);
}

/** By uid: an owner of the same name that was made anew controls nothing until it says so. */
export function isControlledBy(object: WithMetadata, owner: WithMetadata): boolean {
  const uid = controllerOf(object)?.uid;
  return uid !== undefined && uid === owner.metadata.uid;
}

function referenceTo(owner: Owner, object: WithMetadata): OwnerReference {
  const { name, uid, namespace } = owner.metadata;
  if (!name || !uid || !owner.kind || !owner.apiVersion)
    throw new OwnershipError('Incomplete', `Cannot refer to ${show(owner)}: kind, apiVersion, name and uid are needed`);
  if (namespace && namespace !== object.metadata.namespace) {
    const found = object.metadata.namespace ? `in ${JSON.stringify(object.metadata.namespace)}` : 'cluster-scoped';
    const why = `the owner is in namespace ${JSON.stringify(namespace)}, the object is ${found}`;
    throw new OwnershipError('CrossNamespace', `Cannot own ${show(object)}: ${why}`);
  }
  return { apiVersion: owner.apiVersion, kind: owner.kind, name, uid };
}

function putReference<T extends WithMetadata>(object: T, reference: OwnerReference): T {
  const before = object.metadata.ownerReferences ?? [];
  const index = before.findIndex((one) => refersToSame(one, reference));
  const known = before[index];
  if (known && isEqual(known, reference)) return object;
  const ownerReferences = known ? before.with(index, reference) : [...before, reference];
  return { ...object, metadata: { ...object.metadata, ownerReferences } };
}

type ReferenceName = Pick<OwnerReference, 'apiVersion' | 'kind' | 'name'>;

function refersToSame(a: ReferenceName, b: ReferenceName): boolean {
  return groupOf(a.apiVersion) === groupOf(b.apiVersion) && a.kind === b.kind && a.name === b.name;
}

function isEqual(a: OwnerReference, b: OwnerReference): boolean {
  return (
    a.apiVersion === b.apiVersion &&
    a.uid === b.uid &&
    a.controller === b.controller &&
    a.blockOwnerDeletion === b.blockOwnerDeletion
  );
}

function show(object: WithMetadata): string {
  return JSON.stringify(keyOf(object));
}
