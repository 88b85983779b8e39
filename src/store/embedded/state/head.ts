/**
 * The state that transactions are judged on: the published index plus the changes that are on their way to the disk.
 *
 * Always true: `revision` is the highest one given out; `#unpublished` holds, for each key changed above the
 * published revision, its newest change and nothing else. Everything here is synchronous, so a transaction sees one
 * state and no other comes between. When a full disk refuses a commit, everything that is not published is forgotten at
 * once (`reset`): what came later rested on it.
 */
import { type Bounds, boundsOf, isInBounds } from '../../keys.ts';
import type { Key, KeyRange, KeyValue, Revision } from '../../kv.ts';
import { isLive, type KeyIndex, type Version } from './key-index.ts';
import { encodeRecord, keyValueOf, withValue } from './log-record.ts';

/** One change of one key, with the record that will stand for it in the log. */
export type Change = { readonly key: Key; readonly version: Version; readonly record: Buffer };

export type LiveKey = { readonly key: Key; readonly version: Version };

const noValue: Uint8Array = Buffer.alloc(0);

export class Head {
  revision: Revision;
  readonly #index: KeyIndex;
  readonly #readPublished: (key: Key, version: Version) => KeyValue;
  #unpublished = new Map<Key, Change>();
  /** What each change since `begin` took the place of. */
  readonly #replaced: [Key, Change | undefined][] = [];

  constructor(revision: Revision, index: KeyIndex, readPublished: (key: Key, version: Version) => KeyValue) {
    this.revision = revision;
    this.#index = index;
    this.#readPublished = readPublished;
  }

  /** The key's newest version; undefined if it is not there. */
  latest(key: Key): Version | undefined {
    const newest = this.#unpublished.get(key)?.version ?? this.#index.entry(key)?.latest;
    return newest && isLive(newest) ? newest : undefined;
  }

  read({ key, version }: LiveKey, keysOnly = false): KeyValue {
    if (keysOnly) return withValue(key, version, noValue);
    const change = this.#unpublished.get(key);
    return change ? keyValueOf(key, version, change.record) : this.#readPublished(key, version);
  }

  /** The live keys of a range in order, at most `limit`. */
  keys(range: KeyRange, limit: number = Number.POSITIVE_INFINITY): LiveKey[] {
    if ('key' in range) {
      const version = this.latest(range.key);
      return version ? [{ key: range.key, version }] : [];
    }
    const found: LiveKey[] = [];
    const bounds = boundsOf(range);
    const changed = this.#changedIn(bounds);
    if (changed.length === 0) {
      for (const { key, latest } of this.#index.slice(bounds, Number.POSITIVE_INFINITY)) {
        if (!isLive(latest)) continue;
        found.push({ key, version: latest });
        if (found.length === limit) break;
      }
      return found;
    }
    const keys = new Set(this.#index.slice(bounds, Number.POSITIVE_INFINITY).map((entry) => entry.key));
    for (const key of changed) keys.add(key);
    for (const key of [...keys].sort(byBytes)) {
      const version = this.latest(key);
      if (version && found.push({ key, version }) === limit) break;
    }
    return found;
  }

  count(range: KeyRange): number {
    if ('key' in range) return Number(this.latest(range.key) !== undefined);
    const bounds = boundsOf(range);
    let count = this.#index.countLive(bounds);
    for (const key of this.#changedIn(bounds)) {
      const published = this.#index.entry(key);
      count += Number(this.latest(key) !== undefined) - Number(published !== undefined && isLive(published.latest));
    }
    return count;
  }

  /** A transaction begins: up to here it can be taken back. */
  begin(): void {
    this.#replaced.length = 0;
  }

  /** Takes back what was changed since `begin`. */
  takeBack(): void {
    for (const [key, change] of this.#replaced.splice(0).reverse())
      if (change) this.#unpublished.set(key, change);
      else this.#unpublished.delete(key);
  }

  /** Makes a put or, without a value, a delete the newest change of its key. */
  change(key: Key, version: Version, value: Uint8Array = noValue): Change {
    this.#replaced.push([key, this.#unpublished.get(key)]);
    const change = { key, version, record: encodeRecord(withValue(key, version, value)) };
    this.#unpublished.set(key, change);
    return change;
  }

  /**
   * These changes are in the index now. Those that are not go on in a map of their own: one that changes come into and go
   * from without end leaves tables behind, each of which keeps what was in it until everything is collected.
   */
  published(changes: readonly Change[]): void {
    for (const change of changes)
      if (this.#unpublished.get(change.key) === change) this.#unpublished.delete(change.key);
    this.#unpublished = new Map(this.#unpublished);
  }

  /** Nothing above the published revision ever was. */
  reset(published: Revision): void {
    this.#unpublished.clear();
    this.revision = published;
  }

  #changedIn(bounds: Bounds): Key[] {
    const keys: Key[] = [];
    for (const key of this.#unpublished.keys()) if (isInBounds(key, bounds)) keys.push(key);
    return keys;
  }
}

function byBytes(a: Key, b: Key): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
