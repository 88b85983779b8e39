/**
 * Endpoints: the same as EndpointSlices in their older form, for those who still read them. One object for each Service
 * with a selector, of its name; Pods that are not ready stand apart. Past a thousand addresses the rest is left out, and
 * an annotation says so.
 */
import { isDeepStrictEqual } from 'node:util';
import { corev1, isApiError } from '../../client/index.ts';
import {
  type ControllerDefinition,
  defineController,
  isBeingDeleted,
  type ReconcileContext,
} from '../../controller/index.ts';
import { isFinished, isReady } from '../pods/pod-state.ts';
import { isRefusedByNamespace } from '../refused-by-namespace.ts';
import { portsOf, servicesOf } from './service-pods.ts';

const MANAGED_BY = 'endpoints.kubernetes.io/managed-by';
const CONTROLLER = 'endpoint-controller';
const OVER_CAPACITY = 'endpoints.kubernetes.io/over-capacity';
const HEADLESS = 'service.kubernetes.io/headless';
const MOST = 1000;

export const endpointsController: ControllerDefinition<corev1.Service> = defineController({
  name: 'endpoints-controller',
  for: corev1.services,
  watches: [
    { resource: corev1.pods, map: servicesOf },
    { resource: corev1.endpoints, map: ({ metadata }) => `${metadata.namespace}/${metadata.name}` },
  ],
  async reconcile(service, context) {
    const { cache, client, namespace, name } = context;
    const known = cache.of(corev1.endpoints).get(`${namespace}/${name}`);
    if (!service) {
      if (known?.metadata.labels?.[MANAGED_BY] !== CONTROLLER) return;
      await client
        .resource(corev1.endpoints)
        .delete(name, { preconditions: { uid: known.metadata.uid } })
        .catch(ignoreGone);
      return;
    }
    const selector = service.spec?.selector ?? {};
    if (isBeingDeleted(service) || Object.keys(selector).length === 0 || service.spec?.type === 'ExternalName') return;
    const pods = cache.of(corev1.pods).list({ namespace, labelSelector: selector });
    await write(service, known, pods, context);
  },
});

async function write(
  service: corev1.Service,
  known: corev1.Endpoints | undefined,
  pods: readonly corev1.Pod[],
  { client, name, namespace }: ReconcileContext,
): Promise<void> {
  const there = pods.filter((pod) => pod.status?.podIP && !isFinished(pod) && !isBeingDeleted(pod));
  const shown = [...there].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)).slice(0, MOST);
  const subsets = subsetsOf(service, shown);
  const isHeadless = service.spec?.clusterIP === 'None';
  const labels = { ...service.metadata.labels, [MANAGED_BY]: CONTROLLER, ...(isHeadless && { [HEADLESS]: '' }) };
  const { [OVER_CAPACITY]: _before, ...others } = known?.metadata.annotations ?? {};
  const annotations = { ...others, ...(there.length > MOST && { [OVER_CAPACITY]: 'truncated' }) };
  const endpoints = client.resource(corev1.endpoints);
  if (!known) {
    const metadata = { name, namespace, labels, annotations };
    await endpoints.create({ metadata, subsets }).catch((err: unknown) => {
      if (!isRefusedByNamespace(err)) throw err;
    });
    return;
  }
  const isSame =
    isDeepStrictEqual(known.subsets ?? [], subsets) &&
    isDeepStrictEqual(known.metadata.labels, labels) &&
    isDeepStrictEqual(known.metadata.annotations ?? {}, annotations);
  if (!isSame) await endpoints.update({ ...known, metadata: { ...known.metadata, labels, annotations }, subsets });
}

/** One for each set of ports that Pods have. */
function subsetsOf(service: corev1.Service, pods: readonly corev1.Pod[]): corev1.EndpointSubset[] {
  const { publishNotReadyAddresses = false } = service.spec ?? {};
  type Subset = {
    ports: corev1.EndpointPort[];
    addresses: corev1.EndpointAddress[];
    notReadyAddresses: corev1.EndpointAddress[];
  };
  const byPorts = new Map<string, Subset>();
  for (const pod of pods) {
    const ports = portsOf(service, pod).map(
      ({ name, ...port }) => ({ ...(name && { name }), ...port }) as corev1.EndpointPort,
    );
    const key = JSON.stringify(ports);
    const subset = byPorts.get(key) ?? { ports, addresses: [], notReadyAddresses: [] };
    byPorts.set(key, subset);
    const { nodeName, hostname, subdomain } = pod.spec;
    const list = publishNotReadyAddresses || isReady(pod) ? subset.addresses : subset.notReadyAddresses;
    list.push({
      ip: pod.status!.podIP!,
      ...(hostname && subdomain === service.metadata.name && { hostname }),
      ...(nodeName && { nodeName }),
      targetRef: { kind: 'Pod', namespace: pod.metadata.namespace!, name: pod.metadata.name, uid: pod.metadata.uid },
    });
  }
  return [...byPorts.values()].map(({ ports, addresses, notReadyAddresses }) => ({
    ...(addresses.length > 0 && { addresses }),
    ...(notReadyAddresses.length > 0 && { notReadyAddresses }),
    ...(ports.length > 0 && { ports }),
  }));
}

function ignoreGone(err: unknown): void {
  if (!isApiError(err, 'NotFound') && !isApiError(err, 'Conflict')) throw err;
}
