/**
 * Objects by key, and by whatever else they are looked up by.
 *
 * What is always true: every index agrees with the objects, after every single change. Objects are shared with all
 * readers and never changed in place; a list is the caller's own. An index function that throws leaves its object out of
 * that index and is told to `onError`: one odd object must not stop the rest.
 *
 *   objects: key -> object       indexes: name -> value -> key -> object
 */
import type { LabelSelector } from '../../api/index.ts';
import type { AnyObject } from '../resources/objects.ts';

/** The values an object is found by; what is undefined is left out. */
export type IndexFunction<T> = (object: T) => readonly (string | undefined)[];
export type Indexers<T> = Readonly<Record<string, IndexFunction<T>>>;

type Bucket<T> = Map<string, T>;
type Index<T> = { readonly valuesOf: IndexFunction<T>; readonly buckets: Map<string, Bucket<T>> };

/** `namespace/name`; of what is cluster-wide only `name`. */
export function keyOf({ metadata: { namespace, name } }: AnyObject): string {
  return namespace ? `${namespace}/${name}` : name;
}

export class Indexer<T extends AnyObject> {
  readonly #objects = new Map<string, T>();
  readonly #byNamespace: Index<T> = { valuesOf: ({ metadata }) => [metadata.namespace], buckets: new Map() };
  readonly #indexes = new Map<string, Index<T>>();
  readonly #onError: (error: unknown) => void;
  #snapshot: ReadonlyMap<string, T> | undefined;

  constructor(onError: (error: unknown) => void = () => {}) {
    this.#onError = onError;
  }

  get size(): number {
    return this.#objects.size;
  }

  /** Fills them from what is there. A name that is taken by another function is refused. */
  addIndexers(indexers: Indexers<T>): void {
    const fresh = Object.entries(indexers).filter(([name, valuesOf]) => {
      const known = this.#indexes.get(name);
      if (known && known.valuesOf !== valuesOf)
        throw new TypeError(`Cannot add index "${name}": another has that name`);
      return !known;
    });
    for (const [name, valuesOf] of fresh) {
      const index: Index<T> = { valuesOf, buckets: new Map() };
      this.#indexes.set(name, index);
      for (const [key, object] of this.#objects) this.#enter(index, key, object);
    }
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  set(key: string, object: T): void {
    const old = this.#objects.get(key);
    for (const index of this.#all()) {
      if (old !== undefined) this.#leave(index, key, old);
      this.#enter(index, key, object);
    }
    this.#objects.set(key, object);
    this.#snapshot = undefined;
  }

  delete(key: string): boolean {
    const old = this.#objects.get(key);
    if (old === undefined) return false;
    for (const index of this.#all()) this.#leave(index, key, old);
    this.#objects.delete(key);
    this.#snapshot = undefined;
    return true;
  }

  list(namespace?: string): T[] {
    const found = namespace === undefined ? this.#objects : this.#byNamespace.buckets.get(namespace);
    return found ? [...found.values()] : [];
  }

  select(selector: LabelSelector, namespace?: string): T[] {
    return this.list(namespace).filter(({ metadata }) => selector.matches(metadata.labels));
  }

  by(name: string, value: string): T[] {
    const bucket = this.#index(name).buckets.get(value);
    return bucket ? [...bucket.values()] : [];
  }

  /** The values of an index that objects have now. */
  valuesOf(name: string): string[] {
    return [...this.#index(name).buckets.keys()];
  }

  /** As it is now, for as long as the caller holds it; made once between two changes. */
  snapshot(): ReadonlyMap<string, T> {
    this.#snapshot ??= new Map(this.#objects);
    return this.#snapshot;
  }

  *#all(): Generator<Index<T>, void, void> {
    yield this.#byNamespace;
    yield* this.#indexes.values();
  }

  #index(name: string): Index<T> {
    const index = this.#indexes.get(name);
    if (!index) throw new TypeError(`Cannot read index "${name}": there is none`);
    return index;
  }

  #enter(index: Index<T>, key: string, object: T): void {
    for (const value of this.#values(index, object, true)) {
      const bucket = index.buckets.get(value);
      if (bucket) bucket.set(key, object);
      else index.buckets.set(value, new Map([[key, object]]));
    }
  }

  #leave(index: Index<T>, key: string, object: T): void {
    for (const value of this.#values(index, object, false)) {
      const bucket = index.buckets.get(value);
      if (bucket?.delete(key) && bucket.size === 0) index.buckets.delete(value);
    }
  }

  #values({ valuesOf }: Index<T>, object: T, isNew: boolean): string[] {
    try {
      return valuesOf(object).filter((value) => value !== undefined);
    } catch (error) {
      if (isNew) this.#onError(error);
      return [];
    }
  }
}
