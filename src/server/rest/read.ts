/**
 * GET and LIST. A read is as fresh as its resourceVersion demands: without one, everything acknowledged before the
 * request is in it; with `0`, the cache as it is; with a number, that state or a newer one, or exactly that one.
 * A list in pages is one snapshot: its token names the revision, and every page is read at it, from the cache while its
 * window reaches back, from the store after that, until compaction ends it with 410.
 */
import {
  badRequest,
  continueExpired,
  listExpired,
  notFound,
  plainError,
  tooLargeResourceVersion,
} from '../../api/index.ts';
import { isStoreError, type Revision } from '../../store/index.ts';
import { negotiate } from '../encodings/negotiation.ts';
import { WorkSlices } from '../event-loop/work-slices.ts';
import type { Exchange } from '../request/request-context.ts';
import type { Cacher, ObjectRange } from '../storage/cacher/cacher.ts';
import { readStore, type StoreState, waitForStore } from '../storage/direct-watch.ts';
import type { View } from '../storage/resources.ts';
import type { Selection } from '../storage/selection.ts';
import type { StoredObject } from '../storage/stored-object.ts';
import type { ListMeta } from '../tables/partial-metadata.ts';

import { sendCached, sendList } from './answer.ts';
import { decodeToken, encodeToken } from './continue-token.ts';
import { isAnyVersion, type ListOptions, listOptions, versionFault } from './list-options.ts';

/** How long a read waits for a revision that the cache has not reached. */
export const WAIT_MS = 3000;

export async function handleGet(exchange: Exchange, view: View, namespace: string, name: string): Promise<void> {
  const format = negotiate(exchange.headers, view.resource);
  if (exchange.query.get('export') === 'true')
    throw badRequest('the export parameter, deprecated since v1.14, is no longer supported');
  const version = exchange.query.get('resourceVersion') ?? '';
  const why = versionFault(version);
  if (why !== undefined) throw plainError(why);
  const found = await readObject(view.cache, namespace, name, version, exchange.signal);
  if (!found) throw notFound(view.resource, name);
  sendCached(exchange, 200, format, view, found);
}

export async function handleList(exchange: Exchange, view: View, namespace: string): Promise<void> {
  const format = negotiate(exchange.headers, view.resource, false, true);
  const options = listOptions(exchange.query, view.resource, namespace);
  const { items, meta } = await listObjects(view.cache, options, exchange.signal);
  await sendList(exchange, format, view, items, meta);
}

async function readObject(
  cache: Cacher,
  namespace: string,
  name: string,
  version: string,
  signal: AbortSignal,
): Promise<StoredObject | undefined> {
  if (await isFreshEnough(cache, version, { signal }))
    return cache.objects.get(namespace === '' ? name : `${namespace}/${name}`);
  const { kv } = await cache.store.get(cache.storeKey(namespace, name), { signal });
  return kv && cache.read(kv);
}

/** The objects in a scope, not older than `version` asks for: the first `limit` of them, and how many there are. */
export async function readState(
  cache: Cacher,
  scope: string,
  start: string,
  version: string,
  signal: AbortSignal,
  limit?: number,
): Promise<StoreState> {
  if (!(await isFreshEnough(cache, version, { signal })))
    return readStore(cache, scope, start, undefined, signal, limit);
  const objects = cache.objects.values(scope, start, limit);
  return { objects, count: cache.objects.count(scope, start), revision: cache.revision };
}

export type ObjectList = {
  readonly items: readonly StoredObject[];
  readonly meta: ListMeta;
  readonly revision: Revision;
};

export async function listObjects(cache: Cacher, options: ListOptions, signal: AbortSignal): Promise<ObjectList> {
  const { selection, resourceVersion } = options;
  const scope = scopeOf(selection);
  const token = options.continueToken === '' ? undefined : decodeToken(options.continueToken, keyScope(options));
  if (token && resourceVersion !== '' && resourceVersion !== '0')
    throw badRequest('specifying resource version is not allowed when using continue');
  const limit = resourceVersion === '0' ? 0 : options.limit;
  // Where selectors decide what is in a page, nobody knows how far it reaches.
  const needed = limit > 0 && isByScopeOnly(selection) ? limit : undefined;
  const start = token?.start ?? scope;
  const exact = exactRevision(options, token?.revision);
  let revision: Revision;
  let found: ObjectRange;
  if (exact !== undefined) {
    revision = exact;
    found = await readExactly(cache, exact, scope, start, signal, needed).catch((err: unknown) => {
      if (!isStoreError(err, 'Compacted')) throw err;
      cache.counts.stale++;
      throw token ? continueExpired(encodeToken({ revision: -1, start }, keyScope(options))) : listExpired();
    });
  } else {
    const state = await readState(cache, scope, start, freshnessOf(options), signal, needed);
    found = state;
    revision = state.revision;
  }
  cache.counts.lists++;
  const { items, rest } = await pick(found, selection, limit, signal);
  return { items, meta: listMeta(revision, items, rest, options), revision };
}

