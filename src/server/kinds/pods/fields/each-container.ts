/** All containers of a pod in the order in which kube-apiserver goes through them, each with its path. */
import type { JsonObject } from '../../../../api/index.ts';
import { objectsAt } from '../../../strategy/validation/fields.ts';

const lists = ['initContainers', 'containers', 'ephemeralContainers'] as const;

export function* containersOf(spec: JsonObject, path: string): Generator<readonly [JsonObject, string], void, void> {
  for (const list of lists) {
    if (!spec[list]) continue;
    for (const [index, container] of objectsAt(spec, list).entries())
      yield [container, path === '' ? `${list}[${index}]` : `${path}.${list}[${index}]`];
  }
}
