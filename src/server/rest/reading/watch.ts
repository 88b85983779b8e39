/**
 * WATCH: where a stream starts, what it is encoded in, how long it lives. The stream itself is the storage's business.
 */
import { otherHistory } from '../../../api/index.ts';
import { eventEncodingFor } from '../../encodings/event-encodings.ts';
import { negotiate } from '../../encodings/negotiation.ts';
import type { RequestContext } from '../../request/request-context.ts';
import type { ObjectStorage } from '../../storage/object-storage.ts';
import type { ObjectWatch } from '../../storage/object-watch.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
import { isAnyVersion, type WatchOptions, watchOptions } from '../input/list-options.ts';

/** What the tracker must be able to ask of a watch, wherever it reads from. */
export type TrackedWatch = Pick<
  ObjectWatch,
  'allowsBookmarks' | 'askForProgress' | 'bookmarkAt' | 'end' | 'endsAt' | 'keeper' | 'sendBookmark'
> & {
  onEnd(listener: (watch: TrackedWatch) => void): void;
};

export type WatchTracking = {
  /**
   * Knows of every watch that wants bookmarks, and of all that must end with the server. Its keeper is asked now, and
   * again when rights have changed.
   */
  add(watch: TrackedWatch, timeoutMs: number): void;
  /** For watches without a limit of their own. */
  readonly minTimeoutMs: number;
};

/** Who is told of a watch as it opens. */
export type WatchOpening = Pick<WatchTracking, 'minTimeoutMs'> & { add(watch: ObjectWatch, timeoutMs: number): void };

/** `name`: the old spelling of a watch on one object. */
export async function handleWatch(
  context: RequestContext,
  storage: ResourceStorage,
  namespace: string,
  tracker: WatchOpening,
  name = '',
): Promise<void> {
  const format = negotiate(context.headers, storage.resource, true);
  const options = watchOptions(context.query, storage.resource, namespace, name);
  const { selection, resourceVersion, allowsBookmarks, sendInitialEvents } = options;
  mustBeOfThisHistory(context, storage.objects, options);
  return storage.objects.watch({
    selection,
    resourceVersion,
    allowsBookmarks,
    sendsInitialEvents: sendInitialEvents ?? isAnyVersion(resourceVersion),
    encoding: eventEncodingFor(storage, format, context.query),
    client: context,
    onOpen: (watch) => tracker.add(watch, timeoutOf(options, tracker)),
  });
}

/** Whoever says whose version it goes on from is told if that is not this server's: it looks like one, and is not. */
function mustBeOfThisHistory(
  { headers }: RequestContext,
  { history }: ObjectStorage,
  { resourceVersion }: WatchOptions,
): void {
  const name = headers['longwatch-history'];
  const asked = Number(resourceVersion || '0');
  if (typeof name !== 'string' || !history || asked === 0) return;
  if (!history.includes(name.slice(0, 100), asked)) throw otherHistory(asked);
}

/** Between once and twice the minimum, so that watches that began together do not end together. */
function timeoutOf({ timeoutSeconds }: WatchOptions, { minTimeoutMs }: WatchOpening): number {
  return timeoutSeconds > 0 ? timeoutSeconds * 1000 : minTimeoutMs * (1 + Math.random());
}
