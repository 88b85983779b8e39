/**
 * Ports that services have on every node: given out of one range, or asked for by number. What cannot be had is answered as
 * kube-apiserver answers it; a dry run reserves nothing, and is given ports that can never be had.
 */
import { type FieldError, internalError, invalidValue, type JsonObject } from '../../../api/index.ts';
import type { PortRange } from '../../strategy/strategy.ts';
import { numberAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';
import { type Choice, hash, type Taken } from './service-addresses.ts';

export const DEFAULT_NODE_PORTS: PortRange = { first: 30000, last: 32767 };
/** So much of the range is for those who ask by number: a thirty-second, within these bounds. */
const NAMED = { part: 32, least: 16, most: 128 };

export type PortChoice = Choice & { readonly range: PortRange };
const FIRST_DRY_PORT = 32769;

/**
 * Gives every port without a node port a free one, and refuses those asked for that cannot be had. The same port of two
 * protocols is given one number for both. `before` is the spec it had: what it held it still holds.
 */
export function allocateNodePorts(
  spec: JsonObject,
  before: JsonObject | undefined,
  taken: Taken,
  choice: PortChoice,
): FieldError[] {
  const ports = objectsAt(spec, 'ports');
  const held = heldBy(before);
  const given = before ? new Map<number, number>() : askedFor(ports);
  const mine = new Set<number>();
  let last = 0;
  const wantsPorts = wantsThem(spec);
  for (const [index, port] of ports.entries()) {
    const number = numberAt(port, 'port') ?? 0;
    let wanted = numberAt(port, 'nodePort') ?? 0;
    if (wanted === 0 && !wantsPorts) continue;
    if (wanted === 0 && !before) wanted = given.get(number) ?? 0;
    if (wanted === 0) wanted = choice.isDryRun ? dryPort(last) : chooseNodePort(taken, mine, choice);
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

/** Whether `allocateNodePorts` has anything to give or to judge: of a service that keeps its ports nobody else need be looked at. */
export function asksForPorts(spec: JsonObject, before: JsonObject | undefined): boolean {
  const held = heldBy(before);
  const wantsPorts = wantsThem(spec);
  return objectsAt(spec, 'ports').some((port) => {
    const wanted = numberAt(port, 'nodePort') ?? 0;
    return wanted === 0 ? wantsPorts : !held.has(wanted);
  });
}

function heldBy(before: JsonObject | undefined): ReadonlySet<number | undefined> {
  return new Set(objectsAt(before, 'ports').map((port) => numberAt(port, 'nodePort')));
}

/** A balancer may do without. */
function wantsThem(spec: JsonObject): boolean {
  return spec.allocateLoadBalancerNodePorts !== false || textAt(spec, 'type') === 'NodePort';
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
export function chooseHealthPort(spec: JsonObject, taken: Taken, choice: PortChoice): number {
  const wanted = numberAt(spec, 'healthCheckNodePort') ?? 0;
  const mine = new Set(objectsAt(spec, 'ports').map((port) => numberAt(port, 'nodePort') ?? 0));
  if (wanted === 0) {
    if (!choice.isDryRun) return chooseNodePort(taken, mine, { ...choice, seed: `${choice.seed}/health` });
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

/** From the upper part of the range, and from what is left to those who ask by number if nothing else is free. */
function chooseNodePort({ ports }: Taken, mine: ReadonlySet<number>, { seed, range }: PortChoice): number {
  const size = range.last - range.first + 1;
  const named = size <= NAMED.least ? 0 : Math.min(NAMED.most, Math.max(NAMED.least, Math.floor(size / NAMED.part)));
  const isFree = (port: number) => !ports.has(port) && !mine.has(port);
  const port =
    firstFree(range.first + named, size - named, isFree, seed) ?? firstFree(range.first, named, isFree, seed);
  if (port === undefined) throw internalError('failed to allocate a nodePort: range is full');
  return port;
}

function firstFree(first: number, size: number, isFree: (port: number) => boolean, seed: string): number | undefined {
  const start = hash(seed);
  for (let i = 0; i < size; i++) {
    const port = first + ((start + i) % size);
    if (isFree(port)) return port;
  }
  return undefined;
}

function portProblem(wanted: number, { ports }: Taken, { isDryRun, range }: PortChoice): string | undefined {
  const { first, last } = range;
  if (!isDryRun && (wanted < first || wanted > last))
    return `provided port is not in the valid range. The range of valid ports is ${first}-${last}`;
  return ports.has(wanted) ? 'provided port is already allocated' : undefined;
}
