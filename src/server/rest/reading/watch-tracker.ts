/**
 * Keeps track of the watches of a server: each ends when its time is over, those that want bookmarks get one about once a
 * minute, all end with the server. One timer for all of it, not one per watch: ends and bookmarks come up to a second late.
 * The times of watches are the API's and go by the clock of the process; caches are trimmed by that of the machine.
 */
import { backgroundClock } from '../../../api/index.ts';
import type { Cacher } from '../../storage/cacher/cacher.ts';
import type { WatchKeeper } from '../../storage/object-watch.ts';
import type { TrackedWatch, WatchTracking } from './watch.ts';

const BOOKMARK_MS = 60_000;
const TICK_MS = 1000;
/** A last bookmark lets a watch resume from where it was, however quiet it has been. */
const LAST_BOOKMARK_MS = 2000;

/** Between a change of rights and the check it causes. */
const SETTLE_MS = 200;
const CHECKS_PER_TURN = 500;

export class WatchTracker implements WatchTracking {
  readonly minTimeoutMs: number;
  readonly #cachers: () => Iterable<Cacher>;
  readonly #watches = new Set<TrackedWatch>();
  readonly #trimming: NodeJS.Timeout;
  readonly #stop = new AbortController();
  /** When the next look at the watches is, and how to have it earlier. */
  #looksAt = Number.NEGATIVE_INFINITY;
  #sooner: () => void = () => {};
  #checking: NodeJS.Timeout | undefined;

  constructor(minTimeoutMs: number, cachers: () => Iterable<Cacher>) {
    this.minTimeoutMs = minTimeoutMs;
    this.#cachers = cachers;
    this.#trimming = setInterval(() => this.#trim(), TICK_MS);
    this.#trimming.unref();
    void this.#run();
  }

  get size(): number {
    return this.#watches.size;
  }

  add(watch: TrackedWatch, timeoutMs: number): void {
    const now = backgroundClock.now();
    const endsAt = now + timeoutMs;
    this.#watches.add(watch);
    watch.endsAt = endsAt;
    watch.bookmarkAt = nextBookmark(now, endsAt);
    const dueAt = Math.max(now + TICK_MS, Math.min(endsAt, watch.bookmarkAt - TICK_MS));
    if (dueAt < this.#looksAt) {
      this.#looksAt = dueAt;
      this.#sooner();
    }
    watch.onEnd(this.#forget);
    // Rights may have changed between the request and now.
    if (watch.keeper) void endUnlessAllowed(watch, watch.keeper);
  }

  /** Rights have changed: ends the watches of those who lost theirs. Many changes in a row are one check. */
  checkRights(): void {
    this.#checking ??= setTimeout(() => {
      this.#checking = undefined;
      void this.#endForbidden();
    }, SETTLE_MS);
    this.#checking.unref();
  }

  close(): void {
    clearTimeout(this.#checking);
    clearInterval(this.#trimming);
    this.#stop.abort();
    this.#sooner();
    for (const watch of [...this.#watches]) watch.end('server-stopping');
  }

  /** In slices: there may be thousands, and others wait for their turn. */
  async #endForbidden(): Promise<void> {
    let asked = 0;
    for (const watch of [...this.#watches]) {
      if (watch.keeper) await endUnlessAllowed(watch, watch.keeper);
      if (++asked % CHECKS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const now = backgroundClock.now();
      // Not before the next tick, so that many that are due at odd moments are one look.
      if (now >= this.#looksAt) this.#looksAt = Math.max(now + TICK_MS, this.#look(now));
      const waking = new AbortController();
      this.#sooner = () => waking.abort();
      await backgroundClock.sleep(this.#looksAt - now, waking.signal).catch(() => {});
    }
  }

  /** Ends and bookmarks whatever is due; when to look again. */
  #look(now: number): number {
    let next = now + BOOKMARK_MS;
    for (const watch of this.#watches) {
      const { endsAt } = watch;
      if (now >= endsAt) {
        watch.end('timeout-over');
        continue;
      }
      // The tick before, the cache asks the store how far it is; then the bookmark is fresh.
      if (watch.allowsBookmarks && now >= watch.bookmarkAt - TICK_MS) {
        if (now < watch.bookmarkAt) watch.askForProgress();
        else if (watch.sendBookmark()) watch.bookmarkAt = nextBookmark(now, endsAt);
      }
      next = Math.min(next, endsAt, watch.allowsBookmarks ? watch.bookmarkAt - TICK_MS : next);
    }
    return next;
  }

  readonly #forget = (watch: TrackedWatch): void => {
    this.#watches.delete(watch);
  };

  #trim(): void {
    for (const cacher of this.#cachers()) cacher.trim();
  }
}

async function endUnlessAllowed(watch: TrackedWatch, keeper: WatchKeeper): Promise<void> {
  if (!(await keeper.mayGoOn().catch(() => false))) watch.end('rights-lost');
}

function nextBookmark(now: number, endsAt: number): number {
  const regular = now + BOOKMARK_MS * (0.9 + Math.random() * 0.1);
  const last = endsAt - LAST_BOOKMARK_MS;
  return last > now && last < regular ? last : regular;
}
