/**
 * Objects by key, and by whatever else they are looked up by.
 *
 * What is always true: every index agrees with the objects, after every single change. Objects are shared with all
 * readers and never changed in place; a list is the caller's own. An index function that throws leaves its object out
 * of that index and is reported to `onError`, once for each object until it works again: one odd object must not stop
 * the rest.
 *
 *   entries: key -> entry (object, values)       indexes: name -> value -> entries
 *
 * An entry stays while its object changes, so a change that alters no value costs one look and no index is touched.
 */
import { CallbackError } from '../../api/index.ts';
import type { AnyObject } from '../objects/objects.ts';

/** The values an object is found by; what is undefined is left out. */
export type IndexFunction<T> = (object: T) => readonly (string | undefined)[];
export type Indexers<T> = Readonly<Record<string, IndexFunction<T>>>;

/** An object, and what it is found by in each index, in the order of the indexes. */
type Entry<T> = { readonly key: string; object: T; readonly values: (readonly string[])[] };
type Bucket<T> = { readonly value: string; readonly entries: Set<Entry<T>> };
type Index<T> = {
  readonly name: string;
  readonly valuesOf: IndexFunction<T>;
  readonly buckets: Map<string, Bucket<T>>;
  /** Keys of the objects that the function has failed at. */
  readonly failed: Set<string>;
};

const NO_VALUES: readonly string[] = [];

export class Indexer<T extends AnyObject> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #byNamespace = new Map<string, Bucket<T>>();
  readonly #indexes: Index<T>[] = [];
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
    return this.#entries.size;
  }

  /** Fills them from what is there. A name that is taken by another function is refused. */
  addIndexers(indexers: Indexers<T>): void {
    const fresh = Object.entries(indexers).filter(([name, valuesOf]) => {
      const known = this.#indexes.find((index) => index.name === name);
      if (known && known.valuesOf !== valuesOf)
        throw new TypeError(`Cannot add index "${name}": another has that name`);
      return !known;
    });
    for (const [name, valuesOf] of fresh) {
      const failed = this.#failed.get(name) ?? new Set();
      this.#failed.set(name, failed);
      const index: Index<T> = { name, valuesOf, buckets: new Map(), failed };
      const place = this.#indexes.push(index) - 1;
      for (const entry of this.#entries.values()) this.#move(index, place, entry);
    }
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.object;
  }

  set(key: string, object: T): void {
    let entry = this.#entries.get(key);
    if (entry) entry.object = object;
    else {
      entry = { key: copyOf(key), object, values: [] };
      this.#entries.set(entry.key, entry);
      const { namespace } = object.metadata; // which is part of the key
      if (namespace !== undefined) put(this.#byNamespace, namespace, entry);
    }
    for (let place = 0; place < this.#indexes.length; place++) this.#move(this.#indexes[place]!, place, entry);
    this.#snapshot = undefined;
  }

  delete(key: string): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    const { namespace } = entry.object.metadata;
    if (namespace !== undefined) remove(this.#byNamespace, namespace, entry);
    for (const [place, { buckets, failed }] of this.#indexes.entries()) {
      for (const value of entry.values[place] ?? NO_VALUES) remove(buckets, value, entry);
      failed.delete(key);
    }
    this.#entries.delete(key);
    this.#snapshot = undefined;
    return true;
  }

  list(namespace?: string): T[] {
    if (namespace !== undefined) return objectsOf(this.#byNamespace.get(namespace));
    return Array.from(this.#entries.values(), ({ object }) => object);
  }

  by(name: string, value: string): T[] {
    return objectsOf(this.#index(name).buckets.get(value));
  }

  /** The values of an index that objects have now. */
  valuesOf(name: string): string[] {
    return [...this.#index(name).buckets.keys()];
  }

  /** As it is now, for as long as the caller holds it; made once between two changes. */
  snapshot(): ReadonlyMap<string, T> {
    if (this.#snapshot) return this.#snapshot;
    const objects = new Map<string, T>();
    for (const { key, object } of this.#entries.values()) objects.set(key, object);
    this.#snapshot = objects;
    return objects;
  }

  #index(name: string): Index<T> {
    const index = this.#indexes.find((one) => one.name === name);
    if (!index) throw new TypeError(`Cannot read index "${name}": there is none`);
    return index;
  }

  /** A value that stays keeps its place: most changes of an object change nothing that it is looked up by. */
  #move(index: Index<T>, place: number, entry: Entry<T>): void {
    const { buckets } = index;
    const given = this.#values(index, entry);
    const before = entry.values[place] ?? NO_VALUES;
    if (isSame(before, given)) return;
    const after: string[] = [];
    for (const value of given)
      if (value !== undefined && !after.includes(value)) after.push(put(buckets, value, entry));
    for (const value of before) if (!after.includes(value)) remove(buckets, value, entry);
    entry.values[place] = after;
  }

  #values({ name, valuesOf, failed }: Index<T>, { key, object }: Entry<T>): readonly (string | undefined)[] {
    try {
      const values: unknown = valuesOf(object);
      if (values instanceof Promise) values.catch(() => {});
      if (!Array.isArray(values)) throw new TypeError('it gave no list');
      if (failed.size > 0) failed.delete(key);
      return values;
    } catch (error) {
      if (!failed.has(key)) {
        failed.add(key);
        this.#onError(new CallbackError(`index ${name}`, key, 'the informer', error));
      }
      return NO_VALUES;
    }
  }
}

function isSame(a: readonly string[], b: readonly (string | undefined)[]): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

function objectsOf<T>(bucket: Bucket<T> | undefined): T[] {
  return bucket ? Array.from(bucket.entries, ({ object }) => object) : [];
}

/** The value as the index has it, of which there is one for all objects: who keeps the given one keeps too much. */
function put<T>(buckets: Map<string, Bucket<T>>, value: string, entry: Entry<T>): string {
  let bucket = buckets.get(value);
  if (!bucket) {
    bucket = { value: copyOf(value), entries: new Set() };
    buckets.set(bucket.value, bucket);
  }
  bucket.entries.add(entry);
  return bucket.value;
}

/** A string cut or put together out of a longer one holds all of it: of a lazy object, the text it came in. */
function copyOf(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}

function remove<T>(buckets: Map<string, Bucket<T>>, value: string, entry: Entry<T>): void {
  const bucket = buckets.get(value);
  if (bucket?.entries.delete(entry) && bucket.entries.size === 0) buckets.delete(value);
}
