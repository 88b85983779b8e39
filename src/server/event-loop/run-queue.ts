/**
 * Whose turn it is on the one thread: work that lasts asks for a turn between two slices, and gets it in the order of what
 * its account has used so far.
 *
 *   turn(account) ─► by virtual time, the account that had least first, ─► in every turn of the loop: of work that lasts
 *                    of one account requests before work that lasts         what fits in 0.5 ms, of requests in 5 ms
 *
 * Always true: however many are at work, sockets are looked at after about two slices, and a small request that comes while
 * ten long answers are written waits for one slice of one of them, not for one of each; an account is charged for what its
 * work took, to the microtask, and one that comes anew begins where the others are; nobody owes more than `MOST_DEBT_MS`,
 * and virtual time goes on with what is served, so whoever had much waits until the others have had as much, and no longer: also
 * where thousands come anew all the time. Of an account's turns some are always for its long work. The loop is the process's, and so is
 * this queue.
 */
/** Measured: about a megabyte of a long answer. */
const WORK_MS = 0.5;
const REQUESTS_MS = 5;
/** Of an account's turns, how many requests may take before one of its long work has one. */
const REQUESTS_BEFORE_WORK = 8;
/** What an account may be ahead of the others before it has to wait for a turn even for something short. */
const AHEAD_MS = 5;
const MOST_DEBT_MS = 500;
/** What a short request is taken to cost, where nobody measures it. */
const SHORT_MS = 0.25;

/** Whoever is charged for CPU: a flow of requests, or the server itself. */
export class CpuAccount {
  /** All that it was charged for. */
  usedMs = 0;
  /** Of the queue: virtual time, up to which it has had its share. */
  virtualMs = 0;
  /** Of the queue: the same when it last took its place there. */
  placeMs = 0;
  /** Of the queue: who waits in its name. */
  readonly #requests = new Line();
  readonly #work = new Line();
  #requestsInARow = 0;

  get waits(): number {
    return this.#requests.length + this.#work.length;
  }

