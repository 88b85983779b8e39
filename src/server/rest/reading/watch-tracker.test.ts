import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Cacher } from '../../storage/cacher/cacher.ts';
import type { WatchKeeper } from '../../storage/object-watch.ts';
import type { TrackedWatch } from './watch.ts';
import { WatchTracker } from './watch-tracker.ts';

/** A watch that writes down when it was asked what. */
class NotedWatch implements TrackedWatch {
  bookmarkAt = 0;
  endsAt = 0;
  keeper: WatchKeeper | undefined;
  readonly allowsBookmarks: boolean;
  readonly notes: string[] = [];
  canTakeBookmarks = true;
  #endListeners: ((watch: TrackedWatch) => void)[] = [];

  constructor(allowsBookmarks = true) {
    this.allowsBookmarks = allowsBookmarks;
  }

  #note(what: string): void {
    this.notes.push(`${Math.round((Date.now() - START) / 1000)} ${what}`);
  }

  timesOf(what: string): number[] {
    return this.notes.filter((note) => note.endsWith(what)).map((note) => Number.parseInt(note, 10));
  }

  askForProgress(): void {
    this.#note('progress');
  }

  sendBookmark(): boolean {
    if (this.canTakeBookmarks) this.#note('bookmark');
    return this.canTakeBookmarks;
  }

  onEnd(listener: (watch: TrackedWatch) => void): void {
    this.#endListeners.push(listener);
  }

  end(): void {
    this.#note('end');
    for (const listener of this.#endListeners.splice(0)) listener(this);
  }
}

function keeper(mayGoOn: () => Promise<boolean>): WatchKeeper {
  return { mayGoOn, expired: () => {} };
}

const START = 1_000_000_000_000;
let tracker: WatchTracker;
let trims = 0;
beforeEach(() => {
  vi.useFakeTimers({ now: START });
  trims = 0;
  tracker = new WatchTracker(1_800_000, () => [{ trim: () => trims++ } as unknown as Cacher]);
});
afterEach(() => {
  tracker.close();
  vi.useRealTimers();
});

describe('WatchTracker', () => {
  it('has a bookmark sent about once a minute, after asking the store how far it is', async () => {
    const watch = new NotedWatch();
    tracker.add(watch, 3_600_000);
    await vi.advanceTimersByTimeAsync(600_000);
    const sent = watch.timesOf('bookmark');
    expect(sent.length).toBeGreaterThanOrEqual(9);
    for (const [at, time] of sent.entries()) {
      const since = time - (sent[at - 1] ?? 0);
      expect(since).toBeGreaterThanOrEqual(54);
      expect(since).toBeLessThanOrEqual(61);
      expect(watch.timesOf('progress')).toContain(time - 1);
    }
  });

  it('has a last bookmark sent two seconds before the end', async () => {
    const watch = new NotedWatch();
    tracker.add(watch, 20_000);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(watch.notes.filter((note) => !note.endsWith('progress'))).toEqual(['18 bookmark', '20 end']);
  });

  it('tries again every second while a watch cannot take one', async () => {
    const watch = new NotedWatch();
    watch.canTakeBookmarks = false;
    tracker.add(watch, 3_600_000);
    await vi.advanceTimersByTimeAsync(65_000);
    watch.canTakeBookmarks = true;
    await vi.advanceTimersByTimeAsync(1000);
    expect(watch.timesOf('bookmark')).toHaveLength(1);
  });

  it('sends none to watches that want none', async () => {
    const watch = new NotedWatch(false);
    tracker.add(watch, 200_000);
    await vi.advanceTimersByTimeAsync(300_000);
    expect(watch.notes).toEqual(['200 end']);
  });

  it('ends a watch when its time is over, and forgets it; all of them share a timer', async () => {
    const [short, long, gone] = [new NotedWatch(false), new NotedWatch(false), new NotedWatch(false)];
    tracker.add(short, 5000);
    tracker.add(long, 50_000);
    tracker.add(gone, 5000);
    gone.end();
    await vi.advanceTimersByTimeAsync(0);
    expect([tracker.size, vi.getTimerCount()]).toEqual([2, 2]); // the other is for caches
    await vi.advanceTimersByTimeAsync(5000);
    expect([tracker.size, short.notes, gone.notes]).toEqual([1, ['5 end'], ['0 end']]);
    tracker.close();
    expect([tracker.size, vi.getTimerCount(), long.notes]).toEqual([0, 0, ['5 end']]);
  });

  it('does not end a watch at once whose time is longer than any timer can be', () => {
    const watch = new NotedWatch(false);
    tracker.add(watch, 2 ** 40);
    vi.advanceTimersByTime(1000);
    expect(watch.notes).toEqual([]);
  });

  it('one that ends sooner than all others is not waited for too long', async () => {
    const [long, short] = [new NotedWatch(false), new NotedWatch(false)];
    tracker.add(long, 50_000);
    await vi.advanceTimersByTimeAsync(100);
    tracker.add(short, 3000);
    await vi.advanceTimersByTimeAsync(3000);
    expect([short.notes, long.notes]).toEqual([['3 end'], []]);
  });

  it('trims the caches every second', () => {
    vi.advanceTimersByTime(10_000);
    expect(trims).toBe(10);
  });

  it('ends watches whose rights are gone, once the changes have settled', async () => {
    const [kept, lost] = [new NotedWatch(false), new NotedWatch(false)];
    let isAllowed = true;
    kept.keeper = keeper(async () => true);
    lost.keeper = keeper(async () => isAllowed);
    tracker.add(kept, 100_000);
    tracker.add(lost, 100_000);
    await vi.advanceTimersByTimeAsync(1000);
    isAllowed = false;
    for (let change = 0; change < 5; change++) tracker.checkRights();
    await vi.advanceTimersByTimeAsync(1000);
    expect([kept.notes, lost.notes.length, tracker.size]).toEqual([[], 1, 1]);
  });

  it('ends at once a watch whose rights went before it was there, and one whose rights cannot be judged', async () => {
    const watches = [new NotedWatch(false), new NotedWatch(false)];
    watches[0]!.keeper = keeper(async () => false);
    watches[1]!.keeper = keeper(() => Promise.reject(new Error('no judge')));
    tracker.add(watches[0]!, 100_000);
    tracker.add(watches[1]!, 100_000);
    await vi.advanceTimersByTimeAsync(0);
    expect([tracker.size, ...watches.map(({ notes }) => notes.length)]).toEqual([0, 1, 1]);
  });
});
