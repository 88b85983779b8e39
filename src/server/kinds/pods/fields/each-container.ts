/**
 * All containers of a pod in the order in which kube-apiserver goes through them. Where one stands is put into words for
 * those who must be told: nearly always nobody.
 */
import type { JsonObject } from '../../../../api/index.ts';
import { objectsAt } from '../../../strategy/validation/fields.ts';

const lists = ['initContainers', 'containers', 'ephemeralContainers'] as const;

export function containersOf(spec: JsonObject): readonly JsonObject[] {
  if (!spec.initContainers && !spec.ephemeralContainers) return objectsAt(spec, 'containers');
  return lists.flatMap((list) => objectsAt(spec, list));
}

/** The path of the container at this place of `containersOf`; `path` is that of the spec. */
export function containerPath(spec: JsonObject, path: string, place: number): string {
  let index = place;
  for (const list of lists) {
    const { length } = objectsAt(spec, list);
    if (index < length) return `${path}.${list}[${index}]`;
    index -= length;
  }
  throw new RangeError(`Cannot name container ${place} of a pod: there are not so many`);
}
