/**
 * The groups of this server and of others together, as discovery shows them: by the priority of the group, then by name;
 * versions by their own. A version that another server answers for has what that said it serves.
 */
import { greatestOf, type JsonObject } from '../../api/index.ts';
import type { GroupVersions, Registry } from '../registry/registry.ts';
import type { Resource } from '../registry/resource.ts';
import { compareVersions } from '../registry/version-order.ts';
import { ownPriority } from './api-service.ts';
import type { RemoteApi, RemoteApis } from './remote-apis.ts';

export class MergedGroups {
  readonly #registry: Registry;
  readonly #remote: RemoteApis;

  constructor(registry: Registry, remote: RemoteApis) {
    this.#registry = registry;
    this.#remote = remote;
  }

  get generation(): number {
    return this.#registry.generation + this.#remote.generation;
  }

  groups(): GroupVersions[] {
    const groups = this.#registry.groups();
    if (this.#remote.size === 0) return groups;
    const names = new Set([...this.#remote.all()].map(({ group }) => group));
    const merged = groups.map((one) => (names.has(one.group) ? this.group(one.group)! : one));
    for (const name of names) {
      if (this.#registry.group(name)) continue;
      const at = merged.findIndex((one) => this.#comesAfter(one, name));
      merged.splice(at < 0 ? merged.length : at, 0, this.group(name)!);
    }
    return merged;
  }

  group(name: string): GroupVersions | undefined {
    const own = this.#registry.group(name);
    const remote = this.#remote.size === 0 ? [] : this.#remote.versionsOf(name);
    if (remote.length === 0) return own;
    const priorities = new Map<string, number>();
    for (const version of own?.versions ?? [])
      priorities.set(version, ownPriority(name, version, own!.isCustom).version);
    for (const { version, versionPriority } of remote) priorities.set(version, versionPriority);
    const versions = [...priorities.keys()].sort(
      (a, b) => priorities.get(b)! - priorities.get(a)! || compareVersions(a, b),
    );
    return { group: name, versions, isCustom: own?.isCustom ?? true };
  }

  isGroupServed(name: string): boolean {
    return this.group(name) !== undefined;
  }

  isServed(group: string, version: string): boolean {
    return this.#registry.isServed(group, version);
  }

  resourcesOf(group: string, version: string): readonly Resource[] {
    return this.#remote.find(group, version) ? [] : this.#registry.resourcesOf(group, version);
  }

  /** Undefined: this server answers for it. */
  remoteVersion(group: string, version: string): JsonObject | undefined {
    const api = this.#remote.find(group, version);
    return api && describe(api);
  }

  #comesAfter(one: GroupVersions, name: string): boolean {
    if (one.group === '') return false;
    const [a, b] = [this.#priorityOf(one), this.#priorityOf(this.group(name)!)];
    return a < b || (a === b && one.group > name);
  }

  #priorityOf({ group, versions, isCustom }: GroupVersions): number {
    const all = versions.map((version) => {
      const remote = this.#remote.find(group, version);
      return remote ? remote.groupPriority : ownPriority(group, version, isCustom).group;
    });
    return greatestOf(all);
  }
}

function describe({ version, resources, isFresh }: RemoteApi): JsonObject {
  return {
    version,
    ...(resources && { resources }),
    freshness: isFresh ? 'Current' : 'Stale',
  };
}
