/** A page of objects that an index has found, as they are or as they were. */
import type { ObjectRange } from '../../object-storage.ts';
import type { Pin } from '../../objects/selection.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { PastState, Present } from './past-state.ts';

/** Found by an index. */
export type Pinned = { readonly objects: readonly StoredObject[]; readonly pin: Pin };

/** One object more than the limit says that there is more. What was different in the past may not have what is asked for. */
export function pinnedRange(
  { objects: all, pin }: Pinned,
  past: PastState | undefined,
  prefix: string,
  start: string,
  limit?: number,
): ObjectRange {
  if (!past || past.size === 0) {
    const objects = limit === undefined || limit >= all.length ? all : all.slice(0, limit);
    return { objects, count: all.length, pin };
  }
  const { objects } = past.range(presentOf(all), prefix, start, limit);
  const mayBeMore = limit !== undefined && objects.length >= limit;
  return { objects, count: objects.length + Number(mayBeMore) };
}

function presentOf(all: readonly StoredObject[]): Present {
  return {
    values: (_prefix, start = '', limit = all.length) => {
      const from = all.findIndex(({ key }) => key >= start);
      return from < 0 ? [] : all.slice(from, from + limit);
    },
    count: () => all.length,
  };
}
