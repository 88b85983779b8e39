/** A finalizer put on or taken off, of the very version that was judged: a newer one is judged anew. */
import { type AnyObject, mergePatch, type ResourceClient } from '../../client/index.ts';

export async function addFinalizerOf<T extends AnyObject>(
  resource: ResourceClient<T>,
  { metadata }: T,
  finalizer: string,
): Promise<void> {
  await patch(resource, metadata, [...(metadata.finalizers ?? []), finalizer]);
}

export async function removeFinalizerOf<T extends AnyObject>(
  resource: ResourceClient<T>,
  { metadata }: T,
  finalizer: string,
): Promise<void> {
  const left = (metadata.finalizers ?? []).filter((one) => one !== finalizer);
  await patch(resource, metadata, left.length > 0 ? left : null);
}

async function patch<T extends AnyObject>(
  resource: ResourceClient<T>,
  { name, uid, resourceVersion }: T['metadata'],
  finalizers: readonly string[] | null,
): Promise<void> {
  await resource.patch(name, mergePatch<AnyObject>({ metadata: { uid, resourceVersion, finalizers } as object }));
}
