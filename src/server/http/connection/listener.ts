/**
 * The listener: one TLS port that speaks HTTP/1.1 and HTTP/2, with the limits that keep a bad client from costing more
 * than itself. It knows nothing of requests beyond their heads.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, type Http2SecureServer, type ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import { MAX_HEADERS } from './head-limits.ts';
import { paceConnections } from './paced-accept.ts';
import { answerPlainHttp } from './plain-http.ts';

export type TlsSettings = {
  readonly cert: string;
  readonly key: string;
  /** Authorities whose client certificates are believed. */
  readonly clientAuthorities: readonly string[];
};

export type ListenerLimits = {
  readonly maxHeaderBytes: number;
  /** For the head of a request; against clients that send it drop by drop. */
  readonly headersTimeoutMs: number;
  /** For the whole request with its body. */
  readonly receiveTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly handshakeTimeoutMs: number;
  readonly maxStreamsPerConnection: number;
};

export type ListenerHandlers = {
  readonly http1: (request: IncomingMessage, response: ServerResponse) => void;
  readonly http2: (
    stream: ServerHttp2Stream,
    headers: NodeJS.Dict<string | string[]>,
    rawHeaders: readonly string[],
  ) => void;
  /** Whether requests were read from this connection that are not answered yet. */
  readonly owesAnswer: (socket: Duplex) => boolean;
};

/** As kube-apiserver announces it: room for a body of usual size without waiting for the window. */
const WINDOW_BYTES = 256 * 1024;
const CONNECTION_WINDOW_BYTES = 4 * 1024 * 1024;
/** Megabytes one HTTP/2 connection may hold before it takes no more streams: a hundred slow watches fit. */
const SESSION_MEMORY_MB = 64;

/** What Node has on the server but its types leave out: the part that speaks HTTP/1.1. */
type Http1Part = {
  maxHeaderSize: number;
  maxHeadersCount: number;
  requireHostHeader: boolean;
  headersTimeout: number;
  requestTimeout: number;
  keepAliveTimeout: number;
  connectionsCheckingInterval: number;
  closeIdleConnections(): void;
};

export type Listener = Http2SecureServer & Http1Part;

export function makeListener(tls: TlsSettings, limits: ListenerLimits, handlers: ListenerHandlers): Listener {
  const server = createSecureServer({
    allowHTTP1: true,
    ...secureContext(tls),
    requestCert: true,
    rejectUnauthorized: false, // who shows no certificate may have a token; who shows a bad one gets a 401
    handshakeTimeout: limits.handshakeTimeoutMs,
    noDelay: true,
    keepAlive: true, // a peer that vanished without a word is found out by TCP
    keepAliveInitialDelay: 30_000,
    maxSessionMemory: SESSION_MEMORY_MB,
    maxHeaderListPairs: MAX_HEADERS,
    settings: {
      maxConcurrentStreams: limits.maxStreamsPerConnection,
      initialWindowSize: WINDOW_BYTES,
      maxFrameSize: WINDOW_BYTES,
      maxHeaderListSize: limits.maxHeaderBytes,
      enablePush: false,
    },
  }) as Listener;
  paceConnections(server, limits.handshakeTimeoutMs);
  server.maxHeaderSize = limits.maxHeaderBytes;
  server.maxHeadersCount = MAX_HEADERS;
  server.requireHostHeader = false; // newer ones of Node would refuse it themselves, without a word
  server.headersTimeout = limits.headersTimeoutMs;
  server.requestTimeout = limits.receiveTimeoutMs;
  server.keepAliveTimeout = limits.idleTimeoutMs;
  server.connectionsCheckingInterval = Math.max(20, Math.min(5000, limits.headersTimeoutMs / 4));
  server.on('request', handlers.http1 as never);
  server.on('checkContinue', handlers.http1 as never); // a body is invited when somebody wants it
  // Listening for `request` makes Node wrap every HTTP/2 stream in an imitation of HTTP/1.1; we take the streams.
  server.removeAllListeners('stream');
  server.on('stream', (stream, headers, _flags, ...more) => {
    handlers.http2(stream, headers as NodeJS.Dict<string | string[]>, (more as unknown[])[0] as string[]);
  });
  server.on('session', (session) => session.setLocalWindowSize(CONNECTION_WINDOW_BYTES));
  server.on('sessionError', ignore);
  server.on('clientError', (err, socket) => refuseMalformed(err, socket, handlers.owesAnswer(socket)));
  answerPlainHttp(server);
  return server;
}

/** For a listener that is made, or one that runs (`setSecureContext`): connections from then on. */
export function secureContext({ cert, key, clientAuthorities }: TlsSettings): SecureContextOptions {
  return { cert, key, ca: [...clientAuthorities], minVersion: 'TLSv1.2' };
}

/** What was sent is no request; say so in the words of HTTP and hang up. */
function refuseMalformed(err: NodeJS.ErrnoException, socket: Duplex, owesAnswer: boolean): void {
  const { code = '' } = err;
  if (socket.writableEnded) return; // told already; the rest is read and thrown away until it hangs up
  // Not about a request: a connection that broke, a handshake that never came to its end. And HPE_PAUSED is Node's own
  // mishap, where it reads past us and many requests are sent ahead of their answers: the connection cannot go on.
  const isAboutRequest = (code.startsWith('HPE_') || code.startsWith('ERR_HTTP')) && code !== 'HPE_PAUSED';
  // In the middle of an answer, or before it, these words would be taken for a part of it.
  if (!isAboutRequest || !socket.writable || owesAnswer) {
    socket.destroy(err); // whoever still writes to it learns that it broke
    return;
  }
  const text = REFUSALS[code] ?? '400 Bad Request';
  const head = 'Content-Type: text/plain; charset=utf-8\r\nConnection: close';
  socket.end(`HTTP/1.1 ${text}\r\n${head}\r\nContent-Length: ${text.length}\r\n\r\n${text}`);
  // Hanging up while the client still sends would take the answer from it.
  setTimeout(() => socket.destroy(), REFUSAL_LINGER_MS).unref();
}

const REFUSAL_LINGER_MS = 1000;

const REFUSALS: Record<string, string> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

function ignore(): void {}
