/**
 * Objects that are kept as the text they came in, and decoded when somebody looks. For those who hold or pass on much
 * more than they read: what an informer needs to know of an object is found in its text, at a fraction of the cost.
 *
 *     await using informer = client.informer(lazyOf(corev1.pods), { allNamespaces: true });
 *     informer.get('default/web-0')?.decode().spec.nodeName;
 *
 * What is always true: `metadata` says what that of the decoded object says. Either the text is held or the object, never
 * both, so one that was decoded costs what it would have cost anyway. Of a frozen one everything that comes out is frozen.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Resource } from '../objects/define-resource.ts';
import type { AnyObject, ChangeType, StoredMeta } from '../objects/objects.ts';
import { LazyMeta } from './lazy-meta.ts';
import { scanEvent } from './scan-event.ts';

/**
 * The same resource, with objects that are decoded when they are asked to be. Watches and informers take it as any other
 * token. So do lists, which have to be decoded as a whole and gain nothing. Nothing is validated.
 */
export function lazyOf<T extends AnyObject>(resource: Resource<T>): Resource<LazyObject<T>> {
  const { validate: _, ...rest } = resource;
  return Object.freeze({ ...rest, isLazy: true }) as Resource<AnyObject> as Resource<LazyObject<T>>;
}

export class LazyObject<T extends AnyObject = AnyObject> implements AnyObject {
  readonly apiVersion: string;
  readonly kind: string;
  /** A property of its own, so that who freezes the object freezes it, too. */
  readonly metadata: StoredMeta;

  constructor({ apiVersion, kind }: Resource, metadata: LazyMeta) {
    this.apiVersion = apiVersion;
    this.kind = kind;
    this.metadata = metadata as AnyObject['metadata'];
  }

  /** The same object every time. It is shared: not to be changed. */
  decode(): T {
    return this.#meta.decodeObject() as T;
  }

  /** As text again, without keeping what has to be decoded for it. */
  toJSON(): T {
    return this.#meta.peekObject() as T;
  }

  get #meta(): LazyMeta {
    return this.metadata as LazyMeta;
  }
}

export type LazyChange = { readonly type: ChangeType; readonly object: LazyObject };

/** Undefined if it is no change, or not written as servers write it: then the line has to be decoded. */
export function lazyChange(resource: Resource, line: string): LazyChange | undefined {
  const found = scanEvent(line);
  return found && { type: found.type, object: new LazyObject(resource, new LazyMeta(line, found)) };
}

/** An object that came decoded, as the token promises it. */
export function asPromised<T extends AnyObject>(resource: Resource<T>, object: T): T {
  if (!resource.isLazy) return object;
  return new LazyObject(resource, LazyMeta.of(object)) as AnyObject as T;
}

/** Whether two objects of a resource, lazy ones or others, have the same content. */
export function isSameContent(a: AnyObject | undefined, b: AnyObject): boolean {
  return isDeepStrictEqual(a instanceof LazyObject ? a.decode() : a, b instanceof LazyObject ? b.decode() : b);
}
