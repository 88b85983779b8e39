/**
 * A few handshakes in a turn of the loop: one takes about half a millisecond of it, and a thousand clients that come back at
 * once would have it for themselves for half a second. Who is connected is served in between.
 *
 *   connection ─► its first bytes are there ─► waits for its turn ─► handshake, at once
 *
 * Always true: a handshake begins when its client has sent something, so that its work is done in the turn that it was given,
 * and whoever sends nothing keeps nobody waiting. They are taken in the order in which they spoke, none is left out; one that
 * went away meanwhile costs nothing, one that stays silent for `silenceMs` is hung up on.
 */
import type { Server, Socket } from 'node:net';

const PER_TURN = 4;

/** Before anybody else listens: those who do so from now on hear of a connection at once. */
export function paceConnections(server: Server, silenceMs: number): void {
  const listeners = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  const silent = new Silent(silenceMs);
  let waiting: Socket[] = [];
  const begin = (socket: Socket) => {
    for (const listener of listeners) listener.call(server, socket);
  };
  const take = () => {
    const now = waiting.slice(0, PER_TURN);
    waiting = waiting.slice(PER_TURN);
    if (waiting.length > 0) setImmediate(take);
    for (const socket of now) if (!socket.destroyed) withoutPool(() => begin(socket));
  };
  const wait = (socket: Socket) => {
    silent.delete(socket);
    if (waiting.push(socket) === 1) setImmediate(take);
  };
  function onReadable(this: Socket): void {
    wait(this);
  }
  server.on('connection', (socket) => {
    socket.on('error', ignore); // it may go before its turn comes
    if (socket.readableLength > 0) {
      wait(socket);
      return;
    }
    silent.add(socket);
    socket.once('readable', onReadable);
  });
}

/** Those who have said nothing yet. One timer for all: one of its own would stay with a socket for as long as it lives. */
class Silent {
  readonly #limitMs: number;
  /** When each is hung up on, in that order. */
  readonly #endsAt = new Map<Socket, number>();
  #timer: NodeJS.Timeout | undefined;
  readonly #onClose: (this: Socket) => void;

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
    const forget = (socket: Socket) => this.delete(socket);
    this.#onClose = function () {
      forget(this);
    };
  }

  add(socket: Socket): void {
    this.#endsAt.set(socket, performance.now() + this.#limitMs);
    socket.on('close', this.#onClose);
    this.#arm(this.#limitMs);
  }

  delete(socket: Socket): void {
    if (this.#endsAt.delete(socket)) socket.off('close', this.#onClose);
    if (this.#endsAt.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #arm(ms: number): void {
    this.#timer ??= setTimeout(() => this.#hangUp(), Math.ceil(ms)).unref();
  }

  #hangUp(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const [socket, endsAt] of this.#endsAt) {
      if (endsAt > now) {
        this.#arm(endsAt - now);
        return;
      }
      socket.destroy();
      this.delete(socket);
    }
  }
}

/**
 * Node copies the names of protocols for every connection, twelve bytes that live as long as it does, into the pool that
 * all small buffers share: of a busy server each would keep 8 KB alive.
 */
function withoutPool(run: () => void): void {
  const { poolSize } = Buffer;
  Buffer.poolSize = 0;
  try {
    run();
  } finally {
    Buffer.poolSize = poolSize;
  }
}

function ignore(): void {}
