/**
 * Discovery in its old form, document by document: what versions, what groups, what resources. Pure: the same registry
 * gives the same document, key order included.
 */
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../api/json.ts';
import { factsOf } from '../registry/kind-facts.ts';
import type { GroupVersions } from '../registry/registry.ts';
import type { Resource } from '../registry/resource.ts';
import type { DiscoveredGroups } from './discovered-groups.ts';

/** `/api`. `serverAddress` is where the client has reached us. */
export function coreVersions(registry: DiscoveredGroups, serverAddress: string): JsonObject {
  return {
    kind: 'APIVersions',
    versions: [...(registry.group('')?.versions ?? [])],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  };
}

/** `/apis` */
export function groupList(registry: DiscoveredGroups): JsonObject {
  const groups = registry.groups().filter(({ group }) => group !== '');
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(describeGroup) };
}

/** `/apis/G` */
export function singleGroup(registry: DiscoveredGroups, name: string): JsonObject | undefined {
  const group = name === '' ? undefined : registry.group(name);
  return group && { kind: 'APIGroup', apiVersion: 'v1', ...describeGroup(group) };
}

/** `/api/v1`, `/apis/G/V` */
export function resourceList(registry: DiscoveredGroups, group: string, version: string): JsonObject | undefined {
  const resources = registry.resourcesOf(group, version);
  if (resources.length === 0) return undefined;
  return {
    kind: 'APIResourceList',
    ...(group !== '' && { apiVersion: 'v1' }), // kube-apiserver leaves it out here, and clients do not miss it
    groupVersion: resources[0]!.groupVersion,
    resources: resources.flatMap(describeResource),
  };
}

/** Tells clients that two resources hold the same objects, and when the stored form has changed. */
function storageVersionHash(resource: Resource): string | undefined {
  if (!resource.verbs.includes('list') || !resource.verbs.includes('watch')) return undefined;
  const { group, version, kind } = factsOf(resource).storage;
  return createHash('sha256').update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString('base64');
}

function describeGroup({ group, versions }: GroupVersions): JsonObject {
  const described = versions.map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions: described, preferredVersion: described[0] };
}

function describeResource(resource: Resource): JsonObject[] {
  const { plural, singular, isNamespaced, kind, verbs, shortNames, categories, subresources } = resource;
  const hash = storageVersionHash(resource);
  return [
    {
      name: plural,
      singularName: singular,
      namespaced: isNamespaced,
      kind,
      verbs: [...verbs],
      ...(shortNames.length > 0 && { shortNames: [...shortNames] }),
      ...(categories.length > 0 && { categories: [...categories] }),
      ...(hash !== undefined && { storageVersionHash: hash }),
    },
    ...subresources.map(({ name, group, version, kind: subKind, verbs: subVerbs }) => ({
      name: `${plural}/${name}`,
      singularName: '',
      namespaced: isNamespaced,
      ...(group && { group }),
      ...(version && { version }),
      kind: subKind,
      verbs: [...subVerbs],
    })),
  ];
}
