/**
 * Compaction: forgetting what was superseded at or below a revision.
 *
 *   schedule(R): the mark is durable → reads and watches below R are refused → records go, a portion per commit →
 *   the mark "finished" goes with the last portion
 *
 * Always true: finished ≤ revision; a store that was stopped in between goes on when it is opened again. Removal
 * waits while a read or a snapshot that began before still needs an older revision (a pin), so whoever was let in is
 * served to the end.
 */
import { StoreError } from '../errors.ts';
import type { Revision } from '../kv.ts';
import type { Garbage } from './state/garbage.ts';
import type { KeyIndex } from './state/key-index.ts';
import type { Removal, RemovalSource } from './write-pipeline.ts';

export class Compactor implements RemovalSource {
  /** Reads and watches below it are refused; 0 before the first compaction. */
  revision: Revision;
  #finished: Revision;
  /** The highest revision that was let through, though its mark may still be on its way to the disk. */
  #admitted: Revision;
  readonly #index: KeyIndex;
  readonly #garbage: Garbage;
  /** When the removal that is under way began; when the last one ended; how long all have taken. */
  #beganAtMs = 0;
  #endedAtMs = 0;
  #totalMs = 0;
  readonly #pins = new Set<{ readonly revision: Revision }>();
  #waiters: { readonly revision: Revision; readonly resolve: () => void; readonly reject: (err: unknown) => void }[] =
    [];

  constructor(scheduled: Revision, finished: Revision, index: KeyIndex, garbage: Garbage) {
    this.revision = scheduled;
    this.#finished = finished;
    this.#admitted = scheduled;
    this.#index = index;
    this.#garbage = garbage;
  }

  admit(revision: Revision, current: Revision): void {
    if (!Number.isSafeInteger(revision) || revision < 0)
      throw new StoreError('InvalidArgument', `Cannot compact at revision ${revision}: it is not a whole number`);
    if (revision > current) {
      const message = `Cannot compact at revision ${revision}: the store is at ${current}`;
      throw new StoreError('FutureRevision', message, { currentRevision: current });
    }
    if (revision <= this.#admitted && this.#admitted > 0) {
      const message = `Cannot compact at revision ${revision}: it is compacted at ${this.#admitted} already`;
      throw new StoreError('Compacted', message, { compactRevision: this.#admitted });
    }
    this.#admitted = revision;
  }

  /** Marks that were let through and are not durable never will be. */
  forgetAdmitted(): void {
    this.#admitted = this.revision;
  }

  /** The mark is durable: from now on it holds. */
  schedule(revision: Revision): void {
    if (this.#finished >= this.revision) this.#beganAtMs = Date.now();
    this.revision = Math.max(this.revision, revision);
  }

  figures(): { revision: Revision; lastAtUnixSeconds: number; totalSeconds: number } {
    return {
      revision: this.revision,
      lastAtUnixSeconds: Math.floor(this.#endedAtMs / 1000),
      totalSeconds: this.#totalMs / 1000,
    };
  }

  /** Keeps what a reader at `revision` needs until the pin is dropped. */
  pin(revision: Revision): () => void {
    const pin = { revision };
    this.#pins.add(pin);
    return () => void this.#pins.delete(pin);
  }

  /** Whether anybody reads something that takes its time. */
  get isPinned(): boolean {
    return this.#pins.size > 0;
  }

  /** Resolves when everything that a compaction at `revision` removes is gone from the disk. */
  removed(revision: Revision): Promise<void> {
    if (this.#finished >= revision) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.push({ revision, resolve, reject }));
  }

  take(limit: number): Removal | undefined {
    if (this.#finished >= this.revision || this.#isHeldBack()) return undefined;
    const taken = this.#garbage.take(this.revision, limit, this.#index);
    const remove = taken.map(({ modRevision, sub }) => ({ revision: modRevision, sub }));
    return { remove, finished: remove.length < limit ? this.revision : undefined };
  }

  committed({ finished }: Removal): void {
    if (finished === undefined) return;
    this.#finished = finished;
    this.#endedAtMs = Date.now();
    if (this.#beganAtMs > 0) this.#totalMs += this.#endedAtMs - this.#beganAtMs;
    const isServed = (waiter: { revision: Revision }) => waiter.revision <= finished;
    for (const waiter of this.#waiters.filter(isServed)) waiter.resolve();
    this.#waiters = this.#waiters.filter((waiter) => !isServed(waiter));
  }

  /** The store ends: nobody will see the end of the removal. */
  fail(error: unknown): void {
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
  }

  #isHeldBack(): boolean {
    for (const pin of this.#pins) if (pin.revision < this.revision) return true;
    return false;
  }
}
