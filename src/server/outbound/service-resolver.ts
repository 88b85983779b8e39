/**
 * Where a Service is dialled: at its cluster address, or where its external name leads. The port must be one that the
 * Service has. With `routesToEndpoints` a ready address of one of its EndpointSlices is taken instead, at random, for
 * servers whose own host does not reach cluster addresses.
 *
 * Pure over what it is given to look up with; fails in the words of kube-apiserver.
 */
import type { JsonObject, KubeObject } from '../../api/index.ts';

export type Address = { readonly host: string; readonly port: number };

export type ServiceLookup = {
  /** The Service by namespace and name, as it is known now. */
  readonly service: (namespace: string, name: string) => Promise<KubeObject | undefined>;
  /** All EndpointSlices of the Service. */
  readonly endpointSlices: (namespace: string, service: string) => Promise<readonly KubeObject[]>;
  /** Where the server itself listens: the Service `kubernetes` is itself. */
  readonly self?: () => Address | undefined;
  readonly routesToEndpoints?: boolean;
};

export type ResolveService = (namespace: string, name: string, port: number) => Promise<Address>;

type Port = { readonly name?: string; readonly port?: number; readonly targetPort?: number | string };

export function serviceResolver(lookup: ServiceLookup): ResolveService {
  return async (namespace, name, port) => {
    const self = namespace === 'default' && name === 'kubernetes' && port === 443 ? lookup.self?.() : undefined;
    if (self) return self;
    const service = await lookup.service(namespace, name);
    if (!service) throw new Error(`service "${name}" not found`);
    const spec = (service.spec ?? {}) as JsonObject;
    const type = (spec.type as string | undefined) ?? 'ClusterIP';
    if (type === 'ExternalName') {
      if (lookup.routesToEndpoints) throw new Error(`unsupported service type "${type}"`);
      return { host: String(spec.externalName ?? ''), port };
    }
    if (!['ClusterIP', 'NodePort', 'LoadBalancer'].includes(type))
      throw new Error(`unsupported service type "${type}"`);
    const ports = (spec.ports ?? []) as Port[];
    const found = ports.find((one) => one.port === port);
    if (!found) throw new Error(`no service port ${port} found for service "${name}"`);
    if (lookup.routesToEndpoints) return readyEndpoint(await lookup.endpointSlices(namespace, name), name, found);
    const clusterIp = String(spec.clusterIP ?? '');
    if (clusterIp === 'None' || clusterIp === '')
      throw new Error(`cannot route to service with ClusterIP "${clusterIp}"`);
    return { host: clusterIp, port };
  };
}

type Slice = {
  readonly endpoints?:
    | readonly { readonly addresses?: readonly string[]; readonly conditions?: { ready?: boolean } }[]
    | null;
  readonly ports?: readonly { readonly name?: string; readonly port?: number }[] | null;
};

function readyEndpoint(slices: readonly KubeObject[], service: string, wanted: Port): Address {
  if (slices.length === 0) throw new Error(`no endpoints available for service "${service}"`);
  const addresses: Address[] = [];
  for (const slice of slices as unknown as readonly Slice[]) {
    const port = slice.ports?.find(({ name }) => (name ?? '') === (wanted.name ?? ''))?.port;
    if (port === undefined) continue;
    for (const { addresses: [host] = [], conditions } of slice.endpoints ?? [])
      if (host !== undefined && conditions?.ready !== false) addresses.push({ host, port });
  }
  if (addresses.length === 0) throw new Error(`no endpoints available for service "${service}"`);
  return addresses[Math.floor(Math.random() * addresses.length)]!;
}
