/**
 * WATCH: where a stream starts, what it is encoded in, how long it lives. The stream itself is the cache's business.
 */
import { otherHistory, tooLargeResourceVersion, tooOldResourceVersion } from '../../api/index.ts';
import { isStoreError } from '../../store/index.ts';
import { eventEncodingFor } from '../encodings/event-encodings.ts';
import { negotiate } from '../encodings/negotiation.ts';
import type { Exchange } from '../request/request-context.ts';
import { CacheWatcher, isHistoryGone } from '../storage/cacher/cache-watcher.ts';
import type { Cacher } from '../storage/cacher/cacher.ts';
import { DirectWatch } from '../storage/direct-watch.ts';
import type { EventEncoding } from '../storage/event-encoding.ts';
import type { View } from '../storage/resources.ts';
import type { Selection } from '../storage/selection.ts';
import type { StoredObject } from '../storage/stored-object.ts';
import { isAnyVersion, type WatchRequest, watchOptions } from './list-options.ts';
import { isFreshEnough, readState, scopeOf, WAIT_MS } from './read.ts';

/** What the tracker must be able to ask of a watch, wherever it reads from. */
export type TrackedWatch = Pick<
  CacheWatcher,
  'allowsBookmarks' | 'askForProgress' | 'bookmarkAt' | 'end' | 'onEnd' | 'sendBookmark'
>;

export type WatchTracking = {
  /**
   * Knows of every watch that wants bookmarks, and of all that must end with the server. `mayGoOn`: asked again when
   * rights have changed.
   */
  add(watch: TrackedWatch, timeoutMs: number, mayGoOn?: () => Promise<boolean>): void;
  /** For watches without a limit of their own. */
  readonly minTimeoutMs: number;
};

/** `name`: the old spelling of a watch on one object. */
export async function handleWatch(
  exchange: Exchange,
  view: View,
  namespace: string,
  tracker: WatchTracking,
  name = '',
): Promise<void> {
  const format = negotiate(exchange.headers, view.resource, true);
  const request = watchOptions(exchange.query, view.resource, namespace, name);
  const { cache } = view;
  const { selection, allowsBookmarks } = request;
  mustBeOfThisHistory(exchange, cache, request);
  const encoding = eventEncodingFor(view, format, exchange.query);
  const wantsState = request.sendInitialEvents ?? isAnyVersion(request.resourceVersion);
  const isFresh = await isFreshEnough(cache, wantsState && request.resourceVersion === '' ? '' : '0', exchange);
  if (!isFresh) return watchStore(exchange, view, request, encoding, tracker);
  const asked = Number(request.resourceVersion || '0');
  const isTooNew = wantsState && asked > 0 && !(await cache.waitFor(asked, WAIT_MS, exchange.signal));
  const stream = exchange.stream(encoding.contentType);
  const after = wantsState || asked === 0 ? cache.revision : asked;
  const initial = wantsState ? candidatesOf(cache, selection) : undefined;
  const watch = new CacheWatcher({
    cache,
    stream,
    selection,
    encoding,
    after,
    allowsBookmarks,
    errorFrame: watchErrorFrame,
    ...(initial && !isTooNew && { initial }),
  });
  tracker.add(watch, timeoutOf(request, tracker));
  if (isTooNew) watch.fail(tooLargeResourceVersion(asked, cache.revision));
  else await watch.start();
}

/** Whoever says whose version it goes on from is told if that is not this server's: it looks like one, and is not. */
function mustBeOfThisHistory({ headers }: Exchange, { store }: Cacher, { resourceVersion }: WatchRequest): void {
  const name = headers['longwatch-history'];
  const asked = Number(resourceVersion || '0');
  if (typeof name !== 'string' || !store.history || asked === 0) return;
  if (!store.history.includes(name.slice(0, 100), asked)) throw otherHistory(asked);
}

/** What a selection can match at all: one object, if it names it. */
function candidatesOf(cache: Cacher, selection: Selection): readonly StoredObject[] {
  const { namespace, name } = selection;
  const isOne = name !== '' && (namespace !== '' || !cache.codec.resource.isNamespaced);
  if (!isOne) return cache.objects.values(scopeOf(selection));
  const found = cache.objects.get(namespace === '' ? name : `${namespace}/${name}`);
  return found ? [found] : [];
}

/** The same from the store itself, where there is no cache or it is too far behind. */
async function watchStore(
  exchange: Exchange,
  { cache }: View,
  request: WatchRequest,
  encoding: EventEncoding,
  tracker: WatchTracking,
): Promise<void> {
  const { selection, resourceVersion, allowsBookmarks, sendInitialEvents } = request;
  const asked = Number(resourceVersion || '0');
  const wantsState = sendInitialEvents ?? asked === 0;
  const { signal } = exchange;
  const scope = scopeOf(selection);
  let refusal: unknown;
  const state = wantsState
    ? await readState(cache, scope, scope, resourceVersion, signal).catch((err: unknown) => {
        signal.throwIfAborted();
        refusal = err;
        return undefined;
      })
    : undefined;
  const after = state?.revision ?? (asked || (await cache.store.revision({ signal })));
  const stream = exchange.stream(encoding.contentType);
  const frame = (err: unknown) => encoding.error(goneFor(err, after));
  const watch = new DirectWatch(cache, stream, selection, encoding, after, allowsBookmarks, frame);
  tracker.add(watch, timeoutOf(request, tracker));
  if (refusal) watch.fail(refusal);
  else await watch.run(state?.objects, () => exchange.initialised());
}

function goneFor(err: unknown, after: number): unknown {
  return isStoreError(err, 'Compacted') ? tooOldResourceVersion(after, err.compactRevision ?? after) : err;
}

/** Between once and twice the minimum, so that watches that began together do not end together. */
function timeoutOf({ timeoutSeconds }: WatchRequest, { minTimeoutMs }: WatchTracking): number {
  return timeoutSeconds > 0 ? timeoutSeconds * 1000 : minTimeoutMs * (1 + Math.random());
}

function watchErrorFrame({ encoding, after, cache }: CacheWatcher, err: unknown): Buffer {
  return encoding.error(isHistoryGone(err) ? tooOldResourceVersion(after, cache.watchCache.since) : err);
}
