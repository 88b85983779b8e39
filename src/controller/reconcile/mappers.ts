/**
 * From an object that changed to the keys that want attention because of it.
 *
 * A mapper looks at one object. For an update it is asked twice, for what was and for what is, so that an owner that
 * lost something hears of it as well as the one that gained it. It may read the cache, but it may not wait.
 */
import type { OwnerReference } from '../../api/index.ts';
import { groupOf } from '../../client/advanced.ts';
import { type AnyObject, type InformerEvent, keyOf, type Resource } from '../../client/index.ts';
import { controllerOf } from '../owner-references.ts';
import type { CacheReader } from './declared-cache.ts';

/** `namespace/name`, `name` of what is cluster-wide, or the object itself, such as one read from the cache. */
export type Target = string | { readonly metadata: { readonly name?: string; readonly namespace?: string } };

export type MapContext<T extends AnyObject> = {
  readonly event: InformerEvent<T>;
  readonly cache: CacheReader;
};

/** What is undefined is left out. */
export type Mapper<T extends AnyObject> = (
  object: T,
  context: MapContext<T>,
) => Target | undefined | Iterable<Target | undefined>;

/** The object's own key: for kinds whose objects share a name, such as a Service and its Endpoints. */
export function toSelf(): Mapper<AnyObject> {
  return (object) => object;
}

/** The owner of that kind that controls the object. What `owns` does. */
export function toController(owner: Resource): Mapper<AnyObject> {
  return (object) => {
    const reference = controllerOf(object);
    return reference && refersTo(reference, owner) ? keyOfOwner(reference, owner, object) : undefined;
  };
}

/** All owners of that kind. */
export function toOwners(owner: Resource): Mapper<AnyObject> {
  return (object) =>
    (object.metadata.ownerReferences ?? [])
      .filter((reference) => refersTo(reference, owner))
      .map((reference) => keyOfOwner(reference, owner, object));
}

/** The keys of an event, each once. */
export function keysOf<T extends AnyObject>(map: Mapper<T>, context: MapContext<T>): Set<string> {
  const { event } = context;
  const keys = new Set<string>();
  const objects = event.type === 'updated' && event.old !== event.object ? [event.old, event.object] : [event.object];
  for (const object of objects)
    for (const target of targetsOf(map(object, context))) if (target !== undefined) keys.add(keyOfTarget(target));
  return keys;
}

function targetsOf(found: ReturnType<Mapper<AnyObject>> | null): Iterable<Target | undefined> {
  if (found instanceof Promise) {
    found.catch(() => {});
    throw new TypeError('it gave a promise, and it may not wait');
  }
  if (found === null) return [];
  if (typeof found === 'object' && Symbol.iterator in found) return found;
  return [found];
}

function keyOfTarget(target: Target): string {
  const metadata = typeof target === 'string' ? { name: target } : (target?.metadata ?? {});
  if (typeof metadata.name !== 'string' || metadata.name === '')
    throw new TypeError('it gave neither a key, nor an object with a name, nor a list of them');
  return keyOf({ metadata });
}

/** By group and kind: the version an owner is referred to by is only the one its writer spoke. */
function refersTo({ apiVersion, kind }: OwnerReference, { group, kind: wanted }: Resource): boolean {
  return kind === wanted && groupOf(apiVersion) === group;
}

/** None if the owner would have to be in a namespace and the object is in none: nobody can say which is meant. */
function keyOfOwner({ name }: OwnerReference, { isNamespaced }: Resource, { metadata }: AnyObject): string | undefined {
  if (!isNamespaced) return name;
  return metadata.namespace ? `${metadata.namespace}/${name}` : undefined;
}
