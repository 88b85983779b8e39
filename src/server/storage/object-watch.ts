/**
 * One client's watch, as far as it is the same wherever it reads from: what is written, how fast, and its end.
 *
 *   initial   the state it begins with is being written, as fast as the client takes it
 *   behind    its place is `complete`; what follows is read from somewhere and written
 *   live      all there is has been written, and it waits for more
 *   ended     nothing more is written
 *
 * Always true: everything that matches, up to and with `complete`, has been written; while it is live, nothing above
 * it. A slow client costs its own place and nothing else. Only when its history is compacted away is it sent 410 and
 * ended.
 */
import { isStatusError } from '../../api/index.ts';
import { isStoreError, type Revision, type Watch, type WatchEvent } from '../../store/index.ts';
import { CpuAccount, runQueue } from '../event-loop/run-queue.ts';
import { WorkSlices } from '../event-loop/work-slices.ts';
import type { ByteStream } from '../request/request-context.ts';
import type { StreamEnd } from '../request/stream-end.ts';
import { type EventEncoding, frameOf } from './event-encoding.ts';
import type { ObjectEvent } from './objects/object-event.ts';
import type { Selection } from './objects/selection.ts';
import type { StoredObject } from './objects/stored-object.ts';

export type ObjectWatchOptions = {
  readonly stream: ByteStream;
  readonly selection: Selection;
  readonly encoding: EventEncoding;
  /** Everything after it is delivered. */
  readonly after: Revision;
  /** The state to begin with, as of `after`; unfiltered. */
  readonly initial?: readonly StoredObject[] | undefined;
  readonly allowsBookmarks: boolean;
  /** Who is charged for what it takes until it is live, and whenever it has fallen behind. */
  readonly account?: CpuAccount | undefined;
};

/** What a watch reads from, as far as all of them do. */
export type WatchedStorage = {
  /** All that are open. */
  readonly watches: Set<ObjectWatch>;
  /** What those that have ended sent. */
  readonly sent: { events: number; bytes: number };
  openLog(fromRevision: Revision): Watch;
  readEvent(event: WatchEvent): ObjectEvent | Promise<ObjectEvent>;
};

/** Where a watch is, at the moment somebody looks. */
export type WatchReport = {
  /** `log`: behind, and read from the store's log. */
  readonly state: 'initial' | 'live' | 'behind' | 'log' | 'ended';
  /** Everything up to it was written. */
  readonly complete: Revision;
  readonly ahead: Ahead;
  /** How long it has not been live; 0 while it is. */
  readonly notLiveMs: number;
  /** What waits for the client to read. */
  readonly unreadBytes: number;
  readonly eventsSent: number;
  readonly bytesSent: number;
  readonly bookmarksSent: number;
};

/** What a watch has before it: how far the others are, how many changes that is and how old the first of them is. */
export type Ahead = { readonly revision?: Revision; readonly events?: number; readonly oldestMs?: number };

/** Why a watch was told that its history is gone. */
export type WatchExpiry = {
  readonly asked: Revision;
  /** It was open and up to date before: too slow, not too late. */
  readonly wasLive: boolean;
  readonly oldest: Revision | undefined;
  readonly cause: unknown;
  readonly message: string;
};

/** Who answers for a watch that is open. One object for all questions: there may be many thousands of watches. */
export interface WatchKeeper {
  /** Asked when rights have changed, whether whoever opened it may still watch. */
  mayGoOn(): Promise<boolean>;
  /** Told once, if it ends because its history is gone. */
  expired(expiry: WatchExpiry): void;
}

const STRETCH_BYTES = 256 * 1024;

type EndListener = (watch: ObjectWatch) => void;
const NOBODY: readonly EndListener[] = [];

