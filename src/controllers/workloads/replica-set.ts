/**
 * ReplicaSet to Pods, and ReplicationController likewise: as many as wanted, no more and no fewer.
 *
 * Pods are counted in the cache. That is safe, though the cache is behind: a reconcile begins only when the cache has
 * what the one before it has written, so no pod is made twice. Pods that match the selector and belong to nobody are
 * taken over, and those of its own that do not match any more are let go. What is refused stands in the status, and is
 * tried again later.
 */
import { wallNow } from '../../api/index.ts';
import { type AnyObject, appsv1, corev1, type Draft, type Resource } from '../../client/index.ts';
import {
  type ControllerDefinition,
  controllerOf,
  defineController,
  isBeingDeleted,
  type ReconcileContext,
  requeueAfter,
  setCondition,
} from '../../controller/index.ts';
import { claimPods } from '../pods/claim-pods.ts';
import { leastWorthFirst } from '../pods/deletion-order.ts';
import { podIndexers } from '../pods/indexes.ts';
import { createPods, deletePods, messageOf, podFrom } from '../pods/own-pods.ts';
import { isActive, isLeaving, isReady, msUntilAvailable, msUntilNextAvailable } from '../pods/pod-state.ts';
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
      if (!set) return undefined; // its pods are the garbage collector's business
      const pods = await claimPods(set, { selector: set.spec.selector, isConcerned: isActive }, context);
      const active = pods.filter(isActive);
      const fault = isBeingDeleted(set) ? undefined : await manage(set, resource, active, context);
      await updateStatus(resource, set, pods, fault, context);
      if (fault) throw fault.error; // again, later each time
      const nextMs = msUntilNextAvailable(active, set.spec.minReadySeconds ?? 0, wallNow());
      return nextMs === undefined ? undefined : requeueAfter(nextMs);
    },
  });
}

/** What could not be done: the rest is done all the same, and the status says why. */
type Fault = { readonly reason: 'FailedCreate' | 'FailedDelete'; readonly error: unknown };

async function manage<T extends ReplicaOwner>(
  set: T,
  resource: Resource<T>,
  active: readonly corev1.Pod[],
  context: ReconcileContext,
): Promise<Fault | undefined> {
  const missing = (set.spec.replicas ?? 1) - active.length;
  if (missing === 0) return undefined;
  try {
    if (missing > 0) await createPods(set, podsOf(set, missing), context);
    else
      await deletePods(
        leastWorthFirst(active, relatedPods(set, resource, context), wallNow()).slice(0, -missing),
        context,
      );
    return undefined;
  } catch (error) {
    return { reason: missing > 0 ? 'FailedCreate' : 'FailedDelete', error };
  }
}

/** Those of all sets with the same owner: of a Deployment, all generations. */
function relatedPods<T extends ReplicaOwner>(
  set: T,
  resource: Resource<T>,
  { cache, namespace }: ReconcileContext,
): corev1.Pod[] {
  const uid = controllerOf(set)?.uid;
  const sets = uid === undefined ? [set] : cache.of(resource).list({ namespace });
  return sets
    .filter((one) => one === set || controllerOf(one)?.uid === uid)
    .flatMap(({ metadata }) => cache.of(corev1.pods).by('byController', metadata.uid))
    .filter(isActive);
}

function* podsOf({ spec, metadata }: ReplicaOwner, count: number): Generator<Draft<corev1.Pod>> {
  const draft = podFrom(spec.template!, { prefix: metadata.name });
  for (let made = 0; made < count; made++) yield draft;
}

async function updateStatus<T extends ReplicaOwner>(
  resource: Resource<T>,
  set: T,
  pods: readonly corev1.Pod[],
  fault: Fault | undefined,
  { client }: ReconcileContext,
): Promise<void> {
  const { minReadySeconds = 0, template } = set.spec;
  const now = wallNow();
  const active = pods.filter(isActive);
  const wanted = Object.entries(template?.metadata?.labels ?? {});
  const isLabeled = ({ metadata }: corev1.Pod) => wanted.every(([key, value]) => metadata.labels?.[key] === value);
  const status = {
    replicas: active.length,
    fullyLabeledReplicas: active.filter(isLabeled).length,
    readyReplicas: active.filter(isReady).length,
    availableReplicas: active.filter((pod) => msUntilAvailable(pod, minReadySeconds, now) === 0).length,
    ...(set.kind === 'ReplicaSet' && { terminatingReplicas: pods.filter(isLeaving).length }),
    observedGeneration: set.metadata.generation ?? 0,
  };
  const known: Partial<typeof status> & { readonly conditions?: appsv1.ReplicaSetCondition[] } = set.status ?? {};
  const isNews = (Object.keys(status) as (keyof typeof status)[]).some((name) => status[name] !== (known[name] ?? 0));
  const conditions = conditionsWith(known.conditions ?? [], fault);
  if (!isNews && conditions === undefined) return;
  await writeStatus(client.resource(resource), set, { ...status, ...(conditions && { conditions }) });
}

/** Only what is new about them: why it failed stays as it was told first. */
function conditionsWith(known: appsv1.ReplicaSetCondition[], fault: Fault | undefined) {
  const others = known.filter(({ type }) => type !== 'ReplicaFailure');
  const isTold = others.length < known.length;
  if (!fault) return isTold ? others : undefined;
  if (isTold) return undefined;
  const { reason, error } = fault;
  const failure = { type: 'ReplicaFailure', status: 'True', reason, message: messageOf(error) } as const;
  return setCondition(known, failure);
}
