/**
 * Entries in a version that their kind does not have, or has no more: nothing can be compared there.
 *
 * Of a built-in kind such an entry goes with the next write. Of a custom kind an apply is refused until somebody has taken
 * the entry away, and any other write leaves all entries as they are.
 */
import { plainError } from '../../api/errors/status-error.ts';
import type { Manager } from './managers.ts';

export type EntryVersions = {
  /** As entries write them: `v1` or `group/version`. */
  readonly known: ReadonlySet<string>;
  readonly isCustom: boolean;
};

export function isStale({ id }: Manager, versions: EntryVersions | undefined): boolean {
  return versions !== undefined && !versions.known.has(id.apiVersion);
}

/** Those that an apply goes by. */
export function withoutStale(managers: readonly Manager[], versions: EntryVersions | undefined): readonly Manager[] {
  const stale = managers.find((manager) => isStale(manager, versions));
  if (!stale) return managers;
  if (versions?.isCustom) throw plainError(`request to convert CR to an invalid group/version: ${stale.id.apiVersion}`);
  return managers.filter((manager) => !isStale(manager, versions));
}
