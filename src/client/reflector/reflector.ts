/**
 * Keeps a sink as the server is: the whole state first, then every change, for as long as it runs.
 *
 * `transition` decides, this loop does what the state says and tells it what came of it. Reading never waits for the
 * sink. Each object comes in the order of the server's history, each change once; after a loss of history the sink gets
 * the whole state anew, in one piece. A stream that nears its planned end is read until the next one is accepted, which
 * begins where the first one was at that time; what both have is delivered once. It ends by its signal, or by throwing
 * what is no failure of the world: a transport that was closed, or a bug.
 */
import { isBehind } from '../../api/index.ts';
import { isApiError, TransportError } from '../errors.ts';
import type { Resource } from '../objects/define-resource.ts';
import { keyOf } from '../objects/object-key.ts';
import type { AnyObject } from '../objects/objects.ts';
import type { ListSample } from '../observing/client-observer.ts';
import type { ReflectorCounts } from '../observing/informer-metrics.ts';
import type { Transport } from '../transport/transport.ts';
import type { Headers } from '../transport/transport-options.ts';
import type { WatchEvent } from '../watch/watch-event.ts';
import { guardedSink } from './guarded-sink.ts';
import { type LastError, noCounts, type ReflectorOptions, type ReflectorSink } from './reflector-options.ts';
import { ReflectorRequests, type WatchStart } from './reflector-requests.ts';
import { type Fact, type Policy, type ReflectorState, STATE_TOO_OLD, transition } from './reflector-state.ts';
import { askHistory, askHistoryBefore, type History, namedHistory } from './server-history.ts';
import { refusesWatchList, rememberRefusal } from './watch-list-support.ts';
import { WatchRelay } from './watch-relay.ts';
import type { WatchRequest } from './watch-request.ts';

export class Reflector<T extends AnyObject> {
  readonly #transport: Transport;
  readonly #resource: Resource<T>;
  readonly #sink: ReflectorSink<T>;
  readonly #requests: ReflectorRequests<T>;
  readonly #usesWatchList: boolean;
  readonly #policy: Omit<Policy, 'listBy' | 'random'>;
  readonly #counts = noCounts();
  #state: ReflectorState;
  #lastContact: number | undefined;
  #lastError: LastError | undefined;
  /** Why the initial state is not asked for by stream any more. */
  #streamFailure: { readonly error: unknown } | undefined;
  #isRunning = false;
  /** Fires when the sink has failed after it had returned. */
  readonly #broken = new AbortController();
  /** The stream that is read, and its successor. */
  #relay: WatchRelay<T> | undefined;
  /** A stream has ended, and nothing was fetched since: the next that opens goes on where it ended. */
  #hadStream = false;
  #listBegunAt = 0;
  /** When there was last proof that the server has our version: an event, a bookmark, a state, a look. */
  #heardAt = 0;
  /** Whose versions ours are; undefined while that is not known. */
  #history: History | undefined;
  /** Of the answer whose state is being gathered. */
  #listHistory: History | undefined;
  /** The server named its history in its last list. */
  #isNamed = false;
  /** The state was listed, and no watch has gone on from it yet. */
  #isFresh = false;

