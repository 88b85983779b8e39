/**
 * A resource by the names people type: `pods`, `pod`, `po`, `Pod`, `deployments.apps`, `deployments.v1.apps`.
 *
 * Asked of the cluster, so that custom resources are found as built-in ones are. Of several with one name it is the one
 * the server prefers. What is not found is refused with names that are near.
 */
import type { DiscoveredResource } from '../../client/advanced.ts';
import { type DynamicObject, defineResourceOf, type KubeClient, type Resource } from '../../client/index.ts';
import { VerbError } from '../terminal/run-verb.ts';

export type FoundResource = { readonly discovered: DiscoveredResource; readonly resource: Resource<DynamicObject> };

export async function findResource(client: KubeClient, name: string, verb = 'list'): Promise<FoundResource> {
  const all = await client.discovery.resources();
  const named = all.filter((one) => isNamed(one, name));
  const found = named.find(({ verbs }) => verbs.includes(verb));
  if (found) return { discovered: found, resource: defineResourceOf<DynamicObject>(found) };
  const [only] = named;
  if (only)
    throw new VerbError(
      `Cannot ${verb} ${only.plural}: the server offers ${only.verbs.join(', ') || 'nothing'} of it`,
      'Choose a resource that can be watched: `kubectl api-resources --verbs=list,watch`.',
    );
  const near = nearest(name, all);
  throw new VerbError(
    `Cannot find the resource ${JSON.stringify(name)}: ${client.transport.access.server.host} does not serve it`,
    near.length > 0
      ? `Did you mean ${near.join(' or ')}? \`kubectl api-resources\` lists all of them.`
      : '`kubectl api-resources` lists what it serves.',
  );
}

function isNamed(one: DiscoveredResource, name: string): boolean {
  const [first = '', ...rest] = name.toLowerCase().split('.');
  const isSame = first === one.plural || first === one.kind.toLowerCase() || one.shortNames.includes(first);
  if (!isSame || rest.length === 0) return isSame;
  const group = rest.join('.');
  return group === one.group || group === `${one.version}.${one.group}` || (one.group === '' && group === one.version);
}

/** At most two, of those that differ in few letters. */
function nearest(name: string, all: readonly DiscoveredResource[]): string[] {
  const typed = name.toLowerCase().split('.')[0]!.slice(0, 64);
  const ranked = [...new Set(all.map(({ plural }) => plural))]
    .map((plural) => ({ plural, far: distance(typed, plural) }))
    .filter(({ far }) => far <= Math.max(1, Math.floor(typed.length / 3)))
    .sort((a, b) => a.far - b.far);
  return ranked.slice(0, 2).map(({ plural }) => JSON.stringify(plural));
}

/** How many letters must be changed, added or taken away. */
function distance(a: string, b: string): number {
  let before = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++)
      row[j] = Math.min(row[j - 1]! + 1, before[j]! + 1, before[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
    before = row;
  }
  return before[b.length]!;
}
