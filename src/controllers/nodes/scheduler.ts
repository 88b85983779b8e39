/**
 * Scheduler: gives every pod without a node the one with the fewest pods, of those that it may run on.
 *
 * A pod that fits nowhere waits, and is looked at again when a node changes. One pod at a time, so that each sees where
 * the ones before it went. What counts is in node-fit.ts.
 */
import { corev1, isApiError } from '../../client/index.ts';
import { type ControllerDefinition, defineController, isBeingDeleted, whereObject } from '../../controller/index.ts';
import { podIndexers } from '../pods/indexes.ts';
import { fitsNode } from '../pods/node-fit.ts';

const isWaiting = (pod: corev1.Pod) => !pod.spec.nodeName && !isBeingDeleted(pod);

export const schedulerController: ControllerDefinition<corev1.Pod> = defineController({
  name: 'scheduler',
  concurrency: 1,
  for: { resource: corev1.pods, indexers: podIndexers, where: whereObject(isWaiting) },
  watches: [{ resource: corev1.nodes, map: (_node, { cache }) => cache.of(corev1.pods).list().filter(isWaiting) }],
  async reconcile(pod, { cache, client, recorder, name }) {
    if (!pod || !isWaiting(pod)) return;
    const podsOn = (node: corev1.Node) => cache.of(corev1.pods).by('byNode', node.metadata.name).length;
    const [target] = cache
      .of(corev1.nodes)
      .list()
      .filter((node) => fitsNode(pod, node))
      .sort((a, b) => podsOn(a) - podsOn(b) || (a.metadata.name < b.metadata.name ? -1 : 1));
    if (!target) {
      recorder.warning('FailedScheduling', `none of ${cache.of(corev1.nodes).size} nodes can take the pod`);
      return;
    }
    const to = { apiVersion: 'v1', kind: 'Node', name: target.metadata.name };
    try {
      await client.resource(corev1.pods).subresource('binding').create(name, { metadata: { name }, target: to });
      recorder.normal('Scheduled', `assigned ${pod.metadata.namespace}/${name} to ${target.metadata.name}`);
    } catch (err) {
      if (!isApiError(err, 'NotFound') && !isApiError(err, 'Conflict')) throw err; // it is gone, going, or has a node
    }
  },
});
