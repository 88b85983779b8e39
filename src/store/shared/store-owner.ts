/**
 * The owner of a store, for threads that use it too: each has a port, and says there what it wants of the store.
 *
 *   store ─► StoreOwner ─► one Attachment per port ─► calls under way, watches with room for their reader
 *
 * Always true:
 * - Every call is one call of the store, made in the order in which they came, so what the store promises of order and of
 *   reads after writes holds across threads.
 * - The events of a commit leave for every thread no later than the answers of its writes do for any.
 * - A watch has at most its room under way: a reader that does not read costs no more, and falls behind in the store as
 *   any other does. The same holds for ranges of which the reader counts the bytes: what is too much is refused.
 * - When a port closes, however its thread came to its end, its watches are left and its reads given up; a write that is
 *   under way may still happen, and is waited for where its caller had no signal to give it up by.
 */
import type { MessagePort } from 'node:worker_threads';
import { StoreError } from '../errors.ts';
import type { KeyRange, RangeOptions, RangeResult, Store, TxnResult, Watch } from '../kv.ts';
import { Outbox } from './outbox.ts';
import {
  type CallName,
  type Greeting,
  type Order,
  RANGES_ROOM,
  type Report,
  type SideLine,
  tellError,
  WATCH_ROOM,
  weightOf,
} from './shared-messages.ts';
import { shareBatch, sharedPlaces, shareKvs, shareTxnResult } from './shared-values.ts';
import { PortSideLine } from './side-line.ts';

/** Pairs that are sent in one piece: writing more into a message would hold up everybody else. */
const PART_KVS = 500;

/** Serves the store on a port until that is closed, by either side; the store itself stays open. */
export function shareStore(
  store: Store,
  port: MessagePort,
  rangesRoom: number = RANGES_ROOM,
): { readonly beside: SideLine; detach(): void } {
  const { history } = store;
  const greeting: Greeting = {
    history: history && { name: history.name, ends: history.ends },
    maxPutBytes: store.maxPutBytes,
  };
  port.postMessage(greeting);
  return new Attachment(store, port, rangesRoom);
}

type RangeArguments = readonly [KeyRange, RangeOptions & { readonly isCounted?: boolean }];

/** Calls that make events. */
const WRITES: ReadonlySet<string> = new Set<CallName>(['txn', 'revokeLease']);

/** Those of each store that are attached to it. */
const attached = new WeakMap<Store, Set<Attachment>>();

type Reader = { readonly watch: Watch; sent: number; onRoom: (() => void) | undefined };

class Attachment {
  readonly beside: PortSideLine;
  readonly #store: Store;
  readonly #port: MessagePort;
  readonly #rangesRoom: number;
  readonly #out: Outbox<Report>;
  readonly #calls = new Map<number, AbortController>();
  readonly #readers = new Map<number, Reader>();
  /** Of ranges that are counted, on their way. */
  #rangeBytes = 0;
  readonly #all: Set<Attachment>;
  /** Among what waits to leave are events. */
  #hasNews = false;
  /** Among what waits to leave is the answer to a write. */
  #hasWritten = false;

  constructor(store: Store, port: MessagePort, rangesRoom: number) {
    this.#rangesRoom = rangesRoom;
    this.#store = store;
    this.#port = port;
    this.#out = new Outbox(port, () => this.#leaves());
    this.beside = new PortSideLine((beside) => this.#tell(beside));
    this.#all = attached.get(store) ?? new Set();
    attached.set(store, this.#all.add(this));
    port.on('message', (orders: readonly Order[]) => {
      for (const order of orders) this.#take(order);
    });
    port.on('close', () => this.#end());
    port.unref(); // the threads keep the process alive, if anything
  }

  detach(): void {
    this.#out.close();
    this.#port.close();
    this.#end();
  }

  /** What others are to hear of a write leaves before its writer hears that it is done. */
  #leaves(): void {
    const hasWritten = this.#hasWritten;
    this.#hasWritten = false;
    this.#hasNews = false;
    if (hasWritten) for (const other of this.#all) if (other.#hasNews) other.#out.flush();
  }

  #tell(news: Extract<Report, { kind: 'batch' | 'beside' }>): void {
    this.#hasNews = true;
    this.#out.post(news);
  }

  #end(): void {
    this.#all.delete(this);
    this.beside.end();
    for (const call of this.#calls.values()) call.abort(new Error('the thread that asked is gone'));
    for (const [id, { watch, onRoom }] of this.#readers) {
      this.#readers.delete(id);
      void watch.return();
      onRoom?.();
    }
  }

  #take(order: Order): void {
    switch (order.kind) {
      case 'call':
        void this.#call(order);
        return;
      case 'cancel':
        this.#calls.get(order.id)?.abort(new Error('the caller has given up'));
        return;
      case 'arrived':
        this.#rangeBytes -= order.bytes;
        return;
      case 'watch':
        void this.#watch(order);
        return;
      case 'took':
        this.#took(order.id, order.weight);
        return;
      case 'progress':
        this.#readers.get(order.id)?.watch.requestProgress();
        return;
      case 'leave':
        this.#leave(order.id);
        return;
      case 'beside':
        this.beside.hear(order);
        return;
    }
  }

  async #call({ id, name, args, mayCancel }: Extract<Order, { kind: 'call' }>): Promise<void> {
    // A write that nobody gives up goes on to its end, also without its thread: a signal would be a sixth of what it costs here.
    const signal = name === 'txn' && !mayCancel ? undefined : this.#signalOf(id);
    try {
      if (name === 'range') await this.#range(id, args as RangeArguments, signal!);
      else {
        const result = sharedResult(name, await this.#ask(name, args, signal));
        if (WRITES.has(name)) this.#hasWritten = true;
        this.#out.post({ kind: 'answer', id, result });
      }
    } catch (err) {
      this.#out.post({ kind: 'failed', id, error: tellError(err) });
    } finally {
      this.#calls.delete(id);
    }
  }

  #signalOf(id: number): AbortSignal {
    const aborting = new AbortController();
    this.#calls.set(id, aborting);
    return aborting.signal;
  }

