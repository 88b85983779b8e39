/** Which kinds a cluster serves, each once: one that has several versions in the one that the server prefers. */
import type { DiscoveredResource } from 'longwatch/client/advanced';

export function servedKinds(
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
