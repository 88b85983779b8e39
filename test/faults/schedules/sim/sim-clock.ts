/**
 * Time of a simulated world: it stands still while anybody works, and jumps to the next thing that is due when nobody
 * does. So an hour takes as long as what happens in it, and what happens when is decided by the world alone.
 *
 * Nobody works means that the event loop has turned a few times with nothing new from outside; in a world without sockets,
 * files and threads there is no outside. Sleepers that are due together wake in the order in which they went to sleep.
 */
import type { Clock } from '../../../../src/api/index.ts';
import { dueAfter, Sleepers } from '../../../../src/testing/clocks/sleepers.ts';

/** Enough for a chain of awaits and streams; more would only cost. */
const TURNS = 2;
/** No schedule lasts a day, however much in it waits for an audit. */
const FOR_EVER_MS = 86_400_000;
/** Nor does it take so many wake-ups: a few thousand are usual. */
const MANY_WAKES = 2_000_000;

export class SimClock implements Clock {
  #now = 1_000_000;
  #asleepMs = 0;
  #wakes = 0;
  #trace = 0;
  readonly #sleepers = new Sleepers();

  now(): number {
    return this.#now;
  }

  /** Without the time in which the machine slept: nobody could have done anything about it. */
  awake(): number {
    return this.#now - this.#asleepMs;
  }

  get sleeping(): number {
    return this.#sleepers.size;
  }

  /** Everything that was ever due, in its order, as one number: two runs that agree in it were the same. */
  tell(): string {
    return `${this.#wakes} wake-ups until ${this.#now}, trace ${(this.#trace >>> 0).toString(16)}`;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#sleepers.sleepUntil(dueAfter(this.#now, ms), signal);
  }

  /** The machine sleeps: time goes on, and nobody is woken in between. */
  suspend(ms: number): void {
    this.#asleepMs += ms;
    this.#now += ms;
  }

  /** Lets the world go on until the work is done; throws if nothing is left that could move it, or if it takes for ever. */
  async drive<T>(work: Promise<T>): Promise<T> {
    const end = this.#now + FOR_EVER_MS;
    let isOver = false;
    const over = work.finally(() => {
      isOver = true;
    });
    over.catch(() => {}); // thrown below
    let idle = 0;
    while (!isOver) {
      for (let turn = 0; turn < TURNS; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
      const next = this.#sleepers.take();
      idle = next ? 0 : idle + 1;
      if (idle > 1000) throw new Error('Cannot go on: everybody waits, and nothing is due');
      if (!next) continue;
      this.#now = Math.max(this.#now, next.at);
      if (this.#wakes > MANY_WAKES) throw new Error('Cannot go on: somebody is woken again and again');
      if (this.#now > end) throw new Error('Cannot go on: somebody waits for what does not come');
      this.#wakes++;
      this.#trace = Math.imul(this.#trace ^ this.#now ^ (next.order << 8), 0x01000193);
      next.wake();
    }
    return over;
  }
}
