/**
 * What the store still knows of one object: its changes as they are found, each with what was before it.
 *
 *   compaction ── … read at older and older revisions ── from ── … the log, in order ── now
 *
 * The log is read from a bounded number of revisions ago on, since it holds everybody's changes; what is older is read
 * version by version, for the object that was there then. Nothing is kept here: whoever is told keeps what they want.
 */
import { isStoreError, type Revision } from '../../../store/index.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import { objectKey } from '../objects/object-keys.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { DirectStorage } from './direct-storage.ts';

/** `previous` is undefined of a creation, and where it is not known: then `isFirstKept`. */
export type ObjectChange = {
  readonly revision: Revision;
  readonly current: StoredObject | undefined;
  readonly previous: StoredObject | undefined;
  readonly isFirstKept?: boolean;
};

export type HistoryReader = {
  /** Changes of the log, in order. */
  newer(change: ObjectChange): Promise<void>;
  /** Changes before all of those, the newest first; false: no more are wanted. */
  older(change: ObjectChange): Promise<boolean>;
};

export type HistoryBounds = {
  /** Of the store, when it was read. */
  readonly revision: Revision;
  /** Nothing before it can be read; undefined: nothing is compacted, as far as was looked. */
  readonly compacted: Revision | undefined;
};

const LOG_REVISIONS = 100_000;
/** How often the store is asked whether that was all. */
const ASK_MS = 200;

/** One object, where it is stored. */
export type StoredPlace = { readonly storage: DirectStorage; readonly namespace: string; readonly name: string };

/** Reads all that is known of an object, and tells the reader. */
export async function readHistory(
  place: StoredPlace,
  reader: HistoryReader,
  signal: AbortSignal,
): Promise<HistoryBounds> {
  const { revision } = await readAt(place, undefined, signal);
  let from = Math.max(1, revision - LOG_REVISIONS);
  let compacted: Revision | undefined;
  for (;;) {
    try {
      await readLog(place, from, revision, reader, signal);
      break;
    } catch (err) {
      const oldest = isStoreError(err, 'Compacted') ? err.compactRevision : undefined;
      if (oldest === undefined || oldest < from) throw err;
      compacted = oldest;
      from = oldest + 1; // what lies before it is told below
    }
  }
  if (from > 1 && !(await readBack(place, from - 1, reader, signal))) compacted ??= from - 1;
  return { revision, compacted };
}

/** The object as it was at a revision, and the revision of the store if none was asked for. Fails where that is compacted. */
export async function readAt(
  { storage, namespace, name }: StoredPlace,
  revision: Revision | undefined,
  signal: AbortSignal,
): Promise<{ readonly object: StoredObject | undefined; readonly revision: Revision }> {
  const start = objectKey(namespace, name);
  const at = revision === undefined ? { resourceVersion: '' } : { revision };
  const scope = namespace === '' ? '' : `${namespace}/`;
  const found = await storage.list({ scope, start, limit: 1, at, signal });
  const object = found.objects[0];
  return { object: object?.key === start ? object : undefined, revision: found.revision };
}

/** The changes from one revision to another, in order. */
async function readLog(
  { storage, namespace, name }: StoredPlace,
  from: Revision,
  to: Revision,
  reader: HistoryReader,
  signal: AbortSignal,
): Promise<void> {
  if (from > to) return;
  const log = storage.openLog(from, { namespace, name });
  const onAbort = () => void log.return();
  signal.addEventListener('abort', onAbort, { once: true });
  log.requestProgress();
  const asking = setInterval(() => log.requestProgress(), ASK_MS); // one that is behind does not hear it
  try {
    for await (const { events, revision } of log) {
      const slices = new WorkSlices(signal);
      for (const event of events) {
        const change = await storage.readEvent(event);
        if (change.revision > to) return;
        await reader.newer(change);
        if (slices.isOver) await slices.pause();
      }
      if (revision >= to) return;
    }
    signal.throwIfAborted();
  } finally {
    clearInterval(asking);
    signal.removeEventListener('abort', onAbort);
    await log.return();
  }
}

/** Version by version, from the one at `revision` back to its creation. False: compaction came first. */
async function readBack(
  place: StoredPlace,
  revision: Revision,
  reader: HistoryReader,
  signal: AbortSignal,
): Promise<boolean> {
  let { object: current } = await readAt(place, revision, signal);
  while (current) {
    const older = await readAt(place, current.revision - 1, signal).catch((err: unknown) => {
      if (!isStoreError(err, 'Compacted')) throw err;
      return undefined;
    });
    const change = { revision: current.revision, current, previous: older?.object };
    if (!older) {
      await reader.older({ ...change, isFirstKept: true });
      return false;
    }
    if (!(await reader.older(change))) return true;
    current = older.object;
  }
  return true;
}
