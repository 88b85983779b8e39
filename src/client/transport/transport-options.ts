/** Options of the transport and of a request, and its answers. */
import type { Duplex } from 'node:stream';
import type { Clock, Logger, Tracer } from '../../api/index.ts';
import type { RequestSample } from '../observing/client-observer.ts';
import type { Timeouts } from './deadline.ts';
import type { RateLimit } from './rate-limit.ts';

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

export type QueryValue = string | number | boolean | readonly string[] | undefined;
export type Query = Readonly<Record<string, QueryValue>>;

export type RequestOptions = {
  /** What is undefined is left out; a list is repeated. */
  readonly query?: Query | undefined;
  /** Text and bytes go as they are, everything else as JSON. */
  readonly body?: unknown | undefined;
  /** application/json */
  readonly contentType?: string | undefined;
  /** application/json */
  readonly accept?: string | undefined;
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeouts?: Partial<Omit<Timeouts, 'connectMs'>> | undefined;
  /** How often it may be sent, the first time included; 1 is never again. */
  readonly maxTries?: number | undefined;
  /** Does not wait for the client's `rateLimit`, though it counts: for what must not come late, such as a lease. */
  readonly isUrgent?: boolean | undefined;
  /** Decodes the body of a JSON answer as it comes: for those that may be large. Without it, JSON.parse at its end. */
  readonly decoder?: (() => BodyDecoder) | undefined;
};

/** What either throws is wrong with the body. */
export type BodyDecoder = { push(chunk: Buffer): void; finish(): unknown };

export type Answer<T> = {
  readonly code: number;
  readonly headers: Headers;
  /** Text, unless the answer is JSON. */
  readonly body: T;
};

/** An answer whose body is read as it comes. It holds a connection until it is read to the end or closed. */
export type StreamAnswer = {
  readonly code: number;
  readonly headers: Headers;
  /** To be read once. Nothing is read from the socket beyond a small buffer until it is asked for. */
  readonly chunks: AsyncIterable<Buffer>;
  close(): void;
};

/** A connection that speaks another protocol now. It ends with the socket. */
export type UpgradedConnection = {
  readonly headers: Headers;
  readonly socket: Duplex;
  /** What a failure of it is to be called: the reason of the caller's signal, if that fired. */
  errorOf(error: unknown): unknown;
};

export type TransportOptions = {
  readonly timeouts?: Partial<Timeouts> | undefined;
  /** For short requests: 32. Streams do not count. */
  readonly maxConnections?: number | undefined;
  /** How often a request may be sent: 6. */
  readonly maxTries?: number | undefined;
  /** The longest Retry-After that is waited for: 60 s. */
  readonly maxRetryAfterMs?: number | undefined;
  /** Of one answer that is not a stream: 512 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** Whether answers may come compressed; by itself, where the server is not on this machine. Never watches. */
  readonly compression?: boolean | undefined;
  /** How often this client asks, at most: as often as it wants without it, since servers look after themselves. */
  readonly rateLimit?: RateLimit | undefined;
  readonly userAgent?: string | undefined;
  readonly clock?: Clock | undefined;
  /** In [0, 1). */
  readonly random?: (() => number) | undefined;
  /** `consoleLogger(6)` shows each request; see `Logger` for the levels. Without one nothing is logged. */
  readonly logger?: Logger | undefined;
  /** A span for each request, such as those of `trace.getTracer('my-operator')` of OpenTelemetry. */
  readonly tracer?: Tracer | undefined;
  readonly onRequest?: ((sample: RequestSample) => void) | undefined;
  /** Warnings of the server, such as that a version is deprecated. */
  readonly onWarning?: ((text: string) => void) | undefined;
};
