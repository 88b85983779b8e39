/**
 * GET and LIST. A read is as fresh as its resourceVersion demands: without one, everything acknowledged before the
 * request is in it; with `0`, the cache as it is; with a number, that state or a newer one, or exactly that one.
 * A list in pages is one snapshot: its token names the revision, and every page is read at it, until compaction ends it
 * with 410.
 */
import { badRequest, continueExpired, listExpired, notFound, plainError } from '../../../api/index.ts';
import { type Format, negotiate } from '../../encodings/negotiation.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import type { RequestContext } from '../../request/request-context.ts';
import {
  isExpired,
  type ObjectList,
  type ObjectRange,
  type ObjectStorage,
  type Revision,
  scopeOf,
} from '../../storage/object-storage.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
import type { Selection } from '../../storage/selection.ts';
import type { StoredObject } from '../../storage/stored-object.ts';
import type { ListMeta } from '../../tables/partial-metadata.ts';
import { decodeToken, encodeToken } from '../input/continue-token.ts';
import { isAnyVersion, type ListOptions, listOptions, versionFault } from '../input/list-options.ts';
import { sendCached, sendList } from '../output/answer.ts';

/** Answers at once where the object is at hand: to wait for nothing costs more than to send it. */
export function handleGet(
  context: RequestContext,
  storage: ResourceStorage,
  namespace: string,
  name: string,
): void | Promise<void> {
  const format = negotiate(context.headers, storage.resource);
  const version = context.queryText === '' ? '' : askedVersion(context.query);
  const found = storage.objects.peek(namespace, name, version);
  if (!found) return getAfterWait(context, storage, namespace, name, version, format);
  sendCached(context, 200, format, storage, found);
}

async function getAfterWait(
  context: RequestContext,
  storage: ResourceStorage,
  namespace: string,
  name: string,
  resourceVersion: string,
  format: Format,
): Promise<void> {
  const found = await storage.objects.get(namespace, name, { resourceVersion, signal: context.signal });
  if (!found) throw notFound(storage.resource, name);
  sendCached(context, 200, format, storage, found);
}

function askedVersion(query: URLSearchParams): string {
  if (query.get('export') === 'true')
    throw badRequest('the export parameter, deprecated since v1.14, is no longer supported');
  const version = query.get('resourceVersion') ?? '';
  const why = versionFault(version);
  if (why !== undefined) throw plainError(why);
  return version;
}

export async function handleList(context: RequestContext, storage: ResourceStorage, namespace: string): Promise<void> {
  const format = negotiate(context.headers, storage.resource, false, true);
  const options = listOptions(context.query, storage.resource, namespace);
  const { items, meta } = await listObjects(storage.objects, options, context.signal);
  await sendList(context, format, storage, items, meta);
}

export type ListedObjects = { readonly items: readonly StoredObject[]; readonly meta: ListMeta };

export async function listObjects(
  storage: ObjectStorage,
  options: ListOptions,
  signal: AbortSignal,
): Promise<ListedObjects> {
  const { selection, resourceVersion } = options;
  const scope = scopeOf(selection);
  const token = options.continueToken === '' ? undefined : decodeToken(options.continueToken, scope);
  if (token && resourceVersion !== '' && resourceVersion !== '0')
    throw badRequest('specifying resource version is not allowed when using continue');
  const limit = resourceVersion === '0' ? 0 : options.limit;
  // Where selectors decide what is in a page, nobody knows how far it reaches.
  const needed = limit > 0 && isByScopeOnly(selection) ? limit : undefined;
  const start = token?.start ?? scope;
  const exact = exactRevision(options, token?.revision);
  const at = exact === undefined ? { resourceVersion: freshnessOf(options) } : { revision: exact };
  let found: ObjectList;
  try {
    // A page says whether anything follows it, and to that end all that follows counts.
    const pinned = limit > 0 ? [] : selection.pinned;
    found = await storage.list({ scope, start, limit: needed, at, signal, isPatient: true, pinned });
  } catch (err) {
    if (exact === undefined || !isExpired(err)) throw err;
    throw token ? continueExpired(encodeToken({ revision: -1, start }, scope)) : listExpired();
  }
  const { items, rest } = await pick(found, selection, limit, signal);
  return { items, meta: listMeta(found.revision, items, rest, options) };
}

/** What of a list is in the answer: `continue` and the count of what is left only where there is more. */
function listMeta(revision: Revision, items: readonly StoredObject[], rest: number, options: ListOptions): ListMeta {
  const last = items[items.length - 1];
  if (rest === 0 || !last) return { resourceVersion: String(revision) };
  return {
    resourceVersion: String(revision),
    continue: encodeToken({ revision, start: `${last.key}\0` }, scopeOf(options.selection)),
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
