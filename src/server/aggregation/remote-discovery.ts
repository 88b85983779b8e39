/**
 * What an extension server says it serves, in the newer form of discovery, whichever form it speaks. Pure.
 */
import type { JsonObject, JsonValue } from '../../api/index.ts';
import { isObject } from '../codec/json/json-objects.ts';
import { JsonSyntaxError, readJson } from '../codec/json/json-reader.ts';

/** Asked for first; a server that does not know it answers in the older form. */
export const AGGREGATED_ACCEPT =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';

/** The resources of a version; undefined if the document is not of this form or does not name it. */
export function resourcesFromAggregated(body: Buffer, group: string, version: string): JsonObject[] | undefined {
  const document = jsonOf(body);
  if (document?.kind !== 'APIGroupDiscoveryList') return undefined;
  for (const item of objectsOf(document.items)) {
    if ((item.metadata as JsonObject | undefined)?.name !== group) continue;
    for (const one of objectsOf(item.versions)) if (one.version === version) return objectsOf(one.resources);
  }
  return undefined;
}

export function resourcesFromList(body: Buffer): JsonObject[] | undefined {
  const document = jsonOf(body);
  if (document?.kind !== 'APIResourceList') return undefined;
  const found = new Map<string, JsonObject & { subresources?: JsonObject[] }>();
  const listed = objectsOf(document.resources);
  for (const one of listed) {
    const name = String(one.name ?? '');
    if (name.includes('/')) continue;
    found.set(name, {
      resource: name,
      responseKind: kindOf(one),
      scope: one.namespaced === true ? 'Namespaced' : 'Cluster',
      singularResource: one.singularName ?? '',
      verbs: one.verbs ?? [],
      ...(hasItems(one.shortNames) && { shortNames: one.shortNames }),
      ...(hasItems(one.categories) && { categories: one.categories }),
    } as JsonObject);
  }
  for (const one of listed) {
    const [parent, subresource] = String(one.name ?? '').split('/');
    const owner = subresource === undefined ? undefined : found.get(parent!);
    if (!owner) continue;
    owner.subresources ??= [];
    owner.subresources.push({ subresource: subresource!, responseKind: kindOf(one), verbs: one.verbs ?? [] });
  }
  return [...found.values()];
}

/** Where it has the OpenAPI of a version, as its own index says. */
export function openApiUrl(body: Buffer, group: string, version: string): string | undefined {
  const paths = jsonOf(body)?.paths;
  if (!isObject(paths)) return undefined;
  const entry = paths[`apis/${group}/${version}`];
  return isObject(entry) && typeof entry.serverRelativeURL === 'string' ? entry.serverRelativeURL : undefined;
}

function kindOf({ group = '', version = '', kind = '' }: JsonObject): JsonObject {
  return { group, version, kind };
}

function hasItems(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.length > 0;
}

function objectsOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function jsonOf(body: Buffer): JsonObject | undefined {
  try {
    const found = readJson(body.toString('utf8'), body).value;
    return isObject(found) ? found : undefined;
  } catch (err) {
    if (err instanceof JsonSyntaxError) return undefined;
    throw err;
  }
}
