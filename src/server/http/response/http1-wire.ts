/**
 * An answer over HTTP/1.1. Long answers are written straight to the socket once the head is out: that costs two thirds
 * of `res.write`, which checks and frames every piece anew.
 *
 * A response that waits its turn behind others on the same connection has no socket yet; until it gets one, Node's own
 * queue takes the bytes and `isChunked` is false, because that queue does the framing.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { AnswerBody } from '../../request/request-context.ts';
import type { AnswerHeaders } from './answer-headers.ts';
import { endJoined } from './joined-head.ts';
import { inOne, type Wire, type WireListener } from './wire.ts';

export class Http1Wire implements Wire {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #socket: Socket;
  #closeListeners: readonly WireListener[] = NOBODY;
  /** Answers without an end known in advance: whatever is asked behind it waits for long. */
  isLong = false;
  #isClosed = false;
  #hasLength = false;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request;
    this.#response = response;
    this.#socket = request.socket;
    response.on('close', this.closed);
    response.on('error', ignore);
    request.on('error', ignore);
  }

  /** Also called by whoever sees the socket close: a response without a socket would never hear of it. */
  readonly closed = (): void => {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const listeners = this.#closeListeners;
    this.#closeListeners = NOBODY;
    for (const listener of listeners) listener.wireClosed(this);
  };

  get socket(): Socket {
    return this.#socket;
  }

  get body(): Readable {
    return this.#request;
  }

  get hasBody(): boolean {
    const { headers } = this.#request;
    return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  }

  get isOpen(): boolean {
    return !this.#isClosed && !this.#socket.destroyed;
  }

  get isBroken(): boolean {
    return Boolean(this.#socket.errored);
  }

  get bufferedBytes(): number {
    return this.#sink.writableLength;
  }

  get unreadBytes(): number {
    return this.#response.socket?.writableLength ?? 0;
  }

  get needsDrain(): boolean {
    return this.#sink.writableNeedDrain;
  }

  get isChunked(): boolean {
    return !this.#hasLength && this.#response.socket !== null && this.#request.httpVersionMinor > 0;
  }

  inviteBody(): void {
    if (this.isOpen) this.#response.writeContinue();
  }

  whole(status: number, headers: AnswerHeaders, body: AnswerBody, bytes: number, lent?: Buffer): void {
    if (!this.isOpen) return;
    headers['Content-Length'] = String(bytes);
    this.#response.writeHead(status, headers);
    if (lent) endJoined(this.#response, inOne(body), lent);
    else this.#response.end(inOne(body));
  }

  begin(status: number, headers: AnswerHeaders, lengthBytes?: number): void {
    if (!this.isOpen) return;
    this.#hasLength = lengthBytes !== undefined;
    if (lengthBytes !== undefined) headers['Content-Length'] = String(lengthBytes);
    else if (this.#request.httpVersionMinor > 0) headers['Transfer-Encoding'] = 'chunked';
    else this.#response.shouldKeepAlive = false;
    this.#response.writeHead(status, headers);
    this.#response.flushHeaders();
  }

  write(bytes: Buffer): boolean {
    return this.isOpen ? this.#response.write(bytes) : true;
  }

  writeDirect(bytes: Buffer, done?: () => void): boolean {
    if (this.isOpen) return this.#sink.write(bytes, done);
    done?.();
    return true;
  }

  forgetHead(): void {
    this.#request.rawHeaders = NO_RAW_HEADERS;
    this.#request.headers = NO_HEADERS;
  }

  abandonBody(): void {
    this.closeAfter(); // the next request would come after it
  }

  closeAfter(): void {
    this.#response.shouldKeepAlive = false;
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
      this.#closeListeners = this.#closeListeners.filter((other) => other !== closing);
      listener();
    };
    const closing = { wireClosed: done };
    sink.on('drain', done);
    this.#closeListeners = this.#closeListeners.concat(closing);
  }

  onClose(listener: WireListener): void {
    if (this.#isClosed) listener.wireClosed(this);
    else this.#closeListeners = this.#closeListeners.concat(listener); // exactly as long as it must be
  }

  end(): void {
    if (this.isOpen) this.#response.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Where bytes past Node's framing go. */
  get #sink(): Socket | ServerResponse {
    return this.#response.socket ?? this.#response;
  }
}

/** For all of them: whose head is read gets no more of it. */
const NO_HEADERS: IncomingHttpHeaders = {};
const NO_RAW_HEADERS: string[] = [];
const NOBODY: readonly WireListener[] = [];

function ignore(): void {}
