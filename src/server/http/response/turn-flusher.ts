/**
 * Sends what live streams were given during one turn of the loop: one write per stream, at the end of the turn.
 *
 * Streams that got the very same pieces share one joined buffer, so that an event for a thousand watchers is framed
 * once. Nothing waits longer than until the end of the turn, unless so many streams have something to say that they
 * would hold the loop: then the rest goes on in the next turn, and others get to work in between. What comes meanwhile does
 * not stand behind that rest: the two share each slice, so an event for few leaves while one for thousands is still being sent.
 * The answer to a write lets what waits go first (`flush`): who writes and watches has the event of its own write by then.
 */
import { Scratch } from './scratch.ts';

/** What can be flushed. */
export interface Flushable {
  flush(joiner: Joiner): void;
}

/** What it takes to hand the bytes over. To send them over HTTP/2 takes as much again or more, in the same turn, where nobody sees it. */
const SLICE_MS = 1;
/** So many are flushed before the clock is looked at. */
const STEP = 8;

export class TurnFlusher {
  readonly scratch: Scratch = new Scratch();
  /** Got something since the last slice. */
  #fresh: Flushable[] = [];
  /** Those that slices before did not get to, from `#next` on. */
  #rest: Flushable[] = [];
  #next = 0;
  #isScheduled = false;
  /** Its slice of this turn is used up. */
  #isCutShort = false;

  /** Once per stream and turn: the stream sees to that. */
  add(stream: Flushable): void {
    this.#fresh.push(stream);
    this.#schedule();
  }

  /** What waits leaves now, as far as one slice a turn goes. */
  flush(): void {
    if (this.#fresh.length + this.#rest.length > 0 && !this.#isCutShort) this.#flushSlice();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#run);
  }

  readonly #run = (): void => {
    this.#isScheduled = false;
    this.#isCutShort = false;
    this.#flushSlice();
  };

  #flushSlice(): void {
    const joiner = new Joiner();
    const beganAt = performance.now();
    const fresh = this.#fresh;
    this.#fresh = [];
    const flushed = flushUntil(beganAt + (this.#rest.length > 0 ? SLICE_MS / 2 : SLICE_MS), fresh, 0, joiner);
    this.#next = flushUntil(beganAt + SLICE_MS, this.#rest, this.#next, joiner);
    if (this.#next === this.#rest.length) {
      this.#rest = flushed === fresh.length ? [] : fresh;
      this.#next = flushed === fresh.length ? 0 : flushed;
    } else {
      if (this.#next * 2 > this.#rest.length) {
        this.#rest = this.#rest.slice(this.#next);
        this.#next = 0;
      }
      for (let i = flushed; i < fresh.length; i++) this.#rest.push(fresh[i]!);
    }
    if (this.#rest.length === 0) return;
    this.#isCutShort = true;
    this.#schedule();
  }
}

/** At least a step of them, from `from` on; where it stopped. */
function flushUntil(endMs: number, streams: readonly Flushable[], from: number, joiner: Joiner): number {
  let i = from;
  while (i < streams.length) {
    const stop = Math.min(streams.length, i + STEP);
    while (i < stop) streams[i++]!.flush(joiner);
    if (performance.now() >= endMs) break;
  }
  return i;
}

type Joined = { readonly parts: readonly Buffer[]; plain?: Buffer; chunk?: Buffer };

/** Joins pieces, and remembers for the length of one flush what it joined. */
export class Joiner {
  /** By first piece: the last list of pieces that began with it. */
  readonly #known = new Map<Buffer, Joined>();

  /** With `isChunk`, as one chunk of HTTP/1.1: length in hex, the bytes, line ends around. */
  join(parts: readonly Buffer[], bytes: number, isChunk: boolean): Buffer {
    const first = parts[0]!;
    let joined = this.#known.get(first);
    if (!joined || !isSame(joined.parts, parts)) {
      joined = { parts };
      this.#known.set(first, joined);
    }
    if (isChunk) {
      joined.chunk ??= chunkOf(parts, bytes);
      return joined.chunk;
    }
    joined.plain ??= parts.length === 1 ? first : Buffer.concat(parts as Buffer[], bytes);
    return joined.plain;
  }
}

function isSame(some: readonly Buffer[], others: readonly Buffer[]): boolean {
  if (some.length !== others.length) return false;
  for (let i = 0; i < some.length; i++) if (some[i] !== others[i]) return false;
  return true;
}

function chunkOf(parts: readonly Buffer[], bytes: number): Buffer {
  const chunk = Buffer.allocUnsafe(bytes + CHUNK_FRAME_BYTES);
  let at = beginChunk(chunk, bytes);
  for (const part of parts) {
    chunk.set(part, at);
    at += part.length;
  }
  return chunk.subarray(0, endChunk(chunk, at));
}

/** More than the frame of a chunk ever needs: the length in hex, and two line ends. */
export const CHUNK_FRAME_BYTES = 16;

/** Where the bytes of a chunk of HTTP/1.1 go, once its length is written. */
export function beginChunk(target: Buffer, bytes: number): number {
  return target.write(`${bytes.toString(16)}\r\n`, 'latin1');
}

/** Where the chunk ends. */
export function endChunk(target: Buffer, at: number): number {
  target[at] = 0x0d;
  target[at + 1] = 0x0a;
  return at + 2;
}
