/**
 * One watch request of a reflector, from the moment it is sent until it is read out, with all that can end it from our
 * side: the caller's signal, a limit on its initial state, and being superseded.
 *
 * It is sent at once, and not when the first event is asked for, so that it can be opened beside another. Once it is
 * cut it is never accepted any more. Disposing breaks it off, and leaves no timer and no listener behind.
 */
import { type Clock, isBehind } from '../../api/index.ts';
import { TransportError } from '../errors.ts';
import type { AnyObject } from '../objects/objects.ts';
import type { Headers } from '../transport/transport-options.ts';
import type { WatchEvent } from '../watch/watch-event.ts';
import { NO_INITIAL_END } from './reflector-state.ts';

/** Of this request, to be given to `watchBatches`. */
export type WatchHooks = { readonly signal: AbortSignal; readonly onOpen: (headers: Headers) => void };

type Batches<T extends AnyObject> = AsyncGenerator<readonly WatchEvent<T>[], void, void>;

export type WatchRequestOptions<T extends AnyObject> = {
  readonly send: (hooks: WatchHooks) => Batches<T>;
  /** When the server has accepted it. */
  readonly onOpen: (headers: Headers) => void;
  /** Where it begins: events after this version. */
  readonly version: string | undefined;
  /** How long it is agreed to live. */
  readonly lifeMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
};

export class WatchRequest<T extends AnyObject> implements Disposable {
  /** True once the server has accepted it, false if it ended before that; never rejects. */
  readonly accepted: Promise<boolean>;
  readonly lifeMs: number;
  events = 0;
  readonly #version: string | undefined;
  readonly #clock: Clock;
  readonly #caller: AbortSignal;
  readonly #cut = new AbortController();
  readonly #over = new AbortController();
  readonly #inTime = new AbortController();
  readonly #onAbort = () => this.#cut.abort(this.#caller.reason);
  readonly #stream: Batches<T>;
  readonly #begunAt: number;
  #openedAt: number | undefined;
  #first: Promise<IteratorResult<readonly WatchEvent<T>[], void>> | undefined;
  #isSuperseded = false;
  /** Everything up to this version was delivered by another. */
  #deliveredUpTo: string | undefined;

  constructor({ send, onOpen, version, lifeMs, clock, signal }: WatchRequestOptions<T>) {
    this.lifeMs = lifeMs;
    this.#version = version;
    this.#clock = clock;
    this.#caller = signal;
    this.#begunAt = clock.now();
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener('abort', this.#onAbort, { once: true });
    let accept = (_isAccepted: boolean) => {};
    this.accepted = new Promise((resolve) => {
      accept = resolve;
    });
    const opened = (headers: Headers) => {
      if (this.isCut) return; // in the very moment in which the answer came
      this.#openedAt = clock.now();
      onOpen(headers);
      accept(true);
    };
    this.#stream = send({ signal: this.#cut.signal, onOpen: opened });
    this.#first = this.#stream.next();
    this.#first.catch(() => {}).finally(() => accept(false)); // thrown to whoever reads
  }

  /** Fires when it is over, by whatever end. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  get wasOpen(): boolean {
    return this.#openedAt !== undefined;
  }

  /** Since it was sent. */
  get ageMs(): number {
    return this.#clock.now() - this.#begunAt;
  }

  /** Since it was opened. */
  get livedMs(): number {
    return this.#clock.now() - (this.#openedAt ?? this.#begunAt);
  }

  get isSuperseded(): boolean {
    return this.#isSuperseded;
  }

  /** It was ended from our side: nothing that has come already is to be delivered. */
  get isCut(): boolean {
    return this.#cut.signal.aborted;
  }

  /** Undefined if it was superseded. */
  get cutReason(): unknown {
    return this.#isSuperseded ? undefined : this.#cut.signal.reason;
  }

  /** Calls when the time has come, unless it is over before. */
  after(ms: number, call: () => void): void {
    const { signal } = this.#over;
    this.#clock.sleep(ms, signal).then(
      () => signal.aborted || call(), // the time has come, but it may have ended in the same moment
      () => {}, // it was over before
    );
  }

  /** Unless `initialStateCame` is called in time, it ends with NO_INITIAL_END. */
  limitInitialState(ms: number): void {
    const message = 'Cannot use the watch: its initial state did not end in time';
    this.#clock.sleep(ms, this.#inTime.signal).then(
      () => this.fail(new TransportError('total', message, { code: NO_INITIAL_END, isTimeout: true })),
      () => {}, // it came
    );
  }

  initialStateCame(): void {
    this.#inTime.abort();
  }

  /**
   * Goes on from another that has delivered everything up to this version, maybe more than it had when this was sent.
   */
  follow(deliveredUpTo: string): void {
    if (this.#version === undefined || isBehind(this.#version, deliveredUpTo)) this.#deliveredUpTo = deliveredUpTo;
  }

  /**
   * It began before what was delivered, and has not come up to that: its history is not all that is needed to go on.
   */
  get isCatchingUp(): boolean {
    return this.#deliveredUpTo !== undefined;
  }

  /** Whether the one it follows has delivered this; to be asked of each event in turn, since versions only grow. */
  isDelivered(version: string): boolean {
    if (this.#deliveredUpTo === undefined) return false;
    if (!isBehind(this.#deliveredUpTo, version)) return true;
    this.#deliveredUpTo = undefined;
    return false;
  }

  /** Ends it, for whoever reads it, with this error. */
  fail(error: unknown): void {
    this.#cut.abort(error);
  }

  /** Nothing is read from it any more, not even what is here already: whatever follows it has it, too. */
  supersede(): void {
    this.#isSuperseded = true;
    this.#cut.abort(new Error('Another watch has taken its place'));
  }

  next(): Promise<IteratorResult<readonly WatchEvent<T>[], void>> {
    const next = this.#first ?? this.#stream.next();
    this.#first = undefined;
    return next;
  }

  [Symbol.dispose](): void {
    this.#cut.abort(new Error('The watch is over'));
    this.initialStateCame();
    this.#over.abort();
    this.#caller.removeEventListener('abort', this.#onAbort);
    this.#stream.return().catch(() => {}); // whatever it still has to say
  }
}
