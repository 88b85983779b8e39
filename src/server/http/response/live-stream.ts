/**
 * Where a watch writes: a body without an end known in advance.
 *
 * Always true: what was written in one turn leaves together at its end, in order; `write` never blocks and never
 * throws; after the end, or once the client is gone, bytes are dropped. The buffer is bounded: `write` says false early,
 * and whoever does not listen is cut off at the hard limit. A client that does not take the end of its stream is cut
 * off after a while.
 */
import type { ByteStream } from '../../request/request-context.ts';
import type { StreamEnd } from '../../request/stream-end.ts';
import type { StreamRoom, StreamRoomLimits } from './stream-room.ts';
import { beginChunk, CHUNK_FRAME_BYTES, endChunk, type Flushable, Joiner, type TurnFlusher } from './turn-flusher.ts';
import type { Wire, WireListener } from './wire.ts';

export type StreamLimits = StreamRoomLimits & {
  /** Above this the client is cut off. */
  readonly cutOffBytes: number;
  /** How long a client has to take what is left after the end. */
  readonly lingerMs: number;
};

export class LiveStream implements ByteStream, Flushable, WireListener {
  readonly #wire: Wire;
  readonly #flusher: TurnFlusher;
  readonly #room: StreamRoom;
  readonly #limits: StreamLimits;
  /** Undefined: nothing is written in this turn, as most of the time. */
  #pending: Buffer[] | undefined;
  #pendingBytes = 0;
  #waitingBytes = 0;
  #sentBytes = 0;
  #drainListener: (() => void) | undefined;
  /** What it holds since it is slow; 0 while it is not. */
  #slowBytes = 0;
  #isWaiting = false;
  #state: 'open' | 'ending' | 'closed' = 'open';
  #isEnded = false;
  #why: StreamEnd | undefined;
  #closeListeners: readonly ((why: StreamEnd) => void)[] = NOBODY;

  constructor(wire: Wire, flusher: TurnFlusher, room: StreamRoom, limits: StreamLimits) {
    this.#wire = wire;
    this.#flusher = flusher;
    this.#room = room;
    this.#limits = limits;
    wire.onClose(this);
  }

  wireClosed(): void {
    this.#state = 'closed';
    this.#pending = undefined;
    this.#pendingBytes = 0;
    this.#setSlow(0);
    this.#tellClosed();
  }

  /** Whether it came to an end that we gave it. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Why it ended, or is about to; undefined while it is open. */
  get why(): StreamEnd | undefined {
    if (!this.#wire.isOpen) this.#why ??= this.#wire.isBroken ? 'connection-broken' : 'client-left';
    return this.#why;
  }

  get bufferedBytes(): number {
    return this.#state === 'closed' ? 0 : this.#pendingBytes + this.#wire.bufferedBytes;
  }

  get sentBytes(): number {
    return this.#sentBytes;
  }

  get takenBytes(): number {
    return this.#sentBytes + this.#pendingBytes;
  }

  write(bytes: Buffer): boolean {
    if (this.#state !== 'open') return true;
    if (bytes.length === 0) return !this.#isSlow; // an empty chunk would end the body
    if (this.#pendingBytes === 0) {
      this.#flusher.add(this);
      this.#waitingBytes = this.#wire.bufferedBytes; // asked once a turn: it does not grow before the flush
    }
    if (this.#pending) this.#pending.push(bytes);
    else this.#pending = [bytes];
    this.#pendingBytes += bytes.length;
    const buffered = this.#waitingBytes + this.#pendingBytes;
    if (buffered <= this.#room.slowBytes) return true;
    if (buffered > this.#limits.cutOffBytes) this.cutOff('too-slow');
    this.#setSlow(buffered);
    return false;
  }

  flush(joiner: Joiner): void {
    const parts = this.#pending;
    const bytes = this.#pendingBytes;
    if (parts) {
      this.#pending = undefined;
      this.#pendingBytes = 0;
      this.#sentBytes += bytes;
      this.#wire.writeDirect(joiner.join(parts, bytes, this.#wire.isChunked));
    }
    if (this.#state === 'ending') this.#finish();
    else if (this.#isSlow) this.#awaitDrain();
  }

  get stretchBytes(): number {
    const { stretchBytes } = this.#flusher.scratch;
    return this.#room.isShort ? Math.min(stretchBytes, this.#room.slowBytes) : stretchBytes;
  }

  writeLong(bytes: number, fill: (target: Buffer, at: number) => void): boolean {
    if (this.#state !== 'open') return true;
    if (bytes === 0) return !this.#isSlow;
    if (this.#pendingBytes > 0) this.flush(new Joiner());
    const { scratch } = this.#flusher;
    const room = scratch.take(bytes + CHUNK_FRAME_BYTES);
    const isChunk = this.#wire.isChunked;
    const begin = isChunk ? beginChunk(room, bytes) : 0;
    fill(room, begin);
    const end = isChunk ? endChunk(room, begin + bytes) : bytes;
    this.#sentBytes += bytes;
    this.#wire.writeDirect(room.subarray(0, end), () => scratch.giveBack(room));
    const buffered = this.#wire.bufferedBytes;
    if (buffered <= this.#room.slowBytes) return !this.#isSlow;
    if (buffered > this.#limits.cutOffBytes) this.cutOff('too-slow');
    this.#setSlow(buffered);
    this.#awaitDrain();
    return false;
  }

  onDrain(listener: (() => void) | undefined): void {
    this.#drainListener = listener;
  }

  onClose(listener: (why: StreamEnd) => void): void {
    const { why } = this;
    if (why === undefined) this.#closeListeners = this.#closeListeners.concat(listener);
    else listener(why);
  }

  end(why: StreamEnd): void {
    if (this.#state !== 'open') return;
    this.#state = 'ending';
    this.#isEnded = true;
    this.#why ??= why;
    if (this.#pendingBytes === 0) this.#finish(); // else the flush that is due does it
    this.#tellClosed();
  }

  /** No clean end: the client notices. Its owner is told when the connection has closed, in a turn of its own. */
  cutOff(why: StreamEnd): void {
    this.#why ??= why;
    this.#wire.destroy();
  }

  #finish(): void {
    this.#wire.end();
    const timer = setTimeout(() => this.#wire.destroy(), this.#limits.lingerMs);
    timer.unref();
    this.#wire.onClose({ wireClosed: () => clearTimeout(timer) });
  }

  #awaitDrain(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    const onDrained = () => this.#onDrained();
    if (this.#wire.needsDrain) this.#wire.onceDrained(onDrained);
    else setImmediate(onDrained);
  }

  #onDrained(): void {
    this.#isWaiting = false;
    if (this.#state !== 'open' || !this.#isSlow) return;
    if (this.bufferedBytes > this.#room.slowBytes) {
      if (this.#wire.needsDrain) this.#awaitDrain(); // more came meanwhile; where it only waits for a flush, that asks
      return;
    }
    this.#setSlow(0);
    this.#drainListener?.();
  }

  get #isSlow(): boolean {
    return this.#slowBytes > 0;
  }

  #setSlow(bytes: number): void {
    if (bytes === this.#slowBytes) return;
    this.#room.change(bytes - this.#slowBytes);
    this.#slowBytes = bytes;
  }

  #tellClosed(): void {
    const why = this.why ?? 'client-left';
    const listeners = this.#closeListeners;
    this.#closeListeners = NOBODY;
    for (const listener of listeners) listener(why);
  }
}

const NOBODY: readonly ((why: StreamEnd) => void)[] = [];
