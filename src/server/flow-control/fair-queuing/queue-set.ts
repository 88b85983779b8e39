/**
 * The seats of one priority level, and the queues in front of them: fair queuing in seat-seconds.
 *
 *   arrive ─► the emptiest queue of the flow's hand ─► dispatch by virtual time ─► seats ─► finish
 *
 * Each queue is served as if all of them ran side by side, each with the same part of the seats; `currentR` is how far
 * such a queue has come, and the queue whose next request would end first is next. Who used more than was guessed pays
 * at its end, who used less gets it back.
 *
 * Always true: `seatsInUse` is the width of those who run and of those whose last seats are not free yet, and exceeds the
 * limit only when the limit has sunk or one request alone is wider; virtual time never goes back; a request that finishes
 * or is ejected, in whatever way and however often, gives its seats back once. While the first in line does not fit,
 * nobody overtakes it. A queue costs memory only while somebody is in it, however many there may be.
 *
 * With threads beside this one the limit is one of all of them together (`shared`); each has queues of its own.
 */

import { ChurningSet } from '../../event-loop/churning-set.ts';
import type { SeatCounter } from '../../workers/seat-table.ts';
import { type FlowRequest, GUESSED_SECONDS } from './flow-request.ts';
import { RequestQueue } from './request-queue.ts';
import type { SeatTimer } from './seat-timer.ts';
import { HandMemory } from './shuffle-hand.ts';

export type QueueConfig =
  | { readonly kind: 'exempt' }
  | { readonly kind: 'reject' }
  | { readonly kind: 'queue'; readonly queues: number; readonly handSize: number; readonly queueLengthLimit: number };

export type RejectReason = 'queue-full' | 'concurrency-limit';

export type Arrival = 'executing' | 'waiting' | RejectReason;

/** Told of what happens, on the hot path: adds numbers, and never throws. */
export interface QueueSetObserver {
  enqueued?(request: FlowRequest, queueLength: number): void;
  /** Waits no more, whether it runs now or was ejected. */
  dequeued?(request: FlowRequest, at: number): void;
  started?(request: FlowRequest): void;
  /** Ejected while it waited. */
  ejected?(request: FlowRequest): void;
  finished?(request: FlowRequest, seconds: number): void;
  /** Its seats are free again. */
  freed?(request: FlowRequest): void;
  notAccommodated?(request: FlowRequest): void;
  /** Seats in use and asked for may have changed: once for everything that one call has done, at `set.at`. */
  changed?(set: QueueSet): void;
}

/** How virtual time stood when a request last began to run: `r` itself, its queue's own `s`, and the bounds of all queues'. */
type LastDispatch = {
  r: number;
  s: number;
  readonly next: [min: number, max: number];
  readonly discounted: [min: number, max: number];
};

export class QueueSet {
  readonly lastDispatch: LastDispatch = { r: 0, s: 0, next: [0, 0], discounted: [0, 0] };
  limit: number;
  seatsInUse = 0;
  waitingSeats = 0;
  executing = 0;
  waiting = 0;
  dispatched = 0;
  rejected = 0;
  cancelled = 0;
  readonly running: ChurningSet<FlowRequest> = new ChurningSet();
  readonly #timer: SeatTimer;
  readonly #observer: QueueSetObserver;
  /** Counts the seats of all threads. */
  readonly #shared: SeatCounter | undefined;
  #waitsForSeats = false;
  #config: QueueConfig;
  #hands: HandMemory | undefined;
  readonly #queues = new Map<number, RequestQueue>();
  readonly #withWaiting = new Set<RequestQueue>();
  #activeQueues = 0;
  #currentR = 0;
  #at: number;
  #robin = 0;
  #arrivals = 0;

  constructor(
    config: QueueConfig,
    limit: number,
    timer: SeatTimer,
    observer: QueueSetObserver = {},
    shared?: SeatCounter,
  ) {
    this.limit = limit;
    this.#shared = shared;
    this.#timer = timer;
    this.#observer = observer;
    this.#at = timer.now();
    this.#config = config;
    this.#hands = handsFor(config);
  }

  get config(): QueueConfig {
    return this.#config;
  }

  /** When something happened here last, in seconds of the timer. */
  get at(): number {
    return this.#at;
  }

  get currentR(): number {
    return this.#currentR;
  }

  /** By all threads. */
  get seatsInUseByAll(): number {
    return this.#shared?.inUse ?? this.seatsInUse;
  }

  get isIdle(): boolean {
    return this.executing === 0 && this.waiting === 0 && this.seatsInUse === 0;
  }

  get queuesWithWaiting(): number {
    return this.#withWaiting.size;
  }

  queues(): Iterable<RequestQueue> {
    return this.#queues.values();
  }

