/**
 * The way back to one client, the same for HTTP/1.1 and HTTP/2; http1-wire.ts and http2-wire.ts lay it.
 *
 * Always true: writing to a client that has gone is no error and does nothing; `onClose` listeners run once, whether
 * the answer was finished or the client left. Whoever writes much asks `drained` in between.
 */
import type { Readable } from 'node:stream';
import type { AnswerBody } from '../../request/request-context.ts';
import type { AnswerHeaders } from './answer-headers.ts';

/** An object, not a function: a watch has several of them for hours, and closures would cost more than what they are about. */
export interface WireListener {
  /** Once: the answer was finished, or the client left. */
  wireClosed(wire: Wire): void;
}

export interface Wire {
  /** Where the request's body comes from. */
  readonly body: Readable;
  /** Whether there may be a body at all. */
  readonly hasBody: boolean;
  readonly isOpen: boolean;
  /** Once closed: by a fault of the connection, not because a side wanted it. */
  readonly isBroken: boolean;
  /** Bytes taken and not yet handed to the system. */
  readonly bufferedBytes: number;
  /** Of those, the ones that wait for this client to read, and not for an earlier answer on its connection. */
  readonly unreadBytes: number;
  /** True: more is waiting than should, and `onceDrained` will call back. */
  readonly needsDrain: boolean;
  /** True while `writeDirect` expects chunks of HTTP/1.1 with their frame around them. */
  readonly isChunked: boolean;
  /** The client waits for leave to send its body (`Expect: 100-continue`); before the head is out. */
  inviteBody(): void;
  /** The whole answer at once, `bytes` long. `lent`: the buffer the body lies in, with HEAD_ROOM before it that may be written over. */
  whole(status: number, headers: AnswerHeaders, body: AnswerBody, bytes: number, lent?: Buffer): void;
  /** The head of an answer; it goes out at once. Without a length the body ends when `end` says so. */
  begin(status: number, headers: AnswerHeaders, lengthBytes?: number): void;
  /** Bytes of the body, framed as the protocol wants. False: ask `drained` before the next. */
  write(bytes: Buffer): boolean;
  /** Bytes past the protocol's own framing: the cheap way. `done` is called once nobody reads them any more. */
  writeDirect(bytes: Buffer, done?: () => void): boolean;
  /** What the request said is not needed any more: a stream may live for hours. */
  forgetHead(): void;
  /** The rest of the body is not waited for once the answer is out; before the head is. */
  abandonBody(): void;
  /** The connection is not to be used again after this answer; before the head is out. */
  closeAfter(): void;
  cork(): void;
  uncork(): void;
  /** While `needsDrain`: calls back once, when what was written is handed to the system or the client has gone. */
  onceDrained(listener: () => void): void;
  onClose(listener: WireListener): void;
  end(): void;
  /** Cuts the answer off so that the client notices. */
  destroy(): void;
}

/** Resolves when there is room again. */
export function drained(wire: Wire): Promise<void> | undefined {
  return wire.needsDrain ? new Promise((resolve) => wire.onceDrained(resolve)) : undefined;
}

export function lengthOf(body: AnswerBody): number {
  if (Buffer.isBuffer(body)) return body.length;
  let bytes = 0;
  for (const piece of body) bytes += piece.length;
  return bytes;
}

export function inOne(body: AnswerBody): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.concat(body);
}
