/**
 * Whose Pods are: an owner takes over those that it selects and nobody has, and lets go of those of its own that it does not
 * select any more. Each write names the version that was judged, so of two owners one gets a Pod.
 */
import { type AnyObject, corev1, mergePatch, type metav1 } from '../../client/index.ts';
import { controllerOf, isBeingDeleted, type ReconcileContext, setControllerReference } from '../../controller/index.ts';

export type Claim = {
  readonly selector: metav1.LabelSelector | Readonly<Record<string, string>> | undefined;
  /** Which Pods it has a word about; others stay whose they are. */
  readonly isConcerned: (pod: corev1.Pod) => boolean;
  /** Which of those that it selects it would have made. */
  readonly isMember?: (pod: corev1.Pod) => boolean;
};

/** What was its own before, and is still; what is taken over comes back with the cache. */
export async function claimPods(
  owner: AnyObject,
  { selector = {}, isConcerned, isMember = () => true }: Claim,
  context: ReconcileContext,
): Promise<readonly corev1.Pod[]> {
  const { cache, namespace } = context;
  const pods = cache.of(corev1.pods);
  const owned = pods.by('byController', owner.metadata.uid);
  const fitting = pods.list({ namespace, labelSelector: selector }).filter(isMember);
  const uids = new Set(fitting.map(({ metadata }) => metadata.uid));
  const fits = ({ metadata }: corev1.Pod) => uids.has(metadata.uid);
  if (!isBeingDeleted(owner)) {
    for (const stranger of owned.filter((pod) => isConcerned(pod) && !fits(pod))) {
      const { ownerReferences = [] } = stranger.metadata;
      const others = ownerReferences.filter(({ uid }) => uid !== owner.metadata.uid);
      await setOwners(stranger, others, context);
    }
    for (const orphan of fitting.filter((pod) => isConcerned(pod) && !controllerOf(pod)))
      await setOwners(orphan, setControllerReference(owner, orphan).metadata.ownerReferences ?? [], context);
  }
  return owned.filter(fits);
}

async function setOwners(
  { metadata: { uid, resourceVersion, name } }: corev1.Pod,
  owners: readonly metav1.OwnerReference[],
  { client }: ReconcileContext,
): Promise<void> {
  const metadata = { uid, resourceVersion, ownerReferences: owners.length > 0 ? owners : null } as object;
  await client.resource(corev1.pods).patch(name, mergePatch<corev1.Pod>({ metadata }));
}
