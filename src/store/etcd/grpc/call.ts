/**
 * One gRPC call on one connection, unary or streaming in either direction.
 *
 * Always true: `onEnd` is told exactly once, after the last message, and nothing after it; a call that was cancelled
 * is told nothing any more. Cancelling is RST_STREAM with CANCEL. A paused call reads nothing: the member is held back
 * by flow control, and the end of the call is noticed once it is resumed.
 *
 * It fails with a GrpcError; see there for what `wasSent` promises.
 */
import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2';
import type { Connection } from './connection.ts';
import { Deframer, frame } from './frames.ts';
import { codeOfHttpStatus, codeOfReset, GrpcError, grpcCode, statusIn } from './grpc-status.ts';
import { onAbort } from './on-abort.ts';

export type CallOptions = {
  /** Without it the call may take forever. */
  readonly timeoutMs?: number;
  /** Asks etcd to refuse, and to end, the call while its member has no leader. */
  readonly needsLeader?: boolean;
};

export type CallHandlers = {
  readonly onMessage: (message: Buffer) => void;
  /** Without an error: the server ended the call with status OK. */
  readonly onEnd: (error: GrpcError | undefined) => void;
};

/** Above anything etcd stores: a guard against peers that do not speak gRPC, not against large answers. */
const messageLimitBytes = 2 ** 31 - 1;

export class Call {
  readonly #connection: Connection;
  readonly #stream: ClientHttp2Stream | undefined;
  readonly #handlers: CallHandlers;
  readonly #deframer = new Deframer(messageLimitBytes);
  readonly #deadline: NodeJS.Timeout | undefined;
  #status: { code: number; message: string } | undefined;
  #httpStatus = 0;
  #cause: unknown;
  #isDone = false;

  constructor(connection: Connection, method: string, options: CallOptions, handlers: CallHandlers) {
    this.#connection = connection;
    this.#handlers = handlers;
    const { timeoutMs } = options;
    const stream = connection.request({
      ':method': 'POST',
      ':path': method,
      'content-type': 'application/grpc',
      te: 'trailers',
      'user-agent': 'longwatch',
      ...(timeoutMs === undefined ? {} : { 'grpc-timeout': `${Math.min(Math.ceil(timeoutMs), 99_999_999)}m` }),
      ...(options.needsLeader ? { hasleader: 'true' } : {}),
    });
    this.#stream = stream;
    if (!stream) {
      queueMicrotask(() => this.#end(grpcCode.unavailable, connection.downReason ?? 'the connection is closed', false));
      return;
    }
    stream.on('response', (headers) => this.#onHeaders(headers));
    stream.on('trailers', (trailers) => {
      this.#status = statusIn(trailers) ?? this.#status;
    });
    stream.on('data', (chunk: Buffer) => this.#onData(chunk));
    stream.on('end', () => {
      if (this.#status) this.#onClose();
    });
    stream.on('error', (err) => {
      this.#cause = err;
    });
    stream.on('close', () => this.#onClose());
    if (timeoutMs !== undefined)
      this.#deadline = setTimeout(() => {
        const message = `no answer within ${Math.round(timeoutMs)} ms`;
        this.#reset();
        this.#end(grpcCode.deadlineExceeded, message, true);
      }, timeoutMs);
  }

  send(message: Uint8Array): void {
    if (!this.#isDone) this.#stream?.write(frame(message));
  }

  /** Sends the last, or the only, message. */
  sendLast(message: Uint8Array): void {
    if (!this.#isDone) this.#stream?.end(frame(message));
  }

  pause(): void {
    this.#stream?.pause();
  }

  resume(): void {
    this.#stream?.resume();
  }

  cancel(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    clearTimeout(this.#deadline);
    this.#reset();
  }

  #reset(): void {
    this.#stream?.close(constants.NGHTTP2_CANCEL);
    this.#stream?.resume(); // what is left unread would keep the stream from closing
  }

  #onHeaders(headers: IncomingHttpHeaders & { ':status'?: number | undefined }): void {
    this.#httpStatus = headers[':status'] ?? 0;
    this.#status = statusIn(headers);
    if (this.#status) return;
    const type = headers['content-type'];
    if (this.#httpStatus === 200 && type?.startsWith('application/grpc')) return;
    const code = this.#httpStatus === 200 ? grpcCode.unknown : codeOfHttpStatus(this.#httpStatus);
    this.#status = {
      code,
      message: `no gRPC answer, but HTTP status ${this.#httpStatus} of type ${JSON.stringify(type)}`,
    };
    this.#reset();
  }

  #onData(chunk: Buffer): void {
    if (this.#isDone || (this.#status && this.#status.code !== grpcCode.ok)) return;
    try {
      this.#deframer.push(chunk, (message) => {
        if (!this.#isDone) this.#handlers.onMessage(message);
      });
    } catch (err) {
      this.#reset();
      this.#cause = err;
      this.#end(grpcCode.internal, (err as Error).message, true);
    }
  }

  #onClose(): void {
    if (this.#isDone) return;
    const status = this.#status;
    if (status?.code === grpcCode.ok && this.#deframer.isInside)
      this.#end(grpcCode.internal, 'the answer ends in the middle of a message', true);
    else if (status) this.#end(status.code, status.message, true);
    else this.#onLost();
  }

  /** The stream is over and no status came: what is known is how it ended. */
  #onLost(): void {
    const rstCode = this.#stream?.rstCode ?? 0;
    const wasRefused = this.#stream !== undefined && this.#connection.wasRefused(this.#stream);
    const isCut = rstCode === constants.NGHTTP2_NO_ERROR || rstCode === constants.NGHTTP2_CANCEL;
    const found = isCut ? 'the connection was lost' : `the stream was reset, code ${rstCode}`;
    const code = wasRefused ? grpcCode.unavailable : codeOfReset(rstCode);
    this.#end(code, this.#connection.downReason ?? found, !wasRefused);
  }

  #end(code: number, message: string, wasSent: boolean): void {
    if (this.#isDone) return;
    this.#isDone = true;
    clearTimeout(this.#deadline);
    const options = { wasSent, endpoint: this.#connection.endpoint, cause: this.#cause };
    const isOk = code === grpcCode.ok;
    this.#handlers.onEnd(isOk ? undefined : new GrpcError(code, message || `gRPC status ${code}`, options));
  }
}

export type UnaryOptions = CallOptions & { readonly signal?: AbortSignal | undefined };

/** One message there, one back. */
export function callUnary(
  connection: Connection,
  method: string,
  request: Uint8Array,
  options: UnaryOptions,
): Promise<Buffer> {
  const { signal } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    let response: Buffer | undefined;
    const call = new Call(connection, method, options, {
      onMessage: (message) => {
        response ??= message;
      },
      onEnd: (error) => {
        unlisten();
        if (error) return reject(error);
        if (response) return resolve(response);
        reject(
          new GrpcError(grpcCode.internal, 'the answer has no message', {
            wasSent: true,
            endpoint: connection.endpoint,
          }),
        );
      },
    });
    const stop = () => {
      call.cancel();
      reject(signal?.reason);
    };
    const unlisten = onAbort(signal, stop);
    call.sendLast(request);
  });
}
