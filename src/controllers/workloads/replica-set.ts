/**
 * ReplicaSet to Pods, and ReplicationController likewise: as many as wanted, no more and no fewer.
 *
 * Pods are counted in the cache. That is safe, though the cache is behind: a reconcile begins only when the cache has
 * what the one before it has written, so no pod is made twice. Pods that match the selector and belong to nobody are
 * taken over.
 */
import { wallNow } from '../../api/index.ts';
import { type AnyObject, appsv1, corev1, type Draft, mergePatch, type Resource } from '../../client/index.ts';
import {
  type ControllerDefinition,
  controllerOf,
  defineController,
  isBeingDeleted,
  type ReconcileContext,
  requeueAfter,
  setControllerReference,
} from '../../controller/index.ts';
import { podIndexers } from '../pods/indexes.ts';
import { createPods, deletePods, podFrom } from '../pods/own-pods.ts';
import { isActive, isReady, msUntilAvailable, msUntilNextAvailable } from '../pods/pod-state.ts';
import { writeStatus } from '../write-status.ts';

/** What the two kinds have in common; their selectors differ in form only. */
type ReplicaOwner = AnyObject & {
  readonly spec: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly selector?: appsv1.ReplicaSetSpec['selector'] | Record<string, string>;
    readonly template?: corev1.PodTemplateSpec;
  };
  readonly status?: object;
};

export const replicaSetController: ControllerDefinition<appsv1.ReplicaSet> = makeController(
  'replicaset-controller',
  appsv1.replicaSets,
);

export const replicationController: ControllerDefinition<corev1.ReplicationController> = makeController(
  'replicationcontroller-controller',
  corev1.replicationControllers,
);

function makeController<T extends ReplicaOwner>(name: string, resource: Resource<T>): ControllerDefinition<T> {
  return defineController({
    name,
    for: resource,
    owns: [{ resource: corev1.pods, indexers: podIndexers }],
    watches: [
      {
        resource: corev1.pods,
        indexers: podIndexers,
        map: (pod, { cache }) =>
          controllerOf(pod) ? undefined : cache.of(resource).list({ namespace: pod.metadata.namespace! }),
      },
    ],
    async reconcile(set, context) {
      if (!set) return; // its pods are the garbage collector's business
      const owned = context.cache.of(corev1.pods).by('byController', set.metadata.uid).filter(isActive);
      if (!isBeingDeleted(set)) {
        await adoptPods(set, context);
        const missing = (set.spec.replicas ?? 1) - owned.length;
        if (missing > 0) await createPods(set, podsOf(set, missing), context);
        if (missing < 0) await deletePods(leastWorthFirst(owned).slice(0, -missing), context);
      }
      return updateStatus(resource, set, owned, context);
    },
  });
}

async function adoptPods(set: ReplicaOwner, { cache, client, namespace }: ReconcileContext): Promise<void> {
  const found = cache.of(corev1.pods).list({ namespace, labelSelector: set.spec.selector ?? {} });
  for (const orphan of found.filter((pod) => isActive(pod) && !controllerOf(pod))) await adopt(set, orphan, client);
}

async function adopt(set: ReplicaOwner, orphan: corev1.Pod, client: ReconcileContext['client']): Promise<void> {
  const { ownerReferences = [], uid, resourceVersion, name } = setControllerReference(set, orphan).metadata;
  const metadata = { uid, resourceVersion, ownerReferences } as object;
  await client.resource(corev1.pods).patch(name, mergePatch<corev1.Pod>({ metadata }));
}

function* podsOf({ spec, metadata }: ReplicaOwner, count: number): Generator<Draft<corev1.Pod>> {
  const draft = podFrom(spec.template!, { prefix: metadata.name });
  for (let made = 0; made < count; made++) yield draft;
}

/** First those that nobody would miss: not scheduled, not ready, youngest. */
function leastWorthFirst(owned: readonly corev1.Pod[]): corev1.Pod[] {
  const worth = (pod: corev1.Pod) => (pod.spec.nodeName ? 1 : 0) + (isReady(pod) ? 2 : 0);
  const age = ({ metadata }: corev1.Pod) => Date.parse(metadata.creationTimestamp);
  return [...owned].sort((a, b) => worth(a) - worth(b) || age(b) - age(a));
}

async function updateStatus<T extends ReplicaOwner>(
  resource: Resource<T>,
  set: T,
  owned: readonly corev1.Pod[],
  { client }: ReconcileContext,
) {
  const { minReadySeconds = 0 } = set.spec;
  const now = wallNow();
  const status = {
    replicas: owned.length,
    fullyLabeledReplicas: owned.length,
    readyReplicas: owned.filter(isReady).length,
    availableReplicas: owned.filter((pod) => msUntilAvailable(pod, minReadySeconds, now) === 0).length,
    observedGeneration: set.metadata.generation ?? 0,
  };
  const known: Partial<typeof status> = set.status ?? {};
  const isNews = (Object.keys(status) as (keyof typeof status)[]).some((name) => status[name] !== (known[name] ?? 0));
  if (isNews) await writeStatus(client.resource(resource), set, status);
  const nextMs = msUntilNextAvailable(owned, minReadySeconds, now);
  return nextMs === undefined ? undefined : requeueAfter(nextMs);
}
