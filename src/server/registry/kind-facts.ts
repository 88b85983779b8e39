/**
 * How objects of a resource are stored, written and selected: one answer for built-in kinds (from the table of kinds)
 * and custom ones (all alike).
 */
import type { JsonValue } from '../../api/json.ts';
import { builtInResources } from './built-in-resources.ts';
import {
  type DependentsRule,
  type KindRow,
  kindTable,
  type MetadataField,
  type NameRule,
  type SelectableField,
  type UnknownFieldText,
} from './kind-table.ts';
import { qualifiedName, type Resource } from './resource.ts';

/** The resource in whose form objects are kept. */
export type StorageResource = {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
};

export type KindFacts = {
  readonly storage: StorageResource;
  /** Below the root of all keys, no slash at either end: keys are `<root>/<prefix>/[<namespace>/]<name>`. */
  readonly keyPrefix: string;
  readonly nameRule: NameRule;
  /** All versions there are of the kind, as `v1` or `group/version`: for built-in kinds those that are served. */
  readonly versions: ReadonlySet<string>;
  /** Counts changes of what is wanted in `metadata.generation`. */
  readonly hasGeneration: boolean;
  /** An update without a resourceVersion overwrites whatever is there. */
  readonly allowsUnconditionalUpdate: boolean;
  /** An update of what does not exist creates it. */
  readonly createsOnUpdate: boolean;
  /** A delete answers with the object, not with a Status. */
  readonly answersDeleted: boolean;
  readonly dependents: DependentsRule | undefined;
  readonly dependentsWarning: string | undefined;
  /** `status` belongs to a subresource and is ignored elsewhere. */
  readonly hasStatus: boolean;
  /** What of `metadata` a write to `status` leaves as it was. */
  readonly statusKeeps: readonly MetadataField[];
  /** Where in an object a write to `status` makes nobody an owner, whatever is sent. */
  readonly statusDisowns: readonly (readonly string[])[];
  /** All that a write to another part of the object may own, by the name of the part. */
  readonly partFields: Readonly<Record<string, readonly string[]>>;
  /** All that a field selector may name, `metadata.name` among them. */
  readonly fields: ReadonlyMap<string, SelectableField>;
  /** All that one may name in some version: what is read of stored objects. */
  readonly storedFields: ReadonlyMap<string, SelectableField>;
  readonly unknownField: UnknownFieldText;
};

const known = new WeakMap<Resource, KindFacts>();

export function factsOf(resource: Resource): KindFacts {
  let facts = known.get(resource);
  if (!facts) {
    facts = resource.isCustom ? customFacts(resource) : builtInFacts(resource);
    known.set(resource, facts);
  }
  return facts;
}

/** The value a field selector is compared with: always text; lists and objects have none. */
export function readField(object: JsonValue, { path, absent = '', orElse }: SelectableField): string {
  const value = path.split('.').reduce<JsonValue | undefined>(child, object);
  const text = typeof value === 'object' || value === undefined ? '' : String(value);
  if (text !== '') return text;
  return orElse === undefined ? absent : readField(object, { path: orElse, absent });
}

function child(value: JsonValue | undefined, name: string): JsonValue | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name))
    return undefined;
  return value[name];
}

function builtInFacts(resource: Resource): KindFacts {
  const row: KindRow = kindTable[qualifiedName(resource)] ?? {};
  const fields = fieldsOf(resource, row.fields, row.unknownField);
  return {
    storage: storageOf(resource, row),
    keyPrefix: keyPrefixOf(resource, row),
    nameRule: row.nameRule ?? 'subdomain',
    versions: builtInVersions(resource, row),
    hasGeneration: row.hasGeneration ?? false,
    allowsUnconditionalUpdate: !row.needsResourceVersion,
    createsOnUpdate: row.createsOnUpdate ?? false,
    answersDeleted: row.answersDeleted ?? false,
    dependents: row.dependents,
    dependentsWarning: row.dependentsWarning,
    hasStatus: hasStatus(resource),
    statusKeeps: row.statusKeeps ?? [],
    statusDisowns: disownedBy(row),
    partFields: row.partFields ?? {},
    fields,
    storedFields: fields,
    unknownField: row.unknownField ?? 'known',
  };
}

function customFacts(resource: Resource): KindFacts {
  const { group, version, plural, kind, storageVersion = version } = resource;
  const { selectableFields = [], selectableInAny = selectableFields } = resource;
  const fieldsAt = (paths: readonly string[]) =>
    fieldsOf(resource, Object.fromEntries(paths.map((path) => [path, path])), 'plain');
  let storedFields: KindFacts['storedFields'] | undefined;
  return {
    storage: { group, version: storageVersion, plural, kind },
    keyPrefix: `${group}/${plural}`,
    nameRule: 'subdomain',
    versions: resource.definedVersions ?? new Set([resource.groupVersion]),
    hasGeneration: true,
    allowsUnconditionalUpdate: false,
    createsOnUpdate: false,
    answersDeleted: false,
    dependents: undefined,
    dependentsWarning: undefined,
    hasStatus: hasStatus(resource),
    statusKeeps: [], // of `metadata` all of it is kept, and what is sent of it is owned all the same
    statusDisowns: [['spec']],
    partFields: {},
    fields: fieldsAt(selectableFields),
    // Only the version that is stored is asked, and there may be thousands with fields of their own.
    get storedFields() {
      storedFields ??= fieldsAt(selectableInAny);
      return storedFields;
    },
    unknownField: 'plain',
  };
}

/** Of the same objects, whatever the group: what is kept in one place is one kind. */
function builtInVersions(resource: Resource, row: KindRow): ReadonlySet<string> {
  if (versionsByPrefix.size === 0)
    for (const one of builtInResources()) {
      const prefix = keyPrefixOf(one, kindTable[qualifiedName(one)] ?? {});
      const versions = versionsByPrefix.get(prefix) ?? new Set();
      versionsByPrefix.set(prefix, versions.add(one.groupVersion));
    }
  return versionsByPrefix.get(keyPrefixOf(resource, row)) ?? new Set([resource.groupVersion]);
}

const versionsByPrefix = new Map<string, Set<string>>();

function keyPrefixOf({ plural }: Resource, { storedUnder }: KindRow): string {
  return storedUnder ?? plural;
}

function storageOf({ group, version, plural, kind }: Resource, { storedAs }: KindRow): StorageResource {
  const [storedGroup = group, storedVersion = version, storedPlural = plural] = storedAs?.split('/') ?? [];
  return { group: storedGroup, version: storedVersion, plural: storedPlural, kind };
}

function disownedBy({ statusKeeps = [], statusDisowns }: KindRow): readonly (readonly string[])[] {
  if (statusDisowns) return [['spec'], [statusDisowns]];
  return [['spec'], ...statusKeeps.map((field) => ['metadata', field])];
}

function hasStatus({ subresources }: Resource): boolean {
  return subresources.some(({ name }) => name === 'status');
}

/** Kinds without fields of their own may be asked for their namespace even if they have none. */
function fieldsOf(
  { isNamespaced }: Resource,
  fields: KindRow['fields'] = {},
  unknownField: UnknownFieldText = 'known',
): ReadonlyMap<string, SelectableField> {
  const all = new Map<string, SelectableField>([['metadata.name', { path: 'metadata.name' }]]);
  if (isNamespaced || unknownField === 'known') all.set('metadata.namespace', { path: 'metadata.namespace' });
  for (const [name, field] of Object.entries(fields))
    all.set(name, typeof field === 'string' ? { path: field } : field);
  return all;
}
