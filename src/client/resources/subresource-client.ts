/** Reads and writes of one subresource, such as `status` or `scale`. */

import type { ObjectMeta } from '../../api/index.ts';
import type { Resource } from '../objects/define-resource.ts';
import type { AnyObject, UnknownFields } from '../objects/objects.ts';
import type { Transport } from '../transport/transport.ts';
import type { RequestOptions } from '../transport/transport-options.ts';
import { type ApplyOptions, type CallOptions, type WriteOptions, writeQuery } from './options.ts';
import type { Patch } from './patches.ts';
import { objectPath } from './resource-path.ts';

export type SubresourceUpdate<S extends object> =
  | [object: S & { readonly metadata: { readonly name: string } }, options?: WriteOptions]
  | [name: string, object: S, options?: WriteOptions];

export class SubresourceClient<S extends object> {
  readonly #transport: Transport;
  readonly #resource: Resource;
  readonly #name: string;
  readonly #namespace: string;

  constructor(transport: Transport, resource: Resource, name: string, namespace: string) {
    this.#transport = transport;
    this.#resource = resource;
    this.#name = name;
    this.#namespace = namespace;
  }

  get(name: string, options: CallOptions = {}): Promise<S> {
    return this.#ask('GET', name, {}, options);
  }

  /** For subresources that are done rather than held: an eviction, a token request. */
  create<R extends object = S>(name: string, body: object, options: WriteOptions = {}): Promise<R> {
    return this.#ask<R>('POST', name, { query: writeQuery(options), body }, options);
  }

  /**
   * The object with its metadata: name, and resourceVersion if it must still be that one. The name need not be said twice, and
   * the namespace that the object names counts where the call names none.
   */
  update(...given: SubresourceUpdate<S>): Promise<S> {
    if (typeof given[0] === 'string') return this.put(given[0], given[1] as S, given[2]);
    return this.put(given[0].metadata.name, given[0], given[1] as WriteOptions | undefined);
  }

  /** What `update` does, however it is called. */
  protected put(name: string, object: S, options: WriteOptions = {}): Promise<S> {
    const { metadata } = object as { metadata?: ObjectMeta };
    const call = { ...options, namespace: options.namespace ?? metadata?.namespace };
    return this.#ask('PUT', name, { query: writeQuery(options), body: object }, call);
  }

  patch(
    name: string,
    { contentType, body }: Patch<S extends AnyObject ? S : never>,
    options: WriteOptions = {},
  ): Promise<S> {
    return this.#ask('PATCH', name, { query: writeQuery(options), body, contentType }, options);
  }

  apply(name: string, object: UnknownFields, options: ApplyOptions): Promise<S> {
    const { apiVersion, kind } = this.#resource;
    const query = { ...writeQuery(options), force: options.force || undefined };
    const body = { apiVersion, kind, metadata: { name }, ...object };
    return this.#ask('PATCH', name, { query, body, contentType: 'application/apply-patch+yaml' }, options);
  }

  async #ask<R = S>(method: string, name: string, request: RequestOptions, options: CallOptions): Promise<R> {
    const path = objectPath(this.#resource, options.namespace ?? this.#namespace, name, this.#name);
    const { signal, isUrgent } = options;
    return (await this.#transport.request<R>(method, path, { ...request, signal, isUrgent })).body;
  }
}
