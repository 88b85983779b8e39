/**
 * The work queue of a controller: which keys want attention, and who may give it.
 *
 *     addAfter, addRateLimited --> delayed --(due)--> waiting --get--> in flight --done--> gone
 *     addWhenQuiet -----------> debounced -(quiet)--> waiting
 *     add ------------------------------------------> waiting            add: once more when done
 *
 * Always true: a key waits once, however often it is added; it is in flight with one worker at most; what was added is
 * handed out at least once after it was added, unless the queue is closed. Who comes next is the business of
 * WaitingLine. Why a key was added is kept through all merging, up to `causeLimit` reasons.
 *
 * Bounded: at most `limit` keys are waiting, delayed, debounced or in flight; a further one is refused by
 * QueueFullError, so nothing is lost without a word. After `close` or `drain` adds are ignored and say so by `false`.
 */
import { type Clock, systemClock, untilAborted } from '../../api/index.ts';
import { Chain } from './chain.ts';
import { DelayLine } from './delay-line.ts';
import { QueueMetrics, type QueueMetricsSnapshot, type QueueObserver } from './queue-metrics.ts';
import { DEFAULT_RETRIES, RetryDelays, type RetryOptions } from './retry-delays.ts';
import { type AgeingOptions, InLine, WaitingLine } from './waiting-line.ts';

export type WorkQueueOptions<K> = {
  readonly clock?: Clock | undefined;
  /** Tells keys apart; the key itself where it is a string. */
  readonly identify?: ((key: K) => unknown) | undefined;
  /** Whose turn a key is; "ns/name" and { namespace } are understood without. */
  readonly namespaceOf?: ((key: K) => string) | undefined;
  readonly retries?: Partial<RetryOptions> | undefined;
  readonly ageing?: Partial<AgeingOptions> | undefined;
  readonly limit?: number | undefined;
  readonly causeLimit?: number | undefined;
  readonly observer?: QueueObserver | undefined;
};

export type AddOptions = {
  /** Why; kept until the key is handed out. */
  readonly cause?: string | readonly string[] | undefined;
  /** Higher comes first, 0 if not set; of several the highest counts. */
  readonly priority?: number | undefined;
  readonly namespace?: string | undefined;
};

export type WorkItem<K> = {
  readonly key: K;
  readonly causes: readonly string[];
  /** Further causes that there was no room for. */
  readonly omittedCauses: number;
  /** 1, and one more for each failure since the key was last forgotten. */
  readonly attempt: number;
  readonly priority: number;
  readonly namespace: string;
  readonly waitedMs: number;
};

export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';
}

/** No time at all. A number like any other time, so that it needs no object of its own. */
const NEVER = Number.NEGATIVE_INFINITY;

/** A key that is to be worked on, with all that were merged into it; then the same key in flight. */
class QueueItem<K> extends InLine {
  id: unknown = undefined;
  key: K = undefined as K;
  /** Few, so that looking through them is cheaper than a Set. */
  causes: string[] | undefined = undefined;
  omittedCauses = 0;
  /** While it is debounced: when it is handed on though it is not quiet. */
  latestAt: number | undefined = undefined;
  /** `NEVER` until it is in flight. */
  startedAt = NEVER;
  /** While it is in flight: added once more. */
  again: QueueItem<K> | undefined = undefined;

  constructor() {
    super('', 0, NEVER);
  }

  /** Holds nothing of its key any more. */
  cleared(): this {
    this.id = undefined;
    this.key = undefined as K;
    this.causes = undefined; // whoever worked on it may hold them
    this.omittedCauses = 0;
    this.latestAt = undefined;
    this.startedAt = NEVER;
    this.again = undefined;
    return this;
  }
}

type Reader<K> = (item: WorkItem<K> | undefined) => void;

/** So many quiet times after the first add, a key that is never quiet is handed on all the same. */
const QUIET_BOUND = 10;
const MANY_SPARES = 64;
const NO_CAUSES: readonly string[] = Object.freeze([]);
const NO_OPTIONS: AddOptions = {};
const DEFAULT_AGEING: AgeingOptions = { agedAfterMs: 1000, agedTurn: 4 };

