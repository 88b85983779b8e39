/** Services and their EndpointSlices, as this server has them. */
import type { KubeObject } from '../../api/index.ts';
import type { Address, ServiceLookup } from '../outbound/service-resolver.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import type { ResourceStorages } from '../storage/resource-storages.ts';

export type LookupOptions = { readonly self: () => Address | undefined; readonly routesToEndpoints: boolean };

export function serviceLookup(storages: ResourceStorages, { self, routesToEndpoints }: LookupOptions): ServiceLookup {
  const services = storages.storageOf('', 'services');
  const slices = storages.storageOf('discovery.k8s.io', 'endpointslices');
  return {
    self,
    routesToEndpoints,
    service: (namespace, name) => findNow(services, namespace, name),
    endpointSlices: (namespace, service) => slicesOf(slices, namespace, service),
  };
}

/** What is at hand, else as the store has it. */
export async function findNow(
  storage: ResourceStorage,
  namespace: string,
  name: string,
): Promise<KubeObject | undefined> {
  const found = storage.objects.peek(namespace, name) ?? (await storage.objects.get(namespace, name));
  return found && storage.toObject(found);
}

export async function slicesOf(
  slices: ResourceStorage,
  namespace: string,
  service: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<readonly KubeObject[]> {
  const scope = `${namespace}/`;
  const { objects } = await slices.objects.list({ scope, start: scope, at: { resourceVersion: '0' }, signal });
  return objects
    .filter(({ labels }) => labels?.['kubernetes.io/service-name'] === service)
    .map((one) => slices.toObject(one));
}
