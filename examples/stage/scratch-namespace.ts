/**
 * A namespace of an example's own, which goes with everything in it when the example ends.
 *
 * What is in it goes when the cluster's namespace controller has come by. With `--controllers=-*` there is none: then the
 * namespace stays `Terminating` until one runs, such as that of examples/mini-control-plane.
 */
import { corev1, isApiError, type KubeClient } from 'longwatch/client';

export type ScratchNamespace = AsyncDisposable & { readonly name: string };

export async function scratchNamespace(client: KubeClient, example: string): Promise<ScratchNamespace> {
  const draft = { metadata: { generateName: `${example}-`, labels: { example } } };
  const { metadata } = await client.resource(corev1.namespaces).create(draft);
  return {
    name: metadata.name,
    async [Symbol.asyncDispose]() {
      await client
        .resource(corev1.namespaces)
        .delete(metadata.name)
        .catch((err: unknown) => {
          if (!isApiError(err, 'NotFound') && !isApiError(err, 'Conflict')) throw err; // it is going already
        });
    },
  };
}
