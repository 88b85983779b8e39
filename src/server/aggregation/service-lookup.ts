/** Services and their EndpointSlices, as this server has them. */
import type { KubeObject } from '../../api/index.ts';
import type { Address, ServiceLookup } from '../outbound/service-resolver.ts';
import type { Resources } from '../storage/resources.ts';
import type { View } from '../storage/view.ts';

export type LookupOptions = { readonly self: () => Address | undefined; readonly routesToEndpoints: boolean };

export function serviceLookup(resources: Resources, { self, routesToEndpoints }: LookupOptions): ServiceLookup {
  const services = resources.viewOf('', 'services');
  const slices = resources.viewOf('discovery.k8s.io', 'endpointslices');
  return {
    self,
    routesToEndpoints,
    service: (namespace, name) => findNow(services, namespace, name),
    endpointSlices: (namespace, service) => slicesOf(slices, namespace, service),
  };
}

/** What is at hand, else as the store has it. */
export async function findNow(view: View, namespace: string, name: string): Promise<KubeObject | undefined> {
  const found = view.storage.peek(namespace, name) ?? (await view.storage.get(namespace, name));
  return found && view.toObject(found);
}

export async function slicesOf(
  slices: View,
  namespace: string,
  service: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<readonly KubeObject[]> {
  const scope = `${namespace}/`;
  const { objects } = await slices.storage.list({ scope, start: scope, at: { resourceVersion: '0' }, signal });
  return objects
    .filter(({ labels }) => labels?.['kubernetes.io/service-name'] === service)
    .map((one) => slices.toObject(one));
}
