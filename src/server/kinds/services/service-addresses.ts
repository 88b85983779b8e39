/**
 * Addresses and node ports of services: which are taken is read from the services there are, nothing is remembered.
 *
 * Two creates at the same moment may therefore be given the same address; choosing from a place that depends on the
 * service's uid makes that rare, and whoever serialises creates of services makes it impossible. What cannot be given
 * is answered as the reference server answers it.
 */
import { type FieldError, internalError, invalidValue, type JsonObject, type KubeObject } from '../../../api/index.ts';
import { numberAt, objectAt, objectsAt, textAt, textsAt } from '../engine/fields.ts';

/** The first address is the gateway to the API itself; the last is for broadcasts. */
const range = { text: '10.0.0.0/24', prefix: '10.0.0.', first: 1, last: 254 };
const nodePorts = { first: 30000, last: 32767 };

export type Taken = { readonly addresses: ReadonlySet<string>; readonly ports: Set<string> };

/** What all services but this one hold. */
export function takenBy(services: readonly KubeObject[], except: KubeObject): Taken {
  const addresses = new Set<string>([`${range.prefix}${range.first}`]);
  const ports = new Set<string>();
  for (const service of services) {
    const { name, namespace } = service.metadata;
    if (name === except.metadata.name && namespace === except.metadata.namespace) continue;
    const spec = objectAt(service as JsonObject, 'spec');
    for (const address of textsAt(spec, 'clusterIPs')) addresses.add(address);
    addresses.add(textAt(spec, 'clusterIP'));
    for (const port of objectsAt(spec, 'ports')) addPort(ports, port);
    const health = numberAt(spec, 'healthCheckNodePort');
    if (health) ports.add(`TCP/${health}`);
  }
  return { addresses, ports };
}

/** A free address. */
export function chooseAddress({ addresses }: Taken, seed: string): string {
  const size = range.last - range.first + 1;
  const start = hash(seed) % size;
  for (let i = 0; i < size; i++) {
    const address = `${range.prefix}${range.first + ((start + i) % size)}`;
    if (!addresses.has(address)) return address;
  }
  throw internalError('failed to allocate a serviceIP: range is full');
}

/** Whether an address that was asked for can be had. */
export function checkAddress(address: string, { addresses }: Taken): FieldError[] {
  const host = address.startsWith(range.prefix) ? Number(address.slice(range.prefix.length)) : Number.NaN;
  const refuse = (why: string) => [
    invalidValue('spec.clusterIPs', [address], `failed to allocate IP ${address}: ${why}`),
  ];
  if (!(host >= range.first && host <= range.last))
    return refuse(`the provided IP (${address}) is not in the valid range. The range of valid IPs is ${range.text}`);
  return addresses.has(address) ? refuse('provided IP is already allocated') : [];
}

/** Gives every port without a node port a free one, and refuses those asked for that cannot be had. */
export function allocateNodePorts(ports: readonly JsonObject[], taken: Taken, seed: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [index, port] of ports.entries()) {
    const wanted = numberAt(port, 'nodePort');
    if (!wanted) continue;
    const why = portProblem(wanted, taken, port);
    if (why !== undefined) errors.push(invalidValue(`spec.ports[${index}].nodePort`, wanted, why));
    addPort(taken.ports, port);
  }
  if (errors.length > 0) return errors;
  for (const port of ports) {
    if (numberAt(port, 'nodePort')) continue;
    port.nodePort = chooseNodePort(taken, textAt(port, 'protocol'), seed);
    addPort(taken.ports, port);
  }
  return [];
}

export function chooseNodePort({ ports }: Taken, protocol: string, seed: string): number {
  const size = nodePorts.last - nodePorts.first + 1;
  const start = hash(seed) % size;
  for (let i = 0; i < size; i++) {
    const port = nodePorts.first + ((start + i) % size);
    if (!ports.has(`${protocol}/${port}`)) return port;
  }
  throw internalError('failed to allocate a nodePort: range is full');
}

function portProblem(wanted: number, { ports }: Taken, port: JsonObject): string | undefined {
  const { first, last } = nodePorts;
  if (wanted < first || wanted > last)
    return `provided port is not in the valid range. The range of valid ports is ${first}-${last}`;
  return ports.has(`${textAt(port, 'protocol')}/${wanted}`) ? 'provided port is already allocated' : undefined;
}

function addPort(ports: Set<string>, port: JsonObject): void {
  const nodePort = numberAt(port, 'nodePort');
  if (nodePort) ports.add(`${textAt(port, 'protocol') || 'TCP'}/${nodePort}`);
}

/** FNV-1a, to spread choices. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
