/**
 * An answer over HTTP/1.1. Long answers are written straight to the socket once the head is out: that costs two thirds
 * of `res.write`, which checks and frames every piece anew.
 *
 * A response that waits its turn behind others on the same connection has no socket yet; until it gets one, Node's own
 * queue takes the bytes and `isChunked` is false, because that queue does the framing.
 *
 * A stream that is alone on its connection soon has the socket to itself, without anything of Node's HTTP; at its end the
 * connection goes back and can be used again. What the client sends meanwhile waits, up to a limit.
 */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { AnswerHeaders } from './answer-headers.ts';
import { giveBack, takeSocket } from './taken-socket.ts';
import type { Wire } from './wire.ts';

/** What all connections of one server share. */
export type Http1Surroundings = {
  readonly server: EventEmitter;
  /** Whether no other request was read from this connection that is still to be answered. */
  isAlone(socket: Socket): boolean;
  /** Connections are not kept any more. */
  isDraining(): boolean;
};

const LAST_CHUNK = Buffer.from('0\r\n\r\n');
/** Of requests sent ahead while a stream goes on; a client that sends more is cut off. */
const AHEAD_BYTES = 64 * 1024;

export class Http1Wire implements Wire {
  readonly #shared: Http1Surroundings;
  readonly #socket: Socket;
  /** What Node has for this request; gone once the stream has the socket to itself. */
  #node: { readonly request: IncomingMessage; readonly response: ServerResponse } | undefined;
  #ahead: readonly Buffer[] | undefined;
  #closeListeners: readonly (() => void)[] = [];
  #isClosed = false;
  #isEnding = false;
  #hasLength = false;

  constructor(request: IncomingMessage, response: ServerResponse, shared: Http1Surroundings) {
    this.#shared = shared;
    this.#socket = request.socket;
    this.#node = { request, response };
    response.on('close', this.closed);
    response.on('error', ignore);
    request.on('error', ignore);
  }

  /** Also called by whoever sees the socket close: a response without a socket would never hear of it. */
  readonly closed = (): void => {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const listeners = this.#closeListeners;
    this.#closeListeners = [];
    for (const listener of listeners) listener();
  };

  get body(): Readable {
    return this.#mustHaveNode().request;
  }

  get isOpen(): boolean {
    return !this.#isClosed && !this.#isEnding && !this.#socket.destroyed;
  }

  get bufferedBytes(): number {
    return this.#sink.writableLength;
  }

  get needsDrain(): boolean {
    return this.#sink.writableNeedDrain;
  }

  get isChunked(): boolean {
    if (!this.#node) return true;
    return !this.#hasLength && this.#node.response.socket !== null && this.#node.request.httpVersionMinor > 0;
  }

  whole(status: number, headers: AnswerHeaders, body: Buffer): void {
    if (!this.isOpen) return;
    const { response } = this.#mustHaveNode();
    headers['Content-Length'] = String(body.length);
    response.writeHead(status, headers);
    response.end(body);
  }

  begin(status: number, headers: AnswerHeaders, lengthBytes?: number): void {
    if (!this.isOpen) return;
    const { request, response } = this.#mustHaveNode();
    this.#hasLength = lengthBytes !== undefined;
    if (lengthBytes !== undefined) headers['Content-Length'] = String(lengthBytes);
    else if (request.httpVersionMinor > 0) headers['Transfer-Encoding'] = 'chunked';
    else response.shouldKeepAlive = false;
    response.writeHead(status, headers);
    response.flushHeaders();
  }

  write(bytes: Buffer): boolean {
    return this.isOpen ? this.#mustHaveNode().response.write(bytes) : true;
  }

  writeDirect(bytes: Buffer, done?: () => void): boolean {
    if (this.isOpen) return this.#sink.write(bytes, done);
    done?.();
    return true;
  }

  forgetHead(): void {
    const { request } = this.#mustHaveNode();
    request.rawHeaders = [];
    request.headers = {};
    // Not in the middle of Node's own work on this request.
    setImmediate(() => this.#takeSocket());
  }

  closeAfter(): void {
    this.#mustHaveNode().response.shouldKeepAlive = false;
  }

  cork(): void {
    this.#socket.cork();
  }

  uncork(): void {
    this.#socket.uncork();
  }

  onceDrained(listener: () => void): void {
    if (!this.isOpen) {
      listener();
      return;
    }
    const sink = this.#sink;
    const done = () => {
      sink.off('drain', done);
      this.#closeListeners = this.#closeListeners.filter((other) => other !== done);
      listener();
    };
    sink.on('drain', done);
    this.#closeListeners = this.#closeListeners.concat(done);
  }

  onClose(listener: () => void): void {
    if (this.#isClosed) listener();
    else this.#closeListeners = this.#closeListeners.concat(listener); // exactly as long as it must be
  }

  end(): void {
    if (!this.isOpen) return;
    if (this.#node) {
      this.#node.response.end();
      return;
    }
    this.#isEnding = true;
    this.#socket.write(LAST_CHUNK, (err) => {
      if (!err) this.#returnSocket();
    });
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Where bytes past Node's framing go. */
  get #sink(): Socket | ServerResponse {
    return this.#node ? (this.#node.response.socket ?? this.#node.response) : this.#socket;
  }

  #mustHaveNode(): { readonly request: IncomingMessage; readonly response: ServerResponse } {
    if (this.#node) return this.#node;
    throw new Error('Cannot go back to the head of a request: its stream has begun');
  }

  #takeSocket(): void {
    if (!this.#node || !this.isOpen || this.#hasLength || !this.#shared.isAlone(this.#socket)) return;
    const { request, response } = this.#node;
    if (request.httpVersionMinor > 0 && !response.writableEnded && takeSocket(request, response, this.#onData))
      this.#node = undefined;
  }

  readonly #onData = (bytes: Buffer): void => {
    this.#ahead = [...(this.#ahead ?? []), bytes];
    if (this.#ahead.reduce((sum, { length }) => sum + length, 0) > AHEAD_BYTES) this.#socket.destroy();
  };

  #returnSocket(): void {
    const socket = this.#socket;
    if (!socket.destroyed) {
      if (this.#shared.isDraining()) socket.end();
      else giveBack(socket, this.#shared.server, this.#onData, this.#ahead && Buffer.concat(this.#ahead));
    }
    this.closed();
  }
}

function ignore(): void {}
