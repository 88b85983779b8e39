/**
 * How a cluster finds its own API: the service `default/kubernetes` at the first address of the range, with the
 * endpoints behind it, and the range itself. Clients in pods, and the suites that test clusters, begin there.
 *
 * Made once the server listens, since only then its port is known. Services and ranges that are there are left alone;
 * endpoints are set to this server, so that of several servers on one store the one that started last is found. Where
 * the machine has no address that others could use, there is a service without endpoints.
 */
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import type { JsonObject, KubeObject } from '../../api/index.ts';
import { OWN_ADDRESS, OWN_SERVICE, SERVICE_RANGE } from '../kinds/services/service-addresses.ts';
import { nowInSeconds, type Rest } from '../rest/rest.ts';
import { checkIpAddress, checkOrdinaryAddress, parseAddress } from '../strategy/validation/ip-address.ts';
import { ensureObject } from './ensure-object.ts';

const metadata = { ...OWN_SERVICE };
const HTTPS_PORT = 443;

export type Listening = { readonly bindAddress: string; readonly port: number };

export async function publishOwnService(rest: Rest, { bindAddress, port }: Listening): Promise<void> {
  const address = advertisedAddress(bindAddress);
  await Promise.all([
    ensureObject(rest, 'networking.k8s.io', 'servicecidrs', ownRange()),
    ensureObject(rest, '', 'services', ownService(port)),
    ensureObject(rest, '', 'endpoints', ownEndpoints(address, port), ['subsets']),
    ensureObject(rest, 'discovery.k8s.io', 'endpointslices', ownSlice(address, port), ['endpoints', 'ports']),
  ]);
}

/** The address that others use: the one listened on, or else the first of the machine. */
export function advertisedAddress(
  bindAddress: string,
  interfaces: NodeJS.Dict<NetworkInterfaceInfo[]> = networkInterfaces(),
): string | undefined {
  const isUsable = (text: string) =>
    checkIpAddress(text).length + checkOrdinaryAddress(text).length === 0 && parseAddress(text)?.bytes.length === 4;
  if (isUsable(bindAddress)) return bindAddress;
  const all = Object.values(interfaces).flatMap((one) => one ?? []);
  return all.find(({ address, internal }) => !internal && isUsable(address))?.address;
}

function ownService(port: number): KubeObject {
  return {
    kind: 'Service',
    apiVersion: 'v1',
    metadata: { ...metadata, labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: {
      ports: [{ name: 'https', protocol: 'TCP', port: HTTPS_PORT, targetPort: port }],
      clusterIP: OWN_ADDRESS,
      sessionAffinity: 'None',
      type: 'ClusterIP',
    },
  };
}

function ownEndpoints(address: string | undefined, port: number): KubeObject {
  const subset: JsonObject = {
    addresses: [{ ip: address ?? '' }],
    ports: [{ name: 'https', port, protocol: 'TCP' }],
  };
  return {
    kind: 'Endpoints',
    apiVersion: 'v1',
    metadata: { ...metadata, labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
    ...(address && { subsets: [subset] }),
  };
}

function ownSlice(address: string | undefined, port: number): KubeObject {
  return {
    kind: 'EndpointSlice',
    apiVersion: 'discovery.k8s.io/v1',
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': OWN_SERVICE.name } },
    addressType: 'IPv4',
    endpoints: address ? [{ addresses: [address], conditions: { ready: true } }] : null,
    ports: [{ name: 'https', port, protocol: 'TCP' }],
  };
}

function ownRange(): KubeObject {
  return {
    kind: 'ServiceCIDR',
    apiVersion: 'networking.k8s.io/v1',
    metadata: { name: OWN_SERVICE.name },
    spec: { cidrs: [SERVICE_RANGE] },
    status: {
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          lastTransitionTime: nowInSeconds(),
          reason: '',
          message: 'Kubernetes default Service CIDR is ready',
        },
      ],
    },
  };
}
