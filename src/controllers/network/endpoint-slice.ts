/**
 * EndpointSlices: where a Service's Pods are. One or more slices for each Service with a selector, owned by it, each with
 * at most a hundred endpoints; what has changed is written, and nothing else.
 *
 * Pods whose named port has another number get slices of their own. Hints of topology and slices for IPv6 are left out.
 */
import { isDeepStrictEqual } from 'node:util';
import { corev1, discoveryv1, isApiError } from '../../client/index.ts';
import {
  type ControllerDefinition,
  controllerOf,
  defineController,
  isBeingDeleted,
  type ReconcileContext,
  setControllerReference,
} from '../../controller/index.ts';
import { isFinished, isReady } from '../pods/pod-state.ts';
import { isRefusedByNamespace } from '../refused-by-namespace.ts';
import { portsOf, servicesOf } from './service-pods.ts';

const SERVICE = 'kubernetes.io/service-name';
const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
const CONTROLLER = 'endpointslice-controller.k8s.io';
const HEADLESS = 'service.kubernetes.io/headless';
const ZONE = 'topology.kubernetes.io/zone';
const MOST = 100;

type Slice = Pick<discoveryv1.EndpointSlice, 'endpoints' | 'ports'>;

export const endpointSliceController: ControllerDefinition<corev1.Service> = defineController({
  name: 'endpointslice-controller',
  for: corev1.services,
  owns: [
    {
      resource: discoveryv1.endpointSlices,
      indexers: { byController: (slice) => [controllerOf(slice)?.uid] },
    },
  ],
  watches: [{ resource: corev1.pods, map: servicesOf }],
  reads: [corev1.nodes],
  async reconcile(service, context) {
    const selector = service?.spec?.selector ?? {};
    if (!service || isBeingDeleted(service) || Object.keys(selector).length === 0) return;
    if (service.spec?.type === 'ExternalName') return;
    const known = context.cache
      .of(discoveryv1.endpointSlices)
      .by('byController', service.metadata.uid)
      .filter(({ metadata }) => metadata.labels?.[MANAGED_BY] === CONTROLLER && !isBeingDeleted({ metadata }));
    const pods = context.cache.of(corev1.pods).list({ namespace: context.namespace, labelSelector: selector });
    const zoneOf = (node = '') => context.cache.of(corev1.nodes).get(node)?.metadata.labels?.[ZONE];
    await writeSlices(service, known, slicesOf(service, pods, zoneOf), context);
  },
});

/** What there should be: by ports, in pieces, in the order of the Pods' names. None match: one slice without anything. */
function slicesOf(
  service: corev1.Service,
  pods: readonly corev1.Pod[],
  zoneOf: (node: string | undefined) => string | undefined,
): Slice[] {
  const { publishNotReadyAddresses = false } = service.spec ?? {};
  const byPorts = new Map<string, { ports: discoveryv1.EndpointPort[]; endpoints: discoveryv1.Endpoint[] }>();
  const there = pods.filter((pod) => pod.status?.podIP && !isFinished(pod));
  for (const pod of [...there].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))) {
    const ports = portsOf(service, pod);
    const key = JSON.stringify(ports);
    const group = byPorts.get(key) ?? { ports, endpoints: [] };
    byPorts.set(key, group);
    const isServing = isReady(pod);
    const isTerminating = isBeingDeleted(pod);
    const ready = publishNotReadyAddresses || (isServing && !isTerminating);
    const zone = zoneOf(pod.spec.nodeName);
    group.endpoints.push({
      addresses: [pod.status!.podIP!],
      conditions: { ready, serving: isServing, terminating: isTerminating },
      ...(pod.spec.nodeName && { nodeName: pod.spec.nodeName }),
      ...(zone && { zone }),
      ...(pod.spec.hostname && pod.spec.subdomain === service.metadata.name && { hostname: pod.spec.hostname }),
      targetRef: { kind: 'Pod', namespace: pod.metadata.namespace!, name: pod.metadata.name, uid: pod.metadata.uid },
    });
  }
  const slices = [...byPorts.values()].flatMap(({ ports, endpoints }) =>
    Array.from({ length: Math.ceil(endpoints.length / MOST) }, (_, at) => ({
      ports,
      endpoints: endpoints.slice(at * MOST, (at + 1) * MOST),
    })),
  );
  return slices.length > 0 ? slices : [{ ports: [], endpoints: [] }];
}

/** Those that are right already stay; of the others as many as possible are written anew rather than made. */
async function writeSlices(
  service: corev1.Service,
  known: readonly discoveryv1.EndpointSlice[],
  wanted: readonly Slice[],
  { client, namespace }: ReconcileContext,
): Promise<void> {
  const labels = {
    ...service.metadata.labels,
    [SERVICE]: service.metadata.name,
    [MANAGED_BY]: CONTROLLER,
    ...(service.spec?.clusterIP === 'None' && { [HEADLESS]: '' }),
  };
  const isRight = (slice: discoveryv1.EndpointSlice, want: Slice) =>
    isDeepStrictEqual(slice.endpoints ?? [], want.endpoints) &&
    isDeepStrictEqual(slice.ports ?? [], want.ports) &&
    isDeepStrictEqual(slice.metadata.labels, labels);
  const left = [...known];
  const missing = wanted.filter((want) => {
    const at = left.findIndex((slice) => isRight(slice, want));
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
  const slices = client.resource(discoveryv1.endpointSlices);
  for (const want of missing) {
    const old = left.shift();
    if (old) await slices.update({ ...old, ...want, metadata: { ...old.metadata, labels } });
    else {
      const metadata = { generateName: `${service.metadata.name}-`, namespace, labels };
      const draft = setControllerReference(service, { metadata, addressType: 'IPv4' as const, ...want });
      await slices.create(draft).catch((err: unknown) => {
        if (!isRefusedByNamespace(err)) throw err;
      });
    }
  }
  for (const { metadata } of left)
    await slices.delete(metadata.name, { preconditions: { uid: metadata.uid } }).catch((err: unknown) => {
      if (!isApiError(err, 'NotFound')) throw err;
    });
}
