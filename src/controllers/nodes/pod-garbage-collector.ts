/**
 * Pods that nobody will end: on a Node that is not there any more, to be deleted without ever having had a Node, and
 * finished ones beyond a number, the oldest first.
 *
 * A Node is believed to be gone only after it was missed for a while, and when the server says so too. Nodes that are out
 * of service are not looked at.
 */
import { wallNow } from '../../api/index.ts';
import { corev1, isApiError, mergePatch } from '../../client/index.ts';
import {
  type ControllerDefinition,
  defineController,
  isBeingDeleted,
  type ReconcileContext,
  requeueAfter,
  setCondition,
} from '../../controller/index.ts';
import { isFinished } from '../pods/pod-state.ts';

export type PodGarbageOptions = {
  /** How long a Node is missed before its Pods go. */
  readonly quarantineMs: number;
  /** How many finished Pods may stay. */
  readonly maxFinished: number;
};

const FINISHED = 'byEnd';
/** For so long after its quarantine Pods of a Node go at once; whoever comes later waits as the first did. */
const FORGOTTEN_MS = 600_000;

export function podGarbageCollector({
  quarantineMs,
  maxFinished,
}: PodGarbageOptions): ControllerDefinition<corev1.Pod> {
  /** Since when Nodes are missed. */
  const missedSince = new Map<string, number>();
  return defineController({
    name: 'pod-garbage-collector-controller',
    for: { resource: corev1.pods, indexers: { [FINISHED]: (pod) => (isFinished(pod) ? ['finished'] : []) } },
    watches: [
      {
        resource: corev1.nodes,
        map: ({ metadata }, { cache, event }) =>
          event.type === 'deleted'
            ? cache
                .of(corev1.pods)
                .list()
                .filter(({ spec }) => spec.nodeName === metadata.name)
            : undefined,
      },
    ],
    async reconcile(pod, context) {
      if (!pod) return undefined;
      const { cache, client } = context;
      const { nodeName } = pod.spec;
      if (!nodeName) {
        if (isBeingDeleted(pod)) await end(pod, context);
      } else if (cache.of(corev1.nodes).get(nodeName)) missedSince.delete(nodeName);
      else {
        const since = missedSince.get(nodeName) ?? wallNow();
        if (!missedSince.has(nodeName)) forgetOld(missedSince, since - quarantineMs - FORGOTTEN_MS);
        missedSince.set(nodeName, since);
        const waitMs = since + quarantineMs - wallNow();
        if (waitMs > 0) return requeueAfter(waitMs);
        if (await client.resource(corev1.nodes).find(nodeName)) return undefined;
        if (!isFinished(pod)) await fail(pod, context);
        await end(pod, context);
      }
      const finished = cache.of(corev1.pods).by(FINISHED, 'finished');
      if (finished.length > maxFinished) await end(finished.reduce(older), context);
      return undefined;
    },
  });
}

/** A Pod may name any Node: those that nobody speaks of any more must not pile up. The oldest come first. */
function forgetOld(since: Map<string, number>, before: number): void {
  for (const [name, at] of since) {
    if (at >= before) return;
    since.delete(name);
  }
}

const older = (a: corev1.Pod, b: corev1.Pod): corev1.Pod =>
  Date.parse(b.metadata.creationTimestamp) < Date.parse(a.metadata.creationTimestamp) ? b : a;

async function fail({ metadata, status }: corev1.Pod, { client }: ReconcileContext): Promise<void> {
  const conditions = setCondition<corev1.PodCondition>(status?.conditions ?? [], {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'DeletionByPodGC',
    message: 'PodGC: node no longer exists',
  });
  const patch = mergePatch<corev1.Pod>({ metadata: { uid: metadata.uid }, status: { phase: 'Failed', conditions } });
  const pods = client.resource(corev1.pods, metadata.namespace);
  await pods.status.patch(metadata.name, patch).catch(ignoreGone);
}

async function end({ metadata }: corev1.Pod, { client }: ReconcileContext): Promise<void> {
  const options = { gracePeriodSeconds: 0, preconditions: { uid: metadata.uid } };
  await client.resource(corev1.pods, metadata.namespace).delete(metadata.name, options).catch(ignoreGone);
}

function ignoreGone(err: unknown): void {
  if (!isApiError(err, 'NotFound') && !isApiError(err, 'Conflict')) throw err;
}
