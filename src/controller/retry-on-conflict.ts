/**
 * Writing what others write too. `retryOnConflict` runs a read and a write again when somebody else was first;
 * `createOrUpdate` makes an object look as wanted, whether it is there or not, and writes nothing if it does already.
 *
 *     await createOrUpdate(client.resource(corev1.configMaps), { name: 'a', namespace: 'b' }, (draft) => {
 *       draft.data = { ...draft.data, color: 'red' };
 *     });
 *
 * Only conflicts are tried again; every other error is thrown as it is. What is to be owned field by field is better
 * applied (`resource.apply`): then there are no conflicts.
 */

import type { Clock } from '../api/index.ts';
import { systemClock } from '../api/index.ts';
import { type AnyObject, type Draft, isApiError, type ResourceClient } from '../client/index.ts';

export type RetryOnConflictOptions = {
  readonly signal?: AbortSignal | undefined;
  /** 5, the first included. */
  readonly maxTries?: number | undefined;
  readonly clock?: Clock | undefined;
  /** In [0, 1). */
  readonly random?: (() => number) | undefined;
};

const FIRST_PAUSE_MS = 10;

/** `work` reads and writes; it runs again from its beginning. */
export async function retryOnConflict<R>(
  work: (attempt: number) => Promise<R>,
  options: RetryOnConflictOptions = {},
): Promise<R> {
  return retryOn(['Conflict'], work, options);
}

async function retryOn<R>(
  reasons: readonly string[],
  work: (attempt: number) => Promise<R>,
  { signal, maxTries = 5, clock = systemClock, random = Math.random }: RetryOnConflictOptions,
): Promise<R> {
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    try {
      return await work(attempt);
    } catch (error) {
      if (!isApiError(error) || !reasons.includes(error.reason) || attempt >= maxTries) throw error;
      await clock.sleep(FIRST_PAUSE_MS * 2 ** (attempt - 1) * (0.5 + random()), signal);
    }
  }
}

export type CreateOrUpdateResult<T> = { readonly object: T; readonly result: 'created' | 'updated' | 'unchanged' };

type Writer<T extends AnyObject> = Pick<ResourceClient<T>, 'find' | 'create' | 'update'>;

/** `change` gets what is there, or a bare draft with the name, changes it, or returns another; it may run several times. */
export async function createOrUpdate<T extends AnyObject>(
  client: Writer<T>,
  { name, namespace }: { readonly name: string; readonly namespace?: string | undefined },
  // biome-ignore lint/suspicious/noConfusingVoidType: one that returns nothing has changed what it was given
  change: (draft: Draft<T>, current: T | undefined) => Draft<T> | void | Promise<Draft<T> | void>,
  options: RetryOnConflictOptions = {},
): Promise<CreateOrUpdateResult<T>> {
  const { signal } = options;
  const where = { signal, ...(namespace !== undefined && { namespace }) };
  const work = async () => {
    const current = await client.find(name, where);
    const bare = { metadata: { name, ...(namespace !== undefined && { namespace }) } } as Draft<T>;
    const draft = current ? (structuredClone(current) as unknown as Draft<T>) : bare;
    const wanted = (await change(draft, current)) ?? draft;
    if (!current) return { object: await client.create(wanted, where), result: 'created' as const };
    if (isSame(current, wanted)) return { object: current, result: 'unchanged' as const };
    const object = await client.update(wanted, where);
    // What can be written and is never read (`stringData` of a Secret) is nothing new to the server.
    const isNew = object.metadata.resourceVersion !== current.metadata.resourceVersion;
    return { object, result: isNew ? ('updated' as const) : ('unchanged' as const) };
  };
  return retryOn(['Conflict', 'AlreadyExists'], work, options);
}

/** In whatever order fields stand; what is undefined is not there. */
function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const fields = (value: object) => Object.entries(value).filter(([, field]) => field !== undefined);
  const [left, right] = [fields(a), fields(b)];
  if (left.length !== right.length) return false;
  const other = b as Record<string, unknown>;
  return left.every(([name, value]) => Object.hasOwn(other, name) && isSame(value, other[name]));
}
