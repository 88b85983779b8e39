/**
 * What all containers of a pod request together: those that run at the same time add up, and each of those that run
 * before them counts if it alone, with the sidecars started until then, needs more.
 */
import type { JsonObject, Quantity } from '../../../../api/index.ts';
import { quantityOf } from '../../../strategy/validation/amounts.ts';
import { objectAt, objectsAt } from '../../../strategy/validation/fields.ts';

type Amounts = Map<string, Quantity>;

export function aggregateRequests(spec: JsonObject): ReadonlyMap<string, Quantity> {
  const total: Amounts = new Map();
  for (const container of objectsAt(spec, 'containers')) add(total, requestsOf(container));
  const sidecars: Amounts = new Map();
  const before: Amounts = new Map();
  for (const container of objectsAt(spec, 'initContainers')) {
    const requests = requestsOf(container);
    if (container.restartPolicy === 'Always') {
      add(total, requests);
      add(sidecars, requests);
      raise(before, sidecars);
    } else {
      const needed = new Map(requests);
      add(needed, sidecars);
      raise(before, needed);
    }
  }
  raise(total, before);
  return total;
}

function requestsOf(container: JsonObject): Amounts {
  const requests = objectAt(objectAt(container, 'resources'), 'requests') ?? {};
  return new Map(Object.entries(requests).map(([name, amount]) => [name, quantityOf(String(amount))]));
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
