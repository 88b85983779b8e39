/** What an etcd of a given version does not do as it should, where it matters to the contract. */

/** The first patch of a release line in which compaction keeps a delete at its very revision: before, a watch from there missed it. */
const firstThatKeepsDeletes: Readonly<Record<string, number>> = { '3.4': 34, '3.5': 16 };

/** Whether a watch from the revision of the compaction gets the deletes of that revision. */
export function keepsDeletesAtCompaction(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  const firstPatch = firstThatKeepsDeletes[`${major}.${minor}`];
  return firstPatch === undefined ? major > 3 || (major === 3 && minor > 5) : patch >= firstPatch;
}
