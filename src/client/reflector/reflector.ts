/**
 * Keeps a sink as the server is: the whole state first, then every change, for as long as it runs.
 *
 * `transition` decides, this loop does what the state says and tells it what came of it. Reading never waits for the
 * sink. Each object comes in the order of the server's history, each change once; after a loss of history the sink gets
 * the whole state anew, in one piece. It ends by its signal, or by throwing what is no failure of the world: a transport
 * that was closed, or a bug.
 */
import { isApiError, isExpired } from '../errors.ts';
import type { Resource } from '../resources/define-resource.ts';
import type { AnyObject } from '../resources/objects.ts';
import type { ListOptions } from '../resources/options.ts';
import { ResourceClient } from '../resources/resource-client.ts';
import type { Transport } from '../transport/transport.ts';
import { watch } from '../watch/watch.ts';
import type { WatchEvent } from '../watch/watch-event.ts';
import type { ReflectorCounts, ReflectorOptions, ReflectorSink, Trouble } from './reflector-options.ts';
import { type Fact, type Policy, type ReflectorState, transition } from './reflector-state.ts';
import { StreamLimit } from './stream-limit.ts';
import { refusesWatchList, rememberRefusal } from './watch-list-support.ts';

/** Seconds; spread, so that many watches that began together do not end together. */
const LIFETIME = { min: 300, spread: 300 };
const INITIAL_MS = 60_000;
const PAGE_ITEMS = 500;

export class Reflector<T extends AnyObject> {
  readonly #transport: Transport;
  readonly #resource: Resource<T>;
  readonly #sink: ReflectorSink<T>;
  readonly #options: ReflectorOptions;
  readonly #policy: Omit<Policy, 'fillBy' | 'random'>;
  readonly #counts = { fills: 0, pagedFills: 0, streams: 0, failures: 0, events: 0, bookmarks: 0 };
  #state: ReflectorState;
  #lastContact: number | undefined;
  #trouble: Trouble | undefined;
  /** Why the initial state is not asked for by stream any more. */
  #streamFailure: { readonly error: unknown } | undefined;
  #isRunning = false;

  constructor(transport: Transport, resource: Resource<T>, sink: ReflectorSink<T>, options: ReflectorOptions = {}) {
    this.#transport = transport;
    this.#resource = resource;
    this.#sink = sink;
    this.#options = options;
    const { backoff, healthyMs = 30_000 } = options;
    this.#policy = { minMs: backoff?.minMs ?? 800, maxMs: backoff?.maxMs ?? 30_000, healthyMs };
    this.#state = { kind: 'filling', by: this.#fillBy(), failures: 0 };
  }

  get state(): ReflectorState {
    return this.#state;
  }

