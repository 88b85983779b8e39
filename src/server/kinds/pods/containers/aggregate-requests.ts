/**
 * What all containers of a pod request together, or are limited to: those that run at the same time add up, and each of
 * those that run before them counts if it alone, with the sidecars started until then, needs more.
 */
import type { JsonObject, Quantity } from '../../../../api/index.ts';
import { quantityOf } from '../../../strategy/validation/amounts.ts';
import { objectAt, objectsAt } from '../../../strategy/validation/fields.ts';

type Amounts = Map<string, Quantity>;

export function aggregateAmounts(spec: JsonObject, part: 'requests' | 'limits'): Map<string, Quantity> {
  const total: Amounts = new Map();
  for (const container of objectsAt(spec, 'containers')) add(total, amountsOf(container, part));
  const sidecars: Amounts = new Map();
  const before: Amounts = new Map();
  for (const container of objectsAt(spec, 'initContainers')) {
    const amounts = amountsOf(container, part);
    if (container.restartPolicy === 'Always') {
      add(total, amounts);
      add(sidecars, amounts);
      raise(before, sidecars);
    } else {
      const needed = new Map(amounts);
      add(needed, sidecars);
      raise(before, needed);
    }
  }
  raise(total, before);
  return total;
}

function amountsOf(container: JsonObject, part: 'requests' | 'limits'): Amounts {
  const amounts = objectAt(objectAt(container, 'resources'), part) ?? {};
  return new Map(Object.entries(amounts).map(([name, amount]) => [name, quantityOf(String(amount))]));
}

function add(sums: Amounts, amounts: Amounts): void {
  for (const [name, amount] of amounts) sums.set(name, sums.get(name)?.add(amount) ?? amount);
}

function raise(most: Amounts, amounts: Amounts): void {
  for (const [name, amount] of amounts) {
    const known = most.get(name);
    if (!known || known.compare(amount) < 0) most.set(name, amount);
  }
}