  constructor(transport: Transport, resource: Resource<T>, sink: ReflectorSink<T>, options: ReflectorOptions = {}) {
    this.#transport = transport;
    this.#resource = resource;
    this.#sink = guardedSink(sink, resource.plural, (error) => this.#broken.abort(error));
    const { backoff, healthyMs = 30_000, useWatchList = true, initialRead } = options;
    this.#usesWatchList = useWatchList;
    this.#policy = { minMs: backoff?.minMs ?? 800, maxMs: backoff?.maxMs ?? 30_000, healthyMs };
    this.#requests = new ReflectorRequests(transport, resource, options, this.#policy, sink.known);
    this.#state = {
      kind: 'listing',
      by: this.#listBy(),
      failures: 0,
      ...(initialRead === 'any' && { minResourceVersion: '0' }),
    };
  }

  get state(): ReflectorState {
    return this.#state;
  }

  get counts(): ReflectorCounts {
    return { ...this.#counts };
  }

  get lastError(): LastError | undefined {
    return this.#lastError;
  }

  /** When the server was last heard, by the transport's clock: a list, an event, a bookmark, a watch that opened. */
  get lastContact(): number | undefined {
    return this.#lastContact;
  }

  get history(): History | undefined {
    return this.#history;
  }

  /** Before `run`: goes on after this version of this history, instead of fetching the whole state. */
  resume(version: string, lastContact: number, history?: History): void {
    if (this.#isRunning) throw new Error('Cannot resume the reflector: it runs already');
    this.#state = { kind: 'watching', version, isOpen: false, isRotating: false, empty: 0, failures: 0 };
    this.#lastContact = lastContact;
    this.#history = history;
  }

  /** Before `run`: the version given to `resume` is not to be gone on from. */
  forget(): void {
    if (this.#isRunning) throw new Error('Cannot forget where to resume: the reflector runs already');
    this.#state = { kind: 'listing', by: this.#listBy(), failures: 0 };
    this.#history = undefined;
  }

  /**
   * Gives the stream up, and fetches the whole state: what was delivered is not what the server has, or (`late`) it agrees, and
   * has not come forward for long.
   */
  renew(why: 'resync-required' | 'late' = 'resync-required'): void {
    const before = this.#state;
    this.#move({ kind: why });
    if (this.#state !== before) this.#relay?.current.supersede();
  }

  /** To be called once. */
  async run(stop: AbortSignal): Promise<never> {
    const signal = AbortSignal.any([stop, this.#broken.signal]);
    if (this.#isRunning) throw new Error('Cannot run the reflector: it runs already');
    this.#isRunning = true;
    this.#heardAt = this.#transport.clock.now();
    this.#sink.changed(this.#state);
    for (;;) {
      signal.throwIfAborted();
      const state = this.#state;
      switch (state.kind) {
        case 'listing':
          if (state.by === 'stream') await this.#watch({ version: state.minResourceVersion, isInitial: true }, signal);
          else await this.#list(state.minResourceVersion, signal);
          break;
        case 'watching':
          await this.#watch({ version: state.version, isInitial: false }, signal);
          break;
        case 'checking':
          await this.#check(signal);
          break;
        case 'waiting':
          await this.#transport.clock.sleep(state.delayMs, signal);
          this.#move({ kind: 'backoff-elapsed' });
          break;
        case 'stopped':
          throw state.error;
      }
    }
  }

  /** One stream, and those that take its place. */
  async #watch(start: WatchStart, signal: AbortSignal): Promise<void> {
    this.#listBegunAt = this.#transport.clock.now();
    const relay = this.#relayFrom(start, signal);
    this.#relay = relay;
    try {
      for (let { isInitial } = start; ; isInitial = false) {
        const request = relay.current;
        const error = await this.#read(request, isInitial);
        signal.throwIfAborted();
        if (relay.current !== request) continue;
        if (!request.isSuperseded) this.#end(error, request);
        if (this.#state.kind !== 'watching' || !relay.hasSuccessor) return;
        await relay.decided(); // there is no stream for a moment
        signal.throwIfAborted();
        if (relay.current !== request) continue;
        if (this.#state.kind === 'watching') this.#end(error, request); // and nobody has taken its place
        return;
      }
    } finally {
      relay[Symbol.dispose]();
      this.#relay = undefined;
    }
  }

  #relayFrom(start: WatchStart, signal: AbortSignal): WatchRelay<T> {
    return new WatchRelay(this.#open(start, signal), {
      openSuccessor: () => {
        if (this.#isSilent) {
          // Not another one that may be as silent: it ends as silence does, and is looked into.
          const message = `Cannot trust the watch: nothing has come within ${this.#requests.idleMs} ms`;
          this.#relay?.current.fail(new TransportError('idle', message, { isTimeout: true }));
          return undefined;
        }
        this.#move({ kind: 'near-timeout' });
        const state = this.#state;
        if (state.kind !== 'watching' || !state.isRotating) return undefined;
        return this.#open({ version: state.version, isInitial: false }, signal);
      },
      onAccepted: (successor) => {
        const state = this.#state;
        if (state.kind !== 'watching') return false;
        successor.follow(state.version);
        this.#counts.rotations++;
        this.#move({ kind: 'rotated' });
        return true;
      },
      onFailed: () => this.#move({ kind: 'rotation-failed' }),
    });
  }

  #open(start: WatchStart, signal: AbortSignal): WatchRequest<T> {
    const history = this.#history;
    const onOpen = (headers: Headers) => {
      this.#contact();
      this.#counts.streams++;
      if (this.#hadStream && !start.isInitial) this.#transport.observers.tell('onReconnect', this.#resource);
      this.#hadStream = false;
      this.#move({ kind: 'opened' });
      this.#learnHistory(request, start, namedHistory(headers));
    };
    const request: WatchRequest<T> = this.#requests.watch({ ...start, history }, onOpen, signal);
    return request;
  }

  /**
   * A server that names its history has judged ours before it accepted. Of others we have to find out by ourselves, and
   * only from a stream that begins with the state, or follows it at once, can be learnt whose it is: one that goes on
   * later without that being known cannot be trusted.
   */
  #learnHistory(request: WatchRequest<T>, { isInitial }: WatchStart, named: History | undefined): void {
    const known = this.#history;
    const mayLearn = isInitial || this.#isFresh;
    this.#isFresh = false;
    this.#listHistory = named;
    if (isInitial) this.#history = undefined; // until the state has come, there is none that it could be of
    if (named) {
      if (isInitial) return;
      if (known?.by === 'name' || (!known && mayLearn)) this.#history = named;
      else this.#changeHistory(request);
    } else if (!isInitial && known?.by === 'name') this.#changeHistory(request);
    else
      askHistory(this.#transport, request.signal).then(
        (found) => this.#compareHistory(request, found, mayLearn),
        () => {}, // the stream has ended: the next will ask
      );
  }

  /** What was found while a stream was open holds for what came by that stream. */
  #compareHistory(request: WatchRequest<T>, found: History | undefined, mayLearn: boolean): void {
    if (!found || request.isCut) return;
    const known = this.#history;
    if (known ? known.by === found.by && known.id === found.id : mayLearn) this.#history = found;
    else {
      if (!known) this.#counts.unknownHistories++;
      this.#changeHistory(request);
    }
  }

  #changeHistory(request: WatchRequest<T>): void {
    this.#history = undefined;
    this.#move({ kind: 'history-changed' });
    if (this.#state.kind !== 'listing') return;
    request.supersede();
    this.#relay?.current.supersede();
  }

  /** Until it ends, with the error that ends it, or until it is superseded. */
  async #read(request: WatchRequest<T>, isInitial: boolean): Promise<unknown> {
    const initial = isInitial ? new Map<string, T>() : undefined;
    try {
      for (let next = await request.next(); !next.done && !request.isCut; next = await request.next()) {
        this.#contact();
        this.#heardAt = this.#transport.clock.now();
        if (initial && this.#state.kind === 'listing') await this.#takeInitial(request, next.value, initial);
        else this.#take(request, next.value);
      }
      return request.isCut ? request.cutReason : undefined;
    } catch (error) {
      return error;
    }
  }

  /** What came in one piece. The version moves on once, at the end: nobody can come in between. */
  #take(request: WatchRequest<T>, events: readonly WatchEvent<T>[]): void {
    let seen: string | undefined;
    for (const event of events) {
      if (request.isCut) break; // by the sink
      request.events++;
      if (!request.isDelivered(event.object.metadata.resourceVersion)) {
        this.#tell(event);
        seen = event.object.metadata.resourceVersion;
      }
    }
    if (seen !== undefined) this.#move({ kind: 'seen', version: seen });
  }

  /** Objects before the end mark come in no order of versions: they are one state, and delivered as one. */
  async #takeInitial(
    request: WatchRequest<T>,
    events: readonly WatchEvent<T>[],
    initial: Map<string, T>,
  ): Promise<void> {
    for (const [index, event] of events.entries()) {
      if (request.isCut) return;
      request.events++;
      if (event.type === 'BOOKMARK') {
        if (!event.isInitialEventsEnd) continue;
        request.initialStateCame();
        const objects = [...initial.values()];
        initial.clear();
        await this.#replace(objects, event.object.metadata.resourceVersion);
        this.#take(request, events.slice(index + 1));
        return;
      }
      const key = keyOf(event.object);
      if (event.type === 'DELETED') initial.delete(key);
      else initial.set(key, event.object);
    }
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

  async #list(minResourceVersion: string | undefined, signal: AbortSignal): Promise<void> {
    this.#listBegunAt = this.#transport.clock.now();
    try {
      const before = this.#isNamed ? undefined : await askHistoryBefore(this.#transport, signal);
      const { items, version, history } = await this.#requests.list(minResourceVersion, () => this.#contact(), signal);
      signal.throwIfAborted();
      this.#contact();
      this.#listHistory = history ?? before;
      this.#isNamed = history !== undefined;
      await this.#replace(items, version);
    } catch (error) {
      signal.throwIfAborted();
      this.#end(error);
    }
  }

  async #check(signal: AbortSignal): Promise<void> {
    try {
      const version = await this.#requests.serverVersion(signal);
      this.#contact();
      this.#heardAt = this.#transport.clock.now();
      this.#move({ kind: 'checked', version });
    } catch (error) {
      signal.throwIfAborted();
      if (this.#state.kind === 'checking') this.#end(error); // a resync may have been required meanwhile
    }
  }

  /** Throws if it is older than what was delivered before. */
  async #replace(objects: readonly T[], version: string): Promise<void> {
    const state = this.#state;
    if (state.kind !== 'listing') return;
    if (state.minResourceVersion !== undefined && isBehind(version, state.minResourceVersion))
      throw new TransportError(
        'body',
        `Cannot use the state at version ${version}: ${state.minResourceVersion} was asked for`,
        {
          code: STATE_TOO_OLD,
        },
      );
    this.#reportList(state.by, { objects: objects.length });
    this.#hadStream = false;
    this.#heardAt = this.#transport.clock.now();
    this.#counts.lists++;
    if (state.by === 'pages') {
      this.#counts.pagedLists++;
      // The server takes the selection, so it was the stream that it refused, and it will refuse others. One that broke
      // or took too long may have been too much of this resource.
      if (this.#streamFailure) rememberRefusal(this.#transport, this.#resource, isApiError(this.#streamFailure.error));
    }
    this.#history = this.#listHistory ?? (state.by === 'stream' ? this.#history : undefined);
    this.#isFresh = state.by === 'pages';
    const takeOver = await this.#sink.replace(objects, version, state.minResourceVersion === undefined);
    this.#heardAt = this.#transport.clock.now();
    takeOver?.(); // in one moment with our own state
    this.#move({ kind: 'listed', version });
  }

  #end(error: unknown, { livedMs, events, wasOpen, isCatchingUp }: Ended = NO_STREAM): void {
    const before = this.#state;
    if (before.kind === 'listing') this.#reportList(before.by, { error });
    if (wasOpen) this.#hadStream = true; // what fails to open in between is on the way back to it
    const wasStream = before.kind === 'listing' && before.by === 'stream';
    this.#move({ kind: 'ended', error, livedMs, events, wasOpen, isCatchingUp, isSilent: this.#isSilent });
    const state: ReflectorState = this.#state;
    if (state.kind === 'waiting') this.#counts.failures++;
    if (wasStream && state.kind === 'listing' && state.by === 'pages') this.#streamFailure = { error };
  }

  #move(fact: Fact): void {
    const before = this.#state;
    const policy = { ...this.#policy, listBy: this.#listBy(), random: this.#transport.random() };
    const state = transition(before, fact, policy);
    this.#state = state;
    if (state.kind === 'watching' && state.isOpen) this.#lastError = undefined;
    if (state.kind === 'waiting' && state.error !== undefined)
      this.#lastError = { error: state.error, isRefusal: state.isRefusal };
    if (before.kind === 'watching' && state.kind === 'watching' && before.isOpen === state.isOpen) return;
    if (before !== state) this.#sink.changed(state);
  }

  #reportList(by: 'stream' | 'pages', result: Pick<ListSample, 'objects' | 'error'>): void {
    const { clock, observers } = this.#transport;
    const durationMs = clock.now() - this.#listBegunAt;
    observers.tell('onList', { resource: this.#resource, by, durationMs, ...result });
  }

  #listBy(): 'stream' | 'pages' {
    if (!this.#usesWatchList || this.#streamFailure) return 'pages';
    return refusesWatchList(this.#transport, this.#resource) ? 'pages' : 'stream';
  }

  get #isSilent(): boolean {
    const { idleMs } = this.#requests;
    return idleMs > 0 && this.#transport.clock.now() - this.#heardAt >= idleMs;
  }

  #contact(): void {
    this.#lastContact = this.#transport.clock.now();
  }
}

type Ended = Pick<WatchRequest<AnyObject>, 'livedMs' | 'events' | 'wasOpen' | 'isCatchingUp'>;

const NO_STREAM: Ended = { livedMs: 0, events: 0, wasOpen: false, isCatchingUp: false };
