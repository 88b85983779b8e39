/**
 * Connections from within this process, without a socket: two ends in memory, with HTTP/1.1 spoken over them as over any
 * other. For those who live beside the server and watch much: a connection over TLS costs half a megabyte at its two ends.
 *
 * Who asks over one is asked who they are like anybody else. Nothing here keeps the process alive.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** Of one direction, before its writer has to wait. */
const BUFFER_BYTES = 64 * 1024;

export type InProcessDoor = {
  /** The client's end of a new connection. */
  connect(): Duplex;
  /** Breaks every connection. */
  close(): void;
};

export function makeInProcessDoor(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  limits: { readonly maxHeaderBytes: number; readonly idleTimeoutMs: number },
  onConnection: (socket: Socket) => void,
): InProcessDoor {
  const server = createServer({ maxHeaderSize: limits.maxHeaderBytes, keepAliveTimeout: limits.idleTimeoutMs }, handle);
  server.on('checkContinue', handle);
  const open = new Set<Duplex>();
  return {
    close() {
      for (const end of open) end.destroy();
    },
    connect() {
      const [ours, theirs] = makePair();
      open.add(ours);
      ours.once('close', () => open.delete(ours));
      onConnection(ours as unknown as Socket);
      server.emit('connection', ours);
      return theirs;
    },
  };
}

export function makePair(): [Duplex, Duplex] {
  const [one, other] = [new PairEnd(), new PairEnd()];
  one.peer = other;
  other.peer = one;
  return [one, other];
}

/** What is written to one end is read from the other, no faster than that, and as it was then: writers use their buffers again. */
class PairEnd extends Duplex {
  peer: PairEnd | undefined;
  /** The other end waits for room here. */
  #onRoom: (() => void) | undefined;

  constructor() {
    super({ readableHighWaterMark: BUFFER_BYTES, writableHighWaterMark: BUFFER_BYTES });
  }

  /** As of a socket: those that have no address of their own have none. */
  setTimeout(): this {
    return this;
  }

  override _read(): void {
    this.#makeRoom();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    const { peer } = this;
    if (!peer || peer.destroyed || peer.push(Buffer.from(chunk))) done();
    else peer.#onRoom = done;
  }

  override _final(done: () => void): void {
    if (this.peer && !this.peer.destroyed) this.peer.push(null);
    done();
  }

  /** A connection ends at both ends. */
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#makeRoom();
    const { peer } = this;
    if (peer && !peer.destroyed) process.nextTick(() => peer.destroy());
    done(error);
  }

  #makeRoom(): void {
    const onRoom = this.#onRoom;
    this.#onRoom = undefined;
    onRoom?.();
  }
}
