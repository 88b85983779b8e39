/**
 * Addresses and node ports of services: which are taken is read from the services there are, nothing is remembered.
 *
 * Two creates at the same moment may therefore be given the same address; choosing from a place that depends on the
 * service's uid makes that rare, and whoever serialises creates of services makes it impossible. What cannot be given
 * is answered as kube-apiserver answers it.
 */
import { type FieldError, internalError, invalidValue, type JsonObject, type KubeObject } from '../../../api/index.ts';
import { numberAt, objectAt, objectsAt, textAt, textsAt } from '../../strategy/validation/fields.ts';

/** The first address is the gateway to the API itself; the last is for broadcasts. */
const range = { text: '10.0.0.0/24', prefix: '10.0.0.', first: 1, last: 254 };
export const SERVICE_RANGE: string = range.text;
/** Where the API itself is found, and the service that stands for it. */
export const OWN_ADDRESS: string = `${range.prefix}${range.first}`;
export const OWN_SERVICE = { name: 'kubernetes', namespace: 'default' } as const;
const nodePorts = { first: 30000, last: 32767 };

export type Taken = { readonly addresses: ReadonlySet<string>; readonly ports: Set<number> };

/** What all services but this one hold. */
export function takenBy(services: readonly KubeObject[], except: KubeObject): Taken {
  const { name: own, namespace: ownNamespace } = except.metadata;
  const isOwn = own === OWN_SERVICE.name && ownNamespace === OWN_SERVICE.namespace;
  const addresses = new Set<string>(isOwn ? [] : [OWN_ADDRESS]);
  const ports = new Set<number>();
  for (const service of services) {
    const { name, namespace } = service.metadata;
    if (name === except.metadata.name && namespace === except.metadata.namespace) continue;
    const spec = objectAt(service as JsonObject, 'spec');
    for (const address of textsAt(spec, 'clusterIPs')) addresses.add(address);
    addresses.add(textAt(spec, 'clusterIP'));
    for (const port of objectsAt(spec, 'ports')) addPort(ports, port);
    const health = numberAt(spec, 'healthCheckNodePort');
    if (health) ports.add(health);
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

/** What choices depend on; a dry run reserves nothing, and answers with ports that can never be had. */
export type Choice = { readonly seed: string; readonly isDryRun: boolean };
const FIRST_DRY_PORT = 32769;

/**
 * Gives every port without a node port a free one, and refuses those asked for that cannot be had. The same port of two
 * protocols is given one number for both. `before` is the spec it had: what it held it still holds.
 */
export function allocateNodePorts(
  spec: JsonObject,
  before: JsonObject | undefined,
  taken: Taken,
  choice: Choice,
): FieldError[] {
  const ports = objectsAt(spec, 'ports');
  const held = new Set(objectsAt(before, 'ports').map((port) => numberAt(port, 'nodePort')));
  const given = before ? new Map<number, number>() : askedFor(ports);
  const mine = new Set<number>();
  let last = 0;
  const wantsPorts = spec.allocateLoadBalancerNodePorts !== false || textAt(spec, 'type') === 'NodePort';
  for (const [index, port] of ports.entries()) {
    const number = numberAt(port, 'port') ?? 0;
    let wanted = numberAt(port, 'nodePort') ?? 0;
    if (wanted === 0 && !wantsPorts) continue;
    if (wanted === 0 && !before) wanted = given.get(number) ?? 0;
    if (wanted === 0) wanted = choice.isDryRun ? dryPort(last) : chooseNodePort(taken, mine, choice.seed);
    else if (!held.has(wanted) && !mine.has(wanted)) {
      const why = portProblem(wanted, taken, choice);
      if (why !== undefined) return [invalidValue(`spec.ports[${index}].nodePort`, wanted, why)];
    }
    port.nodePort = wanted;
    mine.add(wanted);
    last = Math.max(last, wanted);
    if (!given.has(number)) given.set(number, wanted);
  }
  return [];
}

/** The node ports that were asked for, by port: what one protocol asks for holds for the others. */
function askedFor(ports: readonly JsonObject[]): Map<number, number> {
  const asked = new Map<number, number>();
  for (const port of ports) {
    const [number, wanted] = [numberAt(port, 'port') ?? 0, numberAt(port, 'nodePort')];
    if (wanted && !asked.has(number)) asked.set(number, wanted);
  }
  return asked;
}

/** The port at which nodes tell whether they are well; one that was asked for must be free. */
export function chooseHealthPort(spec: JsonObject, taken: Taken, choice: Choice): number {
  const wanted = numberAt(spec, 'healthCheckNodePort') ?? 0;
  const mine = new Set(objectsAt(spec, 'ports').map((port) => numberAt(port, 'nodePort') ?? 0));
  if (wanted === 0) {
    if (!choice.isDryRun) return chooseNodePort(taken, mine, `${choice.seed}/health`);
    let last = 0;
    for (const port of mine) last = Math.max(last, port);
    return dryPort(last);
  }
  const why = mine.has(wanted) ? 'provided port is already allocated' : portProblem(wanted, taken, choice);
  if (why === undefined) return wanted;
  throw internalError(`failed to allocate requested HealthCheck NodePort ${wanted}: ${why}`);
}

/** `last` is the highest that this service has, 0 if it has none. */
function dryPort(last: number): number {
  return (last === 0 ? FIRST_DRY_PORT - 1 : last) + 1;
}

function chooseNodePort({ ports }: Taken, mine: ReadonlySet<number>, seed: string): number {
  const size = nodePorts.last - nodePorts.first + 1;
  const start = hash(seed) % size;
  for (let i = 0; i < size; i++) {
    const port = nodePorts.first + ((start + i) % size);
    if (!ports.has(port) && !mine.has(port)) return port;
  }
  throw internalError('failed to allocate a nodePort: range is full');
}

function portProblem(wanted: number, { ports }: Taken, { isDryRun }: Choice): string | undefined {
  const { first, last } = nodePorts;
  if (!isDryRun && (wanted < first || wanted > last))
    return `provided port is not in the valid range. The range of valid ports is ${first}-${last}`;
  return ports.has(wanted) ? 'provided port is already allocated' : undefined;
}

function addPort(ports: Set<number>, port: JsonObject): void {
  const nodePort = numberAt(port, 'nodePort');
  if (nodePort) ports.add(nodePort);
}

/** FNV-1a, to spread choices. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
