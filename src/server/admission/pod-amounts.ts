/**
 * What a Pod asks for and is limited to as a whole: its containers together, where the Pod itself says nothing else; and
 * what running it costs beside.
 */
import type { JsonObject, Quantity } from '../../api/index.ts';
import { aggregateAmounts } from '../kinds/pods/containers/aggregate-requests.ts';
import { quantityOf } from '../strategy/validation/amounts.ts';
import { objectAt } from '../strategy/validation/fields.ts';
import { isHugePages } from '../strategy/validation/resource-names.ts';

export type Amounts = ReadonlyMap<string, Quantity>;

export function amountsIn(given: JsonObject | undefined): Map<string, Quantity> {
  return new Map(Object.entries(given ?? {}).map(([name, amount]) => [name, quantityOf(String(amount ?? '0'))]));
}

/** Without the overhead of its runtime. */
export function podAmounts(spec: JsonObject, part: 'requests' | 'limits'): Map<string, Quantity> {
  const amounts = aggregateAmounts(spec, part);
  for (const [name, amount] of amountsIn(objectAt(objectAt(spec, 'resources'), part)))
    if (name === 'cpu' || name === 'memory' || isHugePages(name)) amounts.set(name, amount);
  return amounts;
}

/** What is charged for it; a limit grows by the overhead only where there is one. */
export function chargedPodAmounts(spec: JsonObject, part: 'requests' | 'limits'): Map<string, Quantity> {
  const amounts = podAmounts(spec, part);
  for (const [name, overhead] of amountsIn(objectAt(spec, 'overhead'))) {
    const amount = amounts.get(name);
    if (amount) amounts.set(name, amount.add(overhead));
    else if (part === 'requests') amounts.set(name, overhead);
  }
  return amounts;
}
