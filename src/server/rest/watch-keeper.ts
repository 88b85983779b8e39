/**
 * The watches of a server, as a crowd: each ends when its time is over, those that want bookmarks get one about once a
 * minute, all end with the server. One timer for all bookmarks, not one per watch.
 */
import type { ResourceCache } from '../watchcache/resource-cache.ts';
import type { KeptWatch, WatchKeeper } from './watch.ts';

const BOOKMARK_MS = 60_000;
const TICK_MS = 1000;
/** A last bookmark lets a watch resume from where it was, however quiet it has been. */
const LAST_BOOKMARK_MS = 2000;

export class WatchCrowd implements WatchKeeper {
  readonly minTimeoutMs: number;
  readonly #caches: () => Iterable<ResourceCache>;
  readonly #watches = new Map<KeptWatch, { readonly endsAt: number; readonly timer: NodeJS.Timeout }>();
  readonly #tick: NodeJS.Timeout;

  constructor(minTimeoutMs: number, caches: () => Iterable<ResourceCache>) {
    this.minTimeoutMs = minTimeoutMs;
    this.#caches = caches;
    this.#tick = setInterval(() => this.#onTick(Date.now()), TICK_MS);
    this.#tick.unref();
  }

  get size(): number {
    return this.#watches.size;
  }

  add(watch: KeptWatch, timeoutMs: number): void {
    const now = Date.now();
    const timer = setTimeout(() => watch.end(), Math.min(timeoutMs, 2 ** 31 - 1));
    timer.unref();
    const endsAt = now + timeoutMs;
    this.#watches.set(watch, { endsAt, timer });
    watch.bookmarkAt = nextBookmark(now, endsAt);
    watch.onEnd(() => {
      clearTimeout(timer);
      this.#watches.delete(watch);
    });
  }

  close(): void {
    clearInterval(this.#tick);
    for (const watch of [...this.#watches.keys()]) watch.end();
  }

  #onTick(now: number): void {
    for (const [watch, { endsAt }] of this.#watches) {
      if (!watch.allowsBookmarks || now < watch.bookmarkAt - TICK_MS) continue;
      // The tick before, the cache asks the store how far it is; then the bookmark is fresh.
      if (now < watch.bookmarkAt) watch.askForProgress();
      else if (watch.sendBookmark()) watch.bookmarkAt = nextBookmark(now, endsAt);
    }
    for (const cache of this.#caches()) cache.trim();
  }
}

function nextBookmark(now: number, endsAt: number): number {
  const regular = now + BOOKMARK_MS * (0.9 + Math.random() * 0.1);
  const last = endsAt - LAST_BOOKMARK_MS;
  return last > now && last < regular ? last : regular;
}
