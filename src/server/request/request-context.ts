/**
 * The request context: one request and its answer, the same for HTTP/1.1 and HTTP/2, as the handlers behind the HTTP server
 * see them.
 *
 * Always true: a request that reaches a handler is authenticated and has a parsed path; its body has not been read.
 * An answer is begun once. Whatever a handler throws, the HTTP server turns into a Status.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { CpuAccount } from '../event-loop/run-queue.ts';
import type { AbortNotice } from './abort-notice.ts';
import type { RequestInfo } from './request-info.ts';
import type { StreamEnd } from './stream-end.ts';
import type { UserInfo } from './user-info.ts';

/** In one buffer, or in several that follow each other. */
export type AnswerBody = Buffer | readonly Buffer[];

export interface RequestContext {
  readonly method: string;
  /** Decoded path without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The same as it came, without the question mark. */
  readonly queryText: string;
  readonly headers: IncomingHttpHeaders;
  readonly user: UserInfo;
  /** Who really asked, if it is in the name of `user`. */
  readonly impersonator?: UserInfo | undefined;
  /** Where the connection comes from. */
  readonly remoteAddress?: string | undefined;
  /** What the answer calls this request by, once it has begun. */
  readonly auditId?: string | undefined;
  /** What is said of it beside what it says itself; by the rules of audit-annotations.ts. */
  auditAnnotations?: Map<string, string> | undefined;
  readonly requestInfo: RequestInfo;
  /** Who is charged for work that lasts; somebody of its own without one. What is done under `signal` is charged there, too. */
  readonly account?: CpuAccount | undefined;
  /** Fires when the client is gone or the request's time is over. */
  readonly signal: AbortSignal;
  /** The same for who waits for something short, and needs no more of a signal. */
  readonly notice: AbortNotice;
  /**
   * The whole body, or a 413 past the limit. A request that has one gets its seat here, when the body is there: whoever
   * answers without asking for it has none, and should not work hard for it.
   */
  readBody(): Promise<Buffer>;
  /** Adds a `Warning: 299` header; before the answer begins. */
  warn(text: string): void;
  /** The whole answer, perhaps in pieces that go out as one; gzip when asked for and worth it. */
  send(status: number, contentType: string, body: AnswerBody, headers?: Readonly<Record<string, string>>): void;
  /** A body in pieces, written as fast as the client takes it; `bytes` is the sum of their lengths. */
  sendParts(status: number, contentType: string, parts: Iterable<Buffer>, bytes: number): void | Promise<void>;
  /** An answer without an end known in advance: the header goes out at once, a 200 unless told otherwise. */
  stream(contentType: string, status?: number, headers?: Readonly<Record<string, string>>): ByteStream;
  /** Of a stream: everything that was there at its start is on its way, so that it is no work any more. */
  initialised(): void;
}

/**
 * Where a watch writes. All that is written in one turn of the loop leaves in one write at its end. When the server
 * stops, the HTTP server ends every stream itself, between two writes. Writing after the end does nothing.
 */
export interface ByteStream {
  /** False: the client is slow, wait for `onDrain` before the next write. The bytes are taken either way. */
  write(bytes: Buffer): boolean;
  /**
   * As `write`, for much that nobody else gets: `fill` puts exactly so many bytes into `target`, from `at` on. They
   * leave at once, after everything written before.
   */
  writeLong(bytes: number, fill: (target: Buffer, at: number) => void): boolean;
  /** How much one `writeLong` should be, now. */
  readonly stretchBytes: number;
  /** Bytes taken but not yet handed to the system. */
  readonly bufferedBytes: number;
  /** All bytes taken so far. */
  readonly takenBytes: number;
  /** Called whenever there is room again after a write that said false. A later listener takes the earlier one's place. */
  onDrain(listener: (() => void) | undefined): void;
  /** Called once, when the client is gone or after `end`, with the reason that was first. */
  onClose(listener: (why: StreamEnd) => void): void;
  /** A clean end, after everything written. */
  end(why: StreamEnd): void;
}

/** An error in the form the client asked for. */
export type EncodedStatus = { readonly contentType: string; readonly body: Buffer };
