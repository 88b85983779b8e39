/**
 * The server's end of one gRPC call over HTTP/2: messages in, messages out, a status at the end.
 *
 * Always true: headers go out with the first message, or with the status if there is none. Bytes come in only as
 * messages are taken, and `send` waits while the peer does not take any, so neither side piles up here. When the peer
 * is gone, `signal` fires, `messages` ends and `send` does nothing.
 */
import type { ServerHttp2Stream } from 'node:http2';
import { Deframer, frame } from '../etcd/frames.ts';
import { grpcCode } from '../etcd/grpc-status.ts';
import { FrontError } from './front-error.ts';

/** What etcd takes as one request, and its margin. */
const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;

export class GrpcStream {
  readonly signal: AbortSignal;
  /** It goes on until somebody ends it. */
  readonly isLasting: boolean;
  readonly #stream: ServerHttp2Stream;
  #hasHeaders = false;

  constructor(stream: ServerHttp2Stream, isLasting: boolean) {
    const gone = new AbortController();
    this.signal = gone.signal;
    this.isLasting = isLasting;
    this.#stream = stream;
    stream.on('error', () => {}); // told by close
    stream.on('close', () => gone.abort(new FrontError(grpcCode.canceled, 'context canceled')));
  }

  /** Ends when the client has said its last, or is gone. */
  async *messages(): AsyncGenerator<Buffer, void, void> {
    const deframer = new Deframer(MAX_MESSAGE_BYTES);
    try {
      // Not to be destroyed when the reading ends early: the status has still to be sent.
      for await (const chunk of this.#stream.iterator({ destroyOnReturn: false })) {
        const whole: Buffer[] = [];
        deframer.push(chunk as Buffer, (message) => whole.push(message));
        yield* whole;
      }
    } catch (err) {
      if (this.signal.aborted || this.#stream.destroyed) return;
      const { message } = err as Error;
      // In the words of Go's gRPC, since clients look for them.
      const [, length] = /its (\d+) bytes are above/.exec(message) ?? [];
      if (length === undefined) throw new FrontError(grpcCode.internal, message, { cause: err });
      const text = `grpc: received message larger than max (${length} vs. ${MAX_MESSAGE_BYTES})`;
      throw new FrontError(grpcCode.resourceExhausted, text, { cause: err });
    }
  }

  /** The one message of a unary call. */
  async message(): Promise<Buffer> {
    for await (const message of this.messages()) return message;
    return Buffer.alloc(0);
  }

  /** All at once; resolves when there is room for more. */
  async send(...messages: readonly Uint8Array[]): Promise<void> {
    const stream = this.#stream;
    if (stream.destroyed || stream.writableEnded) return;
    if (!this.#hasHeaders) {
      this.#hasHeaders = true;
      stream.respond(HEADERS, { waitForTrailers: true });
    }
    let hasRoom = true;
    for (const message of messages) hasRoom = stream.write(frame(message));
    if (hasRoom || stream.destroyed) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        stream.off('drain', done);
        stream.off('close', done);
        resolve();
      };
      stream.once('drain', done);
      stream.once('close', done);
    });
  }

  end(code: number = grpcCode.ok, text = ''): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.writableEnded) return;
    const status = { 'grpc-status': String(code), 'grpc-message': percentEncode(text) };
    if (!this.#hasHeaders) {
      stream.respond({ ...HEADERS, ...status }, { endStream: true });
      return;
    }
    stream.once('wantTrailers', () => {
      stream.sendTrailers(status);
      // The client may still be talking, but nobody listens any more. A turn later: a reset overtakes trailers.
      if (!stream.readableEnded) setImmediate(() => stream.close());
    });
    stream.end();
  }
}

const HEADERS = { ':status': 200, 'content-type': 'application/grpc' };

/** Only what is not printable, and the percent sign: there are clients that decode nothing. */
function percentEncode(text: string): string {
  return Buffer.from(text, 'utf8')
    .toString('latin1')
    .replace(/[^\x20-\x7e]|%/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
}
