/**
 * Which resources the server has, at this moment: the built-in ones for good, custom ones as they come and go.
 *
 * Always true: look-ups cost one step; groups and versions come in the order in which discovery shows them (built-in
 * groups first, then custom ones by name; the preferred version first). Every change raises `generation` and is told to
 * listeners, so that whatever was made from the registry can be made again when it is next asked for.
 */
import { builtInResources } from './built-in-resources.ts';
import { qualifiedName, type Resource } from './resource.ts';
import { compareVersions } from './version-order.ts';

export type ResourceId = Pick<Resource, 'group' | 'version' | 'plural'>;

export type GroupVersions = {
  readonly group: string;
  /** The preferred one first. */
  readonly versions: readonly string[];
  /** No built-in resource is in it. */
  readonly isCustom: boolean;
};

export class Registry {
  readonly #byPlural = new Map<string, Resource>();
  readonly #byKind = new Map<string, Resource>();
  readonly #listeners = new Set<() => void>();
  #generation = 0;
  #groups: ReadonlyMap<string, GroupVersions> | undefined;
  #byGroupVersion: ReadonlyMap<string, readonly Resource[]> | undefined;

  constructor(resources: Iterable<Resource> = builtInResources()) {
    for (const resource of resources) this.#put(resource);
  }

  /** Grows with every change. */
  get generation(): number {
    return this.#generation;
  }

  find(group: string, version: string, plural: string): Resource | undefined {
    return this.#byPlural.get(keyOf(group, version, plural));
  }

  findByKind(group: string, version: string, kind: string): Resource | undefined {
    return this.#byKind.get(keyOf(group, version, kind));
  }

  isGroupServed(group: string): boolean {
    return this.#groupIndex().has(group);
  }

  isServed(group: string, version: string): boolean {
    return this.resourcesOf(group, version).length > 0;
  }

  /** In the order of discovery; empty for a group version that is not served. */
  resourcesOf(group: string, version: string): readonly Resource[] {
    this.#byGroupVersion ??= indexByGroupVersion(this.#byPlural.values());
    return this.#byGroupVersion.get(`${group}/${version}`) ?? [];
  }

  /** All groups, the core group first. */
  groups(): GroupVersions[] {
    return [...this.#groupIndex().values()];
  }

  group(name: string): GroupVersions | undefined {
    return this.#groupIndex().get(name);
  }

  preferredVersion(group: string): string | undefined {
    return this.group(group)?.versions[0];
  }

  all(): IterableIterator<Resource> {
    return this.#byPlural.values();
  }

  /** Adds a custom resource, or puts it in the place of the one with the same group, version and plural. */
  add(resource: Resource): void {
    const old = this.find(resource.group, resource.version, resource.plural);
    if (old && (!old.isCustom || old.isLive))
      throw new Error(`Cannot add "${qualifiedName(resource)}": it is built in`);
    if (old) this.#drop(old);
    this.#put(resource);
    this.#changed();
  }

  /** False if there is no such custom resource. */
  remove({ group, version, plural }: ResourceId): boolean {
    const resource = this.find(group, version, plural);
    if (!resource?.isCustom || resource.isLive) return false;
    this.#drop(resource);
    this.#changed();
    return true;
  }

  /** Calls back after every change, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #put(resource: Resource): void {
    const { group, version, plural, kind } = resource;
    this.#byPlural.set(keyOf(group, version, plural), resource);
    this.#byKind.set(keyOf(group, version, kind), resource);
  }

  #drop(resource: Resource): void {
    const { group, version, plural, kind } = resource;
    this.#byPlural.delete(keyOf(group, version, plural));
    if (this.findByKind(group, version, kind) === resource) this.#byKind.delete(keyOf(group, version, kind));
  }

  #changed(): void {
    this.#generation++;
    this.#groups = undefined;
    this.#byGroupVersion = undefined;
    for (const listener of this.#listeners) listener();
  }

  #groupIndex(): ReadonlyMap<string, GroupVersions> {
    this.#groups ??= indexGroups(this.#byPlural.values());
    return this.#groups;
  }
}

function keyOf(group: string, version: string, name: string): string {
  return `${group}/${version}/${name}`;
}

function indexByGroupVersion(resources: Iterable<Resource>): ReadonlyMap<string, readonly Resource[]> {
  const index = new Map<string, Resource[]>();
  for (const resource of resources) {
    const { group, version } = resource;
    const list = index.get(`${group}/${version}`);
    if (list) list.push(resource);
    else index.set(`${group}/${version}`, [resource]);
  }
  // Built-in ones are in order already; custom ones come in whatever order their definitions did.
  for (const list of index.values()) list.sort((a, b) => Number(a.isCustom) - Number(b.isCustom) || byCustomName(a, b));
  return index;
}

function byCustomName(a: Resource, b: Resource): number {
  return a.isCustom && a.plural !== b.plural ? (a.plural < b.plural ? -1 : 1) : 0;
}

function indexGroups(resources: Iterable<Resource>): ReadonlyMap<string, GroupVersions> {
  const versionsOf = new Map<string, Set<string>>();
  const builtIn = new Set<string>();
  for (const { group, version, isCustom } of resources) {
    const versions = versionsOf.get(group);
    if (versions) versions.add(version);
    else versionsOf.set(group, new Set([version]));
    if (!isCustom) builtIn.add(group);
  }
  const custom = [...versionsOf.keys()].filter((group) => !builtIn.has(group)).sort();
  return new Map(
    [...builtIn, ...custom].map((group) => {
      const versions = [...versionsOf.get(group)!].sort(compareVersions);
      return [group, { group, versions, isCustom: !builtIn.has(group) }];
    }),
  );
}
