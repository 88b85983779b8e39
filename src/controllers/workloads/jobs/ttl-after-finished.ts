/** Jobs that say so go some seconds after their end, with their Pods. */
import { wallNow } from '../../../api/index.ts';
import { batchv1, isApiError } from '../../../client/index.ts';
import {
  type ControllerDefinition,
  defineController,
  findCondition,
  isBeingDeleted,
  requeueAfter,
} from '../../../controller/index.ts';

export const ttlAfterFinishedController: ControllerDefinition<batchv1.Job> = defineController({
  name: 'ttl-after-finished-controller',
  for: batchv1.jobs,
  async reconcile(job, { client, name }) {
    const seconds = job?.spec.ttlSecondsAfterFinished;
    if (!job || seconds === undefined || isBeingDeleted(job)) return undefined;
    const end = ['Complete', 'Failed']
      .map((type) => findCondition(job.status?.conditions, type))
      .find((condition) => condition?.status === 'True')?.lastTransitionTime;
    if (end === undefined) return undefined;
    const waitMs = Date.parse(end) + seconds * 1000 - wallNow();
    if (waitMs > 0) return requeueAfter(waitMs);
    const { uid, resourceVersion } = job.metadata; // a newer version may have been given more time
    await client
      .resource(batchv1.jobs)
      .delete(name, { propagationPolicy: 'Foreground', preconditions: { uid, resourceVersion } })
      .catch((err: unknown) => {
        if (!isApiError(err, 'NotFound')) throw err;
      });
    return undefined;
  },
});
