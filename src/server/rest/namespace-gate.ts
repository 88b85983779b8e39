/** New objects go into namespaces that exist and are not going away. */
import { forbidden, type KubeObject, notFound } from '../../api/index.ts';
import type { Resources, View } from '../storage/resources.ts';

export async function mustTakeContent(resources: Resources, view: View, object: KubeObject): Promise<void> {
  const { namespace = '', name = '', generateName = '' } = object.metadata;
  if (!view.resource.isNamespaced || namespace === '') return;
  const namespaces = resources.viewOf('', 'namespaces');
  const { cache } = namespaces;
  let found = cache.objects.get(namespace);
  if (!found) {
    // The cache may be a moment behind the namespace's creation.
    const { kv } = await cache.store.get(cache.storeKey('', namespace));
    found = kv && cache.read(kv);
  }
  if (!found) throw notFound(namespaces.resource, namespace);
  if (!found.bytes.includes('"deletionTimestamp":')) return;
  if (!found.parse().metadata.deletionTimestamp) return;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  throw forbidden(view.resource, name || generateName, why, [
    {
      reason: 'NamespaceTerminating',
      message: `namespace ${namespace} is being terminated`,
      field: 'metadata.namespace',
    },
  ]);
}
