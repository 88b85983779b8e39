/**
 * All watches of one store: where each reads from, live or behind, and their common end.
 *
 * Always true: a watch is in the set from its start to its end. While one of their readers waits for a change the process
 * stays alive; when none does, the store alone keeps it from nothing.
 */
import type { StoreError } from '../errors.ts';
import { boundsOf, checkNotNegative } from '../keys.ts';
import type { KeyRange, Revision, WatchOptions } from '../kv.ts';
import type { Compactor } from './compactor.ts';
import type { EngineGate } from './engine/engine-gate.ts';
import type { PublishedState } from './published-state.ts';
import { WatchHub } from './watch/watch-hub.ts';
import { Watcher, type WatchLimits, type WatchSource } from './watch/watcher.ts';

export type WatchesParts = {
  readonly state: PublishedState;
  readonly compactor: Compactor;
  readonly gate: EngineGate;
  readonly limits: WatchLimits;
};

export class Watches implements WatchSource {
  readonly hub: WatchHub = new WatchHub();
  readonly limits: WatchLimits;
  readonly #state: PublishedState;
  readonly #compactor: Compactor;
  readonly #gate: EngineGate;
  readonly #watchers = new Set<Watcher>();
  /** Does nothing; while a reader waits for a change it keeps the process from ending under it. */
  readonly #holder = setInterval(() => {}, 2 ** 30).unref();
  #waitingReaders = 0;

  constructor({ state, compactor, gate, limits }: WatchesParts) {
    this.#state = state;
    this.#compactor = compactor;
    this.#gate = gate;
    this.limits = limits;
  }

  get size(): number {
    return this.#watchers.size;
  }

  open(range: KeyRange, options: WatchOptions): Watcher {
    boundsOf(range);
    checkNotNegative('revision', options.fromRevision ?? 0);
    const watcher = new Watcher(range, options, this);
    this.#watchers.add(watcher);
    watcher.start();
    return watcher;
  }

  /** To those who asked for it. */
  sendProgress(): void {
    for (const watcher of this.#watchers) if (watcher.wantsProgress) watcher.requestProgress();
  }

  endAll(error: StoreError): void {
    for (const watcher of [...this.#watchers]) watcher.end(error);
  }

  close(): void {
    clearInterval(this.#holder);
  }

  // ---- what a watcher asks

  published(): Revision {
    return this.#state.revision;
  }

  compacted(): Revision {
    return this.#compactor.revision;
  }

  pause(): Promise<void> | undefined {
    return this.#gate.pause;
  }

  readLog(range: KeyRange, from: Revision, wantsPrevKv: boolean): ReturnType<WatchSource['readLog']> {
    return this.#state.readLog(range, from, wantsPrevKv);
  }

  left(watcher: Watcher): void {
    this.#watchers.delete(watcher);
  }

  hold(): void {
    if (this.#waitingReaders++ === 0) this.#holder.ref();
  }

  release(): void {
    if (--this.#waitingReaders === 0) this.#holder.unref();
  }
}
