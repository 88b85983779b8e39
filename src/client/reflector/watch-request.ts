/**
 * One watch request of a reflector, from the moment it is sent until it is read out, with all that can end it from our
 * side: the caller's signal, a limit on its initial state, and a successor that takes its place.
 *
 * It is sent at once, and not when the first event is asked for, so that it can be opened beside another. Disposing
 * breaks it off, and leaves no timer and no listener behind.
 */
import type { Clock } from '../../api/index.ts';
import { TransportError } from '../errors.ts';
import type { AnyObject } from '../resources/objects.ts';
import type { WatchEvent } from '../watch/watch-event.ts';
import { NO_INITIAL_END } from './reflector-state.ts';

/** Of this request, to be given to `watchBatches`. */
type Hooks = { readonly signal: AbortSignal; readonly onOpen: () => void };

export class WatchRequest<T extends AnyObject> implements Disposable {
  /** True once the server has accepted it, false if it ended before that; never rejects. */
  readonly accepted: Promise<boolean>;
  /** Resolves to the one that takes its place, or to undefined if that failed; set while one is on the way. */
  successor: Promise<WatchRequest<T> | undefined> | undefined;
  /** What this one took over had been told up to here. */
  toldUpTo: string | undefined;
  events = 0;
  readonly #clock: Clock;
  readonly #caller: AbortSignal;
  readonly #cut = new AbortController();
  readonly #over = new AbortController();
  readonly #inTime = new AbortController();
  readonly #onAbort = () => this.#cut.abort(this.#caller.reason);
  readonly #stream: AsyncGenerator<readonly WatchEvent<T>[], void, void>;
  readonly #begunAt: number;
  #openedAt: number | undefined;
  #first: Promise<IteratorResult<readonly WatchEvent<T>[], void>> | undefined;
  #isSuperseded = false;

  constructor(
    open: (hooks: Hooks) => AsyncGenerator<readonly WatchEvent<T>[], void, void>,
    onOpen: () => void,
    clock: Clock,
    caller: AbortSignal,
  ) {
    this.#clock = clock;
    this.#caller = caller;
    this.#begunAt = clock.now();
    if (caller.aborted) this.#onAbort();
    else caller.addEventListener('abort', this.#onAbort, { once: true });
    let accept = (_isAccepted: boolean) => {};
    this.accepted = new Promise((resolve) => {
      accept = resolve;
    });
    const opened = () => {
      this.#openedAt = clock.now();
      onOpen();
      accept(true);
    };
    this.#stream = open({ signal: this.#cut.signal, onOpen: opened });
    this.#first = this.#stream.next();
    this.#first.catch(() => {}).finally(() => accept(false)); // told to whoever reads
  }

  get wasOpen(): boolean {
    return this.#openedAt !== undefined;
  }

  /** Since it was opened. */
  get livedMs(): number {
    return this.#clock.now() - (this.#openedAt ?? this.#begunAt);
  }

  get isSuperseded(): boolean {
    return this.#isSuperseded;
  }

  /** It was ended from our side: nothing that has come already is to be told. */
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
      () => this.#cut.abort(new TransportError('total', message, { code: NO_INITIAL_END, isTimeout: true })),
      () => {}, // it came
    );
  }

  initialStateCame(): void {
    this.#inTime.abort();
  }

  /** Nothing is read from it any more, not even what is here already: its successor has it, too. */
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
