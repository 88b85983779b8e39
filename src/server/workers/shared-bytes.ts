/**
 * Bytes that all threads of a server hold under one limit, counted together in memory that all of them see (seat-table.ts), in KiB.
 *
 * Each thread also tells how much the one user holds who has most there, and a hash of who that is, and can be asked to give: when there is too little
 * for a user who holds less, whoever holds most gives, on whichever thread that is. What a thread holds that dies is given
 * back with its seats.
 */
import { fnv1a, type SeatCounter, type SeatTable } from './seat-table.ts';

const KIBIBYTE = 1024;

type Thread = { readonly heaviest: SeatCounter; readonly user: SeatCounter; readonly asked: SeatCounter };

export class SharedBytes {
  readonly #held: SeatCounter;
  readonly #threads: readonly Thread[];
  readonly #thread: number;
  #heldHere = 0;
  #heaviestHere = 0;
  #heaviestUser = '';
  #isClosed = false;

  /** Undefined: there is no row left in the table, so that this thread counts for itself. */
  static of(table: SeatTable, name: string): SharedBytes | undefined {
    const held = table.counter(`bytes ${name}`);
    const threads: Thread[] = [];
    for (let i = 0; i < table.threads; i++) {
      const [heaviest, user, asked] = ['heaviest', 'user', 'asked'].map((of) => table.counter(`${of} ${name} ${i}`));
      if (heaviest && user && asked) threads.push({ heaviest, user, asked });
    }
    return held && threads.length === table.threads ? new SharedBytes(held, threads, table.thread) : undefined;
  }

  private constructor(held: SeatCounter, threads: readonly Thread[], thread: number) {
    this.#held = held;
    this.#threads = threads;
    this.#thread = thread;
  }

  /** By all threads. */
  get bytes(): number {
    return this.#held.inUse * KIBIBYTE;
  }

  /** This thread holds `bytes` in all from now on, if `fits` says so of what all of them held just before and would hold then. */
  setHeld(bytes: number, fits: (before: number, after: number) => boolean): boolean {
    const held = Math.ceil(bytes / KIBIBYTE);
    const more = held - this.#heldHere;
    if (more < 0) this.#held.giveBack(-more);
    else if (!this.#held.take(more, (inUse) => fits(inUse * KIBIBYTE, (inUse + more) * KIBIBYTE))) return false;
    this.#heldHere = held;
    return true;
  }

  /** What the user has who holds most here. */
  setHeaviest(username: string, bytes: number): void {
    const { heaviest, user } = this.#threads[this.#thread]!;
    const held = Math.ceil(bytes / KIBIBYTE);
    change(heaviest, held - this.#heaviestHere);
    this.#heaviestHere = held;
    if (username === this.#heaviestUser) return;
    change(user, hashOf(username) - hashOf(this.#heaviestUser));
    this.#heaviestUser = username;
  }

  /** The same on the other thread where that is most; `isUser`: whether it is this one. */
  heaviestElsewhere(): { readonly thread: number; readonly bytes: number; isUser(username: string): boolean } {
    let [most, bytes] = [-1, 0];
    for (const [thread, { heaviest }] of this.#threads.entries()) {
      if (thread === this.#thread || heaviest.inUse * KIBIBYTE <= bytes) continue;
      [most, bytes] = [thread, heaviest.inUse * KIBIBYTE];
    }
    return { thread: most, bytes, isUser: (name) => this.#threads[most]?.user.inUse === hashOf(name) };
  }

  /** Asks another thread to give. */
  ask(thread: number): void {
    this.#threads[thread]?.asked.giveBack(0);
  }

  /** Calls back whenever another thread asks, until it is closed. */
  onAsked(give: () => void): void {
    const { asked } = this.#threads[this.#thread]!;
    asked.whenFree(asked.mark(), () => {
      if (this.#isClosed) return;
      this.onAsked(give);
      give();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.ask(this.#thread);
  }
}

function change(counter: SeatCounter, more: number): void {
  if (more > 0) counter.take(more, () => true);
  if (more < 0) counter.giveBack(-more);
}

/** In 30 bits: two of them can be told from each other by a number that fits. 0 for nobody. */
function hashOf(name: string): number {
  return name === '' ? 0 : (fnv1a(name) >>> 2) + 1;
}
