/**
 * Which kinds a cluster serves, each once: one that has several versions in the one that the server prefers; and which
 * groups it serves through a server that does not answer now. Whoever deletes everything, or believes that something is
 * gone, must know that there may be more than it sees.
 */
import type { DiscoveredResource } from '../client/advanced.ts';
import type { KubeClient } from '../client/index.ts';

export type ServedKinds = {
  /** In every version they are served in, the preferred first. */
  readonly all: readonly DiscoveredResource[];
  /** `group/version` whose own server is away; nothing is known of its kinds. */
  readonly failing: readonly string[];
};

type GroupVersions = {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions: readonly { readonly version: string; readonly freshness?: string }[];
  }[];
};

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';

/** As it is now. */
export async function discoverKinds(client: KubeClient, signal?: AbortSignal): Promise<ServedKinds> {
  const [all, { body }] = await Promise.all([
    client.discovery.resources(0),
    client.transport.request<GroupVersions>('GET', '/apis', { accept: AGGREGATED, signal }),
  ]);
  const failing = (body.items ?? []).flatMap(({ metadata, versions }) =>
    versions.filter(({ freshness }) => freshness === 'Stale').map(({ version }) => `${metadata?.name}/${version}`),
  );
  return { all, failing: failing.sort() };
}

export function preferredKinds(
  resources: readonly DiscoveredResource[],
  verbs: readonly string[],
): readonly DiscoveredResource[] {
  const seen = new Set<string>();
  return resources.filter((resource) => {
    const name = nameOf(resource);
    if (seen.has(name) || !verbs.every((verb) => resource.verbs.includes(verb))) return false;
    seen.add(name);
    return true;
  });
}

/** `pods`, `deployments.apps`. */
export function nameOf({ plural, group }: { readonly plural: string; readonly group: string }): string {
  return group === '' ? plural : `${plural}.${group}`;
}