  get counts(): ReflectorCounts {
    return { ...this.#counts };
  }

  get trouble(): Trouble | undefined {
    return this.#trouble;
  }

  /** When the server was last heard, by the transport's clock: a list, an event, a bookmark, a watch that opened. */
  get lastContact(): number | undefined {
    return this.#lastContact;
  }

  /** To be called once. */
  async run(signal: AbortSignal): Promise<never> {
    if (this.#isRunning) throw new Error('Cannot run the reflector: it runs already');
    this.#isRunning = true;
    this.#sink.changed(this.#state);
    for (;;) {
      signal.throwIfAborted();
      const state = this.#state;
      switch (state.kind) {
        case 'filling':
          if (state.by === 'stream') await this.#stream(undefined, signal);
          else await this.#list(signal);
          break;
        case 'watching':
          await this.#stream(state.version, signal);
          break;
        case 'checking':
          await this.#check(signal);
          break;
        case 'waiting':
          await this.#transport.clock.sleep(state.delayMs, signal);
          this.#move({ kind: 'rested' });
          break;
        case 'stopped':
          throw state.error;
      }
    }
  }

  /** One watch request: after `version`, or with the whole state first. */
  async #stream(version: string | undefined, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#transport;
    const { namespace, idleTimeoutMs } = this.#options;
    const initial = version === undefined ? new Map<string, T>() : undefined;
    const limit = new StreamLimit(signal);
    if (initial) limit.start(clock.sleep(this.#options.initialTimeoutMs ?? INITIAL_MS, limit.lifted));
    const begin = clock.now();
    let openedAt: number | undefined;
    let events = 0;
    let error: unknown;
    try {
      const stream = watch(this.#transport, this.#resource, {
        ...this.#selection(),
        ...(namespace !== undefined && { namespace }),
        ...(version === undefined ? { sendInitialEvents: true } : { resourceVersion: version }),
        ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
        timeoutSeconds: Math.floor(LIFETIME.min + random() * LIFETIME.spread),
        signal: limit.signal,
        onOpen: () => {
          openedAt = this.#contact();
          this.#counts.streams++;
          this.#move({ kind: 'opened' });
        },
      });
      for await (const event of stream) {
        events++;
        this.#contact();
        if (initial && this.#state.kind === 'filling') this.#collect(initial, event, limit);
        else this.#tell(event);
      }
    } catch (err) {
      error = err;
    } finally {
      limit[Symbol.dispose]();
    }
    signal.throwIfAborted();
    this.#end(error, clock.now() - (openedAt ?? begin), events);
  }

  /** Objects before the end mark come in no order of versions: they are one state, and told as one. */
  #collect(initial: Map<string, T>, event: WatchEvent<T>, limit: StreamLimit): void {
    if (event.type !== 'BOOKMARK') {
      const { namespace = '', name } = event.object.metadata;
      if (event.type === 'DELETED') initial.delete(`${namespace}/${name}`);
      else initial.set(`${namespace}/${name}`, event.object);
      return;
    }
    if (!event.isInitialEventsEnd) return;
    limit.lift();
    this.#fill([...initial.values()], event.object.metadata.resourceVersion);
    initial.clear();
  }

  #tell(event: WatchEvent<T>): void {
    const { resourceVersion } = event.object.metadata;
    if (event.type === 'BOOKMARK') {
      this.#counts.bookmarks++;
      this.#sink.progress(resourceVersion);
    } else {
      this.#counts.events++;
      if (event.type === 'DELETED') this.#sink.remove(event.object);
      else this.#sink.upsert(event.object);
    }
    this.#move({ kind: 'seen', version: resourceVersion });
  }

  async #list(signal: AbortSignal): Promise<void> {
    const begin = this.#transport.clock.now();
    const { namespace, pageItems = PAGE_ITEMS } = this.#options;
    const resource = new ResourceClient(this.#transport, this.#resource);
    const options: ListOptions = { ...this.#selection(), ...(namespace !== undefined && { namespace }), signal };
    const items: T[] = [];
    let version = '';
    let error: unknown;
    try {
      try {
        for await (const page of resource.listPages({ ...options, limit: pageItems, onExpired: 'throw' })) {
          this.#contact();
          for (const item of page.items) items.push(item);
          version = page.metadata.resourceVersion;
        }
      } catch (err) {
        if (!isExpired(err)) throw err;
        // Its snapshot was compacted between two pages. In one piece it cannot be.
        const whole = await resource.list(options);
        items.length = 0;
        for (const item of whole.items) items.push(item);
        version = whole.metadata.resourceVersion;
      }
    } catch (err) {
      error = err;
    }
    signal.throwIfAborted();
    if (error !== undefined) return this.#end(error, this.#transport.clock.now() - begin, 0);
    this.#contact();
    this.#counts.pagedFills++;
    // The server takes the selection, so it was the stream that it refused, and it will refuse others. A stream that
    // took too long is no refusal: it may have been the size of this collection.
    if (isApiError(this.#streamFailure?.error)) rememberRefusal(this.#transport, this.#resource);
    this.#fill(items, version);
  }

  async #check(signal: AbortSignal): Promise<void> {
    const { namespace } = this.#options;
    const options = { ...this.#selection(), ...(namespace !== undefined && { namespace }), limit: 1, signal };
    try {
      const { metadata } = await new ResourceClient(this.#transport, this.#resource).list(options);
      this.#contact();
      this.#move({ kind: 'checked', version: metadata.resourceVersion });
    } catch (error) {
      signal.throwIfAborted();
      this.#end(error, 0, 0);
    }
  }

  #fill(objects: readonly T[], version: string): void {
    this.#counts.fills++;
    this.#sink.replace(objects, version);
    this.#move({ kind: 'filled', version });
  }

  #end(error: unknown, livedMs: number, events: number): void {
    const wasStream = this.#state.kind === 'filling' && this.#state.by === 'stream';
    this.#move({ kind: 'ended', error, livedMs, events });
    const state: ReflectorState = this.#state;
    if (state.kind === 'waiting') this.#counts.failures++;
    if (wasStream && state.kind === 'filling' && state.by === 'pages') this.#streamFailure = { error };
  }

  #move(fact: Fact): void {
    const before = this.#state;
    const policy = { ...this.#policy, fillBy: this.#fillBy(), random: this.#transport.random() };
    const state = transition(before, fact, policy);
    this.#state = state;
    if (state.kind === 'watching' && state.isOpen) this.#trouble = undefined;
    if (state.kind === 'waiting' && state.error !== undefined)
      this.#trouble = { error: state.error, isRefusal: state.isRefusal };
    if (before.kind === 'watching' && state.kind === 'watching' && before.isOpen === state.isOpen) return;
    if (before !== state) this.#sink.changed(state);
  }

  #fillBy(): 'stream' | 'pages' {
    if (this.#options.useWatchList === false || this.#streamFailure) return 'pages';
    return refusesWatchList(this.#transport, this.#resource) ? 'pages' : 'stream';
  }

  #contact(): number {
    this.#lastContact = this.#transport.clock.now();
    return this.#lastContact;
  }

  #selection(): Pick<ReflectorOptions, 'allNamespaces' | 'labelSelector' | 'fieldSelector'> {
    const { allNamespaces, labelSelector, fieldSelector } = this.#options;
    return {
      ...(allNamespaces && { allNamespaces }),
      ...(labelSelector !== undefined && { labelSelector }),
      ...(fieldSelector !== undefined && { fieldSelector }),
    };
  }
}
