/**
 * What compaction may remove, in the order in which it becomes removable, so that compacting costs what it removes
 * and not what is kept.
 *
 * A compaction at R keeps, for each key, everything above R and the newest version at or below R; of these a delete
 * is kept only if it is at R itself, where a watch from R must still see it. So a version that was superseded at
 * revision S may go once R ≥ S, and a delete at revision D once R > D. Both queues are in order of revision since
 * they are filled in the order of publication.
 */
import type { Revision } from '../../kv.ts';
import type { KeyEntry, KeyIndex, Version } from './key-index.ts';

type Item = { readonly entry: KeyEntry; readonly version: Version; readonly removableAt: Revision };

export class Garbage {
  readonly #superseded = new Fifo<Item>();
  readonly #deletes = new Fifo<Item>();

  /** `version` of this entry gave way to another at revision `by`. */
  superseded(entry: KeyEntry, version: Version, by: Revision): void {
    if (version.createRevision === 0) return; // a delete waits in the other queue, from when it was made
    this.#superseded.push({ entry, version, removableAt: by });
  }

  deleted(entry: KeyEntry, version: Version): void {
    this.#deletes.push({ entry, version, removableAt: version.modRevision + 1 });
  }

  /** Forgets up to `limit` versions that a compaction at `revision` removes, and tells which. */
  take(revision: Revision, limit: number, index: KeyIndex): Version[] {
    const taken: Version[] = [];
    // The superseded first: a delete is then the oldest version of its key, and can go without leaving a hole.
    for (const queue of [this.#superseded, this.#deletes])
      while (taken.length < limit) {
        const item = queue.first();
        if (!item || item.removableAt > revision) break;
        queue.shift();
        index.forget(item.entry, item.version);
        taken.push(item.version);
      }
    return taken;
  }
}

/** A queue whose shift costs nothing, however long it is. */
class Fifo<T> {
  #items: T[] = [];
  #start = 0;

  push(item: T): void {
    this.#items.push(item);
  }

  first(): T | undefined {
    return this.#items[this.#start];
  }

  shift(): void {
    this.#start++;
    if (this.#start >= 1024 && this.#start * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#start);
      this.#start = 0;
    }
  }
}
