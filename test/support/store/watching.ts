/** How tests read watches: by what has to come, never by how long they waited. */
import type { KeyRange, Revision, Store, Watch, WatchBatch, WatchEvent, WatchOptions } from '../../../src/store/kv.ts';
import type { Recording } from './history.ts';
import { plain } from './store-under-test.ts';

/** The next batch; the watch must not end before. */
export async function nextBatch(watch: Watch): Promise<WatchBatch> {
  const { done, value } = await watch.next();
  if (done) throw new Error('Cannot read the next batch: the watch ended quietly');
  return value;
}

/** Batches until so many events came. */
export async function readEvents(watch: Watch, count: number): Promise<WatchBatch[]> {
  const batches: WatchBatch[] = [];
  for (let seen = 0; seen < count; ) {
    const batch = await nextBatch(watch);
    batches.push(batch);
    seen += batch.events.length;
  }
  return batches;
}

/** Batches until one covers the revision. Asks for progress again and again, as a request may go unanswered. */
export async function readThrough(watch: Watch, revision: Revision): Promise<WatchBatch[]> {
  const batches: WatchBatch[] = [];
  const asking = setInterval(() => watch.requestProgress(), 20);
  try {
    watch.requestProgress();
    for (let covered = 0; covered < revision; ) {
      const batch = await nextBatch(watch);
      batches.push(batch);
      covered = batch.revision;
    }
  } finally {
    clearInterval(asking);
  }
  return batches;
}

/** Opens a watch, reads everything through a revision, and leaves. */
export async function record(
  store: Store,
  range: KeyRange,
  through: Revision,
  options: WatchOptions & { fromRevision: Revision },
): Promise<Recording> {
  await using watch = store.watch(range, options);
  const batches = await readThrough(watch, through);
  return { range, fromRevision: options.fromRevision, prevKv: options.prevKv ?? false, batches };
}

export function eventsIn(batches: readonly WatchBatch[]): WatchEvent[] {
  return batches.flatMap((batch) => batch.events);
}

/** Each event as `put key` or `delete key`. */
export function namesIn(batches: readonly WatchBatch[]): string[] {
  return eventsIn(batches).map(({ type, kv }) => `${type} ${kv.key}`);
}

export function plainEvent({ type, kv, prevKv }: WatchEvent): unknown {
  return { type, kv: plain(kv), prevKv: plain(prevKv) };
}
