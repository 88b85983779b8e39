/** The watch caches as objects: what each holds, how far back it reaches, who uses it. */
import { type JsonObject, rfc3339 } from '../../api/index.ts';
import { qualifiedName } from '../registry/resource.ts';
import type { Cacher } from '../storage/cacher/cacher.ts';
import type { LiveItem, LiveSource } from '../storage/live/live-storage.ts';
import { column, count, decimal, flag, group, type LiveKind, text, time, wideColumn } from './live-kind.ts';
import { liveObject, rounded, STARTED_AT, uidOf } from './live-object.ts';

const UID_KIND = 2;
const RATE_SECONDS = 10;

export const watchCacheKind: LiveKind = {
  kind: 'WatchCache',
  plural: 'watchcaches',
  shortName: 'wc',
  verbs: ['get', 'list', 'watch'],
  description:
    'The current objects and recent changes of one resource, in memory: what reads and watches are served from.',
  fields: {
    spec: group('Whose objects they are.', {
      group: text('The API group; empty for the core group.'),
      version: text('The version that objects are stored in.'),
      resource: text('The resource, in its plural.'),
    }),
    status: group('What it holds, and who uses it.', {
      isReady: flag('Whether it has been filled.'),
      objects: count('Objects there are.'),
      revision: count('The revision it has reached.'),
      window: group('The recent changes: a watch from within them is served without asking the store.', {
        fromRevision: count('Every change after this revision is in it.'),
        toRevision: count('The revision it reaches up to.'),
        fromTime: time('When the first of its changes came.'),
        toTime: time('When the last of its changes came.'),
        seconds: count('How far back it reaches.'),
        events: count('How many changes it holds.'),
        capacity: count('How many it has room for without asking for more.'),
      }),
      eventsPerSecond: decimal('Changes a second, over the last ten seconds.'),
      eventsReceived: count('Changes it got from the store.'),
      eventsDispatched: count('Events it handed to watches.'),
      watchers: count('Open watches.'),
      watchersBehind: count('Those of them that do not have everything.'),
      initialisations: count('How often it was filled from the store.'),
      lists: count('Lists served from it.'),
      expired: count('Reads and watches refused because the history they asked for is gone.'),
      bookmarks: count('Bookmarks sent.'),
      memoryBytes: count('Bytes held for objects and changes.'),
    }),
  },
  columns: [
    column('Objects', '.status.objects', 'integer'),
    column('From', '.status.window.fromRevision', 'integer'),
    column('To', '.status.window.toRevision', 'integer'),
    column('Seconds', '.status.window.seconds', 'integer'),
    column('Events', '.status.window.events', 'integer'),
    column('Capacity', '.status.window.capacity', 'integer'),
    column('Rate', '.status.eventsPerSecond', 'number'),
    column('Watchers', '.status.watchers', 'integer'),
    column('Behind', '.status.watchersBehind', 'integer'),
    column('Expired', '.status.expired', 'integer'),
    wideColumn('Lists', '.status.lists', 'integer'),
    wideColumn('Initialisations', '.status.initialisations', 'integer'),
    wideColumn('Bookmarks', '.status.bookmarks', 'integer'),
    wideColumn('Memory', '.status.memoryBytes', 'integer'),
  ],
  selectable: ['spec.resource', 'spec.group'],
};

export function watchCacheSource(cachers: () => Iterable<Cacher>): LiveSource {
  const numbers = new WeakMap<Cacher, number>();
  let made = 0;
  const numberOf = (cacher: Cacher) => {
    const number = numbers.get(cacher) ?? ++made;
    numbers.set(cacher, number);
    return number;
  };
  return {
    *items() {
      for (const cacher of cachers()) yield itemOf(cacher, numberOf(cacher));
    },
  };
}

function itemOf(cacher: Cacher, number: number): LiveItem {
  const { resource } = cacher.codec;
  const name = qualifiedName(resource);
  const spec = { group: resource.group, version: resource.version, resource: resource.plural };
  const meta = { name, uid: uidOf(UID_KIND, number), createdAt: STARTED_AT };
  return { object: liveObject('WatchCache', meta, { spec, status: statusOf(cacher) }) };
}

function statusOf(cacher: Cacher): JsonObject {
  const { objects, watchCache, revision, counts, direct, watchers } = cacher;
  const now = cacher.now();
  return {
    isReady: cacher.isReady,
    objects: objects.size,
    revision,
    window: windowOf(cacher, now),
    eventsPerSecond: rounded(watchCache.countSince(now - RATE_SECONDS * 1000) / RATE_SECONDS),
    eventsReceived: counts.received,
    eventsDispatched: counts.dispatched,
    watchers: direct.watches.size,
    watchersBehind: direct.watches.size - watchers.size,
    initialisations: counts.initializations,
    lists: counts.lists,
    expired: counts.stale,
    bookmarks: counts.bookmarks,
    memoryBytes: objects.bytes + watchCache.bytes,
  };
}

function windowOf({ watchCache, revision }: Cacher, now: number): JsonObject {
  const { times } = watchCache;
  const wallMs = Date.now();
  return {
    fromRevision: watchCache.since,
    toRevision: revision,
    ...(times && {
      fromTime: rfc3339(wallMs - (now - times.first)),
      toTime: rfc3339(wallMs - (now - times.last)),
    }),
    seconds: times ? Math.floor((now - times.first) / 1000) : 0,
    events: watchCache.size,
    capacity: watchCache.capacity,
  };
}
