/**
 * The queue of whoever follows objects and brings something else in line with them: which keys want attention, one at a time
 * and in the order in which they came.
 *
 * Always true: a key that comes again before its turn has one turn, one that comes during its turn has another. What fails is
 * told, and has its turn again after a pause that doubles each time; a change of the key meanwhile does not wait for that, and
 * no other key waits at all. It holds a key at most once, so it is as long as there are keys. `close` ends the turn that runs
 * by its signal, and no other begins.
 */
import { type Clock, hardwareClock } from '../../api/index.ts';
import { WorkSlices } from './work-slices.ts';

const RETRY_MS = 1000;
const MAX_RETRY_MS = 60_000;

export type SyncQueueOptions = {
  /** Brings one key in line; what it throws is told and tried again. */
  readonly sync: (key: string, signal: AbortSignal) => Promise<void>;
  readonly onFailure: (key: string, error: Error) => void;
  /** What comes within so long has one turn. 0: what comes in the same turn of the event loop. */
  readonly gatherMs?: number;
  readonly clock?: Clock;
};

type Failing = { readonly pauseMs: number };

export class SyncQueue {
  readonly #options: SyncQueueOptions;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  readonly #due = new Set<string>();
  /** Those whose last turn failed. */
  readonly #failing = new Map<string, Failing>();
  #running: Promise<void> | undefined;

  constructor(options: SyncQueueOptions) {
    this.#options = options;
    this.#clock = options.clock ?? hardwareClock;
  }

  add(key: string): void {
    if (this.#stop.signal.aborted) return;
    this.#due.add(key);
    this.#running ??= this.#run();
  }

  /** Nothing is left to be done for it. */
  forget(key: string): void {
    this.#due.delete(key);
    this.#failing.delete(key);
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error('the server is stopping'));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (this.#due.size > 0 && !signal.aborted) {
      await this.#gather();
      const slices = new WorkSlices();
      let left = this.#due.size; // what comes meanwhile is gathered first
      for (const key of this.#due) {
        if (left-- === 0 || signal.aborted) break;
        if (slices.isOver) await slices.pause();
        this.#due.delete(key);
        await this.#sync(key);
      }
    }
    this.#running = undefined;
  }

  async #sync(key: string): Promise<void> {
    const { signal } = this.#stop;
    try {
      await this.#options.sync(key, signal);
      this.#failing.delete(key);
    } catch (err) {
      if (signal.aborted) return;
      this.#options.onFailure(key, err as Error);
      const before = this.#failing.get(key);
      const failing = { pauseMs: before ? Math.min(before.pauseMs * 2, MAX_RETRY_MS) : RETRY_MS };
      this.#failing.set(key, failing);
      void this.#addLater(key, failing);
    }
  }

  async #addLater(key: string, failing: Failing): Promise<void> {
    try {
      await this.#clock.sleep(failing.pauseMs, this.#stop.signal);
    } catch {
      return; // closed
    }
    if (this.#failing.get(key) === failing) this.add(key);
  }

  async #gather(): Promise<void> {
    const { gatherMs = 0 } = this.#options;
    if (gatherMs === 0) return new Promise((resolve) => setImmediate(resolve));
    await this.#clock.sleep(gatherMs, this.#stop.signal).catch(() => {}); // closed: the loop sees it
  }
}