  #ask(name: string, args: readonly unknown[], signal: AbortSignal | undefined): Promise<unknown> {
    const given = [...args];
    const options = given.pop() as object;
    const method = this.#store[name as 'get'] as (...all: unknown[]) => Promise<unknown>;
    return method.call(this.#store, ...given, signal ? { ...options, signal } : options);
  }

  /** Values are read into shared memory straight away, where the store lets us say where to. */
  async #range(id: number, [range, { isCounted, ...options }]: RangeArguments, signal: AbortSignal): Promise<void> {
    let counted = 0;
    const claim = (bytes: number) => {
      if (this.#rangeBytes + bytes > this.#rangesRoom)
        throw new StoreError('TooManyRequests', `Cannot read more: ${this.#rangeBytes} bytes are on their way`);
      this.#rangeBytes += bytes;
      counted += bytes;
    };
    try {
      const take = sharedPlaces();
      const result = await this.#store.range(range, { ...options, take, signal, ...(isCounted && { claim }) });
      await this.#answerRange(id, result, counted, signal);
    } catch (err) {
      this.#rangeBytes -= counted;
      throw err;
    }
  }

  /** All but the last piece ahead, a turn of the loop for each. */
  async #answerRange(id: number, result: RangeResult, counted: number, signal: AbortSignal): Promise<void> {
    let at = 0;
    for (; result.kvs.length - at > PART_KVS; at += PART_KVS) {
      this.#out.post({ kind: 'part', id, kvs: shareKvs(result.kvs.slice(at, at + PART_KVS)) });
      await new Promise((resolve) => setImmediate(resolve));
      signal.throwIfAborted();
    }
    const rest = { ...result, kvs: shareKvs(result.kvs.slice(at)) };
    this.#out.post({ kind: 'answer', id, result: rest, ...(counted > 0 && { counted }) });
  }

  async #watch({ id, range, options }: Extract<Order, { kind: 'watch' }>): Promise<void> {
    let error: unknown;
    try {
      const watch = this.#store.watch(range, options);
      const reader: Reader = { watch, sent: 0, onRoom: undefined };
      this.#readers.set(id, reader);
      void watch.started().then(
        (revision) => this.#out.post({ kind: 'started', id, revision }),
        () => {}, // the loop below meets the same error
      );
      for await (const batch of watch) {
        if (this.#readers.get(id) !== reader) return;
        const weight = weightOf(batch);
        reader.sent += weight;
        const { answersProgress } = watch;
        this.#tell({ kind: 'batch', id, batch: shareBatch(batch), weight, answersProgress });
        while (reader.sent >= WATCH_ROOM && this.#readers.get(id) === reader)
          await new Promise<void>((resolve) => {
            reader.onRoom = resolve;
          });
      }
    } catch (err) {
      error = err;
    }
    this.#readers.delete(id);
    this.#out.post({ kind: 'ended', id, error: error === undefined ? undefined : tellError(error) });
  }

  #took(id: number, weight: number): void {
    const reader = this.#readers.get(id);
    if (!reader) return;
    reader.sent -= weight;
    reader.onRoom?.();
  }

  #leave(id: number): void {
    const reader = this.#readers.get(id);
    if (!reader) return;
    this.#readers.delete(id);
    void reader.watch.return();
    reader.onRoom?.();
  }
}

function sharedResult(name: string, result: unknown): unknown {
  if (name === 'txn') return shareTxnResult(result as TxnResult);
  if (name !== 'get') return result;
  const { revision, kv } = result as Awaited<ReturnType<Store['get']>>;
  return { revision, kv: kv && shareKvs([kv])[0] };
}
