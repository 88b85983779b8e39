/**
 * What one limit of a LimitRange refuses of a Pod or a claim, in the words of kube-apiserver.
 *
 * Bounds are read once for all containers. Findings come one container at a time, so that whoever asks can give others their
 * turn in between: containers and bounds are as many as two bodies have room for, and each is held against each.
 */
import type { JsonObject, Quantity } from '../../../../api/index.ts';
import { objectAt, objectsAt, textAt } from '../../../strategy/validation/fields.ts';
import { type Amounts, amountsIn, podAmounts } from '../../pod-amounts.ts';

/** Beyond this, thousandths do not fit into 64 bits. */
const MOST_MILLI = (2n ** 63n - 1n) / 1000n;

type Bounds = readonly (readonly [name: string, bound: Quantity])[];
type Asked = { readonly type: string; readonly requests: Amounts; readonly limits: Amounts };

/** By container, or for all of them together; ephemeral containers ask for nothing. */
export function* podFaults(limit: JsonObject, spec: JsonObject): Generator<readonly string[], undefined, undefined> {
  const type = textAt(limit, 'type');
  if (type !== 'Pod' && type !== 'Container') return;
  const [min, max, ratio] = [boundsOf(limit, 'min'), boundsOf(limit, 'max'), boundsOf(limit, 'maxLimitRequestRatio')];
  const faultsOf = (requests: Amounts, limits: Amounts) => {
    const asked = { type, requests, limits };
    return [
      ...faultsIn(min, asked, belowMinimum),
      ...faultsIn(max, asked, aboveMaximum),
      ...faultsIn(ratio, asked, aboveRatio),
    ];
  };
  if (type === 'Pod') {
    yield faultsOf(podAmounts(spec, 'requests'), podAmounts(spec, 'limits'));
    return;
  }
  for (const list of ['containers', 'initContainers'])
    for (const container of objectsAt(spec, list)) {
      const resources = objectAt(container, 'resources');
      yield faultsOf(amountsIn(objectAt(resources, 'requests')), amountsIn(objectAt(resources, 'limits')));
    }
}

/** A claim has no limit, so it is its request that must not be greater than the maximum. */
export function* claimFaults(limit: JsonObject, spec: JsonObject): Generator<readonly string[], undefined, undefined> {
  const type = textAt(limit, 'type');
  if (type !== 'PersistentVolumeClaim') return;
  const requests = amountsIn(objectAt(objectAt(spec, 'resources'), 'requests'));
  const asked = { type, requests, limits: new Map() };
  yield faultsIn(boundsOf(limit, 'min'), asked, belowMinimum);
  yield faultsIn(boundsOf(limit, 'max'), asked, (name, bound) => {
    const text = `maximum ${name} usage per ${type} is ${bound}`;
    const request = requests.get(name);
    if (!request) return `${text}.  No request is specified`;
    return request.compare(bound) > 0 ? `${text}, but request is ${request}` : undefined;
  });
}

function boundsOf(limit: JsonObject, part: string): Bounds {
  return [...amountsIn(objectAt(limit, part))].sort(([a], [b]) => (a < b ? -1 : 1));
}

type Judge = (name: string, bound: Quantity, asked: Asked) => string | undefined;

function faultsIn(bounds: Bounds, asked: Asked, judge: Judge): string[] {
  return bounds.flatMap(([name, bound]) => judge(name, bound, asked) ?? []);
}

const belowMinimum: Judge = (name, bound, { type, requests, limits }) => {
  const text = `minimum ${name} usage per ${type} is ${bound}`;
  const [request, most] = [requests.get(name), limits.get(name)];
  if (!request) return `${text}.  No request is specified`;
  if (request.compare(bound) < 0) return `${text}, but request is ${request}`;
  return most && most.compare(bound) < 0 ? `${text}, but limit is ${most}` : undefined;
};

const aboveMaximum: Judge = (name, bound, { type, requests, limits }) => {
  const text = `maximum ${name} usage per ${type} is ${bound}`;
  const [request, most] = [requests.get(name), limits.get(name)];
  if (!most) return `${text}.  No limit is specified`;
  if (most.compare(bound) > 0) return `${text}, but limit is ${most}`;
  return request && request.compare(bound) > 0 ? `${text}, but request is ${request}` : undefined;
};

const aboveRatio: Judge = (name, bound, { type, requests, limits }) => {
  const text = `${name} max limit to request ratio per ${type} is ${bound}`;
  const [request, most] = [requests.get(name), limits.get(name)];
  if (!request || request.isZero) return `${text}, but no request is specified or request is 0`;
  if (!most || most.isZero) return `${text}, but no limit is specified or limit is 0`;
  // As exact as 64 bits are there.
  const isSmall = [request, most, bound].every((amount) => amount.toBigInt() <= MOST_MILLI);
  const scale = isSmall ? -3 : 0;
  const ratio = Number(most.toBigInt(scale)) / Number(request.toBigInt(scale));
  const isAbove = isSmall ? ratio * 1000 > Number(bound.toBigInt(-3)) : ratio > Number(bound.toBigInt());
  return isAbove ? `${text}, but provided ratio is ${ratio.toFixed(6)}` : undefined;
};
