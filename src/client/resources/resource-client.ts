/**
 * Reads and writes of one resource, typed by its token. Namespaces are those of the context unless a call, or the place
 * this client was made, names another. Items of lists carry kind and apiVersion, though servers leave them out.
 */

import { type Status, untilAborted } from '../../api/index.ts';
import { isApiError, TransportError } from '../errors.ts';
import { asPromised } from '../lazy/lazy-object.ts';
import { acceptOf, checkSpec, InvalidObjectError, type Resource } from '../objects/define-resource.ts';
import type { Scale } from '../objects/generated/autoscaling-v1.ts';
import type { AnyObject, Applied, Draft, ObjectList } from '../objects/objects.ts';
import type { Transport } from '../transport/transport.ts';
import type { RequestOptions } from '../transport/transport-options.ts';
import { ListBody } from './list-body.ts';
import { type ListPage, type ListPagesOptions, listPages } from './list-pages.ts';
import {
  type ApplyOptions,
  type CallOptions,
  type DeleteCollectionOptions,
  type DeleteOptions,
  deleteBody,
  type GetOptions,
  type ListOptions,
  listQuery,
  type WriteOptions,
  writeQuery,
} from './options.ts';
import type { Patch } from './patches.ts';
import { collectionPath, objectPath } from './resource-path.ts';
import { SubresourceClient } from './subresource-client.ts';

const partialMetadata = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' };

export class ResourceClient<T extends AnyObject> {
  readonly resource: Resource<T>;
  /** Used where a call names none. */
  readonly namespace: string;
  readonly #transport: Transport;

  constructor(transport: Transport, resource: Resource<T>, namespace: string = transport.access.namespace) {
    this.#transport = transport;
    this.resource = resource;
    this.namespace = namespace;
  }

  async get(name: string, options: GetOptions = {}): Promise<T> {
    const query = { resourceVersion: options.resourceVersion };
    return this.#ask('GET', this.#path(name, options), { query }, options);
  }

  /** Undefined if there is none; every other refusal is thrown. */
  async find(name: string, options: GetOptions = {}): Promise<T | undefined> {
    try {
      return await this.get(name, options);
    } catch (err) {
      if (isApiError(err, 'NotFound') && err.status.details?.name !== undefined) return undefined;
      throw err;
    }
  }

  /** One answer; with a `limit` perhaps not all: see `listAll`. */
  async list(options: ListOptions = {}): Promise<ObjectList<T>> {
    const accept = acceptOf(this.resource, true);
    const decoder = () => new ListBody();
    const request = { query: listQuery(options), decoder, ...(accept !== undefined && { accept }) };
    const path = this.#collection(options);
    const list = listIn(await this.#ask<ObjectList<T>>('GET', path, request, options), path);
    const { kind, apiVersion } = this.resource.isMetadataOnly ? partialMetadata : this.resource;
    for (const item of list.items) {
      item.kind ??= kind;
      item.apiVersion ??= apiVersion;
    }
    return this.resource.isLazy ? { ...list, items: list.items.map((item) => asPromised(this.resource, item)) } : list;
  }

  /** All objects, page by page, each fetched when it is asked for. */
  listPages(options: ListPagesOptions = {}): AsyncGenerator<ListPage<T>, void, void> {
    return listPages((page) => this.list(page), options);
  }

  /** All objects, one by one, fetched in pages. */
  async *listAll(options: ListPagesOptions = {}): AsyncGenerator<T, void, void> {
    for await (const { items } of this.listPages(options)) yield* items;
  }

  async create(draft: Draft<T>, options: WriteOptions = {}): Promise<T> {
    await this.#check(draft, options);
    const path = this.#collection(inside(draft, options));
    return this.#ask('POST', path, { query: writeQuery(options), body: this.#whole(draft) }, options);
  }

  /** Replaces it. With `metadata.resourceVersion` only if it is still that one: else 409 `Conflict`. */
  async update(object: Draft<T>, options: WriteOptions = {}): Promise<T> {
    await this.#check(object, options);
    const path = this.#path(object.metadata.name ?? '', inside(object, options));
    return this.#ask('PUT', path, { query: writeQuery(options), body: this.#whole(object) }, options);
  }

  async patch(name: string, { contentType, body }: Patch<T>, options: WriteOptions = {}): Promise<T> {
    return this.#ask('PATCH', this.#path(name, options), { query: writeQuery(options), body, contentType }, options);
  }

  /** Server-side apply: what is written here is owned by `fieldManager`, what it wrote before and not now is removed. */
  async apply(object: Applied<T>, options: ApplyOptions): Promise<T> {
    const { metadata } = object as { metadata: { name: string; namespace?: string } };
    const path = this.#path(metadata.name, inside({ metadata }, options));
    const query = { ...writeQuery(options), force: options.force || undefined };
    const contentType = 'application/apply-patch+yaml';
    return this.#ask('PATCH', path, { query, body: this.#whole(object), contentType }, options);
  }

  /** The object if it is still there, waiting for its finalizers, or if its kind gives it back; else a Status. */
  async delete(name: string, options: DeleteOptions = {}): Promise<T | Status> {
    return this.#ask('DELETE', this.#path(name, options), { body: deleteBody(options) }, options);
  }

  /** What was found, as it was. */
  async deleteCollection(options: DeleteCollectionOptions = {}): Promise<ObjectList<T> | Status> {
    const request = { query: listQuery(options), body: deleteBody(options) };
    return this.#ask('DELETE', this.#collection(options), request, options);
  }

  get status(): SubresourceClient<T> {
    return this.subresource<T>('status');
  }

  get scale(): SubresourceClient<Scale> {
    return this.subresource<Scale>('scale');
  }

  /** Any other, such as `eviction`, `token` or `finalize`. */
  subresource<S extends object = AnyObject>(name: string): SubresourceClient<S> {
    return new SubresourceClient<S>(this.#transport, this.resource, name, this.namespace);
  }

  #path(name: string, { namespace }: CallOptions): string {
    return objectPath(this.resource, namespace ?? this.namespace, name);
  }

  #collection({ namespace, allNamespaces }: CallOptions & { allNamespaces?: boolean | undefined }): string {
    return collectionPath(this.resource, allNamespaces ? undefined : (namespace ?? this.namespace));
  }

