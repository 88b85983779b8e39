/** A custom kind for as long as an example runs: defined, waited for until the server serves it, and taken away again. */
import { apiextensionsv1, type KubeClient, type Resource } from 'longwatch/client';
import { isConditionTrue } from 'longwatch/controller';

export async function defineKind(
  client: KubeClient,
  { group, version, plural, kind }: Resource,
  specSchema: object,
  signal: AbortSignal,
): Promise<AsyncDisposable> {
  const name = `${plural}.${group}`;
  const status = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const openAPIV3Schema = { type: 'object', required: ['spec'], properties: { spec: specSchema, status } };
  const versions = [
    { name: version, served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema } },
  ];
  const spec = { group, scope: 'Namespaced' as const, names: { plural, kind }, versions };
  await client.resource(apiextensionsv1.customResourceDefinitions).create({ metadata: { name }, spec }, { signal });
  await using made = client.informer(apiextensionsv1.customResourceDefinitions, {
    fieldSelector: { 'metadata.name': name },
  });
  for await (const { objects } of made.snapshots({ signal }))
    if (isConditionTrue(objects.get(name)?.status?.conditions, 'Established')) break;
  return {
    async [Symbol.asyncDispose]() {
      await client.resource(apiextensionsv1.customResourceDefinitions).delete(name);
    },
  };
}
