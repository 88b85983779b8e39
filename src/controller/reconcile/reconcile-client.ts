/**
 * The client a reconcile is given: a plain one that is aborted with the reconcile, asks before each write whether it
 * may, and tells of each object written.
 *
 * Every write goes through one of the two classes here, since they are the plain ones with their writes replaced: what
 * the plain ones learn to write later must be added here.
 */
import type { Status } from '../../api/index.ts';
import {
  type Applied,
  type DeleteCollectionOptions,
  ResourceClient,
  SubresourceClient,
  type Transport,
  type UnknownFields,
} from '../../client/advanced.ts';
import type {
  AnyObject,
  ApplyOptions,
  DeleteOptions,
  Draft,
  GetOptions,
  ListOptions,
  ObjectList,
  Patch,
  Resource,
  WriteOptions,
} from '../../client/index.ts';

/** What holds for all calls of one reconcile. */
export type WriteScope = {
  readonly signal: AbortSignal;
  /** Throws where writing is not allowed any more. */
  readonly check: () => void;
  readonly wrote: (resource: Resource, object: AnyObject) => void;
  readonly deleted: (resource: Resource, objectKey: string, uid?: string) => void;
};

export class ReconcileResourceClient<T extends AnyObject> extends ResourceClient<T> {
  readonly #transport: Transport;
  readonly #scope: WriteScope;

  constructor(transport: Transport, resource: Resource<T>, namespace: string, scope: WriteScope) {
    super(transport, resource, namespace);
    this.#transport = transport;
    this.#scope = scope;
  }

  override get(name: string, options: GetOptions = {}): Promise<T> {
    return super.get(name, this.#with(options));
  }

  override list(options: ListOptions = {}): Promise<ObjectList<T>> {
    return super.list(this.#with(options));
  }

  override async create(draft: Draft<T>, options: WriteOptions = {}): Promise<T> {
    this.#scope.check();
    return this.#noted(await super.create(draft, this.#with(options)), options);
  }

  override async update(object: Draft<T>, options: WriteOptions = {}): Promise<T> {
    this.#scope.check();
    return this.#noted(await super.update(object, this.#with(options)), options);
  }

  override async patch(name: string, patch: Patch<T>, options: WriteOptions = {}): Promise<T> {
    this.#scope.check();
    return this.#noted(await super.patch(name, patch, this.#with(options)), options);
  }

  override async apply(object: Applied<T>, options: ApplyOptions): Promise<T> {
    this.#scope.check();
    return this.#noted(await super.apply(object, this.#with(options)), options);
  }

  override async delete(name: string, options: DeleteOptions = {}): Promise<T | Status> {
    this.#scope.check();
    const answer = await super.delete(name, this.#with(options));
    if (!options.dryRun) {
      const uid = isObject(answer) ? answer.metadata.uid : (answer as Status).details?.uid;
      this.#scope.deleted(this.resource, this.#keyOf(name, options.namespace), uid);
    }
    return answer;
  }

  override async deleteCollection(options: DeleteCollectionOptions = {}): Promise<ObjectList<T> | Status> {
    this.#scope.check();
    const answer = await super.deleteCollection(this.#with(options));
    if (!options.dryRun && 'items' in answer)
      for (const { metadata } of answer.items)
        this.#scope.deleted(this.resource, this.#keyOf(metadata.name, metadata.namespace), metadata.uid);
    return answer;
  }

  override subresource<S extends object = AnyObject>(name: string): SubresourceClient<S> {
    return new ReconcileSubresourceClient<S>(this.#transport, this.resource, name, this.namespace, this.#scope);
  }

  #with<O extends { readonly signal?: AbortSignal | undefined }>(options: O): O {
    return { ...options, signal: signalOf(this.#scope, options) };
  }

  #noted(object: T, { dryRun }: WriteOptions): T {
    if (!dryRun) this.#scope.wrote(this.resource, object);
    return object;
  }

  #keyOf(name: string, namespace: string = this.namespace): string {
    return this.resource.isNamespaced ? `${namespace}/${name}` : name;
  }
}

class ReconcileSubresourceClient<S extends object> extends SubresourceClient<S> {
  readonly #parent: Resource;
  readonly #scope: WriteScope;

  constructor(transport: Transport, parent: Resource, name: string, namespace: string, scope: WriteScope) {
    super(transport, parent, name, namespace);
    this.#parent = parent;
    this.#scope = scope;
  }

  override async create<R extends object = S>(name: string, body: object, options: WriteOptions = {}): Promise<R> {
    this.#scope.check();
    return this.#noted(await super.create<R>(name, body, this.#with(options)), options);
  }

  protected override async put(name: string, object: S, options: WriteOptions = {}): Promise<S> {
    this.#scope.check();
    return this.#noted(await super.put(name, object, this.#with(options)), options);
  }

  override async patch(
    name: string,
    patch: Patch<S extends AnyObject ? S : never>,
    options: WriteOptions = {},
  ): Promise<S> {
    this.#scope.check();
    return this.#noted(await super.patch(name, patch, this.#with(options)), options);
  }

  override async apply(name: string, object: UnknownFields, options: ApplyOptions): Promise<S> {
    this.#scope.check();
    return this.#noted(await super.apply(name, object, this.#with(options)), options);
  }

  #with<O extends { readonly signal?: AbortSignal | undefined }>(options: O): O {
    return { ...options, signal: signalOf(this.#scope, options) };
  }

  /** Status and scale are written to the object itself, and answer with its version; a token or an eviction is not. */
  #noted<R extends object>(answer: R, { dryRun }: WriteOptions): R {
    if (!dryRun && isObject(answer)) this.#scope.wrote(this.#parent, answer);
    return answer;
  }
}

/**
 * A signal of the caller's comes besides: a reconcile that is over sends nothing, whoever else may stop its requests.
 */
function signalOf({ signal }: WriteScope, options: { readonly signal?: AbortSignal | undefined }): AbortSignal {
  return options.signal ? AbortSignal.any([options.signal, signal]) : signal;
}

function isObject(answer: object): answer is AnyObject {
  const { metadata } = answer as Partial<AnyObject>;
  return Boolean(metadata?.uid && metadata.resourceVersion && metadata.name);
}
