/** Whether a revision belongs to the history of a store: by what the store knows of its runs, wherever that is known. */
import type { Revision } from './kv.ts';

/** `ends` as of StoreHistory. What follows the second dot of a name was added by whoever carried it. */
export function isInHistory(ends: ReadonlyMap<string, Revision>, name: string, revision: Revision): boolean {
  const end = ends.get(name.split('.', 2).join('.'));
  return end !== undefined && revision <= end;
}
