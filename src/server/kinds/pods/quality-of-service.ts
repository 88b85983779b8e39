/** How safe a pod is from eviction, told by what its containers ask for and are limited to. */
import { type JsonObject, type Quantity, zeroQuantity } from '../../../api/index.ts';
import { quantityOf } from '../../strategy/validation/amounts.ts';
import { objectAt, objectsAt } from '../../strategy/validation/fields.ts';

const counted = ['cpu', 'memory'] as const;
/** By place in `counted`; none was asked for where there is none. */
type Amounts = (Quantity | undefined)[];

export function qualityOfService(spec: JsonObject): 'BestEffort' | 'Burstable' | 'Guaranteed' {
  const requests: Amounts = [undefined, undefined];
  const limits: Amounts = [undefined, undefined];
  let isLimited = true;
  const count = (resources: JsonObject | undefined) => {
    addAmounts(requests, objectAt(resources, 'requests'));
    if (addAmounts(limits, objectAt(resources, 'limits')) < counted.length) isLimited = false;
  };
  const whole = objectAt(spec, 'resources');
  if (whole)
    count(whole); // what the pod as a whole says stands for all containers
  else {
    for (const container of objectsAt(spec, 'containers')) count(objectAt(container, 'resources'));
    for (const container of objectsAt(spec, 'initContainers')) count(objectAt(container, 'resources'));
  }
  if (!requests.some(Boolean) && !limits.some(Boolean)) return 'BestEffort';
  return isLimited && counted.every((_, i) => isSame(requests[i], limits[i])) ? 'Guaranteed' : 'Burstable';
}

function isSame(a: Quantity | undefined, b: Quantity | undefined): boolean {
  return a && b ? a.compare(b) === 0 : a === b;
}

/** Answers how many of the counted resources there were. */
function addAmounts(sums: Amounts, amounts: JsonObject | undefined): number {
  if (!amounts) return 0;
  let found = 0;
  for (let i = 0; i < counted.length; i++) {
    const given = amounts[counted[i]!];
    if (given === undefined) continue;
    const amount = quantityOf(String(given));
    if (amount.sign <= 0) continue;
    found++;
    sums[i] = (sums[i] ?? zeroQuantity).add(amount);
  }
  return found;
}