  /** More queues are there at once; those too many stay until nobody is in them. */
  configure(config: QueueConfig): void {
    this.#config = config;
    this.#hands = handsFor(config);
    this.#advance();
    this.#dispatch();
    this.#observer.changed?.(this);
  }

  setLimit(limit: number): void {
    if (limit === this.limit) return;
    this.#advance(); // up to now the old limit counted
    this.limit = limit;
    this.#dispatch();
    this.#observer.changed?.(this);
  }

  arrive(request: FlowRequest): Arrival {
    request.arrivedAt = this.#advance();
    if (this.#config.kind !== 'queue') return this.#arriveWithoutQueue(request);
    const queue = this.#chooseQueue(request, this.#hands!);
    if (this.seatsInUseByAll >= this.limit && queue.length >= this.#config.queueLengthLimit) {
      this.rejected++;
      this.#forgetIfIdle(queue);
      return 'queue-full';
    }
    this.#enqueue(queue, request);
    this.#dispatch(request);
    this.#observer.changed?.(this);
    return (request.state as string) === 'executing' ? 'executing' : 'waiting';
  }

  /** False: it does not wait, it is too late or too early for that. */
  eject(request: FlowRequest): boolean {
    if (request.state !== 'waiting') return false;
    this.#advance();
    const queue = this.#queues.get(request.queueIndex)!;
    this.#dequeue(queue, request);
    request.state = 'over';
    this.cancelled++;
    if (!queue.isActive) this.#activeQueues--;
    queue.bound();
    this.#forgetIfIdle(queue);
    this.#observer.ejected?.(request);
    this.#dispatch(); // it may have stood in others' way
    this.#observer.changed?.(this);
    return true;
  }

  /** It does not run any more. Asked again, nothing happens. */
  finish(request: FlowRequest): void {
    if (request.state !== 'executing') return;
    const now = this.#advance();
    const seconds = Math.max(0, now - request.startedAt);
    request.state = 'over';
    this.executing--;
    this.running.delete(request);
    const queue = this.#queues.get(request.queueIndex);
    if (queue) {
      queue.executing--;
      if (!queue.isActive) this.#activeQueues--;
      queue.nextDispatchR -= request.initialSeats * (GUESSED_SECONDS - seconds);
      queue.bound();
    }
    this.#observer.finished?.(request, seconds);
    if (request.extraSeconds > 0) {
      this.#timer.after(request.extraSeconds, () => {
        this.#advance();
        this.#free(request, queue);
      });
      this.#observer.changed?.(this);
    } else this.#free(request, queue);
  }

  #arriveWithoutQueue(request: FlowRequest): Arrival {
    if (!this.#claim(request, request.width)) {
      this.rejected++;
      return 'concurrency-limit';
    }
    this.#start(request, undefined);
    this.#observer.changed?.(this);
    return 'executing';
  }

  #chooseQueue({ schemaName, distinguisher }: FlowRequest, hands: HandMemory): RequestQueue {
    const hand = hands.handOf(schemaName, distinguisher);
    const offset = this.#arrivals++ % hand.length;
    let chosen = 0;
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < hand.length; i++) {
      const index = hand[(offset + i) % hand.length]!;
      const work = this.#queues.get(index)?.workSum ?? 0;
      if (work >= least) continue;
      least = work;
      chosen = index;
      if (work === 0) break; // the first of the emptiest
    }
    let queue = this.#queues.get(chosen);
    if (!queue) {
      queue = new RequestQueue(chosen);
      this.#queues.set(chosen, queue);
    }
    return queue;
  }

  #enqueue(queue: RequestQueue, request: FlowRequest): void {
    request.arrivalR = this.#currentR;
    request.queueIndex = queue.index;
    request.state = 'waiting';
    if (!queue.isActive) {
      queue.nextDispatchR = this.#currentR;
      this.#activeQueues++;
    }
    queue.push(request);
    this.#withWaiting.add(queue);
    this.waiting++;
    this.waitingSeats += request.width;
    queue.bound();
    this.#observer.enqueued?.(request, queue.length);
  }

  #dequeue(queue: RequestQueue, request: FlowRequest): void {
    queue.remove(request);
    this.#observer.dequeued?.(request, this.#at);
    if (queue.length === 0) this.#withWaiting.delete(queue);
    this.waiting--;
    this.waitingSeats -= request.width;
  }

  /** `arriving` is told by what `arrive` returns, not by its callback. */
  #dispatch(arriving?: FlowRequest): void {
    const mark = this.#shared?.mark() ?? 0;
    while (this.waiting > 0 && this.seatsInUseByAll < this.limit) {
      const queue = this.#nextQueue();
      const request = queue.oldest!;
      if (!this.#fits(request)) {
        this.#observer.notAccommodated?.(request);
        break;
      }
      const finalSeats = Math.min(request.finalSeats, this.limit);
      if (!this.#claim(request, Math.max(request.initialSeats, finalSeats))) break; // another thread was quicker
      this.#robin = queue.index;
      this.#noteDispatch(queue);
      this.#dequeue(queue, request);
      if (request.finalSeats > this.limit) {
        request.extraSeconds = (request.finalSeats * request.extraSeconds) / this.limit;
        request.finalSeats = finalSeats;
      }
      queue.nextDispatchR += request.work;
      queue.bound();
      this.#start(request, queue);
      if (request !== arriving) request.onStart();
    }
    if (this.waiting > 0) this.#waitForSeats(mark);
  }

  /** Until a thread gives seats back; all that wait hear of it at the same time, this one too. */
  #waitForSeats(mark: number): void {
    if (!this.#shared || this.#waitsForSeats) return;
    this.#waitsForSeats = true;
    this.#shared.whenFree(mark, () => {
      this.#waitsForSeats = false;
      if (this.waiting === 0) return;
      this.#advance();
      this.#dispatch();
      this.#observer.changed?.(this);
    });
  }

  #noteDispatch({ nextDispatchR }: RequestQueue): void {
    const { lastDispatch } = this;
    const { next, discounted } = lastDispatch;
    lastDispatch.r = this.#currentR;
    lastDispatch.s = nextDispatchR;
    next[0] = discounted[0] = Number.POSITIVE_INFINITY;
    next[1] = discounted[1] = Number.NEGATIVE_INFINITY;
    for (const queue of this.#withWaiting) {
      const s = queue.nextDispatchR;
      const less = s - queue.seatsInUse * GUESSED_SECONDS;
      if (s < next[0]) next[0] = s;
      if (s > next[1]) next[1] = s;
      if (less < discounted[0]) discounted[0] = less;
      if (less > discounted[1]) discounted[1] = less;
    }
  }

  /** The one whose oldest would end first in virtual time; among equals, the first after the last one served. */
  #nextQueue(): RequestQueue {
    let best: RequestQueue | undefined;
    let bestEnd = 0;
    for (const queue of this.#withWaiting) {
      const end = queue.nextDispatchR + queue.oldest!.work;
      if (best && (end > bestEnd || (end === bestEnd && !this.#isSooner(queue.index, best.index)))) continue;
      best = queue;
      bestEnd = end;
    }
    return best!;
  }

  /** In the round that begins after the last queue served. */
  #isSooner(index: number, other: number): boolean {
    const isAhead = index > this.#robin;
    return isAhead === other > this.#robin ? index < other : isAhead;
  }

  #fits({ width }: FlowRequest, inUse: number = this.seatsInUseByAll): boolean {
    if (this.#config.kind === 'exempt') return true;
    if (width > this.limit) return this.#shared ? inUse === 0 : this.executing === 0;
    return inUse + width <= this.limit;
  }

  /** Whether it may have so many seats. Of those of all threads they are taken here, of those of this one as it starts. */
  #claim(request: FlowRequest, seats: number): boolean {
    if (!this.#shared) return this.#fits(request);
    return this.#shared.take(seats, (inUse) => this.#fits(request, inUse));
  }

  #start(request: FlowRequest, queue: RequestQueue | undefined): void {
    request.state = 'executing';
    request.startedAt = this.#at;
    this.executing++;
    this.dispatched++;
    this.running.add(request);
    this.seatsInUse += request.width;
    if (queue) {
      queue.executing++;
      queue.seatsInUse += request.width;
    }
    this.#observer.started?.(request);
  }

  #free(request: FlowRequest, queue: RequestQueue | undefined): void {
    this.seatsInUse -= request.width;
    if (queue) {
      queue.seatsInUse -= request.width;
      this.#forgetIfIdle(queue);
    }
    this.#observer.freed?.(request);
    this.#shared?.giveBack(request.width); // whoever waits for seats is called, here and elsewhere
    if (!this.#shared) this.#dispatch();
    this.#observer.changed?.(this);
  }

  /** Who is not here when virtual time goes on begins where it then is: there is nothing to remember of an idle queue. */
  #forgetIfIdle(queue: RequestQueue): void {
    if (!queue.isActive && queue.seatsInUse === 0) this.#queues.delete(queue.index);
  }

  #advance(): number {
    const now = this.#timer.now();
    const seconds = now - this.#at;
    if (seconds <= 0) return this.#at;
    if (this.#activeQueues > 0) {
      const others = this.seatsInUseByAll - this.seatsInUse;
      const served = Math.max(0, Math.min(this.seatsInUse + this.waitingSeats, this.limit - others));
      this.#currentR += (seconds * served) / this.#activeQueues;
    }
    this.#at = now;
    return now;
  }
}

function handsFor(config: QueueConfig): HandMemory | undefined {
  return config.kind === 'queue' ? new HandMemory(config.queues, config.handSize) : undefined;
}