export abstract class ObjectWatch {
  readonly selection: Selection;
  readonly encoding: EventEncoding;
  /** Where it began. */
  readonly after: Revision;
  readonly allowsBookmarks: boolean;
  /** When the next bookmark is due, by the clock of whoever asks. */
  bookmarkAt = 0;
  /** When its time is over, by the same clock. */
  endsAt: number = Number.POSITIVE_INFINITY;
  keeper: WatchKeeper | undefined;
  protected eventsSent = 0;
  protected bookmarksSent = 0;
  protected readonly direct: WatchedStorage;
  protected readonly stream: ByteStream;
  protected state: 'initial' | 'behind' | 'live' | 'ended' = 'initial';
  protected complete: Revision;
  /** Until it is written: it would keep objects alive that have long changed. */
  #initial: readonly StoredObject[] | undefined;
  readonly #account: CpuAccount;
  #onDrained: (() => void) | undefined;
  /** While it reads from the store's log. */
  #log: Watch | undefined;
  #endListeners: readonly EndListener[] = NOBODY;
  #notLiveSince = performance.now();
  #wasLive = false;

  constructor(direct: WatchedStorage, options: ObjectWatchOptions) {
    this.direct = direct;
    this.selection = options.selection;
    this.encoding = options.encoding;
    this.after = options.after;
    this.allowsBookmarks = options.allowsBookmarks;
    this.stream = options.stream;
    this.#initial = options.initial;
    this.#account = options.account ?? new CpuAccount();
    this.complete = options.after;
    direct.watches.add(this);
    // Who has left already is told so at once, and a watch cannot end before it is made.
    queueMicrotask(() => this.stream.onClose((why) => this.end(why)));
  }

  get isLive(): boolean {
    return this.state === 'live';
  }

  /** Where it is now. Costs a look into the window at most: all else is counted anyway. */
  report(): WatchReport {
    return {
      state: this.state === 'behind' && this.#log ? 'log' : this.state,
      complete: this.complete,
      ahead: this.ahead(),
      notLiveMs: this.isLive ? 0 : performance.now() - this.#notLiveSince,
      unreadBytes: this.stream.bufferedBytes,
      eventsSent: this.eventsSent,
      bytesSent: this.stream.takenBytes,
      bookmarksSent: this.bookmarksSent,
    };
  }

  /** Never rejects: what fails is told to the client. */
  abstract start(): Promise<void>;

  /** Only on a live stream: a bookmark must not overtake anything. False: not now. */
  abstract sendBookmark(): boolean;

  /** What the client is told instead of `err`. */
  protected abstract refusalFor(err: unknown): unknown;

  /** Lets go of what it reads from, as it ends. */
  protected abstract leave(): void;

  askForProgress(): void {
    this.#log?.requestProgress();
  }

  /** Called once, when nothing more will be written. */
  onEnd(listener: EndListener): void {
    if (this.isEnded()) listener(this);
    else this.#endListeners = this.#endListeners.concat(listener); // exactly as long as it must be
  }

  /** Tells the client why, and ends. */
  fail(err: unknown): void {
    if (this.isEnded()) return;
    const refusal = this.refusalFor(err);
    if (isStatusError(refusal, 'Expired'))
      this.keeper?.expired({
        asked: this.#wasLive ? this.complete : this.after,
        wasLive: this.#wasLive,
        oldest: isStoreError(err) ? err.compactRevision : undefined,
        cause: err,
        message: refusal.message,
      });
    this.stream.write(this.encoding.error(refusal));
    this.end(isStatusError(refusal, 'Expired') ? 'expired' : 'error');
  }

