/**
 * The workers of a server: threads that serve, each replaced when it dies.
 *
 *   load     the thread reads its code
 *   serve    it is given the store and the port, and says when it listens
 *   gone     another takes its place, at once; after a while, if such do not live long
 *
 * Always true: so many are wanted until the pool is closed. One that dies takes nothing along but its connections: what was
 * acknowledged is in the store, and its share of the port's queue is everybody's.
 */
import { MessageChannel } from 'node:worker_threads';
import { type SideLine, type Store, shareStore } from '../../store/index.ts';
import type { RunningWorker } from '../server-options.ts';
import type { SeatTable } from './seat-table.ts';
import { Replacing, ServerThread } from './server-thread.ts';
import type { Answers } from './thread-line.ts';
import { ASKED_OF_WORKER, type StartOrder } from './worker-messages.ts';

export type PoolOptions = {
  readonly count: number;
  /** Where seats are counted, and the table on it. */
  readonly seatMemory: SharedArrayBuffer;
  readonly seats: SeatTable;
  /** What workers may ask; `log` and `audit` are told. */
  readonly answers: Answers;
  readonly log: (line: string) => void;
};

export type PoolOrder = Omit<StartOrder, 'store' | 'number' | 'seats' | 'seat' | 'threads'> & {
  readonly store: Store;
  readonly serveFeed: (line: SideLine) => void;
};

type Member = {
  readonly number: number;
  /** Its place in the seat table, which another has when it is gone; 0 is the owner's. */
  readonly seat: number;
  readonly thread: ServerThread;
  serves: boolean;
};

/** How long the whole waits for what one thread tells of itself. */
const ANSWER_MS = 5000;

export class WorkerPool {
  readonly #options: PoolOptions;
  readonly #members = new Set<Member>();
  readonly #exits = new Set<Promise<unknown>>();
  readonly #replacing = new Replacing();
  readonly #isFull: Promise<void>;
  #onFull!: () => void;
  #order: PoolOrder | undefined;
  #lastNumber = 0;
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#isFull = new Promise((resolve) => {
      this.#onFull = resolve;
    });
  }

  /** Starts them; true when all of them listen, false if the pool was closed before. */
  async serve(order: PoolOrder): Promise<boolean> {
    this.#order = order;
    for (let number = 0; number < this.#options.count; number++) void this.#startAnother();
    await this.#isFull;
    return !this.#isClosed;
  }

  /** What each of them answers; those that are gone, or too busy to say, are left out. */
  async askAll<T>(name: string, argument?: unknown): Promise<T[]> {
    const answers: T[] = [];
    await Promise.all(
      [...this.#members].map(async ({ thread, serves }) => {
        if (!serves) return;
        const answer = await within(thread.line.ask<T>(name, argument), ANSWER_MS).catch(() => undefined);
        if (answer !== undefined) answers.push(answer);
      }),
    );
    return answers;
  }

  /** Those that serve. */
  workers(): RunningWorker[] {
    return [...this.#members]
      .filter(({ serves }) => serves)
      .map(({ number, thread }) => ({ number, terminate: () => thread.terminate() }));
  }

  tellAll(name: string): void {
    for (const { thread } of this.#members) thread.line.tell(name);
  }

  /** Lets them finish what they serve; resolves when their threads are gone. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#onFull();
    await Promise.all(
      [...this.#members].map(async ({ thread, serves }) => {
        if (serves) await thread.line.ask(ASKED_OF_WORKER.stop).catch(() => {});
        await thread.terminate();
      }),
    );
    await Promise.all(this.#exits);
  }

  #add(): Member {
    const thread = new ServerThread('server-worker', this.#options.answers);
    const taken = new Set([...this.#members].map(({ seat }) => seat));
    let seat = 1;
    while (taken.has(seat)) seat++;
    const member: Member = { number: ++this.#lastNumber, seat, thread, serves: false };
    const exit = thread.ended.then(({ code, reason, livedMs }) => {
      this.#exits.delete(exit);
      this.#members.delete(member);
      this.#options.seats.release(seat);
      if (!this.#isClosed && member.serves) this.#replace(member.number, code, reason, livedMs);
    });
    this.#exits.add(exit);
    this.#members.add(member);
    return member;
  }

  async #start(member: Member): Promise<void> {
    const { store, serveFeed, ...order } = this.#order!;
    const { port1, port2 } = new MessageChannel();
    const share = shareStore(store, port1);
    serveFeed(share.beside);
    void member.thread.ended.then(() => share.detach());
    const { number, seat } = member;
    const { count, seatMemory: seats } = this.#options;
    const start: StartOrder = { ...order, number, seat, seats, threads: count + 1, store: port2 };
    await member.thread.line.ask(ASKED_OF_WORKER.start, start, [port2]);
    member.serves = true;
    if (this.workers().length === this.#options.count) this.#onFull();
  }

  #replace(number: number, code: number, reason: string, livedMs: number): void {
    this.#options.log(`worker ${number} has ended with code ${code}${reason}; another takes its place`);
    setTimeout(() => void this.#startAnother(), this.#replacing.pauseAfter(livedMs)).unref();
  }

  async #startAnother(): Promise<void> {
    if (this.#isClosed) return;
    const bornAt = performance.now();
    const member = this.#add();
    try {
      await this.#start(member);
    } catch (err) {
      if (this.#isClosed) return;
      await member.thread.terminate();
      this.#replace(member.number, 1, `: it did not start: ${(err as Error).message}`, performance.now() - bornAt);
    }
  }
}

/** Rejects when the time is over; what was asked goes on. */
function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('no answer in time')), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
