/**
 * Keeps a sink as the server is: the whole state first, then every change, for as long as it runs.
 *
 * `transition` decides, this loop does what the state says and tells it what came of it. Reading never waits for the
 * sink. Each object comes in the order of the server's history, each change once; after a loss of history the sink gets
 * the whole state anew, in one piece. A stream that nears its planned end is read until the next one is accepted, which
 * begins where the first one was at that time; what both have is told once. It ends by its signal, or by throwing what is
 * no failure of the world: a transport that was closed, or a bug.
 */
import { isBehind } from '../../api/index.ts';
import { isApiError, TransportError } from '../errors.ts';
import type { ListSample } from '../observing/client-observer.ts';
import type { Resource } from '../resources/define-resource.ts';
import type { AnyObject } from '../resources/objects.ts';
import type { ListOptions, SelectOptions } from '../resources/options.ts';
import { ResourceClient } from '../resources/resource-client.ts';
import type { Transport } from '../transport/transport.ts';
import { watchBatches } from '../watch/watch.ts';
import type { WatchEvent } from '../watch/watch-event.ts';
import { listWhole } from './list-whole.ts';
import type { ReflectorCounts, ReflectorOptions, ReflectorSink, Trouble } from './reflector-options.ts';
import { type Fact, type Policy, type ReflectorState, STATE_TOO_OLD, transition } from './reflector-state.ts';
import { refusesWatchList, rememberRefusal } from './watch-list-support.ts';
import { WatchRequest } from './watch-request.ts';

const LIFETIME_SECONDS = [300, 600] as const;
/** How long before its planned end a stream gets a successor; of a short life, a quarter of it. */
const ROTATION_MS = 30_000;
const INITIAL_MS = 60_000;
const PAGE_ITEMS = 500;

export class Reflector<T extends AnyObject> {
  readonly #transport: Transport;
  readonly #resource: Resource<T>;
  readonly #sink: ReflectorSink<T>;
  readonly #options: ReflectorOptions;
  readonly #policy: Omit<Policy, 'fillBy' | 'random'>;
  readonly #counts = { fills: 0, pagedFills: 0, streams: 0, rotations: 0, failures: 0, events: 0, bookmarks: 0 };
  #state: ReflectorState;
  #lastContact: number | undefined;
  #trouble: Trouble | undefined;
  /** Why the initial state is not asked for by stream any more. */
  #streamFailure: { readonly error: unknown } | undefined;
  #isRunning = false;
  /** The stream that is read. */
  #current: WatchRequest<T> | undefined;
  /** A stream has ended, and nothing was fetched since: the next that opens goes on where it ended. */
  #hadStream = false;
  #fillBegunAt = 0;

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