/** What of a list is in the answer: `continue` and the count of what is left only where there is more. */
function listMeta(revision: Revision, items: readonly StoredObject[], rest: number, options: ListOptions): ListMeta {
  const last = items[items.length - 1];
  if (rest === 0 || !last) return { resourceVersion: String(revision) };
  return {
    resourceVersion: String(revision),
    continue: encodeToken({ revision, start: `${last.key}\0` }, keyScope(options)),
    ...(!options.selection.isSelective && { remainingItemCount: rest }),
  };
}

/** Those that match, at most `limit`, and how many of all come after the last of them. */
async function pick(
  { objects: all, count }: ObjectRange,
  selection: Selection,
  limit: number,
  signal: AbortSignal,
): Promise<{ items: readonly StoredObject[]; rest: number }> {
  if (isByScopeOnly(selection)) {
    const items = limit > 0 && all.length > limit ? all.slice(0, limit) : all;
    return { items, rest: count - items.length };
  }
  const items: StoredObject[] = [];
  const slices = new WorkSlices(signal);
  for (let i = 0; i < all.length; i++) {
    // Objects never change, so the snapshot stays one however long this takes.
    if (slices.isOver) await slices.pause();
    if (!selection.matches(all[i]!)) continue;
    if (limit > 0 && items.length === limit) return { items, rest: all.length - i };
    items.push(all[i]!);
  }
  return { items, rest: 0 };
}

/** Whether everything in the scope is in the list. */
function isByScopeOnly({ isScopeOnly, name }: Selection): boolean {
  return isScopeOnly && name === '';
}

/** The revision that must be read, where one must; otherwise any new enough will do. */
function exactRevision(
  { resourceVersion, match, limit }: ListOptions,
  token: Revision | undefined,
): Revision | undefined {
  if (token !== undefined) return token > 0 ? token : undefined;
  if (isAnyVersion(resourceVersion)) return undefined;
  return isExact(match, limit) ? Number(resourceVersion) : undefined;
}

/** A page of a numbered version is of that version, whether that is said or not. */
function isExact(match: ListOptions['match'], limit: number): boolean {
  return match === 'Exact' || (match === '' && limit > 0);
}

/** How new a list must be. Exactly the version zero there never was: whoever spells it `00` gets the newest. */
function freshnessOf({ resourceVersion, match, limit }: ListOptions): string {
  const isZero = resourceVersion !== '0' && isAnyVersion(resourceVersion);
  return isZero && isExact(match, limit) ? '' : resourceVersion;
}

async function readExactly(
  cache: Cacher,
  revision: Revision,
  scope: string,
  start: string,
  signal: AbortSignal,
  limit: number | undefined,
): Promise<ObjectRange> {
  await isFreshEnough(cache, String(revision), { signal });
  // The cache may still know what the store has compacted; whether a token is too old must not depend on that.
  await cache.store.get(cache.keyPrefix, { revision, signal });
  const cached = cache.isKept ? cache.valuesAt(revision, scope, start, limit) : undefined;
  return cached ?? readStore(cache, scope, start, revision, signal, limit);
}

/**
 * Waits until the cache is as new as the request demands. False: it keeps nothing, or does not get there in time for
 * a read of the present, and the store must be asked itself. A future that does not come is a 504. The signal is asked
 * for only if somebody waits: most watches never need one, and would keep it as long as they live.
 */
export async function isFreshEnough(
  cache: Cacher,
  version: string,
  asking: { readonly signal: AbortSignal },
): Promise<boolean> {
  const isNumbered = version !== '' && version !== '0';
  if (!cache.isKept) {
    if (isNumbered) await waitForStore(cache, Number(version), WAIT_MS, asking.signal);
    return false;
  }
  if (version === '0' && cache.isReady) return true;
  if (!isNumbered) return cache.waitForNow(WAIT_MS, asking.signal);
  if (await cache.waitFor(Number(version), WAIT_MS, asking.signal)) return true;
  throw tooLargeResourceVersion(version.replace(/^0+/, ''), cache.revision);
}

/** The keys a selection can be found under begin with this. */
export function scopeOf({ namespace }: Selection): string {
  return namespace === '' ? '' : `${namespace}/`;
}

/** What keys in tokens are relative to: the namespace of the path. */
function keyScope({ selection }: ListOptions): string {
  return scopeOf(selection);
}