  async #ask<R = T>(method: string, path: string, request: RequestOptions, call: CallOptions): Promise<R> {
    const { signal, isUrgent, onHeaders } = call;
    const accept = method === 'GET' || method === 'PATCH' ? acceptOf(this.resource, false) : undefined;
    const options = { ...(accept !== undefined && { accept }), ...request, signal, isUrgent };
    const { body, headers } = await this.#transport.request<R>(method, path, options);
    onHeaders?.(headers);
    return this.resource.isLazy ? this.#promised(body) : body;
  }

  /** A list or a Status stays as it is. */
  #promised<R>(body: R): R {
    const { kind = '', items } = body as { kind?: string; items?: unknown };
    return items || kind === 'Status' ? body : (asPromised(this.resource, body as AnyObject as T) as AnyObject as R);
  }

  #whole(object: object): object {
    return { apiVersion: this.resource.apiVersion, kind: this.resource.kind, ...object };
  }

  async #check(object: Draft<T>, { signal }: WriteOptions): Promise<void> {
    if (!this.resource.validate) return;
    const issues = await untilAborted(checkSpec(this.resource, object), signal);
    if (issues.length > 0) throw new InvalidObjectError(this.resource.kind, object.metadata.name ?? '', issues);
  }
}

/** Whoever answers with success may still be no API server. Some of those write an empty list as null. */
function listIn<T extends AnyObject>(body: ObjectList<T> | null, path: string): ObjectList<T> {
  const { items, metadata } = (body ?? {}) as { items?: unknown; metadata?: unknown };
  if (metadata && items === null) return { ...body!, items: [] };
  const isList = metadata && Array.isArray(items) && items.every((item) => item?.metadata);
  if (!isList) throw new TransportError('body', `Cannot read ${path}: the answer is no list of objects`);
  const nameless = items.findIndex((item) => typeof item.metadata.name !== 'string' || item.metadata.name === '');
  if (nameless < 0) return body!;
  throw new TransportError('body', `Cannot read ${path}: object ${nameless + 1} of the list has no name`);
}

/** The namespace an object names itself counts where the call names none. */
function inside(object: { metadata: { namespace?: string } }, options: CallOptions): CallOptions {
  const namespace = options.namespace ?? object.metadata.namespace;
  return namespace === undefined ? {} : { namespace };
}
