/**
 * What a Pod asks for and is limited to as a whole: its containers together, where the Pod itself says nothing else; and
 * what running it costs beside. While a Pod is resized it has what is more, of what it asks for and what it was given.
 */
import type { JsonObject, KubeObject, Quantity } from '../../api/index.ts';
import { aggregateAmounts } from '../kinds/pods/containers/aggregate-requests.ts';
import { quantityOf } from '../strategy/validation/amounts.ts';
import { objectAt, objectsAt, textAt } from '../strategy/validation/fields.ts';
import { isHugePages } from '../strategy/validation/resource-names.ts';

export type Amounts = ReadonlyMap<string, Quantity>;
type Part = 'requests' | 'limits';

export function amountsIn(given: JsonObject | undefined): Map<string, Quantity> {
  return new Map(Object.entries(given ?? {}).map(([name, amount]) => [name, quantityOf(String(amount ?? '0'))]));
}

/** As it is asked for, without the overhead of its runtime. */
export function podAmounts(spec: JsonObject, part: Part): Map<string, Quantity> {
  const amounts = aggregateAmounts(spec, part);
  for (const [name, amount] of amountsIn(objectAt(objectAt(spec, 'resources'), part)))
    if (isSaidForAll(name)) amounts.set(name, amount);
  return amounts;
}

/** Whether the Pod says anything for all of its containers. */
export function saysForAll(spec: JsonObject): boolean {
  const resources = objectAt(spec, 'resources');
  return ['requests', 'limits'].some((part) => Object.keys(objectAt(resources, part) ?? {}).some(isSaidForAll));
}

function isSaidForAll(name: string): boolean {
  return name === 'cpu' || name === 'memory' || isHugePages(name);
}

/** What is charged for it; a limit grows by the overhead only where there is one. */
export function chargedPodAmounts(pod: KubeObject, part: Part): Map<string, Quantity> {
  const spec = objectAt(pod as JsonObject, 'spec') ?? {};
  const amounts = podAmounts(withGiven(spec, objectAt(pod as JsonObject, 'status')), part);
  for (const [name, overhead] of amountsIn(objectAt(spec, 'overhead'))) {
    const amount = amounts.get(name);
    if (amount) amounts.set(name, amount.add(overhead));
    else if (part === 'requests') amounts.set(name, overhead);
  }
  return amounts;
}

/** The spec with what its containers were given, where that is more, or where no more can be given. */
function withGiven(spec: JsonObject, status: JsonObject | undefined): JsonObject {
  const given = new Map<string, JsonObject>();
  for (const list of ['containerStatuses', 'initContainerStatuses'])
    for (const one of objectsAt(status, list)) if (objectAt(one, 'resources')) given.set(textAt(one, 'name'), one);
  if (given.size === 0) return spec;
  const isInfeasible = objectsAt(status, 'conditions').some(
    ({ type, reason }) => type === 'PodResizePending' && reason === 'Infeasible',
  );
  const inEffect = (container: JsonObject): JsonObject => {
    const told = given.get(textAt(container, 'name'));
    if (!told) return container;
    const [asked, has] = [objectAt(container, 'resources'), objectAt(told, 'resources')];
    const kept = isInfeasible ? undefined : asked;
    const requests = greatest(
      objectAt(kept, 'requests'),
      objectAt(has, 'requests'),
      objectAt(told, 'allocatedResources'),
    );
    return {
      ...container,
      resources: { requests, limits: greatest(objectAt(kept, 'limits'), objectAt(has, 'limits')) },
    };
  };
  const isSidecar = ({ restartPolicy }: JsonObject) => restartPolicy === 'Always';
  return {
    ...spec,
    containers: objectsAt(spec, 'containers').map(inEffect),
    initContainers: objectsAt(spec, 'initContainers').map((one) => (isSidecar(one) ? inEffect(one) : one)),
  };
}

function greatest(...all: readonly (JsonObject | undefined)[]): JsonObject {
  const most = new Map<string, Quantity>();
  for (const amounts of all)
    for (const [name, amount] of amountsIn(amounts)) {
      const known = most.get(name);
      if (!known || known.compare(amount) < 0) most.set(name, amount);
    }
  return Object.fromEntries([...most].map(([name, amount]) => [name, `${amount}`]));
}
