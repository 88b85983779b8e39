/**
 * Addresses and node ports of services: which are taken is read from the services there are, nothing is remembered.
 *
 * Always true: nothing is given twice, since a service is written only while no other has changed since these were looked
 * at (`StrategyContext.listHeld`). A service shows its address as it was asked for; an address is taken however it is
 * spelled. What cannot be given is answered as kube-apiserver answers it; a dry run takes nothing,
 * and is given the address of the network, which nobody can have.
 */
import { type FieldError, internalError, invalidValue, type JsonObject, type KubeObject } from '../../../api/index.ts';
import { numberAt, objectAt, objectsAt, textAt, textsAt } from '../../strategy/validation/fields.ts';
import { canonicalAddress } from '../../strategy/validation/ip-address.ts';
import type { AddressRanges, Family } from './address-ranges.ts';

/** The service that stands for the API itself. */
export const OWN_SERVICE = { name: 'kubernetes', namespace: 'default' } as const;

/** `addresses`: in canonical form. */
export type Taken = { readonly addresses: ReadonlySet<string>; readonly ports: Set<number> };

/** What choices depend on. */
export type Choice = { readonly seed: string; readonly isDryRun: boolean };

/** What all services but this one hold. */
export function takenBy(services: readonly KubeObject[], except: KubeObject, ownAddress: string): Taken {
  const { name: own, namespace: ownNamespace } = except.metadata;
  const isOwn = own === OWN_SERVICE.name && ownNamespace === OWN_SERVICE.namespace;
  const addresses = new Set<string>(isOwn ? [] : [ownAddress]);
  const ports = new Set<number>();
  for (const service of services) {
    const { name, namespace } = service.metadata;
    if (name === except.metadata.name && namespace === except.metadata.namespace) continue;
    const spec = objectAt(service as JsonObject, 'spec');
    for (const address of textsAt(spec, 'clusterIPs')) addresses.add(canonicalAddress(address));
    addresses.add(canonicalAddress(textAt(spec, 'clusterIP')));
    for (const port of objectsAt(spec, 'ports')) addPort(ports, port);
    const health = numberAt(spec, 'healthCheckNodePort');
    if (health) ports.add(health);
  }
  return { addresses, ports };
}

/** Whether none of the others holds anything that the service was given. */
export function isUniqueAmong(service: KubeObject, services: readonly KubeObject[]): boolean {
  const { addresses, ports } = takenBy(services, service, '');
  const spec = objectAt(service as JsonObject, 'spec');
  const given = textsAt(spec, 'clusterIPs').filter((address) => address !== '' && address !== 'None');
  const mine = new Set<number>([numberAt(spec, 'healthCheckNodePort') ?? 0]);
  for (const port of objectsAt(spec, 'ports')) addPort(mine, port);
  return (
    !given.some((address) => addresses.has(canonicalAddress(address))) && ![...mine].some((port) => ports.has(port))
  );
}

/**
 * Gives the service an address of each of its families, and refuses those asked for that cannot be had. `before` is the
 * spec it had: what it held it still holds.
 */
export function allocateAddresses(
  spec: JsonObject,
  before: JsonObject | undefined,
  taken: Taken,
  ranges: AddressRanges,
  choice: Choice,
): FieldError[] {
  const asked = [...textsAt(spec, 'clusterIPs')];
  const held = textsAt(before, 'clusterIPs');
  const given: string[] = [];
  for (const [index, family] of (textsAt(spec, 'ipFamilies') as Family[]).entries()) {
    const wanted = asked[index] ?? '';
    if (wanted === '') given.push(chooseAddress(family, taken, ranges, choice));
    else {
      const why = wanted === held[index] ? undefined : addressProblem(wanted, family, taken, ranges, choice);
      if (why !== undefined) return [invalidValue('spec.clusterIPs', asked, `failed to allocate IP ${wanted}: ${why}`)];
      given.push(wanted);
    }
  }
  spec.clusterIP = given[0]!;
  spec.clusterIPs = given;
  return [];
}

function chooseAddress(family: Family, { addresses }: Taken, { all }: AddressRanges, choice: Choice): string {
  const ranges = all.filter((range) => range.family === family);
  if (choice.isDryRun && ranges[0]) return ranges[0].network;
  const seed = hash(choice.seed);
  for (const range of ranges) {
    const address = range.choose((one) => addresses.has(one), seed);
    if (address !== undefined) return address;
  }
  throw internalError('failed to allocate a serviceIP: range is full');
}

/** Whoever only tries is told of the range; nobody is asked whether it is taken then. */
function addressProblem(
  address: string,
  family: Family,
  { addresses }: Taken,
  { all }: AddressRanges,
  { isDryRun }: Choice,
): string | undefined {
  const ranges = all.filter((range) => range.family === family);
  const isInside = ranges.some((range) => range.has(address));
  if (!isDryRun && !isInside) return 'the provided network does not match the current range';
  if (!isDryRun) return addresses.has(canonicalAddress(address)) ? 'provided IP is already allocated' : undefined;
  if (isInside) return undefined;
  return `the provided IP (${address}) is not in the valid range. The range of valid IPs is ${ranges[0]?.text ?? ''}`;
}

function addPort(ports: Set<number>, port: JsonObject): void {
  const nodePort = numberAt(port, 'nodePort');
  if (nodePort) ports.add(nodePort);
}

/** FNV-1a, to spread choices. */
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
