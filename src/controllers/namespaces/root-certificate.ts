/**
 * The ConfigMap `kube-root-ca.crt` in every namespace that is in use: whom a Pod there may trust to be the API server.
 * One that was changed or deleted is put right.
 */
import { corev1, isApiError } from '../../client/index.ts';
import { type ControllerDefinition, defineController } from '../../controller/index.ts';
import { isRefusedByNamespace } from '../refused-by-namespace.ts';

const NAME = 'kube-root-ca.crt';
const DESCRIPTION = 'kubernetes.io/description';
/** As clients of a cluster know it. */
const described =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.';

/** `authorityPem`: what the server's certificate leads to. */
export function rootCertificateController(authorityPem: string): ControllerDefinition<corev1.Namespace> {
  const isRight = ({ metadata, data = {} }: corev1.ConfigMap) =>
    data['ca.crt'] === authorityPem &&
    Object.keys(data).length === 1 &&
    metadata.annotations?.[DESCRIPTION] === described;
  return defineController({
    name: 'root-ca-certificate-publisher-controller',
    for: corev1.namespaces,
    watches: [
      {
        resource: corev1.configMaps,
        fieldSelector: { 'metadata.name': NAME },
        map: ({ metadata }) => metadata.namespace,
      },
    ],
    async reconcile(namespace, { cache, client, name }) {
      if (namespace?.status?.phase !== 'Active') return;
      const known = cache.of(corev1.configMaps).get(`${name}/${NAME}`);
      if (known && isRight(known)) return;
      const annotations = { ...known?.metadata.annotations, [DESCRIPTION]: described };
      const data = { 'ca.crt': authorityPem };
      try {
        if (known)
          await client
            .resource(corev1.configMaps, name)
            .update({ ...known, metadata: { ...known.metadata, annotations }, data });
        else
          await client
            .resource(corev1.configMaps, name)
            .create({ metadata: { name: NAME, namespace: name, annotations }, data });
      } catch (err) {
        if (!isApiError(err, 'AlreadyExists') && !isRefusedByNamespace(err)) throw err;
      }
    },
  });
}
