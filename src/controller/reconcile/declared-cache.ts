/**
 * What a reconcile may read without asking the server: the kinds its controller has declared, and no others.
 *
 * Reading a kind that was not declared throws and says so. Beginning to watch it instead, as others do, is how an
 * innocent read of one Secret comes to hold all Secrets of a cluster in memory.
 *
 * Informers are shared between controllers, names of indexes are not: each controller has its own, and finds them by the
 * name it gave them.
 */

import { groupOf, resourceName, type Where } from '../../client/advanced.ts';
import type { AnyObject, Freshness, Indexers, Informer, Resource } from '../../client/index.ts';

/** An informer to read from; its life is the manager's business. */
export type Cached<T extends AnyObject> = Pick<
  Informer<T>,
  'resource' | 'size' | 'get' | 'list' | 'by' | 'valuesOf' | 'snapshot' | 'isSynced' | 'resourceVersion' | 'freshness'
>;

export interface CacheReader {
  /** By `namespace/name`, by namespace and labels, or by a declared index. Objects are shared: not to be changed. */
  of<T extends AnyObject>(resource: Resource<T>): Cached<T>;
}

export class DeclaredCache implements CacheReader {
  readonly #controller: string;
  readonly #kinds = new Map<string, { readonly informer: Informer<AnyObject>; readonly cached: Cached<AnyObject> }>();

  constructor(controller: string) {
    this.#controller = controller;
  }

  get informers(): Informer<AnyObject>[] {
    return [...this.#kinds.values()].map(({ informer }) => informer);
  }

  declare(informer: Informer<AnyObject>): void {
    const cached = new OwnIndexes(informer, (name) => this.#indexName(name));
    this.#kinds.set(resourceName(informer.resource), { informer, cached });
  }

  /** The same functions under the names that the informer knows them by. */
  indexersFor<T extends AnyObject>(indexers: Indexers<T>): Indexers<T> {
    return Object.fromEntries(Object.entries(indexers).map(([name, valuesOf]) => [this.#indexName(name), valuesOf]));
  }

  of<T extends AnyObject>(resource: Resource<T>): Cached<T> {
    const kind = this.#kinds.get(resourceName(resource));
    if (kind) return kind.cached as unknown as Cached<T>;
    const known = [...this.#kinds.keys()].join(', ');
    throw new Error(
      `Cannot read ${resourceName(resource)} from the cache: controller "${this.#controller}" declares only ${known}`,
    );
  }

  /** The declared kind that an object is of, if it is one. */
  declaredAs({ apiVersion, kind }: AnyObject): Resource | undefined {
    const group = groupOf(apiVersion);
    return this.informers.find(({ resource }) => resource.group === group && resource.kind === kind)?.resource;
  }

  #indexName(name: string): string {
    return `${this.#controller}/${name}`;
  }
}

/** An informer as one controller reads it. */
class OwnIndexes implements Cached<AnyObject> {
  readonly #informer: Informer<AnyObject>;
  readonly #indexName: (name: string) => string;

  constructor(informer: Informer<AnyObject>, indexName: (name: string) => string) {
    this.#informer = informer;
    this.#indexName = indexName;
  }

  get resource(): Resource {
    return this.#informer.resource;
  }

  get size(): number {
    return this.#informer.size;
  }

  get isSynced(): boolean {
    return this.#informer.isSynced;
  }

  get resourceVersion(): string | undefined {
    return this.#informer.resourceVersion;
  }

  get freshness(): Freshness {
    return this.#informer.freshness;
  }

  get(key: string): AnyObject | undefined {
    return this.#informer.get(key);
  }

  list(where?: Where): AnyObject[] {
    return this.#informer.list(where);
  }

  by(index: string, value: string): AnyObject[] {
    return this.#informer.by(this.#indexName(index), value);
  }

  valuesOf(index: string): string[] {
    return this.#informer.valuesOf(this.#indexName(index));
  }

  snapshot(): ReadonlyMap<string, AnyObject> {
    return this.#informer.snapshot();
  }
}
