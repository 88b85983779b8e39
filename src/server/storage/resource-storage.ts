/**
 * One resource as it is served: its stored objects in the version of the resource, and refusals in its name. Several
 * resources may share what is stored (versions of a kind, events in two groups); this converts, and adds nothing else.
 *
 * Writes answer what the store has acknowledged, with its revision. A write that finds the object changed says so; the
 * caller decides whether to try again on what is there now. Nothing is created without the right to.
 */
import {
  alreadyExists,
  type KubeObject,
  notFound,
  plainError,
  serverTimeout,
  tooLarge,
  tooManyRequests,
} from '../../api/index.ts';
import { isStoreError } from '../../store/index.ts';
import type { CreateRight } from '../auth/create-right.ts';
import { WorkSlices } from '../event-loop/work-slices.ts';
import { convertObject } from '../kinds/conversion.ts';
import type { KindFacts } from '../registry/kind-facts.ts';
import type { Resource } from '../registry/resource.ts';
import type { Instead, ObjectStorage, WriteGuard } from './object-storage.ts';
import type { StoredObject } from './objects/stored-object.ts';

export class ResourceStorage<Storage extends ObjectStorage = ObjectStorage> {
  readonly resource: Resource;
  readonly facts: KindFacts;
  readonly objects: Storage;
  readonly #stored: Resource;

  constructor(resource: Resource, facts: KindFacts, objects: Storage) {
    this.resource = resource;
    this.facts = facts;
    this.objects = objects;
    this.#stored = objects.codec.resource;
  }

  /** Shown as it is stored: bytes can be sent as they are. */
  get isStorageForm(): boolean {
    return this.#stored === this.resource;
  }

  toObject(object: StoredObject): KubeObject {
    return this.isStorageForm ? object.parse() : convertObject(object.parse(), this.#stored, this.resource);
  }

  /** The object as the store has it now, if need be from there: what a write is prepared on. */
  async read(namespace: string, name: string): Promise<StoredObject | undefined> {
    return this.objects.peek(namespace, name, '') ?? this.objects.direct.get(namespace, name);
  }

  async create(object: KubeObject, right: CreateRight, guard?: WriteGuard): Promise<StoredObject> {
    const { namespace = '', name = '' } = object.metadata;
    right.check(this.resource, namespace, name);
    try {
      const created = await this.objects.create(this.isStorageForm ? object : await this.#convert(object), guard);
      if (!created) throw alreadyExists(this.resource, name);
      return created;
    } catch (err) {
      throw this.#refusalFor(err, 'create');
    }
  }

  /** The stored object; what is there instead if `current` is no longer it; undefined if it is gone. */
  async update(
    current: StoredObject,
    object: KubeObject,
    guard?: WriteGuard,
  ): Promise<{ stored: StoredObject } | Instead> {
    try {
      return await this.objects.update(current, this.isStorageForm ? object : await this.#convert(object), guard);
    } catch (err) {
      throw this.#refusalFor(err, 'update');
    }
  }

  /** The object as it was, under the revision of its deletion. */
  async delete(current: StoredObject, guard?: WriteGuard): Promise<{ deleted: StoredObject } | Instead> {
    try {
      return await this.objects.delete(current, guard);
    } catch (err) {
      throw this.#refusalFor(err, 'delete');
    }
  }

  /** To the version that is stored; others have their turn afterwards, since what is large takes long. */
  async #convert(object: KubeObject): Promise<KubeObject> {
    const slices = new WorkSlices();
    const converted = convertObject(object, this.resource, this.#stored);
    if (slices.isOver) await slices.pause();
    return converted;
  }

  /** What the store refuses, in the words of the API. */
  #refusalFor(err: unknown, verb: string): unknown {
    if (isStoreError(err, 'InvalidArgument')) return tooLarge(`Request entity too large: ${err.message}`);
    if (isStoreError(err, 'NoSpace')) return plainError(err.message, { cause: err });
    if (isStoreError(err, 'TooManyRequests')) return tooManyRequests(err.message, 1);
    // Clients try again by themselves when told to wait: only where nothing can have been written.
    if (isStoreError(err, 'OutcomeUnknown')) return serverTimeout(this.resource, verb, 0);
    if (isStoreError(err, 'Unavailable')) return serverTimeout(this.resource, verb, 1);
    return err;
  }
}

/** Tries a write on what is there now until it fits; gives up only when the object is gone: a 404, unless it is said why else. */
export async function untilWritten<T>(
  { resource }: ResourceStorage,
  first: StoredObject | undefined,
  name: string,
  attempt: (current: StoredObject) => Promise<{ done: T } | Instead>,
  gone: () => Error = () => notFound(resource, name),
): Promise<T> {
  let current = first;
  for (;;) {
    if (!current) throw gone();
    const outcome = await attempt(current);
    if ('done' in outcome) return outcome.done;
    current = outcome.instead;
  }
}
