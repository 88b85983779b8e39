/**
 * WATCH: where a stream starts, what it is encoded in, how long it lives. The stream itself is the cache's business.
 */
import { type KubeObject, otherHistory, tooLargeResourceVersion, tooOldResourceVersion } from '../../api/index.ts';
import { isStoreError } from '../../store/index.ts';
import { goJson } from '../codec/index.ts';
import type { Exchange } from '../request/request-context.ts';
import { asStatusError } from '../request/status-body.ts';
import { CacheWatcher, isHistoryGone } from '../storage/cacher/cache-watcher.ts';
import type { Cacher } from '../storage/cacher/cacher.ts';
import { DirectWatch } from '../storage/direct-watch.ts';
import { bookmarkObject, type EventEncoding, JsonEncoding } from '../storage/event-encoding.ts';
import type { View } from '../storage/resources.ts';
import type { EventType, Selection } from '../storage/selection.ts';
import type { StoredObject } from '../storage/stored-object.ts';
import { partialObject } from '../tables/partial-metadata.ts';
import { bookmarkTable, type IncludeObject, parseIncludeObject, tableFor } from '../tables/table.ts';
import { isAnyVersion, type WatchRequest, watchOptions } from './list-options.ts';
import { type Format, negotiate } from './negotiation.ts';
import { PROTOBUF_EVENTS, ProtobufEncoding } from './protobuf-answer.ts';
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
  const encoding = encodingFor(exchange, view, format);
  const wantsState = request.sendInitialEvents ?? isAnyVersion(request.resourceVersion);
  const isFresh = await isFreshEnough(cache, wantsState && request.resourceVersion === '' ? '' : '0', exchange);
  if (!isFresh) return watchStore(exchange, view, request, encoding, tracker);
  const asked = Number(request.resourceVersion || '0');
  const isTooNew = wantsState && asked > 0 && !(await cache.waitFor(asked, WAIT_MS, exchange.signal));
  const stream = exchange.stream(contentTypeOf(encoding));
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
  const stream = exchange.stream(contentTypeOf(encoding));
  const frame = (err: unknown) => errorFrame(encoding, goneFor(err, after));
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
  return errorFrame(encoding, isHistoryGone(err) ? tooOldResourceVersion(after, cache.watchCache.since) : err);
}

function errorFrame(encoding: EventEncoding, err: unknown): Buffer {
  const { status } = asStatusError(err);
  return encoding instanceof ProtobufEncoding ? encoding.error(status) : line('ERROR', status);
}

function contentTypeOf(encoding: EventEncoding): string {
  return encoding instanceof ProtobufEncoding ? PROTOBUF_EVENTS : 'application/json';
}

const jsonEncodings = new WeakMap<View, JsonEncoding>();

function encodingFor(exchange: Exchange, view: View, format: Format): EventEncoding {
  const { resource } = view;
  const { mediaType, shape, version: metaVersion } = format;
  if (mediaType === 'protobuf') return new ProtobufEncoding(view, format);
  switch (shape) {
    case 'object': {
      if (!view.isStorageForm)
        return new ObjectEncoding(
          view,
          `object ${resource.groupVersion}`,
          (object) => object,
          (bookmark) => bookmark,
        );
      let encoding = jsonEncodings.get(view);
      if (!encoding) {
        encoding = new JsonEncoding(view.cache.codec);
        jsonEncodings.set(view, encoding);
      }
      return encoding;
    }
    case 'Table':
      return new TableEncoding(view, parseIncludeObject(exchange.query.get('includeObject')), metaVersion);
    default: {
      const partial = (object: KubeObject) => partialObject(object, metaVersion);
      return new ObjectEncoding(view, `partial ${metaVersion} ${resource.groupVersion}`, partial, partial);
    }
  }
}

/** Events whose objects are put together from the parsed object. */
class ObjectEncoding implements EventEncoding {
  readonly id: string;
  readonly #view: View;
  readonly #show: (object: KubeObject) => object;
  readonly #showBookmark: (object: KubeObject) => object;

  constructor(
    view: View,
    id: string,
    show: (object: KubeObject) => object,
    showBookmark: (object: KubeObject) => object,
  ) {
    this.id = id;
    this.#view = view;
    this.#show = show;
    this.#showBookmark = showBookmark;
  }

  frame(type: EventType, cached: StoredObject): Buffer {
    return line(type, this.#show(this.#view.toObject(cached)));
  }

  bookmark(revision: number, isInitialEnd: boolean): Buffer {
    return line('BOOKMARK', this.#showBookmark(bookmarkFor(this.#view, revision, isInitialEnd)));
  }
}

/** Tables name their columns in the first event of each stream only, so no two streams share an encoding. */
class TableEncoding implements EventEncoding {
  readonly isPrivate = true;
  static #count = 0;
  readonly id: string = `table ${TableEncoding.#count++}`;
  readonly #view: View;
  readonly #includeObject: IncludeObject;
  readonly #version: 'v1' | 'v1beta1';
  #isFirst = true;

  constructor(view: View, includeObject: IncludeObject, version: 'v1' | 'v1beta1') {
    this.#view = view;
    this.#includeObject = includeObject;
    this.#version = version;
  }

  frame(type: EventType, cached: StoredObject): Buffer {
    const object = this.#view.toObject(cached);
    return line(type, tableFor(this.#view.resource, [object], this.#options(object)));
  }

  bookmark(revision: number, isInitialEnd: boolean): Buffer {
    const object = bookmarkFor(this.#view, revision, isInitialEnd);
    return line('BOOKMARK', bookmarkTable(this.#view.resource, object, this.#options(object)));
  }

  #options(object: KubeObject) {
    const hasColumns = this.#isFirst;
    this.#isFirst = false;
    const listMeta = { resourceVersion: object.metadata.resourceVersion ?? '' };
    const printerColumns = this.#view.resource.custom?.printerColumns ?? [];
    const shape = { includeObject: this.#includeObject, version: this.#version, hasColumns, printerColumns };
    return { ...shape, now: Date.now(), listMeta };
  }
}

function bookmarkFor({ resource, cache }: View, revision: number, isInitialEnd: boolean): KubeObject {
  const bookmark = bookmarkObject(cache.codec, revision, isInitialEnd);
  return { ...bookmark, kind: resource.kind, apiVersion: resource.groupVersion };
}

function line(type: string, object: object): Buffer {
  return Buffer.from(`${goJson({ type, object: object as never })}\n`);
}
