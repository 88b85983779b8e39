/**
 * A worker's share of the connections that come to a port from which several take.
 *
 *   listening ─► has more than its share ─► pausing ─► has no more than any other, or no other answers ─► listening
 *
 * Whoever wakes first takes a connection, so left alone one worker has most of those that come at once. Each tells how many
 * it has open in memory that all see (seat-table.ts). One that has more than the slack above another lets go of its
 * copy of the port's socket and leaves what comes to the others; it listens on a further copy (socket-copies.ts)
 * when it is level with them.
 *
 * Always true: a worker pauses only while another has fewer and answers, and who has fewest listens as soon as it hears of
 * it. Who pauses asks: one that does not answer in time hangs, or has long work in hand, and counts for nobody until it
 * answers again; one that dies is taken out by the owner of the table. So a connection waits for a worker that hangs no
 * longer than one has time to answer. Without a copy at hand nobody pauses: then the share is as it comes.
 */
import type { Socket } from 'node:net';
import type { Clock } from '../../../api/clock.ts';
import type { SeatCounter, SeatTable } from '../seat-table.ts';
import type { SocketHandle } from './bound-port.ts';

/** A worker may have so many more than another, and a part of its own more. */
const SLACK = 4;
const SLACK_PART = 1 / 32;
/** No turn of a worker's loop is so long, as a rule. */
const ANSWER_MS = 50;

/** What listens: it can let go of the port, and have it again. */
export interface SharedPort {
  listen(handle: SocketHandle): void;
  letGo(): void;
}

/** Where copies of the port's socket come from. */
export interface CopySource {
  /** Whether `take` has one. */
  readonly hasOne: boolean;
  take(): SocketHandle;
  close(): Promise<void>;
}

type Told = { readonly connections: SeatCounter; readonly present: SeatCounter; readonly answers: SeatCounter };
/** `silentAt`: what it had answered when it was last asked in vain. */
type Other = Told & { silentAt: number | undefined };

export class PortShare {
  readonly #own: Told;
  readonly #others: readonly Other[];
  /** How many pause; rung when something has changed for them, or to ask. */
  readonly #bell: SeatCounter;
  readonly #copies: CopySource;
  readonly #clock: Clock;
  #port: SharedPort | undefined;
  #pausing: AbortController | undefined;

  /** Undefined: there is no row left in the table, so that this thread takes what it gets. */
  static of(table: SeatTable, copies: CopySource, clock: Clock): PortShare | undefined {
    const all = Array.from({ length: table.threads }, (_, thread) => toldBy(table, thread));
    const bell = table.counter('port');
    const own = all[table.thread];
    const others = all.filter((told) => told !== undefined && told !== own) as Told[];
    if (!bell || !own || others.length < all.length - 1) return undefined;
    return new PortShare(own, others, bell, copies, clock);
  }

  private constructor(own: Told, others: readonly Told[], bell: SeatCounter, copies: CopySource, clock: Clock) {
    this.#own = own;
    this.#others = others.map((told) => ({ ...told, silentAt: undefined }));
    this.#bell = bell;
    this.#copies = copies;
    this.#clock = clock;
  }

  /** From now on, on a port that is listened to. */
  begin(port: SharedPort): void {
    this.#port = port;
    this.#own.present.take(1, always);
    this.#hearBell();
    this.#ring();
  }

  /** A connection was taken, and is open until its socket closes. */
  taken(socket: Pick<Socket, 'on'>): void {
    this.#own.connections.take(1, always);
    socket.on('close', this.#ended);
    if (this.#bell.inUse > 0) this.#ring();
    this.#reconsider();
  }

  /** Lets go of the copies; whoever listens is told by others to stop. */
  async close(): Promise<void> {
    this.#port = undefined;
    if (this.#pausing) this.#endPause();
    this.#own.present.giveBack(1);
    this.#ring();
    await this.#copies.close();
  }

  readonly #ended = (): void => {
    this.#own.connections.giveBack(1);
    if (this.#pausing) this.#reconsider();
  };

  #reconsider(): void {
    if (!this.#port) return;
    const { inUse: own } = this.#own.connections;
    if (this.#pausing) {
      if (own <= this.#fewestElsewhere()) this.#resume(this.#port);
    } else if (own > this.#fewestElsewhere() + SLACK + own * SLACK_PART) this.#pause(this.#port);
  }

  #pause(port: SharedPort): void {
    if (!this.#copies.hasOne) return;
    this.#bell.take(1, always);
    port.letGo();
    this.#pausing = new AbortController();
    void this.#askOthers(this.#pausing.signal);
  }

  #resume(port: SharedPort): void {
    this.#endPause();
    port.listen(this.#copies.take());
  }

  #endPause(): void {
    this.#pausing?.abort();
    this.#pausing = undefined;
    this.#bell.giveBack(1);
  }

  /** Of those that answer. */
  #fewestElsewhere(): number {
    let fewest = NOBODY;
    for (const other of this.#others) {
      const isPresent = other.present.inUse > 0;
      if (!isPresent || other.answers.inUse !== other.silentAt) other.silentAt = undefined;
      if (isPresent && other.silentAt === undefined) fewest = Math.min(fewest, other.connections.inUse);
    }
    return fewest;
  }

  /** As long as it pauses. */
  async #askOthers(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const before = this.#others.map(({ answers }) => answers.inUse);
      this.#ring();
      await this.#clock.sleep(ANSWER_MS, signal).catch(() => {});
      if (signal.aborted) return;
      for (const [i, other] of this.#others.entries()) other.silentAt = before[i];
      this.#reconsider();
    }
  }

  #ring(): void {
    this.#bell.giveBack(0);
  }

  #hearBell(): void {
    this.#bell.whenFree(this.#bell.mark(), () => {
      if (!this.#port) return;
      this.#hearBell();
      this.#own.answers.take(1, always);
      this.#reconsider();
    });
  }
}

const NOBODY = Number.POSITIVE_INFINITY;

function toldBy(table: SeatTable, thread: number): Told | undefined {
  const [connections, present, answers] = ['connections of', 'presence of', 'answers of'].map((what) =>
    table.counter(`${what} ${thread}`),
  );
  return connections && present && answers && { connections, present, answers };
}

function always(): boolean {
  return true;
}
