/**
 * The resources that show the same stored objects in other forms: other versions of a kind, or the same kind in another
 * group. Looked up anew when the registry has changed.
 */
import { factsOf } from '../../registry/kind-facts.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Resource } from '../../registry/resource.ts';

export class EquivalentResources {
  readonly #registry: Registry;
  #generation = -1;
  #byStorage: ReadonlyMap<string, readonly Resource[]> = new Map();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** Without the resource itself; those that have the subresource, if one is asked for. */
  of(resource: Resource, subresource: string): readonly Resource[] {
    if (this.#generation !== this.#registry.generation) this.#index();
    const all = this.#byStorage.get(factsOf(resource).keyPrefix) ?? [];
    if (all.length < 2) return [];
    return all.filter(
      (one) =>
        (one.version !== resource.version || one.group !== resource.group) &&
        (subresource === '' || one.subresources.some(({ name }) => name === subresource)),
    );
  }

  #index(): void {
    const byStorage = new Map<string, Resource[]>();
    for (const resource of this.#registry.all()) {
      const { keyPrefix } = factsOf(resource);
      const known = byStorage.get(keyPrefix);
      if (known) known.push(resource);
      else byStorage.set(keyPrefix, [resource]);
    }
    this.#byStorage = byStorage;
    this.#generation = this.#registry.generation;
  }
}
