/**
 * From a CustomResourceDefinition to the resources it makes: one for each version that is served, and the one in whose
 * form objects are stored. What its schemas say is compiled when it is first needed.
 */
import type { JsonObject } from '../../api/index.ts';
import { compileSchema, type SchemaCheck } from '../../schemas/structural/schema-checks.ts';
import { readStructural, type Structural, withEmbeddedTypes } from '../../schemas/structural/structural.ts';
import type { ConvertObjects, CustomKind, DefinitionLife } from '../registry/custom-kind.ts';
import type { Resource, Subresource } from '../registry/resource.ts';
import { builtInSchemas, objectMetaName } from '../schema/schemas.ts';
import { type CompiledRules, compileRules } from '../structural-schema/cel/compile-rules.ts';
import { type Definition, type DefinitionVersion, isConditionTrue, storageVersionOf } from './definition.ts';

const VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const PART_VERBS = ['get', 'patch', 'update'];

export type DefinedResources = {
  /** One for each version that is served. */
  readonly served: readonly Resource[];
  /** In whose form objects are stored; served or not. */
  readonly stored: Resource;
};

/** The resources that a definition makes. */
export function customResources(
  definition: Definition,
  definedAt: number,
  life: DefinitionLife,
  convert?: ConvertObjects,
): DefinedResources {
  const made = new Map<string, Resource>();
  const { group, versions } = definition.spec;
  const byName = new Map(versions.map((version) => [version.name, version]));
  const storage = storageVersionOf(definition.spec)!;
  const common: CommonToVersions = {
    storageVersion: storage,
    definedVersions: new Set(versions.map(({ name }) => `${group}/${name}`)),
    selectableInAny: [...new Set(versions.flatMap(selectableIn))],
  };
  const resourceOf = (name: string): Resource => {
    let resource = made.get(name);
    if (!resource) {
      const version = byName.get(name)!;
      resource = withConversion(
        toResource(definition, version, common, definedAt, life, () => resourceOf(storage)),
        definition,
        convert,
      );
      made.set(name, resource);
    }
    return resource;
  };
  const served = versions.filter((version) => version.served).map(({ name }) => resourceOf(name));
  return { served, stored: resourceOf(storage) };
}

function withConversion(resource: Resource, { status }: Definition, convert: ConvertObjects | undefined): Resource {
  if (!convert || !resource.custom) return resource;
  const hasOtherVersions = (status.storedVersions ?? []).some((version) => version !== resource.storageVersion);
  // The kind compiles itself when it is asked: it must stay the object it is.
  return { ...resource, custom: Object.assign(resource.custom, { convert, hasOtherVersions }) };
}

/** Served once established, until the last object is gone. */
export function isServed(definition: Definition): boolean {
  return isConditionTrue(definition, 'Established');
}

/** Made once for a definition: made for each of its versions it would grow with their square. */
type CommonToVersions = Required<Pick<Resource, 'storageVersion' | 'definedVersions' | 'selectableInAny'>>;

function toResource(
  { spec, status }: Definition,
  version: DefinitionVersion,
  common: CommonToVersions,
  definedAt: number,
  life: DefinitionLife,
  storedAs: () => Resource,
): Resource {
  const { group, scope, names } = spec;
  const { acceptedNames } = status;
  const openApi = version.schema?.openAPIV3Schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const kindName = names.kind;
  return {
    group,
    version: version.name,
    groupVersion: `${group}/${version.name}`,
    plural: names.plural,
    singular: acceptedNames.singular ?? names.singular ?? kindName.toLowerCase(),
    kind: kindName,
    listKind: acceptedNames.listKind ?? names.listKind ?? `${kindName}List`,
    isNamespaced: scope === 'Namespaced',
    verbs: VERBS,
    shortNames: acceptedNames.shortNames ?? [],
    categories: acceptedNames.categories ?? [],
    subresources: subresourcesOf(version, kindName),
    schema: builtInSchemas().custom(withEmbeddedTypes(openApi, objectMetaName)),
    isCustom: true,
    ...common,
    selectableFields: selectableIn(version),
    openApi,
    custom: lazyKind(openApi, version, `${group}/${version.name} ${kindName}`, definedAt, life, storedAs),
  };
}

function selectableIn({ selectableFields = [] }: DefinitionVersion): string[] {
  return selectableFields.map(({ jsonPath }) => jsonPath.slice(1));
}

/** Compiled when first used: most versions of most definitions never are. */
function lazyKind(
  openApi: JsonObject,
  version: DefinitionVersion,
  title: string,
  definedAt: number,
  life: DefinitionLife,
  storedAs: () => Resource,
): CustomKind {
  let structural: Structural | undefined;
  let check: SchemaCheck | undefined;
  let rules: { found: CompiledRules | undefined } | undefined;
  const { deprecated, deprecationWarning, additionalPrinterColumns = [], subresources } = version;
  return {
    get structural() {
      structural ??= readStructural(openApi);
      return structural;
    },
    get check() {
      check ??= compileSchema(openApi);
      return check;
    },
    get rules() {
      rules ??= { found: compileRules(this.structural) };
      return rules.found;
    },
    printerColumns: additionalPrinterColumns,
    scale: subresources?.scale,
    deprecation: deprecated ? (deprecationWarning ?? `${title} is deprecated`) : undefined,
    storedAs,
    definedAt,
    life,
  };
}

function subresourcesOf({ subresources }: DefinitionVersion, kind: string): Subresource[] {
  const parts: Subresource[] = [];
  if (subresources?.status) parts.push({ name: 'status', verbs: PART_VERBS, kind });
  if (subresources?.scale)
    parts.push({ name: 'scale', verbs: PART_VERBS, kind: 'Scale', group: 'autoscaling', version: 'v1' });
  return parts;
}
