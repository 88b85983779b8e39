/**
 * GET, LIST and WATCH straight from the store, for a server that is told to keep no cache: the same answers, slower.
 * Every list is a range of the store, every watch a watch of the store.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { tooLargeResourceVersion } from '../../api/index.ts';
import type { Revision, Watch } from '../../store/index.ts';
import { WorkSlices } from '../event-loop/work-slices.ts';
import type { ByteStream } from '../request/request-context.ts';
import { toObjectEvent } from './cacher/cache-watcher.ts';
import type { Cacher, ObjectRange } from './cacher/cacher.ts';
import { type EventEncoding, frameOf } from './event-encoding.ts';
import type { Selection } from './selection.ts';
import type { StoredObject } from './stored-object.ts';

const POLL_MS = 50;

/** Objects as of a revision; `count` is how many there are in all. */
export type StoreState = ObjectRange & { readonly revision: Revision };

/** The objects of a scope, at most `limit`, now or as of a revision. */
export async function readStore(
  cache: Cacher,
  scope: string,
  start: string,
  revision: Revision | undefined,
  signal: AbortSignal,
  limit = 0,
): Promise<StoreState> {
  const from = cache.storeKey('', start);
  const end = `${cache.storeKey('', scope).slice(0, -1)}0`; // the character after the slash that ends the scope
  const found = await cache.store.range({ start: from, end }, { signal, limit, ...(revision && { revision }) });
  const objects: StoredObject[] = [];
  const slices = new WorkSlices(signal);
  for (const kv of found.kvs) {
    if (slices.isOver) await slices.pause();
    objects.push(cache.read(kv));
  }
  return { objects, count: found.count, revision: revision ?? found.revision };
}

/** Waits until the store itself has reached a revision; 504 if it does not get there. */
export async function waitForStore(
  cache: Cacher,
  revision: Revision,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  for (const until = Date.now() + timeoutMs; ; ) {
    const current = await cache.store.revision({ signal });
    if (current >= revision) return;
    if (Date.now() > until) throw tooLargeResourceVersion(revision, current);
    await delay(POLL_MS, undefined, { signal });
  }
}

/** One client's watch, fed by a watch of the store of its own. */
export class DirectWatch {
  readonly selection: Selection;
  readonly encoding: EventEncoding;
  readonly allowsBookmarks: boolean;
  bookmarkAt = 0;
  readonly #cache: Cacher;
  readonly #stream: ByteStream;
  readonly #after: Revision;
  readonly #errorFrame: (err: unknown) => Buffer;
  readonly #endListeners: (() => void)[] = [];
  /** Everything that matches, up to and with this revision, has been written. */
  #complete: Revision;
  #watch: Watch | undefined;
  #isEnded = false;
  #onDrained: (() => void) | undefined;

  constructor(
    cache: Cacher,
    stream: ByteStream,
    selection: Selection,
    encoding: EventEncoding,
    after: Revision,
    allowsBookmarks: boolean,
    errorFrame: (err: unknown) => Buffer,
  ) {
    this.allowsBookmarks = allowsBookmarks;
    this.#complete = after;
    this.#cache = cache;
    this.#stream = stream;
    this.selection = selection;
    this.encoding = encoding;
    this.#after = after;
    this.#errorFrame = errorFrame;
    cache.watches.add(this);
    stream.onDrain(() => this.#onDrained?.());
    stream.onClose(() => this.end());
  }

  /** Runs until the watch ends; says when everything that was there is on its way. Never rejects. */
  async run(initial: readonly StoredObject[] | undefined, onInitialised: () => void = () => {}): Promise<void> {
    try {
      const slices = new WorkSlices();
      for (const object of initial ?? []) {
        if (slices.isOver) await slices.pause();
        if (this.#isEnded) return;
        if (this.selection.matches(object)) await this.#write(this.encoding.frame('ADDED', object));
      }
      if (initial && this.allowsBookmarks) await this.#write(this.encoding.bookmark(this.#after, true));
      if (this.#isEnded) return;
      onInitialised();
      const cache = this.#cache;
      this.#watch = cache.store.watch({ prefix: cache.keyPrefix }, { fromRevision: this.#after + 1, prevKv: true });
      for await (const { events, revision } of this.#watch) {
        const slices = new WorkSlices(); // waiting for the batch was no work
        for (const change of events) {
          const event = toObjectEvent(change, cache);
          const type = this.selection.typeOf(event);
          if (type) await this.#write(frameOf(event, type, this.encoding));
          if (slices.isOver) await slices.pause();
        }
        this.#complete = revision;
      }
    } catch (err) {
      this.fail(err);
    }
    this.end();
  }

  /** Tells the client why it cannot begin. */
  fail(err: unknown): void {
    if (!this.#isEnded) this.#stream.write(this.#errorFrame(err));
    this.end();
  }

  askForProgress(): void {
    this.#watch?.requestProgress();
  }

  sendBookmark(): boolean {
    if (this.#isEnded || this.#onDrained || this.#complete <= this.#after) return false;
    this.#stream.write(this.encoding.bookmark(this.#complete, false));
    return true;
  }

  onEnd(listener: () => void): void {
    if (this.#isEnded) listener();
    else this.#endListeners.push(listener);
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#cache.watches.delete(this);
    void this.#watch?.return();
    this.#onDrained?.();
    this.#stream.end();
    for (const listener of this.#endListeners.splice(0)) listener();
  }

  async #write(frame: Buffer): Promise<void> {
    if (this.#isEnded || this.#stream.write(frame)) return;
    await new Promise<void>((resolve) => {
      this.#onDrained = () => {
        this.#onDrained = undefined;
        resolve();
      };
    });
  }
}
