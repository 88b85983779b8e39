/**
 * Time for everything in this process at once: server, clients, informers, queues, elections, controllers. It stands still
 * until the test turns it, and then everything that falls due happens in order of its time, so ten hours take as long
 * as what happens in them, and happen the same way every time.
 *
 *     await using server = await startTestServer({ clock: new VirtualClock() });
 *     await server.clock.advance(10 * 3_600_000);
 *
 * Always true: time moves only when nobody works: the store has answered, nothing has gone through a connection within
 * the process, and the event loop has turned a few times with nothing new. That is certain for what stays in the process (`server.kube`); what goes through a socket of the system
 * may still be on its way. Real time goes on for what guards sockets and disks, and for TLS.
 */
import type { TimeSource } from '../../api/index.ts';
import { dueAfter, Sleepers } from './sleepers.ts';

export type VirtualClockOptions = {
  /** What the date is at the beginning: now. */
  readonly date?: Date;
};

/** More than it takes from one thing that is waited for to the next: two, as measured. Less is enough where none was. */
const QUIET_TURNS = 6;
const FIRST_TURNS = 3;
/** Whoever works longer than this waits for something that only time will bring. */
const STUCK_MS = 20_000;
const STUCK = 'Cannot let time pass: somebody has been at work for long, and may be waiting for time to pass';

/** Somebody that time stands still for. */
type Working = {
  readonly isWorking: () => boolean;
  /** Resolves once it does not, where that can be told: the loop is then left alone, and not turned until it is so. */
  readonly untilDone: (() => Promise<unknown>) | undefined;
};

export class VirtualClock implements TimeSource {
  readonly #beganAt: number;
  readonly #sleepers = new Sleepers();
  readonly #working = new Set<Working>();
  #now = 0;
  #turning: Promise<unknown> = Promise.resolve();

  constructor({ date = new Date() }: VirtualClockOptions = {}) {
    this.#beganAt = date.getTime();
  }

  /** Milliseconds since it was made. */
  now(): number {
    return this.#now;
  }

  /** The date, in milliseconds since 1970. */
  wallNow(): number {
    return this.#beganAt + this.#now;
  }

  /** How many sleeps are waiting. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#sleepers.sleepUntil(dueAfter(this.#now, ms), signal);
  }

  /** Lets so much time pass. Resolves when all that fell due has happened. */
  advance(ms: number): Promise<void> {
    const turn = this.#turning.then(() => this.#advance(ms));
    this.#turning = turn.catch(() => {});
    return turn;
  }

  /** Lets time pass until `isSo`, from one thing that falls due to the next, but no longer than `limitMs`: an hour. */
  async until(isSo: () => boolean | Promise<boolean>, limitMs = 3_600_000): Promise<void> {
    const end = this.#now + limitMs;
    await this.settle();
    while (!(await isSo())) {
      const next = this.#sleepers.first?.at ?? Number.POSITIVE_INFINITY;
      if (next > end) throw new Error(`Cannot wait any longer: it was not so within ${limitMs} ms of virtual time`);
      await this.advance(Math.max(0, next - this.#now));
    }
  }

  /** Until nobody works: no time passes. */
  async settle(): Promise<void> {
    const giveUpAt = performance.now() + STUCK_MS;
    for (let quiet = QUIET_TURNS - FIRST_TURNS; quiet < QUIET_TURNS; quiet++) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      const working = this.#firstAtWork();
      if (!working) continue;
      quiet = -1;
      if (working.untilDone) await within(giveUpAt - performance.now(), working.untilDone());
      if (performance.now() > giveUpAt) throw new Error(STUCK);
    }
  }

  /** Time stands still while `isWorking`; what is returned takes that back. `untilDone` resolves when it has ended. */
  waitFor(isWorking: () => boolean, untilDone?: () => Promise<unknown>): () => void {
    const working = { isWorking, untilDone };
    this.#working.add(working);
    return () => this.#working.delete(working);
  }

  async #advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await this.settle();
    for (let next = this.#sleepers.first; next && next.at <= end; next = this.#sleepers.first) {
      this.#now = Math.max(this.#now, next.at);
      this.#sleepers.wakeDue(this.#now);
      await this.settle();
    }
    this.#now = end;
  }

  #firstAtWork(): Working | undefined {
    for (const working of this.#working) if (working.isWorking()) return working;
    return undefined;
  }
}

/** Until it is done, or so much real time has gone by. */
async function within(ms: number, done: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([done, over]);
  clearTimeout(timer);
}
