/**
 * Where the containers of a Pod run, as far as this server can know: which container is meant, and what is to be said of
 * its node. Refusals are those of kube-apiserver: a container that is not there, a Pod without a node, a node that nobody
 * knows, one without an address. Beyond that, a node is either pretended, and nothing runs there, or real, and this
 * server does not call kubelets.
 */
import { badRequest, isPretendNode, type KubeObject, notFound, quote, StatusError } from '../../../api/index.ts';
import type { Rest } from '../rest.ts';

type Container = { readonly name?: string };
export type PodObject = KubeObject & {
  readonly spec?: {
    readonly nodeName?: string;
    readonly containers?: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly ephemeralContainers?: readonly Container[];
  };
};

type NodeAddress = { readonly type?: string; readonly address?: string };
type NodeObject = KubeObject & { readonly status?: { readonly addresses?: readonly NodeAddress[] } };

/** Where kube-apiserver looks for a kubelet. */
const ADDRESS_TYPES = new Set(['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP']);
const HOSTNAME_LABEL = 'kubernetes.io/hostname';

/** The one that is asked for, or the only one there is. */
export function chooseContainer({ metadata, spec }: PodObject, asked: string): string {
  const containers = spec?.containers ?? [];
  const all = [...(spec?.initContainers ?? []), ...containers, ...(spec?.ephemeralContainers ?? [])];
  const names = all.map(({ name = '' }) => name);
  const podName = metadata.name ?? '';
  if (asked !== '') {
    if (!names.includes(asked)) throw badRequest(`container ${asked} is not valid for pod ${podName}`);
    return asked;
  }
  if (containers.length === 1) return containers[0]!.name ?? '';
  const choice = containers.length === 0 ? '' : `, choose one of: [${names.join(' ')}]`;
  throw badRequest(`a container name must be specified for pod ${podName}${choice}`);
}

export function noHostAssigned(name: string): StatusError {
  return badRequest(`pod ${name} does not have a host assigned`);
}

/** Ends well for a pretended node only. */
export async function mustBePretended(rest: Rest, nodeName: string): Promise<void> {
  if (isPretendNode(await mustHaveAddress(rest, nodeName))) return;
  throw cannotDial(`this server does not call kubelets, so what runs on node ${quote(nodeName)} cannot be reached`);
}

/** The node; nobody asks where a pretended one is. */
export async function mustHaveAddress(rest: Rest, nodeName: string): Promise<KubeObject> {
  const storage = rest.storages.storageOf('', 'nodes');
  const found = await storage.read('', nodeName);
  if (!found) throw notFound(storage.resource, nodeName);
  const node = storage.toObject(found) as NodeObject;
  if (isPretendNode(node)) return node;
  const addresses = node.status?.addresses ?? [];
  const hasAddress = addresses.some(({ type = '' }) => ADDRESS_TYPES.has(type));
  if (!hasAddress && !node.metadata.labels?.[HOSTNAME_LABEL]) {
    const known = addresses.map(({ type = '', address = '' }) => `{${type} ${address}}`);
    throw plainFailure(`no preferred addresses found; known addresses: [${known.join(' ')}]`);
  }
  return node;
}

export function cannotDial(why: string): StatusError {
  return plainFailure(`error dialing backend: ${why}`);
}

/** What went wrong on the way to a node has no reason of its own. */
function plainFailure(message: string): StatusError {
  return new StatusError({ code: 500, message });
}
