/**
 * Bounds in how many pieces the head of a request over HTTP/1.1 may come.
 *
 * Node's parser copies what it has of a header with every piece of it, so a long one that comes byte by byte costs its
 * length times the number of pieces, before anybody has asked who sends it; and a megabyte of records of one byte is
 * read in one turn of the loop. A client that is past the bound is cut off. Bodies have a bound of their own.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** A head of usual size fits even if every byte comes alone. */
const MAX_PIECES = 1024;

type Incoming = {
  /** Of the head that is coming. */
  pieces: number;
  /** The last one whose head was whole. */
  request: IncomingMessage | undefined;
};

export class HeadPieces {
  readonly #incoming = new WeakMap<Socket, Incoming>();

  /** From its beginning on. With a listener of ours on it, Node reads it piece by piece where we see it. */
  watch(socket: Socket): void {
    this.#incoming.set(socket, { pieces: 0, request: undefined });
    socket.on('data', this.#onData);
  }

  /** The head of a request is there. */
  isWhole(request: IncomingMessage): void {
    const incoming = this.#incoming.get(request.socket);
    if (!incoming) return;
    incoming.pieces = 0;
    incoming.request = request;
  }

  /** One listener for all sockets, each told by `this`. */
  readonly #onData: (this: Socket) => void = ((all: WeakMap<Socket, Incoming>) =>
    function (this: Socket) {
      const incoming = all.get(this);
      if (!incoming || incoming.request?.complete === false) return; // a piece of a body
      if (++incoming.pieces > MAX_PIECES) this.destroy();
    })(this.#incoming);
}
