/**
 * The status of an object, written as controllers of a real cluster do it: as an update of what was read. Their roles allow
 * no patches of it, and a write on top of something else is a Conflict, after which the next attempt sees what came between.
 */
import type { ResourceClient } from '../client/advanced.ts';
import type { AnyObject, Draft } from '../client/index.ts';

/** Fields that are named replace those before them, null takes one away; the rest stays. */
export function writeStatus<T extends AnyObject>(
  resource: Pick<ResourceClient<T>, 'status'>,
  object: T,
  change: object,
): Promise<T> {
  const before = (object as { readonly status?: object }).status;
  const fields = Object.entries({ ...before, ...change }).filter(([, value]) => value !== null);
  const next = { ...object, status: Object.fromEntries(fields) } as unknown as Draft<T>;
  return resource.status.update(object.metadata.name, next as never) as Promise<T>;
}

/** For what may fail though the status is to be told all the same. */
export async function settle<T>(doing: Promise<T>): Promise<PromiseSettledResult<T>> {
  const [outcome] = await Promise.allSettled([doing]);
  return outcome;
}
