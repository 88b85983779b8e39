/**
 * A finalizer from beginning to end: it is on the object before the first `apply`, and comes off after `cleanup`.
 *
 *     reconcile: (website, { client }) =>
 *       website && withFinalizer(client.resource(websites), website, {
 *         finalizer: 'example.com/dns',
 *         apply: async (website) => { ... },
 *         cleanup: async (website) => { ... },
 *       }),
 *
 * Both may be called any number of times and must bear it. Writes carry the resourceVersion they are based on: a
 * refused addition is thrown (Conflict: the next attempt sees the newer object), a refused removal is tried on the
 * newer object, since nothing that others change brings back what was cleaned up. An object that is gone is nothing to
 * do.
 */

import type { MergePatch } from '../client/advanced.ts';
import { type AnyObject, isApiError, mergePatch, type ResourceClient } from '../client/index.ts';
import { addFinalizer, hasFinalizer, isBeingDeleted, removeFinalizer } from './finalizers.ts';
import type { ReconcileResult } from './reconcile/requeue.ts';

export type WithFinalizerOptions<T extends AnyObject> = {
  /** Such as `example.com/dns`. */
  readonly finalizer: string;
  /** The object is wanted, and has the finalizer. */
  readonly apply: (object: T) => ReconcileResult | Promise<ReconcileResult>;
  /** The object is being deleted. If it asks to come again (`requeueAfter`), the finalizer stays until then. */
  readonly cleanup: (object: T) => ReconcileResult | Promise<ReconcileResult>;
};

const TRIES = 5;

export async function withFinalizer<T extends AnyObject>(
  client: Pick<ResourceClient<T>, 'find' | 'patch'>,
  object: T,
  { finalizer, apply, cleanup }: WithFinalizerOptions<T>,
): Promise<ReconcileResult> {
  if (!isBeingDeleted(object)) {
    const held = hasFinalizer(object, finalizer) ? object : await write(client, addFinalizer(object, finalizer));
    return await apply(held);
  }
  if (!hasFinalizer(object, finalizer)) return undefined;
  const result = await cleanup(object);
  if (result?.requeueAfterMs !== undefined) return result;
  await takeOff(client, object, finalizer);
  return undefined;
}

async function takeOff<T extends AnyObject>(
  client: Pick<ResourceClient<T>, 'find' | 'patch'>,
  object: T,
  finalizer: string,
): Promise<void> {
  const { name, uid } = object.metadata;
  let current: T | undefined = object;
  for (let tries = 1; current?.metadata.uid === uid && hasFinalizer(current, finalizer); tries++) {
    try {
      await write(client, removeFinalizer(current, finalizer));
      return;
    } catch (error) {
      if (isApiError(error, 'NotFound')) return;
      if (!isApiError(error, 'Conflict') || tries === TRIES) throw error;
    }
    current = await client.find(name, inside(object));
  }
}

/** Only the list, and only if the object is still of that version. */
function write<T extends AnyObject>(client: Pick<ResourceClient<T>, 'patch'>, object: T): Promise<T> {
  const { name, uid, resourceVersion, finalizers = [] } = object.metadata;
  const change = { metadata: { uid, resourceVersion, finalizers } } as unknown as MergePatch<never>;
  return client.patch(name, mergePatch(change), inside(object));
}

function inside({ metadata: { namespace } }: AnyObject): { namespace?: string } {
  return namespace === undefined ? {} : { namespace };
}
