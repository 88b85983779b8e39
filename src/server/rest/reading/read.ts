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
  type ListRequest,
  type ObjectList,
  type ObjectStorage,
  type Revision,
  scopeOf,
} from '../../storage/object-storage.ts';
import { objectKey } from '../../storage/objects/object-keys.ts';
import type { Selection } from '../../storage/objects/selection.ts';
import type { StoredObject } from '../../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
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

/** As for a GET: at once, where all that is in the answer is at hand. */
export function handleList(context: RequestContext, storage: ResourceStorage, namespace: string): void | Promise<void> {
  const format = negotiate(context.headers, storage.resource, false, true);
  const options = listOptions(context.query, storage.resource, namespace);
  const listed = peekObjects(storage.objects, options);
  if (!listed) return listAfterWait(context, storage, options, format);
  return sendList(context, format, storage, listed.items, listed.meta, listed.bytes);
}

async function listAfterWait(
  context: RequestContext,
  storage: ResourceStorage,
  options: ListOptions,
  format: Format,
): Promise<void> {
  const { items, meta, bytes } = await listObjects(storage.objects, options, context.signal);
  await sendList(context, format, storage, items, meta, bytes);
}

export type ListedObjects = {
  readonly items: readonly StoredObject[];
  /** Of all items together, where that is known. */
  readonly bytes?: number | undefined;
  readonly meta: ListMeta;
};

export async function listObjects(
  storage: ObjectStorage,
  options: ListOptions,
  signal: AbortSignal,
): Promise<ListedObjects> {
  const { selection, continueToken } = options;
  const { scope, start, at, limit } = stretchOf(options);
  try {
    return listedOf(await collect(storage, { scope, start, at, signal }, selection, limit), options);
  } catch (err) {
    if ('resourceVersion' in at || !isExpired(err)) throw err;
    throw continueToken === '' ? listExpired() : continueExpired(encodeToken({ revision: -1, start }, scope));
  }
}

/** What of a resource is listed, and in which state; `limit` 0: all from `start` on. */
function stretchOf(options: ListOptions): Pick<ListRequest, 'scope' | 'start' | 'at'> & { readonly limit: number } {
  const { selection, resourceVersion, continueToken } = options;
  const scope = scopeOf(selection);
  const token = continueToken === '' ? undefined : decodeToken(continueToken, scope);
  if (token && resourceVersion !== '' && resourceVersion !== '0')
    throw badRequest('specifying resource version is not allowed when using continue');
  const exact = exactRevision(options, token?.revision);
  return {
    scope,
    start: token?.start ?? scope,
    at: exact === undefined ? { resourceVersion: freshnessOf(options) } : { revision: exact },
    limit: resourceVersion === '0' ? 0 : options.limit,
  };
}

/** What `listObjects` finds, where nothing has to be waited for and no object looked at. */
export function peekObjects(storage: ObjectStorage, options: ListOptions): ListedObjects | undefined {
  const { selection } = options;
  const { pinned } = selection;
  const isAll = isByScopeOnly(selection);
  // Where a value that an index knows is not all that is asked for, objects must be looked at.
  const isByValue = pinned.length === 1 && selection.isOnly(pinned[0]!);
  if (selection.name !== '' || !(isAll || isByValue)) return undefined;
  const { scope, start, at, limit } = stretchOf(options);
  if ('revision' in at && !isAll) return undefined; // no index is sure to know that state
  const found = storage.peekList({ scope, start, at, limit: isAll && limit > 0 ? limit : undefined, pinned });
  return found && listedOf(upTo(limit, found), options);
}

/** Those in the answer, and how many come after the last of them: where selectors decide, only whether any do. */
type Collected = {
  readonly items: readonly StoredObject[];
  readonly bytes?: number | undefined;
  readonly rest: number;
  readonly revision: Revision;
};

/** What a page under a selector looks at first, times its limit; each look after that is as many times larger. */
const LOOK_AHEAD = 4;

/**
 * Reads on in one state until there are as many as wanted, and one more that says there are more. So a page costs its part
 * of all objects, not all of them.
 */
async function collect(
  storage: ObjectStorage,
  request: Pick<ListRequest, 'scope' | 'start' | 'at' | 'signal'>,
  selection: Selection,
  limit: number,
): Promise<Collected> {
  const { pinned } = selection;
  const only = onlyKey(storage, selection);
  const isAll = isByScopeOnly(selection);
  const items: StoredObject[] = [];
  let { start, at } = request;
  if (only !== undefined && only > start) start = only;
  let take = only !== undefined ? 1 : limit === 0 ? undefined : isAll ? limit : limit * LOOK_AHEAD;
  for (;;) {
    const found = await storage.list({ ...request, start, at, limit: take, isPatient: true, pinned }).catch((err) => {
      // Its state is gone between two looks. Whoever asked for no certain one gets a newer one, whole.
      if (at === request.at || 'revision' in request.at || !isExpired(err)) throw err;
      return undefined;
    });
    if (!found) {
      items.length = 0;
      ({ start, at } = request);
      take = undefined;
      continue;
    }
    const { objects, count, revision } = found;
    if (isWhole(found, selection)) return upTo(limit, found);
    if (await pick(objects, selection, limit, items, request.signal)) return { items, rest: 1, revision };
    if (only !== undefined || take === undefined || objects.length === 0 || count <= objects.length)
      return { items, rest: 0, revision };
    start = `${objects[objects.length - 1]!.key}\0`;
    at = { revision };
    take *= LOOK_AHEAD;
  }
}

/** Whether the selection leaves out nothing of what was found. */
function isWhole({ pin }: ObjectList, selection: Selection): boolean {
  return isByScopeOnly(selection) || (pin !== undefined && selection.isOnly(pin));
}

function upTo(limit: number, { objects, count, bytes, revision }: ObjectList): Collected {
  if (limit === 0 || objects.length <= limit) return { items: objects, bytes, rest: count - objects.length, revision };
  return { items: objects.slice(0, limit), rest: count - limit, revision };
}

function listedOf({ items, bytes, rest, revision }: Collected, options: ListOptions): ListedObjects {
  return { items, bytes, meta: listMeta(revision, items, rest, options) };
}

/** Where the one object lies that a selection can match. */
function onlyKey({ codec }: ObjectStorage, { namespace, name }: Selection): string | undefined {
  return name !== '' && (namespace !== '' || !codec.resource.isNamespaced) ? objectKey(namespace, name) : undefined;
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

/** Adds those that match; true when there are more of them than `limit`. */
async function pick(
  objects: readonly StoredObject[],
  selection: Selection,
  limit: number,
  items: StoredObject[],
  signal: AbortSignal,
): Promise<boolean> {
  const slices = new WorkSlices(signal);
  for (const object of objects) {
    // Objects never change, so the snapshot stays one however long this takes.
    if (slices.isOver) await slices.pause();
    if (!selection.matches(object)) continue;
    if (limit > 0 && items.length === limit) return true;
    items.push(object);
  }
  return false;
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
