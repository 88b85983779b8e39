/** What one limit of a LimitRange refuses of a Pod or a claim, in the words of kube-apiserver. */
import type { JsonObject, Quantity } from '../../../api/index.ts';
import { objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';
import { type Amounts, amountsIn, podAmounts } from '../pod-amounts.ts';

/** Beyond this, thousandths do not fit into 64 bits. */
const MOST_MILLI = (2n ** 63n - 1n) / 1000n;

/** By container, or for all of them together; ephemeral containers ask for nothing. */
export function podFaults(limit: JsonObject, spec: JsonObject): string[] {
  const type = textAt(limit, 'type');
  if (type === 'Pod') return faultsOf(limit, podAmounts(spec, 'requests'), podAmounts(spec, 'limits'));
  if (type !== 'Container') return [];
  return [...objectsAt(spec, 'containers'), ...objectsAt(spec, 'initContainers')].flatMap((container) => {
    const resources = objectAt(container, 'resources');
    return faultsOf(limit, amountsIn(objectAt(resources, 'requests')), amountsIn(objectAt(resources, 'limits')));
  });
}

/** A claim has no limit, so it is its request that must not be greater than the maximum. */
export function claimFaults(limit: JsonObject, spec: JsonObject): string[] {
  if (textAt(limit, 'type') !== 'PersistentVolumeClaim') return [];
  const requests = amountsIn(objectAt(objectAt(spec, 'resources'), 'requests'));
  return [
    ...eachOf(limit, 'min', (name, bound) => belowMinimum(limit, name, bound, requests, new Map())),
    ...eachOf(limit, 'max', (name, bound) => {
      const text = `maximum ${name} usage per ${textAt(limit, 'type')} is ${bound}`;
      const request = requests.get(name);
      if (!request) return `${text}.  No request is specified`;
      return request.compare(bound) > 0 ? `${text}, but request is ${request}` : undefined;
    }),
  ];
}

function faultsOf(limit: JsonObject, requests: Amounts, limits: Amounts): string[] {
  return [
    ...eachOf(limit, 'min', (name, bound) => belowMinimum(limit, name, bound, requests, limits)),
    ...eachOf(limit, 'max', (name, bound) => aboveMaximum(limit, name, bound, requests, limits)),
    ...eachOf(limit, 'maxLimitRequestRatio', (name, bound) => aboveRatio(limit, name, bound, requests, limits)),
  ];
}

function eachOf(
  limit: JsonObject,
  part: string,
  check: (name: string, bound: Quantity) => string | undefined,
): string[] {
  const bounds = [...amountsIn(objectAt(limit, part))].sort(([a], [b]) => (a < b ? -1 : 1));
  return bounds.flatMap(([name, bound]) => check(name, bound) ?? []);
}

function belowMinimum(limit: JsonObject, name: string, bound: Quantity, requests: Amounts, limits: Amounts) {
  const text = `minimum ${name} usage per ${textAt(limit, 'type')} is ${bound}`;
  const [request, most] = [requests.get(name), limits.get(name)];
  if (!request) return `${text}.  No request is specified`;
  if (request.compare(bound) < 0) return `${text}, but request is ${request}`;
  return most && most.compare(bound) < 0 ? `${text}, but limit is ${most}` : undefined;
}

function aboveMaximum(limit: JsonObject, name: string, bound: Quantity, requests: Amounts, limits: Amounts) {
  const text = `maximum ${name} usage per ${textAt(limit, 'type')} is ${bound}`;
  const [request, most] = [requests.get(name), limits.get(name)];
  if (!most) return `${text}.  No limit is specified`;
  if (most.compare(bound) > 0) return `${text}, but limit is ${most}`;
  return request && request.compare(bound) > 0 ? `${text}, but request is ${request}` : undefined;
}

function aboveRatio(limit: JsonObject, name: string, bound: Quantity, requests: Amounts, limits: Amounts) {
  const text = `${name} max limit to request ratio per ${textAt(limit, 'type')} is ${bound}`;
  const [request, most] = [requests.get(name), limits.get(name)];
  if (!request || request.isZero) return `${text}, but no request is specified or request is 0`;
  if (!most || most.isZero) return `${text}, but no limit is specified or limit is 0`;
  // As exact as 64 bits are there.
  const isSmall = [request, most, bound].every((amount) => amount.toBigInt() <= MOST_MILLI);
  const scale = isSmall ? -3 : 0;
  const ratio = Number(most.toBigInt(scale)) / Number(request.toBigInt(scale));
  const isAbove = isSmall ? ratio * 1000 > Number(bound.toBigInt(-3)) : ratio > Number(bound.toBigInt());
  return isAbove ? `${text}, but provided ratio is ${ratio.toFixed(6)}` : undefined;
}
