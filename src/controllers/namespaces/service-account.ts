/** The account `default` in every namespace that is in use; one that is deleted comes back. */
import { corev1, isApiError, metadataOf, type PartialObjectMetadata, type Resource } from '../../client/index.ts';
import { type ControllerDefinition, defineController } from '../../controller/index.ts';
import { isRefusedByNamespace } from '../refused-by-namespace.ts';

const NAME = 'default';
const accounts: Resource<PartialObjectMetadata> = metadataOf(corev1.serviceAccounts);

export const serviceAccountController: ControllerDefinition<corev1.Namespace> = defineController({
  name: 'serviceaccount-controller',
  for: corev1.namespaces,
  watches: [
    {
      resource: accounts,
      fieldSelector: { 'metadata.name': NAME },
      where: ({ type }) => type === 'deleted',
      map: ({ metadata }) => metadata.namespace,
    },
  ],
  async reconcile(namespace, { cache, client, name }) {
    if (namespace?.status?.phase !== 'Active' || cache.of(accounts).get(`${name}/${NAME}`)) return;
    try {
      await client.resource(corev1.serviceAccounts, name).create({ metadata: { name: NAME, namespace: name } });
    } catch (err) {
      if (!isApiError(err, 'AlreadyExists') && !isRefusedByNamespace(err)) throw err;
    }
  },
});
