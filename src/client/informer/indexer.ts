/**
 * Objects by key, and by whatever else they are looked up by.
 *
 * What is always true: every index agrees with the objects, after every single change. Objects are shared with all
 * readers and never changed in place; a list is the caller's own. An index function that throws leaves its object out
 * of that index and is reported to `onError`, once for each object until it works again: one odd object must not stop
 * the rest.
 *
 *   objects: key -> object       indexes: name -> value -> key -> object
 */
import { CallbackError } from '../../api/index.ts';
import type { AnyObject } from '../objects/objects.ts';

/** The values an object is found by; what is undefined is left out. */
export type IndexFunction<T> = (object: T) => readonly (string | undefined)[];
export type Indexers<T> = Readonly<Record<string, IndexFunction<T>>>;

type Bucket<T> = Map<string, T>;
type Index<T> = {
  readonly name: string;
  readonly valuesOf: IndexFunction<T>;
  readonly buckets: Map<string, Bucket<T>>;
  /** Keys of the objects that the function has failed at. */
  readonly failed: Set<string>;
};

export class Indexer<T extends AnyObject> {
  readonly #objects = new Map<string, T>();
  readonly #byNamespace = new Map<string, Bucket<T>>();
  readonly #indexes = new Map<string, Index<T>>();
  readonly #onError: (error: unknown) => void;
  /** By index: keys of the objects that its function has failed at. */
  readonly #failed: Map<string, Set<string>>;
  #snapshot: ReadonlyMap<string, T> | undefined;

  /** `failed` may be shared with another that has the same indexes. */
  constructor(onError: (error: unknown) => void = () => {}, failed: Map<string, Set<string>> = new Map()) {
    this.#onError = onError;
    this.#failed = failed;
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
      const failed = this.#failed.get(name) ?? new Set();
      this.#failed.set(name, failed);
      const index: Index<T> = { name, valuesOf, buckets: new Map(), failed };
      this.#indexes.set(name, index);
      for (const [key, object] of this.#objects) this.#move(index, key, undefined, object);
    }
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  set(at: string, object: T): void {
    const old = this.#objects.get(at);
    const key = old === undefined ? copyOf(at) : at; // a map keeps the key that it was given first
    const { namespace } = object.metadata;
    if (namespace !== undefined) put(this.#byNamespace, namespace, key, object);
    for (const index of this.#indexes.values()) this.#move(index, key, old, object);
    this.#objects.set(key, object);
    this.#snapshot = undefined;
  }

  delete(key: string): boolean {
    const old = this.#objects.get(key);
    if (old === undefined) return false;
    const { namespace } = old.metadata;
    if (namespace !== undefined) remove(this.#byNamespace, namespace, key);
    for (const index of this.#indexes.values()) this.#move(index, key, old, undefined);
    this.#objects.delete(key);
    this.#snapshot = undefined;
    return true;
  }

  list(namespace?: string): T[] {
    const found = namespace === undefined ? this.#objects : this.#byNamespace.get(namespace);
    return found ? [...found.values()] : [];
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

  #index(name: string): Index<T> {
    const index = this.#indexes.get(name);
    if (!index) throw new TypeError(`Cannot read index "${name}": there is none`);
    return index;
  }

  /** A value that stays keeps its place: most changes of an object change nothing that it is looked up by. */
  #move(index: Index<T>, key: string, old: T | undefined, object: T | undefined): void {
    const { buckets, failed } = index;
    const after = object === undefined ? [] : this.#values(index, key, object, true);
    const before = old === undefined ? [] : this.#values(index, key, old, false);
    if (object === undefined && failed.size > 0) failed.delete(key);
    for (const value of before) if (value !== undefined && !after.includes(value)) remove(buckets, value, key);
    for (const value of after) if (value !== undefined) put(buckets, value, key, object!);
  }

  #values(
    { name, valuesOf, failed }: Index<T>,
    key: string,
    object: T,
    isNew: boolean,
  ): readonly (string | undefined)[] {
    try {
      const values: unknown = valuesOf(object);
      if (values instanceof Promise) values.catch(() => {});
      if (!Array.isArray(values)) throw new TypeError('it gave no list');
      if (isNew && failed.size > 0) failed.delete(key);
      return values;
    } catch (error) {
      if (isNew && !failed.has(key)) {
        failed.add(key);
        this.#onError(new CallbackError(`index ${name}`, key, 'the informer', error));
      }
      return [];
    }
  }
}

function put<T>(buckets: Map<string, Bucket<T>>, value: string, key: string, object: T): void {
  const bucket = buckets.get(value);
  if (bucket) bucket.set(key, object);
  else buckets.set(copyOf(value), new Map([[key, object]]));
}

/** A string cut or put together out of a longer one holds all of it: of a lazy object, the text it came in. */
function copyOf(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}

function remove<T>(buckets: Map<string, Bucket<T>>, value: string, key: string): void {
  const bucket = buckets.get(value);
  if (bucket?.delete(key) && bucket.size === 0) buckets.delete(value);
}
