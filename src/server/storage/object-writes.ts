/**
 * Objects into the store, one compare-and-swap at a time. What comes back is what the store has acknowledged, with its
 * revision. A write that finds the object changed says so; whoever called decides whether to try again on what is
 * there now.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  alreadyExists,
  type KubeObject,
  notFound,
  plainError,
  serverTimeout,
  tooLarge,
  tooManyRequests,
} from '../../api/index.ts';
import { isStoreError, type KeyValue, type LeaseId, type Op, type Store } from '../../store/index.ts';
import type { CreateRight } from '../auth/create-right.ts';
import { WorkSlices } from '../event-loop/work-slices.ts';
import { qualifiedName, type Resource } from '../registry/resource.ts';
import type { View } from './resources.ts';
import type { StoredObject } from './stored-object.ts';

/** Objects that the store forgets by itself; a lease is shared by those that come close together. */
const TTL_SECONDS: Readonly<Record<string, number>> = { events: 3600, 'events.events.k8s.io': 3600 };
const LEASE_SHARE_MS = 60_000;
const LEASE_SHARE_SECONDS = 60;

export class ObjectWrites {
  readonly #leases = new WeakMap<Store, Promise<{ id: LeaseId; until: number }>>();

  /** The object as the store has it now. */
  async read({ cache }: View, namespace: string, name: string): Promise<StoredObject | undefined> {
    const { kv } = await cache.store.get(cache.storeKey(namespace, name));
    return kv && cache.read(kv);
  }

  async create(view: View, object: KubeObject, right: CreateRight): Promise<StoredObject> {
    const { cache, resource } = view;
    const { namespace = '', name = '' } = object.metadata;
    right.check(resource, namespace, name);
    const key = cache.storeKey(namespace, name);
    const value = await this.#encode(view, object);
    const lease = hasLifetime(resource) ? await this.#leaseFor(view) : 0n;
    const { succeeded, revision } = await answered(view, 'create', () =>
      cache.store.txn({
        compare: [{ range: { key }, target: 'modRevision', is: '=', than: 0 }],
        then: [{ kind: 'put', key, value, lease }],
      }),
    );
    if (!succeeded) throw alreadyExists(resource, name);
    return cache.codec.decode(namespace, name, revision, value);
  }

  /** The stored object; what is there instead if `current` is no longer it; undefined if it is gone. */
  async replace(
    view: View,
    current: StoredObject,
    object: KubeObject,
  ): Promise<{ stored: StoredObject } | { instead: StoredObject | undefined }> {
    const { cache } = view;
    const value = await this.#encode(view, object);
    const { namespace, name } = current;
    if (isSame(current, cache.codec.decode(namespace, name, current.revision, value))) return { stored: current };
    const key = cache.storeKey(namespace, name);
    const lease = hasLifetime(view.resource) ? await this.#leaseFor(view) : 0n;
    const done = await this.#swap(view, 'update', current, { kind: 'put', key, value, lease });
    if ('instead' in done) return done;
    return { stored: cache.codec.decode(namespace, name, done.revision, value) };
  }

  /** The object as it was, under the revision of its deletion. */
  async remove(
    view: View,
    current: StoredObject,
  ): Promise<{ removed: StoredObject } | { instead: StoredObject | undefined }> {
    const key = view.cache.storeKey(current.namespace, current.name);
    const done = await this.#swap(view, 'delete', current, { kind: 'delete', range: { key } });
    return 'instead' in done ? done : { removed: current.withRevision(done.revision) };
  }

  /** Others have their turn before and after, since what is large takes long. */
  async #encode(view: View, object: KubeObject): Promise<Buffer> {
    const slices = new WorkSlices();
    const stored = view.toStored(object);
    if (slices.isOver) await slices.pause();
    const value = view.cache.codec.encode(stored);
    if (slices.isOver) await slices.pause();
    return value;
  }

  async #swap(
    view: View,
    verb: string,
    current: StoredObject,
    op: Op,
  ): Promise<{ revision: number } | { instead: StoredObject | undefined }> {
    const { cache } = view;
    const range = { key: cache.storeKey(current.namespace, current.name) };
    const { succeeded, revision, results } = await answered(view, verb, () =>
      cache.store.txn({
        compare: [{ range, target: 'modRevision', is: '=', than: current.revision }],
        then: [op],
        else: [{ kind: 'range', range }],
      }),
    );
    if (succeeded) return { revision };
    const kv = (results[0] as { kvs: readonly KeyValue[] }).kvs[0];
    return { instead: kv && cache.read(kv) };
  }

  async #leaseFor({ resource, cache }: View): Promise<LeaseId> {
    const ttl = TTL_SECONDS[qualifiedName(resource)]!;
    const shared = await this.#leases.get(cache.store)?.catch(() => undefined);
    if (shared && shared.until > Date.now()) return shared.id;
    const granted = cache.store
      .grantLease(ttl + LEASE_SHARE_SECONDS)
      .then(({ id }) => ({ id, until: Date.now() + LEASE_SHARE_MS }));
    this.#leases.set(cache.store, granted);
    return (await granted).id;
  }
}

function hasLifetime(resource: Resource): boolean {
  return qualifiedName(resource) in TTL_SECONDS;
}

/** The same content; the order of fields does not count. */
function isSame(a: StoredObject, b: StoredObject): boolean {
  if (a.bytes.length !== b.bytes.length) return false;
  if (a.bytes.equals(b.bytes)) return true;
  // The same fields in another order are the same bytes in another order: a sum tells most others apart cheaply.
  return sumOf(a.bytes) === sumOf(b.bytes) && isDeepStrictEqual(a.parse(), b.parse());
}

function sumOf(bytes: Buffer): number {
  let sum = 0;
  for (let i = 0; i < bytes.length; i++) sum += bytes[i]! * bytes[i]!;
  return sum;
}

/** Tries a write on what is there now until it fits; gives up only when the object is gone. */
export async function untilWritten<T>(
  view: View,
  first: StoredObject | undefined,
  name: string,
  attempt: (current: StoredObject) => Promise<{ done: T } | { instead: StoredObject | undefined }>,
): Promise<T> {
  let current = first;
  for (;;) {
    if (!current) throw notFound(view.resource, name);
    const outcome = await attempt(current);
    if ('done' in outcome) return outcome.done;
    current = outcome.instead;
  }
}

/** What the store refuses, in the words of the API. */
async function answered<T>({ resource }: View, verb: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (err) {
    if (isStoreError(err, 'InvalidArgument')) throw tooLarge(`Request entity too large: ${err.message}`);
    if (isStoreError(err, 'NoSpace')) throw plainError(err.message, { cause: err });
    if (isStoreError(err, 'TooManyRequests')) throw tooManyRequests(err.message, 1);
    // Clients try again by themselves when told to wait: only where nothing can have been written.
    if (isStoreError(err, 'OutcomeUnknown')) throw serverTimeout(resource, verb, 0);
    if (isStoreError(err, 'Unavailable')) throw serverTimeout(resource, verb, 1);
    throw err;
  }
}
