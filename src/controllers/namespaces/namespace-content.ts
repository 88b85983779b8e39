/**
 * One round of emptying a namespace: everything of every kind is told to go, and what is left is counted.
 *
 * Pods go first, and while one is left nothing else is touched: what they use must not go from under them. A kind that
 * cannot be asked is an error in the report, never silence; an empty report means that a whole look at every kind has
 * found nothing.
 */

import { greatestOf, wallNow } from '../../api/index.ts';
import type { DiscoveredResource } from '../../client/advanced.ts';
import { type AnyObject, type corev1, defineResourceOf, isApiError, metadataOf } from '../../client/index.ts';
import type { ReconcileClient } from '../../controller/index.ts';
import { preferredKinds, type ServedKinds } from '../served-kinds.ts';
import type { ContentReport } from './namespace-conditions.ts';

export type Round = ContentReport & {
  /** About how long what is left may take to go; 0: nothing is left. */
  readonly estimateSeconds: number;
};

type Found = { readonly count: number; readonly finalizers: readonly string[][]; readonly estimateSeconds: number };

/** How long somebody may take to be done with a finalizer. */
const FINALIZER_SECONDS = 15;
const PARALLEL = 4;

export async function deleteContent(
  client: ReconcileClient,
  namespace: string,
  deletedAtMs: number,
  served: ServedKinds,
): Promise<Round> {
  const kinds = preferredKinds(served.all, ['delete']).filter(({ isNamespaced }) => isNamespaced);
  const errors: string[] = [];
  const remaining = new Map<string, number>();
  const finalizers = new Map<string, number>();
  let estimateSeconds = 0;
  const clear = async (kind: DiscoveredResource) => {
    try {
      const found = await deleteKind(client, namespace, deletedAtMs, kind);
      if (found.count > 0) remaining.set(`${kind.plural}.${kind.group}`, found.count);
      for (const name of found.finalizers.flat()) finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
      estimateSeconds = Math.max(estimateSeconds, found.estimateSeconds);
      if (found.count > 0 && found.estimateSeconds === 0)
        errors.push(`unexpected items still remain in namespace: ${namespace} for gvr: ${shownKind(kind)}`);
    } catch (error) {
      if (!isApiError(error)) throw error;
      errors.push(error.message);
    }
  };
  const isPods = ({ group, plural }: DiscoveredResource) => group === '' && plural === 'pods';
  for (const pods of kinds.filter(isPods)) await clear(pods);
  const arePodsLeft = remaining.size > 0 || errors.length > 0;
  const rest = arePodsLeft ? [] : kinds.filter((kind) => !isPods(kind));
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      for (let kind = rest.shift(); kind; kind = rest.shift()) await clear(kind);
    }),
  );
  // While Pods are waited for, a cluster does not say what is left.
  const report = arePodsLeft ? { remaining: undefined, finalizers: new Map() } : { remaining, finalizers };
  return { failing: served.failing, errors, estimateSeconds, ...report };
}

async function deleteKind(
  client: ReconcileClient,
  namespace: string,
  deletedAtMs: number,
  kind: DiscoveredResource,
): Promise<Found> {
  const resource = client.resource(defineResourceOf<AnyObject>(kind), namespace);
  let graceSeconds = 0;
  if (kind.verbs.includes('deletecollection')) {
    const answer = await resource.deleteCollection({ propagationPolicy: 'Background' }).catch(ignoreUnserved);
    if (!answer) return NOTHING;
    // What it has found, as it was before: if that is nothing, there is nothing.
    if ('items' in answer && answer.items.length === 0) return NOTHING;
    if ('items' in answer) graceSeconds = graceOf(answer.items, deletedAtMs);
  } else if (kind.verbs.includes('list')) {
    const list = await resource.list().catch(ignoreUnserved);
    for (const { metadata } of list?.items ?? [])
      await resource
        .delete(metadata.name, { propagationPolicy: 'Background', preconditions: { uid: metadata.uid } })
        .catch(ignoreGone);
  }
  if (!kind.verbs.includes('list')) return NOTHING;
  const left = await client
    .resource(metadataOf(defineResourceOf(kind)), namespace)
    .list()
    .catch(ignoreUnserved);
  if (!left || left.items.length === 0) return NOTHING;
  const finalizers = left.items.map(({ metadata }) => metadata.finalizers ?? []).filter((names) => names.length > 0);
  return {
    count: left.items.length,
    finalizers,
    estimateSeconds: graceSeconds || (finalizers.length > 0 ? FINALIZER_SECONDS : 0),
  };
}

const NOTHING: Found = { count: 0, finalizers: [], estimateSeconds: 0 };

/** The longest grace of those that still run; once that is over, waiting for it is no explanation any more. */
function graceOf(items: readonly AnyObject[], deletedAtMs: number): number {
  const graces = (items as readonly Partial<corev1.Pod>[])
    .filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed')
    .map(({ spec }) => Number(spec?.terminationGracePeriodSeconds ?? 0) || 0);
  const longest = Math.max(0, greatestOf(graces));
  return wallNow() - deletedAtMs >= longest * 1000 ? 0 : longest;
}

function shownKind({ group, version, plural }: DiscoveredResource): string {
  return `${group}/${version}, Resource=${plural}`;
}

/** A kind that was there when we asked what there is may be gone by now. */
function ignoreUnserved(err: unknown): undefined {
  if (!isApiError(err, 'NotFound') && !isApiError(err, 'MethodNotAllowed')) throw err;
}

function ignoreGone(err: unknown): void {
  if (!isApiError(err, 'NotFound') && !isApiError(err, 'Conflict')) throw err;
}
