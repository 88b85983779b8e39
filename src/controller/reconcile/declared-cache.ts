/**
 * What a reconcile may read without asking the server: the kinds its controller has declared, and no others.
 *
 * Reading a kind that was not declared throws and says so. Beginning to watch it instead, as others do, is how an
 * innocent read of one Secret comes to hold all Secrets of a cluster in memory.
 */
import type { AnyObject, Informer, Resource } from '../../client/index.ts';

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
  readonly #informers = new Map<string, Informer<AnyObject>>();

  constructor(controller: string) {
    this.#controller = controller;
  }

  get informers(): Informer<AnyObject>[] {
    return [...this.#informers.values()];
  }

  declare(informer: Informer<AnyObject>): void {
    this.#informers.set(nameOf(informer.resource), informer);
  }

  of<T extends AnyObject>(resource: Resource<T>): Cached<T> {
    const informer = this.find(resource);
    if (informer) return informer as unknown as Cached<T>;
    const known = [...this.#informers.keys()].join(', ');
    throw new Error(
      `Cannot read ${nameOf(resource)} from the cache: controller "${this.#controller}" declares only ${known}`,
    );
  }

  /** The declared kind that an object is of, if it is one. */
  declaredAs({ apiVersion, kind }: AnyObject): Resource | undefined {
    const group = apiVersion.slice(0, Math.max(0, apiVersion.indexOf('/')));
    return this.informers.find(({ resource }) => resource.group === group && resource.kind === kind)?.resource;
  }

  find(resource: Resource): Informer<AnyObject> | undefined {
    return this.#informers.get(nameOf(resource));
  }
}

/** `pods`, `deployments.apps`. */
export function nameOf({ plural, group }: Resource): string {
  return group === '' ? plural : `${plural}.${group}`;
}
