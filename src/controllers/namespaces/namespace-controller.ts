/**
 * Namespace lifecycle: a namespace that is being deleted goes when nothing is left in it.
 *
 * Round by round everything of every kind in it is deleted (namespace-content.ts), its conditions say how that goes, and
 * when a whole round has found nothing the finalizer in its spec is taken off, whereupon the server removes it. A kind
 * that cannot be discovered, listed or deleted holds the namespace: nothing is ever left behind in a namespace that is
 * gone. So the last round also begins a moment after the first: a create that was let in before the deletion was
 * known everywhere has been stored by then.
 */
import { systemClock, wallNow } from '../../api/index.ts';
import { corev1, isApiError, type KubeClient } from '../../client/index.ts';
import {
  type ControllerDefinition,
  defineController,
  isBeingDeleted,
  type ReconcileContext,
  requeueAfter,
  whereObject,
} from '../../controller/index.ts';
import { discoverKinds } from '../served-kinds.ts';
import { writeStatus } from '../write-status.ts';
import { namespaceConditions } from './namespace-conditions.ts';
import { deleteContent, type Round } from './namespace-content.ts';

const FINALIZER = 'kubernetes';
/** After so long nothing can be on its way in any more. */
const LATE_WRITES_MS = 1000;
const FIRST_LOOK_MS = 100;

/** How far it has come with a namespace. */
type Progress = { readonly sinceMs: number; rounds: number };

export function namespaceController(client: KubeClient): ControllerDefinition<corev1.Namespace> {
  const progress = new Map<string, Progress>();
  return defineController({
    name: 'namespace-controller',
    concurrency: 10,
    for: { resource: corev1.namespaces, where: whereObject(isBeingDeleted) },
    async reconcile(namespace, context) {
      const isOurs = namespace?.spec?.finalizers?.includes(FINALIZER) ?? false;
      if (!namespace || !isBeingDeleted(namespace) || !isOurs) return void progress.delete(context.name);
      const { uid, deletionTimestamp } = namespace.metadata;
      const known = progress.get(context.name) ?? { sinceMs: systemClock.now(), rounds: 0 };
      progress.set(context.name, known);
      const isLateEnough = systemClock.now() - known.sinceMs >= LATE_WRITES_MS;
      const served = await discoverKinds(client, context.signal);
      const round = await deleteContent(context.client, context.name, Date.parse(deletionTimestamp!), served);
      const said = await writeConditions(namespace, round, context);
      known.rounds++;
      if (said === undefined) return undefined; // it is gone
      const problems = [...round.failing.map((version) => `${version} cannot be discovered`), ...round.errors];
      if (problems.length > 0)
        throw new Error(`Cannot empty namespace "${context.name}" yet: ${problems.slice(0, 3).join('; ')}`);
      if (round.estimateSeconds > 0) {
        const longestMs = (round.estimateSeconds / 2 + 1) * 1000;
        return requeueAfter(Math.min(longestMs, FIRST_LOOK_MS * 2 ** Math.min(known.rounds, 16)));
      }
      if (!isLateEnough) return requeueAfter(LATE_WRITES_MS);
      await finalize(said, uid, context);
      return undefined;
    },
  });
}

/** The namespace as it is now; undefined if it is gone. */
async function writeConditions(
  namespace: corev1.Namespace,
  round: Round,
  { client, name, cache }: ReconcileContext,
): Promise<corev1.Namespace | undefined> {
  const known = namespace.status?.conditions;
  const conditions = namespaceConditions(known, round, new Date(wallNow()));
  if (conditions === known) return cache.of(corev1.namespaces).get(name);
  const status = { phase: 'Terminating', conditions };
  return writeStatus(client.resource(corev1.namespaces), namespace, status).catch(ignoreGone);
}

/** Only if it is still the one that was emptied, with no finalizer that we have not seen. */
async function finalize(namespace: corev1.Namespace, uid: string, { client, name }: ReconcileContext): Promise<void> {
  if (namespace.metadata.uid !== uid) return;
  const finalizers = (namespace.spec?.finalizers ?? []).filter((one) => one !== FINALIZER);
  await client
    .resource(corev1.namespaces)
    .subresource<corev1.Namespace>('finalize')
    .update(name, { ...namespace, spec: { finalizers } })
    .catch(ignoreGone);
}

function ignoreGone(err: unknown): undefined {
  if (!isApiError(err, 'NotFound')) throw err;
}
