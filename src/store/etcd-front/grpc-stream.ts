/**
 * The server's end of one gRPC call over HTTP/2: messages in, messages out, a status at the end.
 *
 * Always true: headers go out with the first message, or with the status if there is none. Bytes come in only as
 * messages are taken. Whoever sends waits first until the peer has taken enough of what was sent before, in the order of
 * asking, and only then makes the bytes: so a peer that reads nothing costs one piece, however many want to tell it
 * something. Many small messages let others run in between. When the peer is gone, `signal` fires, `messages` ends and
 * `send` does nothing.
 *
 * A request that does not come whole, or an answer that is not taken, within `PATIENCE_MS` ends the call.
 */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Deframer, FrameError, frame, framePrefix } from '../etcd/grpc/frames.ts';
import { grpcCode } from '../etcd/grpc/grpc-status.ts';
import type { MemoryBudget, MemoryShare } from './memory-budget.ts';
import { FrontError, refusals } from './messages/front-error.ts';
import { LongMessage } from './messages/long-message.ts';

/** What etcd takes as one request, and its margin. */
const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;
const MESSAGES_PER_TURN = 64;
const PATIENCE_MS = 60_000;

export class GrpcStream {
  readonly signal: AbortSignal;
  /** It goes on until somebody ends it. */
  readonly isLasting: boolean;
  /** What this call takes of the memory of all: the request that is coming, the answer that is going. */
  readonly memory: MemoryShare;
  readonly #stream: ServerHttp2Stream;
  readonly #encoding: string | undefined;
  readonly #senders: (() => void)[] = [];
  #hasHeaders = false;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, isLasting: boolean, budget: MemoryBudget) {
    const gone = new AbortController();
    this.signal = gone.signal;
    this.isLasting = isLasting;
    this.memory = budget.share();
    this.#stream = stream;
    const encoding = headers['grpc-encoding'];
    this.#encoding = encoding === undefined || encoding === 'identity' ? undefined : String(encoding);
    stream.on('error', () => {}); // told by close
    stream.on('drain', () => this.#next());
    stream.on('close', () => {
      this.memory[Symbol.dispose]();
      gone.abort(new FrontError(grpcCode.canceled, 'context canceled'));
      for (const resume of this.#senders.splice(0)) resume();
    });
  }

  /** Ends when the client has said its last, or is gone. */
  async *messages(): AsyncGenerator<Buffer, void, void> {
    if (this.#encoding !== undefined) throw refusals.unknownEncoding(this.#encoding);
    const deframer = new Deframer(MAX_MESSAGE_BYTES);
    let taken = 0;
    try {
      // Not to be destroyed when the reading ends early: the status has still to be sent.
      for await (const chunk of this.#stream.iterator({ destroyOnReturn: false })) {
        const whole: Buffer[] = [];
        deframer.push(chunk as Buffer, (message) => whole.push(message));
        this.memory.set(deframer.heldBytes);
        for (const message of whole) {
          if (++taken % MESSAGES_PER_TURN === 0) await nextTurn();
          yield message;
        }
      }
    } catch (err) {
      if (this.signal.aborted || this.#stream.destroyed) return;
      throw err instanceof FrameError ? ofFrame(err) : err;
    }
    if (deframer.isInside && !this.signal.aborted) throw new FrontError(grpcCode.unknown, 'unexpected EOF');
  }

  /** The one message of a unary call. */
  async message(): Promise<Buffer> {
    const late = setTimeout(() => this.#stream.close(constants.NGHTTP2_CANCEL), PATIENCE_MS).unref();
    try {
      for await (const message of this.messages()) return message;
    } finally {
      clearTimeout(late);
    }
    throw new FrontError(grpcCode.unknown, 'EOF');
  }

  /** For those who are about to fetch what they will send: resolves when it is their turn and there is room. */
  async ready(): Promise<void> {
    if (this.#hasRoom) return;
    await this.#turn();
    setImmediate(() => this.#next()); // they may find nothing to send
  }

  /** What `make` makes once there is room, one right behind the other. */
  async send(make: () => readonly Uint8Array[]): Promise<void> {
    if (!this.#hasRoom) await this.#turn(); // and not otherwise: many would pass at once before the first has written
    const stream = this.#stream;
    try {
      if (stream.destroyed || stream.writableEnded) return;
      const messages = make();
      this.#respond();
      for (const message of messages) stream.write(frame(message));
    } finally {
      this.#next();
    }
  }

  /** The same; a peer that takes nothing for long is given up. */
  async sendInTime(make: () => readonly Uint8Array[]): Promise<void> {
    const late = setTimeout(() => this.#stream.close(constants.NGHTTP2_CANCEL), PATIENCE_MS).unref();
    await this.send(make);
    clearTimeout(late);
  }

  /** The answer of a unary call, the only thing that is sent on it. */
  async answer(message: Uint8Array | LongMessage): Promise<void> {
    if (!(message instanceof LongMessage)) return this.send(() => [message]);
    const stream = this.#stream;
    if (stream.destroyed) return;
    this.#respond();
    stream.write(framePrefix(message.size));
    for (const piece of message.pieces()) {
      if (stream.destroyed) return;
      if (!stream.write(piece)) await this.#untilTaken();
    }
  }

  end(code: number = grpcCode.ok, text = ''): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.writableEnded) return;
    const status = { 'grpc-status': String(code), 'grpc-message': percentEncode(text) };
    // The client may still be talking, but nobody listens any more. A turn later: a reset overtakes the status.
    const stopListening = () => {
      if (!stream.readableEnded) setImmediate(() => stream.close());
    };
    if (!this.#hasHeaders) {
      this.memory.set(0);
      stream.respond({ ...HEADERS, ...status }, { endStream: true });
      stopListening();
      return;
    }
    const late = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), PATIENCE_MS).unref();
    stream.once('close', () => clearTimeout(late));
    stream.once('wantTrailers', () => {
      stream.sendTrailers(status);
      stopListening();
    });
    stream.end();
  }

  async #untilTaken(): Promise<void> {
    const late = setTimeout(() => this.#stream.close(constants.NGHTTP2_CANCEL), PATIENCE_MS).unref();
    if (!this.#hasRoom) await this.#turn();
    clearTimeout(late);
  }

  get #hasRoom(): boolean {
    return this.#stream.destroyed || (this.#senders.length === 0 && !this.#stream.writableNeedDrain);
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => this.#senders.push(resolve));
  }

  #next(): void {
    if (!this.#stream.writableNeedDrain) this.#senders.shift()?.();
  }

  #respond(): void {
    if (this.#hasHeaders) return;
    this.#hasHeaders = true;
    this.#stream.respond(HEADERS, { waitForTrailers: true });
  }
}

const HEADERS = { ':status': 200, 'content-type': 'application/grpc' };

/** In the words of Go's gRPC, since clients look for them. */
function ofFrame({ format, length, message }: FrameError): FrontError {
  if (length !== undefined) return refusals.messageTooLarge(length, MAX_MESSAGE_BYTES);
  if (format === 1)
    return new FrontError(grpcCode.internal, 'grpc: compressed flag set with identity or empty encoding');
  if (format !== undefined)
    return new FrontError(grpcCode.internal, `grpc: received unexpected payload format ${format}`);
  return new FrontError(grpcCode.internal, message);
}

/** Only what is not printable, and the percent sign: there are clients that decode nothing. */
function percentEncode(text: string): string {
  return Buffer.from(text, 'utf8')
    .toString('latin1')
    .replace(/[^\x20-\x7e]|%/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
}
