/** Indexes that several controllers read. They share informers, so they must share these very functions. */
import type { AnyObject, corev1 } from '../../client/index.ts';
import { controllerOf } from '../../controller/index.ts';

export const byController = (object: AnyObject): (string | undefined)[] => [controllerOf(object)?.uid];

export const podIndexers: {
  readonly byController: typeof byController;
  readonly byNode: (pod: corev1.Pod) => (string | undefined)[];
} = {
  byController,
  byNode: ({ spec }: corev1.Pod) => [spec.nodeName],
};