  /** Before `run`: goes on after this version, instead of fetching the whole state. */
  resume(version: string, lastContact: number): void {
    if (this.#isRunning) throw new Error('Cannot resume the reflector: it runs already');
    this.#state = { kind: 'watching', version, isOpen: false, isRotating: false, empty: 0, failures: 0 };
    this.#lastContact = lastContact;
  }

  /** Before `run`: what `resume` was told is not to be gone on from. */
  forget(): void {
    if (this.#isRunning) throw new Error('Cannot forget what the reflector was told: it runs already');
    this.#state = { kind: 'filling', by: this.#fillBy(), failures: 0 };
  }

  /** What was told is not what the server has: gives the stream up, and fetches the whole state. */
  renew(): void {
    this.#move({ kind: 'doubted' });
    if (this.#state.kind !== 'watching') this.#current?.supersede();
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
          if (state.by === 'stream') await this.#watch(state.floor, true, signal);
          else await this.#list(state.floor, signal);
          break;
        case 'watching':
          await this.#watch(state.version, false, signal);
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

  /** One stream, and those that take its place: after `version`, or with a whole state first that is not older. */
  async #watch(version: string | undefined, isInitial: boolean, signal: AbortSignal): Promise<void> {
    this.#fillBegunAt = this.#transport.clock.now();
    let request = this.#open(version, isInitial, signal);
    for (;;) {
      const current = request;
      this.#current = current;
      let next: WatchRequest<T> | undefined;
      try {
        const error = await this.#read(current, isInitial);
        signal.throwIfAborted();
        if (!current.isSuperseded) this.#end(error, current);
        if (!current.successor || this.#state.kind !== 'watching') return;
        const successor = await current.successor; // there is no stream for a moment, if the old one has ended
        signal.throwIfAborted();
        if (!successor) return this.#end(error, current);
        next = successor;
      } finally {
        current[Symbol.dispose]();
        this.#current = undefined;
        if (!next) current.successor?.then((one) => one?.[Symbol.dispose]()).catch(() => {}); // nobody waits for it
      }
      request = next;
      isInitial = false;
    }
  }

  #open(version: string | undefined, isInitial: boolean, signal: AbortSignal): WatchRequest<T> {
    const { clock, random } = this.#transport;
    const { namespace, idleTimeoutMs, lifetimeSeconds = LIFETIME_SECONDS } = this.#options;
    const [min, max] = lifetimeSeconds;
    const timeoutSeconds = Math.max(1, Math.floor(min + random() * (max - min)));
    const options = {
      ...this.#selection(),
      ...(namespace !== undefined && { namespace }),
      ...(version !== undefined && { resourceVersion: version }),
      ...(isInitial && { sendInitialEvents: true }),
      ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
      timeoutSeconds,
    };
    const onOpen = () => {
      this.#contact();
      this.#counts.streams++;
      if (this.#hadStream && !isInitial) this.#transport.observers.tell('onReconnect', this.#resource);
      this.#hadStream = false;
      this.#move({ kind: 'opened' });
    };
    const request: WatchRequest<T> = new WatchRequest(
      (hooks) => watchBatches(this.#transport, this.#resource, { ...options, ...hooks }),
      onOpen,
      clock,
      signal,
    );
    if (isInitial) request.limitInitialState(this.#options.initialTimeoutMs ?? INITIAL_MS);
    const lifeMs = timeoutSeconds * 1000;
    request.after(lifeMs - Math.min(ROTATION_MS, lifeMs / 4), () => this.#rotate(request, signal));
    return request;
  }

  /** Until it ends, with the error that ends it, or until it is superseded. */
  async #read(request: WatchRequest<T>, isInitial: boolean): Promise<unknown> {
    const initial = isInitial ? new Map<string, T>() : undefined;
    try {
      for (let next = await request.next(); !next.done && !request.isCut; next = await request.next()) {
        this.#contact();
        this.#take(request, next.value, initial);
      }
      return request.isCut ? request.cutReason : undefined;
    } catch (error) {
      return error;
    }
  }

  /** What came in one piece. The version moves on once, at the end: nobody can come in between. */
  #take(request: WatchRequest<T>, events: readonly WatchEvent<T>[], initial: Map<string, T> | undefined): void {
    let seen: string | undefined;
    for (const event of events) {
      if (request.isCut) break; // by someone who was told
      request.events++;
      if (initial && this.#state.kind === 'filling') this.#collect(initial, event, request);
      else if (!isTold(request, event)) {
        this.#tell(event);
        seen = event.object.metadata.resourceVersion;
      }
    }
    if (seen !== undefined) this.#move({ kind: 'seen', version: seen });
  }

  /** Opens the next stream beside the one that is read. */
  #rotate(request: WatchRequest<T>, signal: AbortSignal): void {
    this.#move({ kind: 'ageing' });
    const state = this.#state;
    if (state.kind !== 'watching' || !state.isRotating) return;
    const next = this.#open(state.version, false, signal);
    request.successor = next.accepted.then((isAccepted) => {
      const { kind } = this.#state;
      if (!isAccepted || kind !== 'watching') {
        next[Symbol.dispose]();
        this.#move({ kind: 'rotation-failed' });
        return undefined;
      }
      next.toldUpTo = this.#state.version;
      this.#counts.rotations++;
      this.#move({ kind: 'rotated' });
      request.supersede();
      return next;
    });
  }

  /** Objects before the end mark come in no order of versions: they are one state, and told as one. */
  #collect(initial: Map<string, T>, event: WatchEvent<T>, request: WatchRequest<T>): void {
    if (event.type !== 'BOOKMARK') {
      const { namespace = '', name } = event.object.metadata;
      if (event.type === 'DELETED') initial.delete(`${namespace}/${name}`);
      else initial.set(`${namespace}/${name}`, event.object);
      return;
    }
    if (!event.isInitialEventsEnd) return;
    request.initialStateCame();
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
  }

  async #list(floor: string | undefined, signal: AbortSignal): Promise<void> {
    this.#fillBegunAt = this.#transport.clock.now();
    const { namespace, pageItems = PAGE_ITEMS } = this.#options;
    const resource = new ResourceClient(this.#transport, this.#resource);
    const options: ListOptions = {
      ...this.#selection(),
      ...(namespace !== undefined && { namespace }),
      ...(floor !== undefined && { resourceVersion: floor, resourceVersionMatch: 'NotOlderThan' }),
      signal,
    };
    const { clock, random } = this.#transport;
    const { minMs, maxMs } = this.#policy;
    const paging = { clock, random, minMs, maxMs, pageItems, signal, onPage: () => void this.#contact() };
    try {
      const { items, version } = await listWhole((page) => resource.list(page), options, paging);
      signal.throwIfAborted();
      this.#contact();
      this.#fill(items, version);
    } catch (error) {
      signal.throwIfAborted();
      this.#end(error);
    }
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
      this.#end(error);
    }
  }

  /** Throws if it is older than what was told before. */
  #fill(objects: readonly T[], version: string): void {
    const state = this.#state;
    if (state.kind !== 'filling') return;
    if (state.floor !== undefined && isBehind(version, state.floor))
      throw new TransportError('body', `Cannot use the state at version ${version}: ${state.floor} was asked for`, {
        code: STATE_TOO_OLD,
      });
    this.#reportList(state.by, { objects: objects.length });
    this.#hadStream = false;
    this.#counts.fills++;
    if (state.by === 'pages') {
      this.#counts.pagedFills++;
      // The server takes the selection, so it was the stream that it refused, and it will refuse others. One that broke
      // or took too long may have been too much of this resource.
      if (this.#streamFailure) rememberRefusal(this.#transport, this.#resource, isApiError(this.#streamFailure.error));
    }
    this.#sink.replace(objects, version, state.floor === undefined);
    this.#move({ kind: 'filled', version });
  }

  #end(error: unknown, { livedMs, events, wasOpen }: Ended = { livedMs: 0, events: 0, wasOpen: false }): void {
    const before = this.#state;
    if (before.kind === 'filling') this.#reportList(before.by, { error });
    if (wasOpen) this.#hadStream = true; // what fails to open in between is on the way back to it
    const wasStream = before.kind === 'filling' && before.by === 'stream';
    this.#move({ kind: 'ended', error, livedMs, events, wasOpen });
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

  #reportList(by: 'stream' | 'pages', result: Pick<ListSample, 'objects' | 'error'>): void {
    const { clock, observers } = this.#transport;
    const durationMs = clock.now() - this.#fillBegunAt;
    observers.tell('onList', { resource: this.#resource, by, durationMs, ...result });
  }

  #fillBy(): 'stream' | 'pages' {
    if (this.#options.useWatchList === false || this.#streamFailure) return 'pages';
    return refusesWatchList(this.#transport, this.#resource) ? 'pages' : 'stream';
  }

  #contact(): number {
    this.#lastContact = this.#transport.clock.now();
    return this.#lastContact;
  }

  #selection(): Pick<ReflectorOptions, keyof SelectOptions> {
    const { allNamespaces, labelSelector, fieldSelector, shardSelector } = this.#options;
    return {
      ...(allNamespaces && { allNamespaces }),
      ...(labelSelector !== undefined && { labelSelector }),
      ...(fieldSelector !== undefined && { fieldSelector }),
      ...(shardSelector !== undefined && { shardSelector }),
    };
  }
}

type Ended = { readonly livedMs: number; readonly events: number; readonly wasOpen: boolean };

/** By the stream whose place this one took. */
function isTold(request: WatchRequest<AnyObject>, { object }: WatchEvent): boolean {
  if (request.toldUpTo === undefined) return false;
  if (!isBehind(request.toldUpTo, object.metadata.resourceVersion)) return true;
  request.toldUpTo = undefined; // versions only grow
  return false;
}
