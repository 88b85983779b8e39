/** The built-in resources, in the order in which discovery lists them. Their types are looked up when first used. */
import { type BuiltInResource, builtInTypes } from '../schema/built-in-types.ts';
import type { Schema } from '../schema/schema.ts';
import { builtInSchemas } from '../schema/schemas.ts';
import type { Resource, Subresource } from './resource.ts';

let known: readonly Resource[] | undefined;

export function builtInResources(): readonly Resource[] {
  known ??= builtInTypes().resources.map(toResource);
  return known;
}

function toResource(facts: BuiltInResource): Resource {
  const { group, version, resource: plural, kind, singular, scope, verbs, shortNames, categories } = facts;
  return {
    group,
    version,
    groupVersion: group === '' ? version : `${group}/${version}`,
    plural,
    singular,
    kind,
    listKind: `${kind}List`,
    isNamespaced: scope === 'Namespaced',
    verbs,
    shortNames,
    categories,
    subresources: facts.subresources.map(toSubresource),
    get schema(): Schema {
      return builtInSchemas().byKind(group, version, kind)!;
    },
    isCustom: false,
  };
}

function toSubresource({ name, verbs, kind, group, version }: BuiltInResource['subresources'][number]): Subresource {
  return { name, verbs, kind, ...(version !== '' && { group, version }) };
}
