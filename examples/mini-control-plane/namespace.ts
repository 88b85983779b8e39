/**
 * Namespace cleanup: a namespace that is being deleted goes when nothing is left in it.
 *
 * Everything of every kind in it is deleted, whatever kinds the cluster has, until a whole round finds nothing. The
 * server takes nothing new there meanwhile. Then the finalizer in its spec is taken off, and the server removes it.
 */
import { corev1, type DynamicObject, defineResourceOf, isApiError, type KubeClient } from 'longwatch/client';
import {
  type ControllerDefinition,
  defineController,
  isBeingDeleted,
  requeueAfter,
  whereObject,
} from 'longwatch/controller';
import { servedKinds } from './served-kinds.ts';

const FINALIZER = 'kubernetes';
/** Pods take their time to stop. */
const ROUND_MS = 250;

export function namespaceController({ discovery }: KubeClient): ControllerDefinition<corev1.Namespace> {
  return defineController({
    name: 'namespace',
    for: { resource: corev1.namespaces, where: whereObject(isBeingDeleted) },
    async reconcile(namespace, { name, client, log }) {
      const finalizers = namespace?.spec?.finalizers ?? [];
      if (!namespace || !isBeingDeleted(namespace) || !finalizers.includes(FINALIZER)) return;
      let found = 0;
      for (const kind of servedKinds(await discovery.resources(ROUND_MS), ['list', 'deletecollection']).filter(
        ({ isNamespaced }) => isNamespaced,
      )) {
        const answer = await client
          .resource(defineResourceOf<DynamicObject>(kind), name)
          .deleteCollection({ propagationPolicy: 'Background' })
          .catch(ignoreUnserved);
        if (answer && 'items' in answer) found += answer.items.length;
      }
      if (found > 0) {
        log.debug('namespace is not empty yet', { found });
        return requeueAfter(ROUND_MS);
      }
      const spec = { finalizers: finalizers.filter((one) => one !== FINALIZER) };
      await client
        .resource(corev1.namespaces)
        .subresource<corev1.Namespace>('finalize')
        .update(name, { ...namespace, spec });
      return undefined;
    },
  });
}

/** A kind that was there when we asked what there is may be gone by now. */
function ignoreUnserved(err: unknown): undefined {
  if (!isApiError(err, 'NotFound') && !isApiError(err, 'MethodNotAllowed')) throw err;
}