export class WorkQueue<K> implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #identify: (key: K) => unknown;
  readonly #namespaceOf: (key: K) => string;
  readonly #limit: number;
  readonly #causeLimit: number;
  readonly #metrics: QueueMetrics;
  readonly #retries: RetryDelays;
  readonly #line: WaitingLine<QueueItem<K>>;
  readonly #delayed: DelayLine<QueueItem<K>>;
  /** Apart from the others, whose time must not be put off. */
  readonly #debounced: DelayLine<QueueItem<K>>;
  /** Those that wait and those in flight. */
  readonly #items = new Map<unknown, QueueItem<K>>();
  /** Items that are done with, to be used again: those of a long queue are old, and old garbage is dear. */
  readonly #spares: QueueItem<K>[] = [];
  readonly #readers = new Chain<Reader<K>>();
  #state: 'open' | 'draining' | 'closed' = 'open';
  #onIdle: (() => void)[] = [];

  constructor(options: WorkQueueOptions<K> = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#identify = options.identify ?? itself;
    this.#namespaceOf = options.namespaceOf ?? namespaceOfKey;
    this.#limit = options.limit ?? 1_000_000;
    this.#causeLimit = options.causeLimit ?? 8;
    this.#metrics = new QueueMetrics(options.observer);
    this.#retries = new RetryDelays({ ...DEFAULT_RETRIES, ...options.retries }, this.#clock, this.#limit);
    this.#line = new WaitingLine({ ...DEFAULT_AGEING, ...options.ageing });
    this.#delayed = new DelayLine(this.#clock, (item) => this.#due(item));
    this.#debounced = new DelayLine(this.#clock, (item) => this.#due(item));
  }

  /** How many wait, ready to be handed out. */
  get depth(): number {
    return this.#line.size;
  }

  /** How long the oldest of them has waited; 0 if none does. */
  get oldestMs(): number {
    const { oldest } = this.#line;
    return oldest ? this.#clock.now() - oldest.addedAt : 0;
  }

  /** False if the queue takes nothing more. */
  add(key: K, options: AddOptions = NO_OPTIONS): boolean {
    if (this.#state !== 'open') return false;
    const id = this.#identify(key);
    const present = this.#items.get(id);
    if (present && present.startedAt === NEVER && this.#debounced.size === 0) {
      this.#line.raise(present, priorityOf(key, options));
      this.#addCauses(present, options.cause);
      return true;
    }
    const item = this.#newItem(key, id, options);
    this.#checkRoom(item);
    this.#accept(item, present);
    return true;
  }

  /** Adds the key when the time has come; of several times the earliest counts. A key that waits now waits besides. */
  addAfter(key: K, delayMs: number, options: AddOptions = {}): boolean {
    if (Number.isNaN(delayMs)) throw new RangeError(`Cannot add ${show(key)} later: the delay is not a number`);
    if (this.#state !== 'open') return false;
    if (delayMs <= 0) {
      this.add(key, options);
    } else {
      const item = this.#newItem(key, this.#identify(key), options);
      const known = this.#delayed.get(item.id);
      if (known) this.#merge(known, item);
      else this.#checkRoom(item);
      this.#delayed.put(item.id, known ?? item, this.#clock.now() + delayMs);
    }
    this.#metrics.retried();
    return true;
  }

  /**
   * Adds the key once it was not added in this way for `quietMs`, at the latest ten times that after the first. It goes
   * at once with a key that is added by `add` or falls due meanwhile.
   */
  addWhenQuiet(key: K, quietMs: number, options: AddOptions = {}): boolean {
    if (Number.isNaN(quietMs)) throw new RangeError(`Cannot add ${show(key)} when quiet: the time is not a number`);
    if (this.#state !== 'open') return false;
    if (quietMs <= 0) return this.add(key, options);
    const item = this.#newItem(key, this.#identify(key), options);
    const present = this.#items.get(item.id);
    if (present && present.startedAt === NEVER) {
      this.#merge(present, item, true); // it has been quiet, and is not begun yet
      return true;
    }
    const known = this.#debounced.get(item.id);
    if (known) this.#merge(known, item);
    else this.#checkRoom(item);
    const debounced = known ?? item;
    const now = this.#clock.now();
    debounced.latestAt = Math.min(debounced.latestAt ?? Number.POSITIVE_INFINITY, now + quietMs * QUIET_BOUND);
    this.#debounced.move(item.id, debounced, Math.min(now + quietMs, debounced.latestAt));
    return true;
  }

  /** Counts a failure and adds the key after its backoff, which is returned; undefined if nothing more is taken. */
  addRateLimited(key: K, options: AddOptions = {}): number | undefined {
    if (this.#state !== 'open') return undefined;
    const delayMs = this.#retries.next(this.#identify(key));
    this.addAfter(key, delayMs, options);
    return delayMs;
  }

  /** Its failures are forgiven; where it waits does not change. */
  forget(key: K): void {
    this.#retries.forget(this.#identify(key));
  }

  /** Failures since the key was last forgotten. */
  retries(key: K): number {
    return this.#retries.failures(this.#identify(key));
  }

  /** The next key, once there is one; undefined when the queue has ended. Whoever gets a key owes `done`. */
  get(signal?: AbortSignal): Promise<WorkItem<K> | undefined> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#line.size > 0) return Promise.resolve(this.#take());
    if (this.#hasEnded()) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      const stop = () => {
        this.#readers.remove(link);
        reject(signal?.reason);
      };
      const link = this.#readers.append((item) => {
        signal?.removeEventListener('abort', stop);
        resolve(item);
      });
      signal?.addEventListener('abort', stop, { once: true });
    });
  }

  done(key: K): void {
    const id = this.#identify(key);
    const work = this.#items.get(id);
    if (!work || work.startedAt === NEVER) throw new Error(`Cannot finish ${show(key)}: it is not in flight`);
    this.#metrics.worked(this.#clock.now() - work.startedAt);
    if (work.again) this.#enqueue(work.again);
    else this.#items.delete(id);
    if (this.#spares.length < MANY_SPARES) this.#spares.push(work.cleared());
    this.#endIfIdle();
  }

  /** Takes nothing more, drops what is delayed, and waits until all that waits has been handed out and is done. */
  async drain(signal?: AbortSignal): Promise<void> {
    if (this.#state === 'open') this.#state = 'draining';
    this.#delayed.clear();
    this.#debounced.clear();
    this.#endIfIdle();
    if (this.#items.size === 0) return;
    await untilAborted(new Promise<void>((resolve) => this.#onIdle.push(resolve)), signal);
  }

  /** Takes nothing more and drops what waits; readers get undefined. What is in flight is still owed its `done`. */
  close(): void {
    this.#state = 'closed';
    this.#delayed.clear();
    this.#debounced.clear();
    this.#line.clear();
    for (const [id, item] of this.#items)
      if (item.startedAt === NEVER) this.#items.delete(id);
      else item.again = undefined;
    this.#endIfIdle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  metrics(): QueueMetricsSnapshot {
    const startedAt: number[] = [];
    for (const item of this.#items.values()) if (item.startedAt !== NEVER) startedAt.push(item.startedAt);
    const later = this.#delayed.size + this.#debounced.size;
    return this.#metrics.snapshot(this.#clock.now(), this.#line.size, later, startedAt);
  }

  #newItem(key: K, id: unknown, options: AddOptions): QueueItem<K> {
    const { cause, namespace } = options;
    const priority = priorityOf(key, options);
    const item = this.#spares.pop() ?? new QueueItem<K>();
    item.id = id;
    item.key = key;
    item.namespace = namespace ?? this.#namespaceOf(key);
    item.priority = priority;
    item.addedAt = this.#clock.now();
    this.#addCauses(item, cause);
    return item;
  }

  #addCauses(item: QueueItem<K>, cause: AddOptions['cause']): void {
    if (typeof cause === 'string') this.#addCause(item, cause);
    else if (cause) for (const one of cause) this.#addCause(item, one);
  }

  #due(item: QueueItem<K>): void {
    item.addedAt = this.#clock.now(); // it has not waited for a worker until now
    this.#accept(item, this.#items.get(item.id));
  }

  /** `present` is what is held of its key now: looked up by the caller, for a look costs more than the rest. */
  #accept(item: QueueItem<K>, present: QueueItem<K> | undefined): void {
    const debounced = this.#debounced.size > 0 ? this.#debounced.take(item.id) : undefined;
    if (debounced) this.#merge(item, debounced);
    if (present && present.startedAt === NEVER) {
      this.#merge(present, item, true);
    } else if (present?.again) {
      this.#merge(present.again, item);
    } else {
      if (present) present.again = item;
      else this.#enqueue(item);
      this.#metrics.added(this.#line.size);
    }
  }

  #enqueue(item: QueueItem<K>): void {
    this.#items.set(item.id, item);
    this.#line.push(item);
    const reader = this.#readers.shift();
    reader?.(this.#take());
  }

  #take(): WorkItem<K> | undefined {
    const now = this.#clock.now();
    const item = this.#line.take(now)!;
    item.startedAt = now;
    const { key, causes = NO_CAUSES, omittedCauses, priority, namespace } = item;
    const waitedMs = now - item.addedAt;
    this.#metrics.taken(waitedMs, this.#line.size);
    const attempt = this.#retries.failures(item.id) + 1;
    return { key, causes, omittedCauses, attempt, priority, namespace, waitedMs };
  }

  #merge(into: QueueItem<K>, item: QueueItem<K>, isInLine = false): void {
    if (item.causes) for (const cause of item.causes) this.#addCause(into, cause);
    into.omittedCauses += item.omittedCauses;
    if (isInLine) this.#line.raise(into, item.priority);
    else into.priority = Math.max(into.priority, item.priority);
  }

  #addCause(item: QueueItem<K>, cause: string): void {
    if (item.causes?.includes(cause)) return;
    if ((item.causes?.length ?? 0) >= this.#causeLimit) item.omittedCauses++;
    else if (item.causes) item.causes.push(cause);
    else item.causes = [cause];
  }

  /** One that is held already is never refused: what is in flight can always come back. */
  #checkRoom({ id, key }: QueueItem<K>): void {
    const held = this.#items.size + this.#delayed.size + this.#debounced.size;
    if (held < this.#limit || this.#items.has(id)) return;
    if (this.#delayed.get(id) || this.#debounced.get(id)) return;
    throw new QueueFullError(`Cannot add ${show(key)}: the queue holds ${held} keys`);
  }

  #hasEnded(): boolean {
    return this.#state === 'closed' || (this.#state === 'draining' && this.#items.size === 0);
  }

  #endIfIdle(): void {
    if (this.#hasEnded())
      for (let reader = this.#readers.shift(); reader; reader = this.#readers.shift()) reader(undefined);
    if (this.#state === 'open' || this.#items.size > 0) return;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }
}

/** One function for all queues, which V8 then knows. */
function itself<K>(key: K): unknown {
  return key;
}

function priorityOf(key: unknown, { priority = 0 }: AddOptions): number {
  if (Number.isNaN(priority)) throw new RangeError(`Cannot add ${show(key)}: its priority is not a number`);
  return priority;
}

function namespaceOfKey(key: unknown): string {
  if (typeof key === 'string') return key.slice(0, Math.max(0, key.indexOf('/')));
  const namespace = (key as { namespace?: unknown } | null)?.namespace;
  return typeof namespace === 'string' ? namespace : '';
}

function show(key: unknown): string {
  return typeof key === 'object' ? JSON.stringify(key) : JSON.stringify(String(key));
}
