/** Discovery in its new form: one document for the core group, one for all others, each with every resource. Pure. */
import type { JsonObject } from '../../api/json.ts';
import type { GroupVersions } from '../registry/registry.ts';
import type { Resource, Subresource } from '../registry/resource.ts';
import type { DiscoveredGroups } from './discovered-groups.ts';

/** `/api` holds the core group and nothing else, `/apis` everything but it: clients join the two. */
export function aggregatedGroups(registry: DiscoveredGroups, root: 'api' | 'apis'): JsonObject {
  const groups = registry.groups().filter(({ group }) => (group === '') === (root === 'api'));
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups.map((group) => describeGroup(registry, group)),
  };
}

function describeGroup(registry: DiscoveredGroups, { group, versions }: GroupVersions): JsonObject {
  return {
    metadata: group === '' ? {} : { name: group },
    versions: versions.map(
      (version) =>
        registry.remoteVersion?.(group, version) ?? {
          version,
          resources: registry.resourcesOf(group, version).map(describeResource),
          freshness: 'Current',
        },
    ),
  };
}

function describeResource(resource: Resource): JsonObject {
  const { plural, singular, isNamespaced, kind, verbs, shortNames, categories, subresources } = resource;
  return {
    resource: plural,
    responseKind: { group: '', version: '', kind }, // empty: that of the version this is listed in
    scope: isNamespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs: [...verbs],
    ...(shortNames.length > 0 && { shortNames: [...shortNames] }),
    ...(categories.length > 0 && { categories: [...categories] }),
    ...(subresources.length > 0 && { subresources: subresources.map(describeSubresource) }),
  };
}

function describeSubresource({ name, group = '', version = '', kind, verbs }: Subresource): JsonObject {
  return { subresource: name, responseKind: { group, version, kind }, verbs: [...verbs] };
}
