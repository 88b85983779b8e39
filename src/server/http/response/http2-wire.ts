/**
 * An answer over HTTP/2, on the stream itself and not on Node's imitation of HTTP/1.1. What several streams of one
 * connection write in one turn leaves in one write: the session sees to that.
 */
import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Readable } from 'node:stream';
import type { AnswerBody } from '../../request/request-context.ts';
import type { AnswerHeaders } from './answer-headers.ts';
import { inOne, type Wire, type WireListener } from './wire.ts';

export class Http2Wire implements Wire {
  readonly #stream: ServerHttp2Stream;
  readonly #isHead: boolean;
  readonly #isSessionBroken: () => boolean;
  readonly isChunked = false;
  #closeListeners: readonly WireListener[] = NOBODY;
  #isClosed = false;
  #isCut = false;
  #isBodyAbandoned = false;

  constructor(stream: ServerHttp2Stream, method: string, isSessionBroken: () => boolean) {
    this.#stream = stream;
    this.#isSessionBroken = isSessionBroken;
    this.#isHead = method === 'HEAD';
    stream.on('error', ignore);
    stream.on('close', () => this.#closed());
  }

  #closed(): void {
    this.#isClosed = true;
    const listeners = this.#closeListeners;
    this.#closeListeners = NOBODY;
    for (const listener of listeners) listener.wireClosed(this);
  }

  get body(): Readable {
    return this.#stream;
  }

  get hasBody(): boolean {
    return !this.#stream.endAfterHeaders;
  }

  get isOpen(): boolean {
    return !this.#isCut && !this.#stream.destroyed && !this.#stream.closed;
  }

  get isBroken(): boolean {
    return this.#isSessionBroken();
  }

  get bufferedBytes(): number {
    return this.#stream.writableLength;
  }

  get unreadBytes(): number {
    return this.#stream.writableLength;
  }

  get needsDrain(): boolean {
    return this.#stream.writableNeedDrain;
  }

  inviteBody(): void {
    if (this.isOpen)
      this.#stream.additionalHeaders({ [constants.HTTP2_HEADER_STATUS]: constants.HTTP_STATUS_CONTINUE });
  }

  whole(status: number, headers: AnswerHeaders, body: AnswerBody, bytes: number): void {
    if (!this.isOpen) return;
    this.#stream.respond(
      { ...headers, [constants.HTTP2_HEADER_STATUS]: status, 'content-length': bytes },
      { endStream: this.#isHead },
    );
    if (!this.#isHead) this.#stream.end(inOne(body));
    if (this.#isBodyAbandoned) this.#stream.once('finish', () => setImmediate(() => this.#stopSending()));
  }

  begin(status: number, headers: AnswerHeaders, lengthBytes?: number): void {
    if (!this.isOpen) return;
    const length = lengthBytes === undefined ? {} : { 'content-length': lengthBytes };
    this.#stream.respond({ ...headers, [constants.HTTP2_HEADER_STATUS]: status, ...length });
  }

  write(bytes: Buffer): boolean {
    return this.isOpen ? this.#stream.write(bytes) : true;
  }

  writeDirect(bytes: Buffer, done?: () => void): boolean {
    if (!this.#stream.destroyed) return this.#stream.write(bytes, done);
    done?.();
    return true;
  }

  forgetHead(): void {} // nobody but the context has it

  abandonBody(): void {
    this.#isBodyAbandoned = true;
  }

  /** GOAWAY: no new streams, while those that are open go on to their end. */
  closeAfter(): void {
    const { session } = this.#stream;
    if (session && !session.closed) session.close();
  }

  #stopSending(): void {
    if (this.isOpen) this.#stream.close(constants.NGHTTP2_NO_ERROR);
  }

  cork(): void {
    this.#stream.cork();
  }

  uncork(): void {
    this.#stream.uncork();
  }

  onceDrained(listener: () => void): void {
    if (!this.isOpen) {
      listener();
      return;
    }
    const done = () => {
      this.#stream.off('drain', done);
      this.#stream.off('close', done);
      listener();
    };
    this.#stream.on('drain', done);
    this.#stream.on('close', done);
  }

  onClose(listener: WireListener): void {
    if (this.#isClosed || this.#stream.destroyed) listener.wireClosed(this);
    else this.#closeListeners = this.#closeListeners.concat(listener); // exactly as long as it must be
  }

  end(): void {
    if (this.isOpen) this.#stream.end();
  }

  /**
   * In a turn of its own: on Node 20 nothing returns from ending a stream in the turn in which the client resets another one of
   * the same connection, and what waits for that may end this.
   */
  destroy(): void {
    if (!this.isOpen) return;
    this.#isCut = true;
    // With a mere close() the client would see a clean end.
    setImmediate(() => this.#stream.destroy(new Error('the stream was cut off')));
  }
}

const NOBODY: readonly WireListener[] = [];

function ignore(): void {}
