/**
 * The kept revisions of one object: when, who, which fields; the difference between two of them, and the object as it
 * was. Read from the store's own history, so it reaches back to its last compaction and no further.
 *
 * Always true: nobody learns of an object's history who may not get the object: its own right is asked for, beside the
 * right to read histories.
 */
import {
  badRequest,
  expired,
  type JsonObject,
  type KubeObject,
  methodNotAllowed,
  notFound,
} from '../../../api/index.ts';
import { cutText } from '../../../api/json-text.ts';
import { type Attributes, forbiddenBy } from '../../auth/authorizer.ts';
import { negotiate } from '../../encodings/negotiation.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import { qualifiedName, type Resource } from '../../registry/resource.ts';
import { integerParameter } from '../../request/query-parameters.ts';
import type { RequestContext } from '../../request/request-context.ts';
import { sendJson } from '../../rest/output/answer.ts';
import type { Rest } from '../../rest/rest.ts';
import { DirectStorage } from '../../storage/direct/direct-storage.ts';
import { type HistoryBounds, readAt, type StoredPlace } from '../../storage/direct/object-history.ts';
import { isExpired } from '../../storage/object-storage.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
import { partialObject } from '../../tables/partial-metadata.ts';
import { GROUP, VERSION } from '../live-kind.ts';
import { changedFields } from './changed-fields.ts';
import { keptRevisions, type ShownRevision } from './history-revisions.ts';
import { historyTable } from './history-table.ts';
import { type HistoryTarget, historyTarget } from './history-target.ts';

const DEFAULT_REVISIONS = 100;
const MAX_REVISIONS = 500;
const MAX_DIFF = 1000;

/** Answers a GET of one history; `own` is the resource of histories. */
export async function handleHistory(
  rest: Rest,
  context: RequestContext,
  own: Resource,
  at: { readonly namespace: string; readonly name: string },
): Promise<void> {
  const format = negotiate(context.headers, own);
  const target = historyTarget(rest.storages.registry, at.namespace, at.name);
  await mustBeAllowed(rest, context, target);
  const served = rest.storages.storageFor(target.resource);
  const storage = served.objects.direct;
  if (!(storage instanceof DirectStorage)) throw methodNotAllowed();
  const place: StoredPlace = { storage, namespace: target.namespace, name: target.name };
  const asked = readQuery(context.query);
  const { signal } = context;
  const { shown, bounds, isComplete } = await keptRevisions(rest, served, place, asked.limit, signal);
  if (shown.length === 0) throw notFound(target.resource, target.name);
  const history = historyObject(target, shown, bounds, isComplete);
  const read = (revision: number) => objectAt(served, place, revision, bounds, signal);
  if (asked.revision !== undefined) {
    const object = await read(asked.revision);
    if (!object) throw notFound(target.resource, target.name);
    history.object = object;
  }
  if (asked.diff) {
    const [from, to] = asked.diff;
    const [before, after] = [await read(from), await read(to)];
    const slices = new WorkSlices(signal);
    const { changes, count } = await slices.run(changedFields(before, after, MAX_DIFF));
    history.diff = { from, to, changes: [...changes] as unknown as JsonObject[], isTruncated: count > changes.length };
  }
  if (format.shape === 'Table')
    sendJson(context, 200, format, historyTable(history, shown, context.query, format.version));
  else if (format.shape === 'object') sendJson(context, 200, format, history, true);
  else
    sendJson(
      context,
      200,
      format,
      partialObject(history as unknown as KubeObject, format.version) as unknown as JsonObject,
    );
}

async function mustBeAllowed(rest: Rest, { user }: RequestContext, target: HistoryTarget): Promise<void> {
  const { resource, name } = target;
  const { group, version, plural } = resource;
  const namespace = plural === 'namespaces' && group === '' ? name : target.namespace;
  const attributes: Attributes = {
    kind: 'resource',
    verb: 'get',
    group,
    version,
    resource: plural,
    subresource: '',
    namespace,
    name,
  };
  const { allowed, reason } = await rest.authorizer.authorize(user, attributes);
  if (!allowed) throw forbiddenBy(user, attributes, reason);
}

type HistoryQuery = {
  readonly limit: number;
  readonly revision: number | undefined;
  readonly diff: readonly [from: number, to: number] | undefined;
};

function readQuery(query: URLSearchParams): HistoryQuery {
  const limit = integerParameter(query, 'limit') ?? 0;
  const revision = query.get('revision');
  const diff = query.get('diff');
  const parts = diff?.split(',').map(asRevision);
  if (parts && parts.length !== 2)
    throw badRequest(`diff takes two revisions, as in "diff=12,15"; this is ${quoted(diff!)}`);
  return {
    limit: limit > 0 ? Math.min(limit, MAX_REVISIONS) : DEFAULT_REVISIONS,
    revision: revision === null ? undefined : asRevision(revision),
    diff: parts && [parts[0]!, parts[1]!],
  };
}

/** Nobody is sent back more than helps. */
function quoted(text: string): string {
  return JSON.stringify(cutText(text, 100));
}

function asRevision(text: string): number {
  const revision = /^\d{1,15}$/.test(text) ? Number(text) : undefined;
  if (revision === undefined) throw badRequest(`${quoted(text)} is no revision`);
  return revision;
}

/** Undefined where there was none. A 410 where nobody knows any more, a 400 of the future. */
async function objectAt(
  served: ResourceStorage,
  place: StoredPlace,
  revision: number,
  bounds: HistoryBounds,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  if (revision === 0) return undefined;
  if (revision > bounds.revision)
    throw badRequest(`revision ${revision} is yet to come: the store is at ${bounds.revision}`);
  try {
    const { object } = await readAt(place, revision, signal);
    return object && (served.toObject(object) as unknown as JsonObject);
  } catch (err) {
    if (!isExpired(err)) throw err;
    throw expired(
      `revision ${revision} is compacted${bounds.compacted === undefined ? '' : `: the oldest that is kept is ${bounds.compacted}`}`,
    );
  }
}

function historyObject(
  { resource, namespace, name }: HistoryTarget,
  shown: readonly ShownRevision[],
  { revision, compacted }: HistoryBounds,
  isComplete: boolean,
): JsonObject {
  const { group, version, plural, kind } = resource;
  const newest = shown[0]!;
  const oldest = shown[shown.length - 1]!;
  return {
    apiVersion: `${GROUP}/${VERSION}`,
    kind: 'ObjectHistory',
    metadata: {
      name: `${qualifiedName(resource)}:${name}`,
      ...(namespace !== '' && { namespace }),
      resourceVersion: String(newest.revision),
      ...(oldest.time !== undefined && { creationTimestamp: oldest.time }),
    },
    spec: { group, version, resource: plural, kind, ...(namespace !== '' && { namespace }), name },
    status: {
      exists: newest.change !== 'Deleted',
      currentRevision: revision,
      ...(compacted !== undefined && { compactedRevision: compacted }),
      isComplete,
      revisions: shown.map((one) => ({ ...one })),
    },
  };
}