  end(why: StreamEnd): void {
    if (this.isEnded()) return;
    this.leave();
    this.direct.watches.delete(this);
    this.direct.sent.events += this.eventsSent;
    this.direct.sent.bytes += this.stream.takenBytes;
    this.state = 'ended';
    this.#onDrained?.();
    void this.#log?.return();
    this.stream.end(why);
    for (const listener of this.#endListeners) listener(this);
  }

  /** What lies between it and those that have everything. */
  protected ahead(): Ahead {
    return {};
  }

  protected goLive(): void {
    this.state = 'live';
    this.#wasLive = true;
  }

  protected fallBehind(): void {
    if (this.isLive) this.#notLiveSince = performance.now();
    this.state = 'behind';
  }

  protected isEnded(): boolean {
    return this.state === 'ended';
  }

  /** The state it begins with, if there is one, and the bookmark that ends it. */
  protected async writeInitial(): Promise<void> {
    if (!this.#initial) return;
    await this.#writeMatching(this.#initial);
    this.#initial = undefined;
    if (!this.allowsBookmarks || this.isEnded()) return;
    this.stream.write(this.encoding.bookmark(this.after, true));
    this.bookmarksSent++;
  }

  /** From the store's own history, until that is enough, the watch ends, or the history does. */
  protected async readLog(isEnough: () => boolean): Promise<void> {
    const watch = this.direct.openLog(this.complete + 1);
    this.#log = watch;
    watch.requestProgress(); // nothing may follow at all: then this says that it has caught up
    try {
      for await (const { events, revision } of watch) {
        if (this.isEnded()) return;
        this.fallBehind();
        const slices = new WorkSlices(undefined, this.#account); // waiting for the batch was no work
        const frames: Buffer[] = [];
        for (const event of events) {
          const read = this.direct.readEvent(event);
          this.addFrame(read instanceof Promise ? await read : read, frames);
          if (slices.isOver) await slices.pause();
        }
        if (this.isEnded()) return;
        this.complete = revision;
        await this.write(frames);
        if (this.isEnded() || isEnough()) return;
      }
    } finally {
      this.#log = undefined;
      await watch.return();
    }
  }

  protected addFrame(event: ObjectEvent, frames: Buffer[]): void {
    if (event.revision <= this.after) return;
    const type = this.selection.typeOf(event);
    if (!type) return;
    frames.push(frameOf(event, type, this.encoding));
    this.eventsSent++;
  }

  /** Writes a stretch at a time and waits until the client can take the next; others get their turn in between. */
  protected async write(parts: readonly Buffer[]): Promise<void> {
    let at = 0;
    do {
      let canTakeMore = true;
      for (let bytes = 0; at < parts.length && bytes < STRETCH_BYTES; at++) {
        bytes += parts[at]!.length;
        canTakeMore = this.stream.write(parts[at]!); // what is written in one turn leaves as one
      }
      await this.#turn(canTakeMore);
    } while (at < parts.length && !this.isEnded());
  }

  protected drained(): Promise<void> {
    if (this.isEnded()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onDrained = () => {
        this.#onDrained = undefined;
        this.stream.onDrain(undefined);
        resolve();
      };
      this.stream.onDrain(this.#onDrained);
    });
  }

  async #writeMatching(objects: readonly StoredObject[]): Promise<void> {
    const { stream } = this;
    const { direct } = this.encoding;
    let stretch: StoredObject[] = [];
    let bytes = 0;
    const slices = new WorkSlices(undefined, this.#account);
    for (const object of objects) {
      if (slices.isOver) await slices.pause();
      if (this.isEnded()) return;
      if (!this.selection.matches(object)) continue;
      stretch.push(object);
      bytes += direct ? direct.bytesOf('ADDED', object) : object.bytes.length;
      if (bytes < stream.stretchBytes) continue;
      await this.#writeAdded(stretch, bytes);
      stretch = [];
      bytes = 0;
    }
    await this.#writeAdded(stretch, bytes);
  }

  async #writeAdded(objects: readonly StoredObject[], bytes: number): Promise<void> {
    this.eventsSent += objects.length;
    const { direct } = this.encoding;
    if (!direct) return this.write(objects.map((object) => this.encoding.frame('ADDED', object)));
    const canTakeMore = this.stream.writeLong(bytes, (target, begin) => {
      let at = begin;
      for (const object of objects) at = direct.write('ADDED', object, target, at);
    });
    await this.#turn(canTakeMore);
  }

  async #turn(canTakeMore: boolean): Promise<void> {
    if (!canTakeMore) await this.drained();
    if (!this.isEnded()) await runQueue.turn(this.#account);
  }
}
