/** Indexes that several controllers read. They share informers, so they must share these very functions. */
import type { AnyObject, corev1 } from 'longwatch/client';
import { controllerOf } from 'longwatch/controller';

export const byController = (object: AnyObject) => [controllerOf(object)?.uid];

export const podIndexers = {
  byController,
  byNode: ({ spec }: corev1.Pod) => [spec.nodeName],
};
