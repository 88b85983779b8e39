/** Which object a name like `deploy:web` or `widgets.v1.example.com:a` means: resources are named as kubectl takes them. */
import { badRequest, notFound } from '../../../api/index.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Resource } from '../../registry/resource.ts';

export type HistoryTarget = { readonly resource: Resource; readonly namespace: string; readonly name: string };

/** Throws a 400 where the name is none of these, a 404 where there is no such resource. */
export function historyTarget(registry: Registry, namespace: string, asked: string): HistoryTarget {
  const colon = asked.indexOf(':');
  const [what, name] = [asked.slice(0, colon), asked.slice(colon + 1)];
  if (colon < 1 || name === '')
    throw badRequest(
      `the name of an object history is RESOURCE:NAME, as in "deployments.apps:web"; this is ${JSON.stringify(asked)}`,
    );
  const resource = findResource(registry, what);
  if (!resource) throw notFound({ group: '', plural: what }, name);
  return { resource, namespace: resource.isNamespaced ? namespace : '', name };
}

/** By plural, singular, kind or short name, with the group or version and group behind a dot; what comes first in discovery wins. */
function findResource(registry: Registry, asked: string): Resource | undefined {
  const [word = '', ...rest] = asked.toLowerCase().split('.');
  const suffix = rest.join('.');
  for (const { group, versions } of registry.groups()) {
    const isOfGroup = suffix === '' || suffix === group;
    for (const version of versions) {
      if (!isOfGroup && suffix !== (group === '' ? version : `${version}.${group}`)) continue;
      const found = registry.resourcesOf(group, version).find((one) => isNamed(one, word));
      if (found) return found;
    }
  }
  return undefined;
}

/** What is not stored has no history. */
function isNamed({ plural, singular, kind, shortNames, verbs, isLive }: Resource, word: string): boolean {
  if (isLive || !verbs.includes('get')) return false;
  return plural === word || singular === word || kind.toLowerCase() === word || shortNames.includes(word);
}
