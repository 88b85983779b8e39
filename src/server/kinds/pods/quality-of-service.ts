/** How safe a pod is from eviction, told by what its containers ask for and are limited to. */
import { type JsonObject, type Quantity, zeroQuantity } from '../../../api/index.ts';
import { quantityOf } from '../../strategy/validation/amounts.ts';
import { objectAt, objectsAt } from '../../strategy/validation/fields.ts';

const counted = ['cpu', 'memory'] as const;
type Amounts = Map<string, Quantity>;

export function qualityOfService(spec: JsonObject): 'BestEffort' | 'Burstable' | 'Guaranteed' {
  const requests: Amounts = new Map();
  const limits: Amounts = new Map();
  let isLimited = true;
  for (const resources of resourcesOf(spec)) {
    addAmounts(requests, objectAt(resources, 'requests'));
    if (addAmounts(limits, objectAt(resources, 'limits')) < counted.length) isLimited = false;
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  const isExact =
    requests.size === limits.size && [...requests].every(([name, one]) => limits.get(name)?.compare(one) === 0);
  return isLimited && isExact ? 'Guaranteed' : 'Burstable';
}

/** Those of the pod as a whole, if it says any, stand for all containers. */
function resourcesOf(spec: JsonObject): (JsonObject | undefined)[] {
  const whole = objectAt(spec, 'resources');
  if (whole) return [whole];
  return ['containers', 'initContainers'].flatMap((list) =>
    objectsAt(spec, list).map((one) => objectAt(one, 'resources')),
  );
}

/** Answers how many of the counted resources there were. */
function addAmounts(sums: Amounts, amounts: JsonObject | undefined): number {
  if (!amounts) return 0;
  let found = 0;
  for (const name of counted) {
    if (amounts[name] === undefined) continue;
    const amount = quantityOf(String(amounts[name]));
    if (amount.sign <= 0) continue;
    found++;
    sums.set(name, (sums.get(name) ?? zeroQuantity).add(amount));
  }
  return found;
}
