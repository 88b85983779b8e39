/**
 * Every open watch as an object: who watches what, and how far behind they are. Deleting one ends its stream, cleanly.
 *
 * That watches can be deleted is not told by discovery: what can be, garbage collectors follow for ever, and somebody would
 * always be looking. Looking at a watch is news to whoever watches `watches` only if it is about somebody else: the watches of this group
 * are sent with every look, and would be news for ever.
 */
import { type JsonObject, rfc3339 } from '../../api/index.ts';
import type { OpenWatch, OpenWatches } from '../rest/reading/open-watches.ts';
import { resourceName } from '../rest/reading/request-facts.ts';
import type { LiveItem, LiveSource } from '../storage/live/live-storage.ts';
import type { WatchReport } from '../storage/object-watch.ts';
import { column, count, flag, GROUP, group, type LiveKind, text, time, wideColumn } from './live-kind.ts';
import { liveObject, uidOf } from './live-object.ts';
import { requestFields, requestSpec } from './request-fields.ts';

const UID_KIND = 1;

const STATES = { initial: 'Initial', live: 'Live', behind: 'Behind', log: 'FromLog', ended: 'Ended' } as const;

export const watchKind: LiveKind = {
  kind: 'Watch',
  plural: 'watches',
  shortName: 'wa',
  verbs: ['get', 'list', 'watch'],
  untoldVerbs: ['delete'],
  description: 'A watch that is open at this moment. Deleting it ends its stream; the client goes on where it was.',
  fields: {
    spec: group('Who watches what.', {
      ...requestFields,
      labelSelector: text('The label selector; absent: none.'),
      fieldSelector: text('The field selector; absent: none.'),
      resourceVersion: text('The version it was to go on from; absent: none was given.'),
      allowsBookmarks: flag('Whether it wants bookmarks.'),
      sendsInitialEvents: flag('Whether it began with all objects that there were.'),
      contentType: text('The form its events are sent in.'),
      endsAt: time('When the server ends it, if nobody else does.'),
      resourceName: text('The resource with its group: deployments.apps.'),
    }),
    status: group('Where it is.', {
      state: text(
        'Initial: it is being sent the state it begins with. Live: it has everything. Behind: it is given what it ' +
          'missed, as fast as the client reads. FromLog: the same, from the log of the store, since it is older than the watch cache.',
      ),
      lastRevision: count('Everything up to and with this revision was handed to its connection.'),
      currentRevision: count('The revision of those that have everything.'),
      behind: group('How far behind it is.', {
        revisions: count('Revisions of the store, of all resources.'),
        events: count('Changes of this resource that it was not given yet, before selectors; absent where not known.'),
        bytes: count('Bytes that wait for the client to read.'),
        seconds: count('How old the first change is that it was not given yet.'),
      }),
      eventsSent: count('Events so far, with those of the initial state.'),
      bytesSent: count('Bytes so far, before TLS.'),
      bookmarksSent: count('Bookmarks so far.'),
      worker: count('The thread that serves it; 0 is the one that has the store.'),
    }),
  },
  columns: [
    column('User', '.spec.user'),
    column('Resource', '.spec.resourceName'),
    column('Namespace', '.spec.namespace'),
    column('State', '.status.state'),
    column('Revision', '.status.lastRevision', 'integer'),
    column('Behind', '.status.behind.revisions', 'integer'),
    column('Seconds', '.status.behind.seconds', 'integer'),
    column('Unread', '.status.behind.bytes', 'integer'),
    column('Age', '.metadata.creationTimestamp', 'date'),
    wideColumn('Events', '.status.eventsSent', 'integer'),
    wideColumn('Bytes', '.status.bytesSent', 'integer'),
    wideColumn('Bookmarks', '.status.bookmarksSent', 'integer'),
    wideColumn('Labels', '.spec.labelSelector'),
    wideColumn('Fields', '.spec.fieldSelector'),
    wideColumn('Address', '.spec.address'),
    wideColumn('Agent', '.spec.userAgent'),
    wideColumn('Worker', '.status.worker', 'integer'),
  ],
  selectable: ['spec.user', 'spec.resource', 'spec.resourceName', 'spec.namespace', 'status.state'],
};

/** Those of this thread. */
export function watchSource(open: OpenWatches, worker: number): OwnWatches {
  return {
    *items() {
      for (const one of open.all()) yield itemOf(one, open.nameOf(one), worker);
    },
    remove: (name) => open.end(name),
  };
}

export type OwnWatches = { items(): Iterable<LiveItem>; remove(name: string): boolean };

/** Those of all threads of the server. */
export function wholeWatchSource(whole: WatchesOfAll): LiveSource {
  return { items: () => whole.watches(), remove: (name) => whole.endWatch(name) };
}

export type WatchesOfAll = {
  watches(): Promise<readonly LiveItem[]>;
  endWatch(name: string): Promise<boolean>;
};

/** How long it has been without what it should have. */
export function lagSeconds({ state, ahead, notLiveMs }: WatchReport): number {
  if (state === 'live') return 0;
  if (state === 'initial' || ahead.events === undefined) return notLiveMs / 1000;
  return (ahead.oldestMs ?? 0) / 1000;
}

function itemOf({ number, watch, request, openedAt, endsAt }: OpenWatch, name: string, worker: number): LiveItem {
  const { selection, encoding, allowsBookmarks } = watch;
  const { resourceVersion, sendsInitialEvents } = request;
  const labels = selection.labels.canonical;
  const fields = selection.fields.canonical;
  const spec: JsonObject = {
    ...requestSpec(request),
    resourceName: resourceName(request),
    ...(labels !== '' && { labelSelector: labels }),
    ...(fields !== '' && { fieldSelector: fields }),
    ...(resourceVersion !== '' && { resourceVersion }),
    allowsBookmarks,
    sendsInitialEvents,
    contentType: encoding.contentType,
    endsAt: rfc3339(endsAt),
  };
  const status = statusOf(watch.report(), worker);
  const object = liveObject('Watch', { name, uid: uidOf(UID_KIND, number), createdAt: openedAt }, { spec, status });
  return request.group === GROUP ? { object, news: String(status.state) } : { object };
}

function statusOf(report: WatchReport, worker: number): JsonObject {
  const { state, complete, ahead, unreadBytes, eventsSent, bytesSent, bookmarksSent } = report;
  const current = Math.max(ahead.revision ?? complete, complete);
  return {
    state: STATES[state],
    lastRevision: complete,
    ...(ahead.revision !== undefined && { currentRevision: current }),
    behind: {
      revisions: state === 'live' ? 0 : current - complete,
      ...(ahead.events !== undefined && { events: state === 'live' ? 0 : ahead.events }),
      bytes: unreadBytes,
      seconds: Math.floor(lagSeconds(report)),
    },
    eventsSent,
    bytesSent,
    bookmarksSent,
    worker,
  };
}
