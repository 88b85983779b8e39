/**
 * The index of all keys and of every version that is not compacted, in memory, in order of keys.
 *
 *   chunks:  [ a … f | live 3 ]  [ g … m | live 7 ]  …      sorted, at most MAX_CHUNK entries each
 *   entry:   key → latest version, older versions (ascending; absent for most keys)
 *
 * Always true: it knows published (durable) versions only; an entry has at least one version; a chunk is never
 * empty and its `live` is the number of its entries whose latest version is not a delete. So the number of live keys
 * in a range costs two partial chunks and a sum over the chunks between, not a walk over the keys.
 *
 * Where a version's record lies in the log is (modRevision, sub). A delete is a version with createRevision 0.
 */

import type { Bounds } from '../../keys.ts';
import type { Key, LeaseId, Revision } from '../../kv.ts';

export type Version = {
  readonly modRevision: Revision;
  readonly sub: number;
  /** 0: the key was deleted at modRevision. */
  readonly createRevision: Revision;
  readonly version: number;
  readonly lease: LeaseId;
};

export type KeyEntry = { readonly key: Key; latest: Version; older: Version[] | undefined };

type Chunk = { entries: KeyEntry[]; live: number };

const MAX_CHUNK = 512;

export class KeyIndex {
  readonly #byKey = new Map<Key, KeyEntry>();
  readonly #chunks: Chunk[] = [];

  /** All keys that have a version, deleted ones included until compaction forgets them. */
  get size(): number {
    return this.#byKey.size;
  }

  entry(key: Key): KeyEntry | undefined {
    return this.#byKey.get(key);
  }

  /** The version of a live key at a revision; undefined if it did not exist then. */
  at(key: Key, revision: Revision): Version | undefined {
    const entry = this.#byKey.get(key);
    return entry && liveAt(entry, revision);
  }

  /** Adds a version that is newer than all of this key, and tells what it superseded. */
  add(key: Key, version: Version): { readonly entry: KeyEntry; readonly superseded: Version | undefined } {
    const known = this.#byKey.get(key);
    if (!known) {
      const entry: KeyEntry = { key, latest: version, older: undefined };
      this.#byKey.set(key, entry);
      this.#insert(entry);
      return { entry, superseded: undefined };
    }
    const superseded = known.latest;
    if (known.older) known.older.push(superseded);
    else known.older = [superseded];
    known.latest = version;
    const change = Number(isLive(version)) - Number(isLive(superseded));
    if (change !== 0) this.#chunks[this.#chunkFor(key)]!.live += change;
    return { entry: known, superseded };
  }

  /** Forgets a version of an entry; the entry goes with its last one. */
  forget(entry: KeyEntry, version: Version): void {
    const { older } = entry;
    if (older) {
      const at = older.indexOf(version);
      if (at >= 0) {
        if (older.length === 1) entry.older = undefined;
        else older.splice(at, 1);
      } else {
        throw new Error(
          `Cannot forget version ${version.modRevision} of ${JSON.stringify(entry.key)}: older ones remain`,
        );
      }
      return;
    }
    this.#byKey.delete(entry.key);
    const at = this.#chunkFor(entry.key);
    const chunk = this.#chunks[at]!;
    chunk.entries.splice(lowerBound(chunk.entries, entry.key), 1);
    if (isLive(entry.latest)) chunk.live--;
    if (chunk.entries.length === 0) this.#chunks.splice(at, 1);
  }

  /** How many keys of the range are live now. */
  countLive({ start, end }: Bounds): number {
    let count = 0;
    for (let at = this.#chunkFor(start); at < this.#chunks.length; at++) {
      const { entries, live } = this.#chunks[at]!;
      if (end !== undefined && entries[0]!.key >= end) break;
      const isWhole = entries[0]!.key >= start && (end === undefined || entries[entries.length - 1]!.key < end);
      if (isWhole) count += live;
      else
        for (const entry of entries)
          if (isLive(entry.latest) && entry.key >= start && (end === undefined || entry.key < end)) count++;
    }
    return count;
  }

  /** Entries of the range in order, at most `limit`; to go on, ask again from the last key + '\0'. */
  slice({ start, end }: Bounds, limit: number): KeyEntry[] {
    const found: KeyEntry[] = [];
    for (let at = this.#chunkFor(start); at < this.#chunks.length; at++) {
      const { entries } = this.#chunks[at]!;
      for (let i = lowerBound(entries, start); i < entries.length; i++) {
        const entry = entries[i]!;
        if (end !== undefined && entry.key >= end) return found;
        found.push(entry);
        if (found.length === limit) return found;
      }
    }
    return found;
  }

  #insert(entry: KeyEntry): void {
    const live = Number(isLive(entry.latest));
    if (this.#chunks.length === 0) {
      this.#chunks.push({ entries: [entry], live });
      return;
    }
    const at = Math.min(this.#chunkFor(entry.key), this.#chunks.length - 1);
    const chunk = this.#chunks[at]!;
    chunk.entries.splice(lowerBound(chunk.entries, entry.key), 0, entry);
    chunk.live += live;
    if (chunk.entries.length > MAX_CHUNK) this.#split(at, chunk);
  }

  #split(at: number, chunk: Chunk): void {
    // The last chunk splits off a small piece: keys that arrive in order leave full chunks behind.
    const keep = at === this.#chunks.length - 1 ? MAX_CHUNK - 32 : MAX_CHUNK / 2;
    const entries = chunk.entries.splice(keep);
    let live = 0;
    for (const entry of entries) if (isLive(entry.latest)) live++;
    chunk.live -= live;
    this.#chunks.splice(at + 1, 0, { entries, live });
  }

  /** The first chunk whose last key is not below `key`. */
  #chunkFor(key: Key): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const { entries } = this.#chunks[middle]!;
      if (entries[entries.length - 1]!.key < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export function isLive(version: Version): boolean {
  return version.createRevision !== 0;
}

/** The version that a reader at `revision` sees; undefined if the key did not exist then. */
export function liveAt(entry: KeyEntry, revision: Revision): Version | undefined {
  const version = versionAt(entry, revision);
  return version && isLive(version) ? version : undefined;
}

/** The newest version at or below `revision`, deletes included. */
function versionAt({ latest, older }: KeyEntry, revision: Revision): Version | undefined {
  if (latest.modRevision <= revision) return latest;
  if (!older) return undefined;
  for (let i = older.length - 1; i >= 0; i--) if (older[i]!.modRevision <= revision) return older[i];
  return undefined;
}

function lowerBound(entries: readonly KeyEntry[], key: Key): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (entries[middle]!.key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
