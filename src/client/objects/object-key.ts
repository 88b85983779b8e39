/** How an object is called within its resource: the key of stores, queues and messages. */
import type { ObjectMeta } from '../../api/index.ts';

/** `namespace/name`; of what is cluster-wide only `name`. */
export function keyOf({ metadata: { namespace, name = '' } }: { readonly metadata: ObjectMeta }): string {
  return namespace ? `${namespace}/${name}` : name;
}
