/** A finalizer put on or taken off, of the very version that was judged: a newer one is judged anew. */
import type { AnyObject, Draft, ResourceClient } from '../../client/index.ts';

export async function addFinalizerOf<T extends AnyObject>(
  resource: ResourceClient<T>,
  object: T,
  finalizer: string,
): Promise<void> {
  await write(resource, object, [...(object.metadata.finalizers ?? []), finalizer]);
}

export async function removeFinalizerOf<T extends AnyObject>(
  resource: ResourceClient<T>,
  object: T,
  finalizer: string,
): Promise<void> {
  const left = (object.metadata.finalizers ?? []).filter((one) => one !== finalizer);
  await write(resource, object, left);
}

/** An update, which is all that the roles of these controllers allow. */
async function write<T extends AnyObject>(resource: ResourceClient<T>, object: T, finalizers: string[]): Promise<void> {
  await resource.update({ ...object, metadata: { ...object.metadata, finalizers } } as unknown as Draft<T>);
}
