/**
 * What a reflector asks of the server, all of it for one selection: a watch, the whole state in pages, and which version
 * it is at. It keeps nothing and decides nothing; what the server answers, or how it fails, is for the reflector.
 */
import { TransportError } from '../errors.ts';
import { type Known, sharingSpecs } from '../lazy/spec-sharing.ts';
import type { Resource } from '../objects/define-resource.ts';
import type { AnyObject } from '../objects/objects.ts';
import type { ListOptions, SelectOptions } from '../resources/options.ts';
import { ResourceClient } from '../resources/resource-client.ts';
import type { Transport } from '../transport/transport.ts';
import type { Headers } from '../transport/transport-options.ts';
import { IDLE_MS, watchBatches } from '../watch/watch.ts';
import type { DecodeLine } from '../watch/watch-event.ts';
import { listWhole } from './list-whole.ts';
import type { ReflectorOptions } from './reflector-options.ts';
import { type History, historyHeaders, namedHistory } from './server-history.ts';
import { WatchRequest } from './watch-request.ts';

export type WatchStart = {
  /** Events after this version; of an initial state, no older one. */
  readonly version: string | undefined;
  /** Begins with the whole state. */
  readonly isInitial: boolean;
  /** Whose version that is. */
  readonly history?: History | undefined;
};

const LIFETIME_SECONDS = [300, 600] as const;
const INITIAL_MS = 60_000;
const PAGE_ITEMS = 500;

export class ReflectorRequests<T extends AnyObject> {
  /** How long silence lasts that is called so; 0 is for ever. */
  readonly idleMs: number;
  readonly #transport: Transport;
  readonly #resource: Resource<T>;
  readonly #options: ReflectorOptions;
  readonly #decode: DecodeLine | undefined;
  readonly #pause: { readonly minMs: number; readonly maxMs: number };
  readonly #selection: SelectOptions & { readonly namespace?: string };

  constructor(
    transport: Transport,
    resource: Resource<T>,
    options: ReflectorOptions,
    pause: { readonly minMs: number; readonly maxMs: number },
    known?: Known,
  ) {
    this.#transport = transport;
    this.#resource = resource;
    this.#options = options;
    this.#decode = known && sharingSpecs(known);
    this.idleMs = options.idleTimeoutMs ?? IDLE_MS;
    this.#pause = pause;
    const { namespace, allNamespaces, labelSelector, fieldSelector, shardSelector } = options;
    this.#selection = {
      ...(namespace !== undefined && { namespace }),
      ...(allNamespaces && { allNamespaces }),
      ...(labelSelector !== undefined && { labelSelector }),
      ...(fieldSelector !== undefined && { fieldSelector }),
      ...(shardSelector !== undefined && { shardSelector }),
    };
  }

  /** Sent at once, for a life of its own. The caller disposes it. */
  watch(
    { version, isInitial, history }: WatchStart,
    onOpen: (headers: Headers) => void,
    signal: AbortSignal,
  ): WatchRequest<T> {
    const { clock, random } = this.#transport;
    const { headersTimeoutMs, initialTimeoutMs = INITIAL_MS } = this.#options;
    const [min, max] = this.#options.lifetimeSeconds ?? LIFETIME_SECONDS;
    const timeoutSeconds = Math.max(1, Math.floor(min + random() * (max - min)));
    const options = {
      ...this.#selection,
      ...(version !== undefined && { resourceVersion: version }),
      ...(isInitial && { sendInitialEvents: true }),
      idleTimeoutMs: this.idleMs,
      ...(headersTimeoutMs !== undefined && { headersTimeoutMs }),
      timeoutSeconds,
      ...(!isInitial && { headers: historyHeaders(history) }),
      decode: this.#decode,
    };
    const request = new WatchRequest<T>({
      send: (hooks) => watchBatches(this.#transport, this.#resource, { ...options, ...hooks }),
      ...{ onOpen, version, lifeMs: timeoutSeconds * 1000, clock, signal },
    });
    if (isInitial) request.limitInitialState(initialTimeoutMs);
    return request;
  }

  /** The whole state, no older than `minResourceVersion`. Pages of two histories are no state. */
  async list(
    minResourceVersion: string | undefined,
    onPage: () => void,
    signal: AbortSignal,
  ): Promise<{ items: T[]; version: string; history: History | undefined }> {
    const { clock, random } = this.#transport;
    const { pageItems = PAGE_ITEMS } = this.#options;
    const resource = new ResourceClient(this.#transport, this.#resource);
    const options = {
      ...this.#selection,
      ...(minResourceVersion !== undefined && {
        resourceVersion: minResourceVersion,
        resourceVersionMatch: 'NotOlderThan' as const,
      }),
      signal,
    };
    let history: History | undefined;
    const list = async (page: ListOptions) => {
      let found: History | undefined;
      const onHeaders = (headers: Headers) => {
        found = namedHistory(headers);
      };
      const answer = await resource.list({ ...page, onHeaders });
      if (page.continue !== undefined && found?.id !== history?.id)
        throw new TransportError('body', 'Cannot list: the server has begun another history between two pages');
      history = found;
      return answer;
    };
    const whole = await listWhole(list, options, {
      ...{ clock, random, ...this.#pause, pageItems, signal, onPage },
    });
    return { ...whole, history };
  }

  /** Which version the server is at. */
  async serverVersion(signal: AbortSignal): Promise<string> {
    const resource = new ResourceClient(this.#transport, this.#resource);
    const { metadata } = await resource.list({ ...this.#selection, limit: 1, signal });
    return metadata.resourceVersion;
  }
}