  wait(resume: () => void, isRequest: boolean): void {
    (isRequest ? this.#requests : this.#work).push(resume);
  }

  get isRequestNext(): boolean {
    return this.#requests.length > 0 && (this.#work.length === 0 || this.#requestsInARow < REQUESTS_BEFORE_WORK);
  }

  /** Whose turn it is. */
  next(): () => void {
    const isRequest = this.isRequestNext;
    this.#requestsInARow = isRequest ? this.#requestsInARow + 1 : 0;
    return (isRequest ? this.#requests : this.#work).shift();
  }
}

/** In the order they came, from `#first` on. */
class Line {
  #waiting: (() => void)[] = [];
  #first = 0;

  get length(): number {
    return this.#waiting.length - this.#first;
  }

  push(resume: () => void): void {
    this.#waiting.push(resume);
  }

  /** The one who waits longest; those before are dropped when they are half of it, so that many cost no more than few. */
  shift(): () => void {
    const resume = this.#waiting[this.#first++]!;
    if (this.#first * 2 < this.#waiting.length) return resume;
    this.#waiting = this.#waiting.slice(this.#first);
    this.#first = 0;
    return resume;
  }
}

export class RunQueue {
  /** A heap: the account with the least is the first. Whoever was charged meanwhile is moved back when its turn comes. */
  readonly #heap: CpuAccount[] = [];
  #virtualMs = 0;
  #isScheduled = false;
  readonly #now: () => number;
  #begunAtMs = 0;
  #running: CpuAccount | undefined;
  #resumedAtMs = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Resolves when work may go on that lasts; at the earliest in the next turn of the loop. */
  turn(account: CpuAccount): Promise<void> {
    return this.#wait(account, false);
  }

  /** The same for a request that has not begun: most are short, and those that are not ask for turns of their own. */
  requestTurn(account: CpuAccount): Promise<void> {
    return this.#wait(account, true);
  }

  #wait(account: CpuAccount, isRequest: boolean): Promise<void> {
    return new Promise((resolve) => {
      account.wait(resolve, isRequest);
      if (account.waits === 1) this.#join(account);
      if (this.#isScheduled) return;
      this.#isScheduled = true;
      setImmediate(this.#begin);
    });
  }

  /** Whether something short may run at once; it is charged for it. False: it should ask for a turn. */
  mayRun(account: CpuAccount): boolean {
    if (account.virtualMs > this.#virtualMs + AHEAD_MS) return false;
    account.usedMs += SHORT_MS;
    // Of one that does not wait what it did not use before is gone.
    account.virtualMs =
      (account.waits > 0 ? account.virtualMs : Math.max(account.virtualMs, this.#virtualMs)) + SHORT_MS;
    return true;
  }

  readonly #begin = (): void => {
    this.#begunAtMs = this.#now();
    this.#step();
  };

  /** Settles what has just run, and lets the next one run. */
  readonly #step = (): void => {
    const now = this.#now();
    if (this.#running) this.#served(this.#running, now - this.#resumedAtMs);
    this.#running = undefined;
    if (this.#heap.length === 0) {
      this.#isScheduled = false;
      return;
    }
    const account = this.#first();
    if (now - this.#begunAtMs >= (account.isRequestNext ? REQUESTS_MS : WORK_MS)) {
      setImmediate(this.#begin);
      return;
    }
    this.#resume(account, now);
    queueMicrotask(this.#afterMicrotasks);
  };

  /** A tick that a microtask asks for comes when there are no microtasks left: all that the one resumed did at once is done. */
  readonly #afterMicrotasks = (): void => process.nextTick(this.#step);

  #resume(account: CpuAccount, now: number): void {
    const resume = account.next();
    this.#virtualMs = Math.max(this.#virtualMs, account.virtualMs);
    if (account.waits === 0) this.#leave();
    this.#running = account;
    this.#resumedAtMs = now;
    resume();
  }

  #first(): CpuAccount {
    for (;;) {
      const account = this.#heap[0]!;
      if (account.placeMs >= account.virtualMs) return account;
      account.placeMs = account.virtualMs;
      this.#sink(account);
    }
  }

  /** Of one that waited for it; each of those who wait still should have had its part of that time. */
  #served(account: CpuAccount, ms: number): void {
    account.usedMs += ms;
    account.virtualMs = Math.min(account.virtualMs + ms, this.#virtualMs + MOST_DEBT_MS);
    if (this.#heap.length > 0) this.#virtualMs += ms / (this.#heap.length + 1);
  }

  #join(account: CpuAccount): void {
    account.virtualMs = Math.max(account.virtualMs, this.#virtualMs);
    account.placeMs = account.virtualMs;
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (heap[above]!.placeMs <= account.placeMs) break;
      heap[at] = heap[above]!;
      at = above;
    }
    heap[at] = account;
  }

  /** The first one. */
  #leave(): void {
    const last = this.#heap.pop()!;
    if (this.#heap.length > 0) this.#sink(last);
  }

  /** From the first place to where it belongs. */
  #sink(account: CpuAccount): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && heap[below + 1]!.placeMs < heap[below]!.placeMs) below++;
      if (heap[below]!.placeMs >= account.placeMs) break;
      heap[at] = heap[below]!;
      at = below;
    }
    heap[at] = account;
  }
}

/** Of this process. */
export const runQueue: RunQueue = new RunQueue();

const accounts = new WeakMap<AbortSignal, CpuAccount>();

/** What is done under this signal is charged to this account. */
export function chargeTo(account: CpuAccount, signal: AbortSignal): void {
  accounts.set(signal, account);
}

/** Whoever works without a signal, or under one that nobody charges, is somebody of its own. */
export function accountOf(signal: AbortSignal | undefined): CpuAccount {
  return (signal && accounts.get(signal)) ?? new CpuAccount();
}
