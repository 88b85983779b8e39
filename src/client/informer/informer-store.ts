/**
 * The store of an informer: a part for each of its sources, which alone changes it, read as one.
 *
 * What is always true: a part is another one from one moment to the next, however long it took to fill. So readers see
 * the state that a source had, or the one it has, and nothing in between. Indexes are those of all parts.
 */
import type { LabelSelector } from '../../api/index.ts';
import type { AnyObject } from '../objects/objects.ts';
import { Indexer, type Indexers } from './indexer.ts';

export class InformerStore<T extends AnyObject> {
  /** By scope: a namespace, or `*`, which is then the only one. */
  readonly #parts = new Map<string, Indexer<T>>();
  /** Those that are to take the place of another. */
  readonly #filling = new Set<Indexer<T>>();
  readonly #failed = new Map<string, Set<string>>();
  readonly #onError: (error: unknown) => void;
  #indexers: Indexers<T> = {};
  #merged: { readonly of: readonly ReadonlyMap<string, T>[]; readonly objects: ReadonlyMap<string, T> } | undefined;

  constructor(onError: (error: unknown) => void = () => {}) {
    this.#onError = onError;
  }

  get size(): number {
    let size = 0;
    for (const part of this.#parts.values()) size += part.size;
    return size;
  }

  /** Fills them from what is there. A name that is taken by another function is refused. */
  addIndexers(indexers: Indexers<T>): void {
    for (const [name, valuesOf] of Object.entries(indexers)) {
      const known = this.#indexers[name];
      if (known && known !== valuesOf) throw new TypeError(`Cannot add index "${name}": another has that name`);
    }
    this.#indexers = { ...this.#indexers, ...indexers };
    for (const part of [...this.#parts.values(), ...this.#filling]) part.addIndexers(indexers);
  }

  /** What a source has; made empty if there is none yet. */
  part(scope: string): Indexer<T> {
    const known = this.#parts.get(scope);
    if (known) return known;
    const part = this.#emptyPart();
    this.#parts.set(scope, part);
    return part;
  }

  /** An empty one with all indexes, which nobody sees before `replacePart`. */
  fillPart(): Indexer<T> {
    const part = this.#emptyPart();
    this.#filling.add(part);
    return part;
  }

  replacePart(scope: string, part: Indexer<T>): void {
    this.#filling.delete(part);
    this.#parts.set(scope, part);
    for (const keys of this.#failed.values()) for (const key of keys) if (!this.get(key)) keys.delete(key);
  }

  get(key: string): T | undefined {
    if (this.#parts.size === 1) return this.#only.get(key);
    return this.#parts.get(key.slice(0, Math.max(0, key.indexOf('/'))))?.get(key);
  }

  list(namespace?: string): T[] {
    if (this.#parts.size === 1) return this.#only.list(namespace);
    if (namespace !== undefined) return this.#parts.get(namespace)?.list() ?? [];
    return [...this.#parts.values()].flatMap((part) => part.list());
  }

  select(selector: LabelSelector, namespace?: string): T[] {
    return this.list(namespace).filter(({ metadata }) => selector.matches(metadata.labels));
  }

  by(name: string, value: string): T[] {
    if (this.#parts.size === 1) return this.#only.by(name, value);
    return [...this.#parts.values()].flatMap((part) => part.by(name, value));
  }

  /** The values of an index that objects have now. */
  valuesOf(name: string): string[] {
    if (this.#parts.size === 1) return this.#only.valuesOf(name);
    return [...new Set([...this.#parts.values()].flatMap((part) => part.valuesOf(name)))];
  }

  /** As it is now, for as long as the caller holds it; made once between two changes. */
  snapshot(): ReadonlyMap<string, T> {
    if (this.#parts.size === 1) return this.#only.snapshot();
    const of = [...this.#parts.values()].map((part) => part.snapshot());
    const isSame = this.#merged?.of.length === of.length && of.every((one, i) => one === this.#merged!.of[i]);
    if (!isSame) this.#merged = { of, objects: new Map(of.flatMap((one) => [...one])) };
    return this.#merged!.objects;
  }

  get #only(): Indexer<T> {
    return this.#parts.values().next().value!;
  }

  #emptyPart(): Indexer<T> {
    const part = new Indexer<T>(this.#onError, this.#failed);
    part.addIndexers(this.#indexers);
    return part;
  }
}
