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
import { DEFAULT_RANGE_NAME, DEFAULT_RANGES, rangesOf } from '../kinds/services/address-ranges.ts';
import { OWN_SERVICE } from '../kinds/services/service-addresses.ts';
import { nowInSeconds, type Rest } from '../rest/rest.ts';
import { objectAt, textsAt } from '../strategy/validation/fields.ts';
import { checkIpAddress, checkOrdinaryAddress, parseAddress } from '../strategy/validation/ip-address.ts';
import { ensureObject } from './ensure-object.ts';

const metadata = { ...OWN_SERVICE };
const HTTPS_PORT = 443;

export type OwnServiceOptions = {
  readonly bindAddress: string;
  readonly port: number;
  /** One, or one of each family. */
  readonly ranges?: readonly string[] | undefined;
  readonly log: (line: string) => void;
};

export async function publishOwnService(rest: Rest, options: OwnServiceOptions): Promise<void> {
  const { bindAddress, port } = options;
  const address = advertisedAddress(bindAddress);
  const ownAddress = await publishRange(rest, options);
  await Promise.all([
    ensureObject(rest, '', 'services', ownService(ownAddress, port)),
    ensureObject(rest, '', 'endpoints', ownEndpoints(address, port), ['subsets']),
    ensureObject(rest, 'discovery.k8s.io', 'endpointslices', ownSlice(address, port), ['endpoints', 'ports']),
  ]);
}

/** The first address of the range that is there afterwards. One from an earlier start is kept: addresses were given from it. */
async function publishRange(rest: Rest, { ranges, log }: Pick<OwnServiceOptions, 'ranges' | 'log'>): Promise<string> {
  const storage = rest.storages.storageOf('networking.k8s.io', 'servicecidrs');
  await ensureObject(rest, 'networking.k8s.io', 'servicecidrs', ownRange(ranges ?? DEFAULT_RANGES));
  const found = await storage.read('', DEFAULT_RANGE_NAME);
  const kept = found && storage.toObject(found);
  const cidrs = textsAt(objectAt(kept as JsonObject | undefined, 'spec'), 'cidrs').join();
  if (ranges && kept && cidrs !== ranges.join())
    log(
      `--service-cluster-ip-range ${ranges.join()} is not used: the ServiceCIDR ${DEFAULT_RANGE_NAME} says ${cidrs}; ` +
        'other ranges can be added as ServiceCIDRs of their own',
    );
  return rangesOf(kept ? [kept] : []).ownAddress;
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

function ownService(clusterIP: string, port: number): KubeObject {
  return {
    kind: 'Service',
    apiVersion: 'v1',
    metadata: { ...metadata, labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: {
      ports: [{ name: 'https', protocol: 'TCP', port: HTTPS_PORT, targetPort: port }],
      clusterIP,
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

function ownRange(cidrs: readonly string[]): KubeObject {
  return {
    kind: 'ServiceCIDR',
    apiVersion: 'networking.k8s.io/v1',
    metadata: { name: DEFAULT_RANGE_NAME },
    spec: { cidrs: [...cidrs] },
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
