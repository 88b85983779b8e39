/**
 * One cluster, one user: where everything else starts.
 *
 *     await using client = await connect();
 *     for await (const pod of client.resource(corev1.pods).listAll({ allNamespaces: true })) ...
 *     for await (const { type, object } of client.watch(corev1.pods, { resourceVersion, signal })) ...
 *
 * Closing it breaks its connections; watches that run throw.
 */

import type { VersionCheckpoint } from './checkpoint/version-checkpoint.ts';
import { type WatchFromOptions, watchFrom } from './checkpoint/watch-from.ts';
import type { ClusterAccess } from './config/cluster-access.ts';
import type { Credentials } from './config/credentials.ts';
import { type AccessOptions, KubeConfig, type LoadOptions } from './config/kube-config.ts';
import type { Indexers } from './informer/indexer.ts';
import { Informer } from './informer/informer.ts';
import { InformerFactory, type InformerFactoryOptions } from './informer/informer-factory.ts';
import type { InformerOptions } from './informer/informer-options.ts';
import type { Resource } from './objects/define-resource.ts';
import type { AnyObject } from './objects/objects.ts';
import { Discovery } from './resources/discovery.ts';
import { ResourceClient } from './resources/resource-client.ts';
import { Transport } from './transport/transport.ts';
import type { TransportOptions } from './transport/transport-options.ts';
import { type WatchOptions, watch } from './watch/watch.ts';
import type { WatchEvent } from './watch/watch-event.ts';
import { type WatchResumingOptions, watchResuming } from './watch/watch-resuming.ts';

export class KubeClient implements AsyncDisposable {
  readonly transport: Transport;
  readonly discovery: Discovery;

  constructor(access: ClusterAccess, options: TransportOptions = {}, transport?: Transport) {
    this.transport = transport ?? new Transport(access, options);
    this.discovery = new Discovery(this.transport);
  }

  /** Another user over the connections of this one, and no longer than it. For credentials that are no certificates. */
  as(credentials: Credentials, options: TransportOptions = {}): KubeClient {
    const transport = this.transport.as(credentials, options);
    return new KubeClient(transport.access, options, transport);
  }

  /** That of the context. */
  get namespace(): string {
    return this.transport.access.namespace;
  }

  resource<T extends AnyObject>(resource: Resource<T>, namespace: string = this.namespace): ResourceClient<T> {
    return new ResourceClient(this.transport, resource, namespace);
  }

  /** One request: ends when its connection ends. */
  watch<T extends AnyObject>(
    resource: Resource<T>,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent<T>, void, void> {
    return watch(this.transport, resource, options);
  }

  /** As many requests as it takes: ends with `Expired`, a refusal, or the signal. */
  watchResuming<T extends AnyObject>(
    resource: Resource<T>,
    options: WatchResumingOptions,
  ): AsyncGenerator<WatchEvent<T>, void, void> {
    return watchResuming(this.transport, resource, options);
  }

  /** As many requests as it takes, from where the last process was: see `watch-from.ts`. */
  watchFrom<T extends AnyObject>(
    resource: Resource<T>,
    checkpoint: VersionCheckpoint,
    options: WatchFromOptions = {},
  ): AsyncGenerator<WatchEvent<T>, void, void> {
    return watchFrom(this, resource, checkpoint, options);
  }

  /** A local copy that stays true. It is the caller's to dispose, before the client. */
  informer<T extends AnyObject, I extends Indexers<T> = Indexers<T>>(
    resource: Resource<T>,
    options: InformerOptions<T, I> = {} as InformerOptions<T, I>,
  ): Informer<T, I> {
    return new Informer<T, I>(this, resource, options);
  }

  /** Informers that are shared by all who ask for the same. It is the caller's to dispose, before the client. */
  informers(options: InformerFactoryOptions = {}): InformerFactory {
    return new InformerFactory(this, options);
  }

  async close(): Promise<void> {
    await this.transport.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

export type ConnectOptions = LoadOptions & AccessOptions & TransportOptions;

/** With the configuration that kubectl would use, or the pod's own. Nothing is sent yet. */
export async function connect(options: ConnectOptions = {}): Promise<KubeClient> {
  const config = await KubeConfig.load(options);
  return new KubeClient(config.access(options), options);
}
