/** Which kinds the cluster can be asked to watch, by discovery; Secrets are left out, as the page never reads them. */
import { readJson } from './reading.ts';

export type Kind = { readonly name: string; readonly path: string; readonly isNamespaced: boolean };

type DiscoveryList = {
  readonly items: readonly {
    readonly metadata: { readonly name?: string };
    readonly versions: readonly {
      readonly version: string;
      readonly resources?: readonly {
        readonly resource: string;
        readonly scope: string;
        readonly verbs: readonly string[];
      }[];
    }[];
  }[];
};

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

export async function readKinds(root: string, signal: AbortSignal): Promise<Kind[]> {
  const lists = await Promise.all(
    ['api', 'apis'].map((path) => readJson<DiscoveryList>(`${root}/${path}`, { signal, accept: AGGREGATED })),
  );
  const kinds = new Map<string, Kind>();
  for (const { items } of lists)
    for (const { metadata, versions } of items)
      for (const { version, resources = [] } of versions)
        for (const { resource, scope, verbs } of resources) {
          const group = metadata.name ?? '';
          const name = group === '' ? resource : `${resource}.${group}`;
          if (!verbs.includes('watch') || name === 'secrets' || kinds.has(name)) continue;
          const path = group === '' ? `api/${version}` : `apis/${group}/${version}`;
          kinds.set(name, { name, path: `${path}/`, isNamespaced: scope === 'Namespaced' });
        }
  return [...kinds.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Of all its objects, or of those in a namespace. */
export function collectionPath({ name, path, isNamespaced }: Kind, namespace: string): string {
  const resource = name.split('.', 1)[0]!;
  return isNamespaced && namespace !== '' ? `${path}namespaces/${namespace}/${resource}` : `${path}${resource}`;
}
