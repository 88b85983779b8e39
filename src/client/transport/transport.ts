/**
 * HTTP to one cluster, as one user: paths in, typed answers or errors out.
 *
 * Every request ends: by its answer, by a limit, or by the caller's signal; all listeners and timers end with it. A
 * request is repeated only where `retry-policy.ts` says so, and once after a 401 if there are other credentials. After
 * `close` every request fails at once, running ones too.
 */
import type { Duplex, Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { CallbackError, type Clock, systemClock, tellSafely } from '../../api/index.ts';
import type { ClusterAccess } from '../config/cluster-access.ts';
import { type Credentials, type Identity, identityOf, mayHaveAnother, noCredentials } from '../config/credentials.ts';
import type { Impersonation } from '../config/kubeconfig-file.ts';
import { ConfigError, isApiError, isTransportError, TransportError, type TransportPhase } from '../errors.ts';
import type { RequestSample } from '../observing/client-observer.ts';
import { Observers } from '../observing/observers.ts';
import { requestInfo } from '../observing/request-info.ts';
import { RequestSpan } from '../observing/request-span.ts';
import { BusySlices } from '../slices.ts';
import { asksForGzip, unpacked } from './compression.ts';
import { Connections, type Purpose } from './connections.ts';
import { Deadline, type Timeouts } from './deadline.ts';
import { pathWithQuery, warningsIn } from './http-text.ts';
import { RateLimiter } from './rate-limit.ts';
import { refusalOf } from './refusal.ts';
import { RequestLog } from './request-log.ts';
import { retryDelay } from './retry-policy.ts';
import type {
  Answer,
  BodyDecoder,
  Headers,
  RequestOptions,
  StreamAnswer,
  TransportOptions,
  UpgradedConnection,
} from './transport-options.ts';
import { openUpgrade } from './upgrade.ts';

/** Servers give up on a request after 60 s and say so: we wait a little longer than that. */
const defaultTimeouts: Timeouts = { connectMs: 10_000, headersMs: 65_000, idleMs: 60_000, totalMs: 0 };
const MAX_BODY_BYTES = 512 * 1024 * 1024;
/** A buffer between socket and reader; once it is full the socket is paused. */
const STREAM_BUFFER_BYTES = 256 * 1024;
const CLOSED = 'TRANSPORT_CLOSED';

type Opened = {
  readonly code: number;
  readonly headers: Headers;
  readonly body: Readable;
  /** Of a connection that was upgraded. */
  readonly socket?: Duplex | undefined;
};
/** With the protocol that the connection is to speak, if it is another. */
type SentOptions = RequestOptions & { readonly protocol?: string };
type Call = {
  readonly method: string;
  readonly path: string;
  readonly request: string;
  readonly deadline: Deadline;
  readonly idleMs: number;
  readonly span: RequestSpan | undefined;
  /** Gives the connection back. */
  release: () => void;
};

export class Transport implements AsyncDisposable {
  readonly access: ClusterAccess;
  readonly clock: Clock;
  readonly random: () => number;
  /** Who observes what happens here. */
  readonly observers: Observers;
  readonly #options: TransportOptions;
  readonly #timeouts: Timeouts;
  readonly #connections: Connections;
  /** They are another transport's, which closes them. */
  readonly #isShared: boolean;
  readonly #log: RequestLog;
  readonly #limiter: RateLimiter | undefined;
  readonly #running = new Set<Deadline>();
  readonly #basePath: string;
  #isClosed = false;
  #hasFailedWarning = false;

  constructor(access: ClusterAccess, options: TransportOptions = {}, shared?: Connections) {
    this.access = access;
    this.clock = options.clock ?? systemClock;
    this.random = options.random ?? Math.random;
    this.#options = options;
    this.#timeouts = { ...defaultTimeouts, ...options.timeouts };
    this.#log = new RequestLog(options);
    this.#limiter = options.rateLimit && new RateLimiter(options.rateLimit, this.clock);
    this.observers = new Observers(options);
    this.#basePath = withoutEndSlashes(access.server.pathname);
    const { maxConnections = 32 } = options;
    this.#isShared = shared !== undefined;
    this.#connections = shared ?? new Connections({ access, connectMs: this.#timeouts.connectMs, maxConnections });
  }

  /** A whole answer. Throws ApiError for everything but success, TransportError if there is no answer. */
  async request<T>(method: string, path: string, options: RequestOptions = {}): Promise<Answer<T>> {
    const call = this.#begin(method, path, options, false);
    try {
      call.deadline.limit('total', options.timeouts?.totalMs ?? this.#timeouts.totalMs);
      const maxTries = options.maxTries ?? this.#options.maxTries ?? 6;
      const limits = { maxTries, maxWaitMs: this.#options.maxRetryAfterMs ?? 60_000 };
      for (let tries = 1; ; tries++) {
        try {
          return await this.#renewing(call, options, 'short', (opened, begin) =>
            this.#whole<T>(call, opened, begin, options.decoder),
          );
        } catch (error) {
          const delayMs = retryDelay({ method, error, tries }, limits, this.random());
          if (delayMs === undefined) throw error;
          this.#reportRetry(call, error, delayMs);
          await this.clock.sleep(delayMs, call.deadline.signal);
        }
      }
    } finally {
      this.#end(call);
    }
  }

  /**
   * The beginning of an answer, its body to be read as it comes; never repeated. There is no idle limit but the call's.
   */
  async stream(method: string, path: string, options: RequestOptions = {}): Promise<StreamAnswer> {
    const call = this.#begin(method, path, options, true);
    try {
      const { idleMs = 0, totalMs = 0 } = options.timeouts ?? {};
      call.deadline.limit('total', totalMs);
      return await this.#renewing(call, options, 'stream', async (opened, begin) => {
        if (opened.code >= 300) await this.#whole(call, opened, begin); // throws
        this.#report(call, opened, begin, true);
        call.deadline.limitIdle(idleMs);
        const chunks = this.#chunks(call, opened.body);
        const close = () => {
          opened.body.destroy();
          this.#end(call);
        };
        return { code: opened.code, headers: opened.headers, chunks, close };
      });
    } catch (error) {
      this.#end(call);
      throw error;
    }
  }

  /**
   * A connection of its own that speaks another protocol from here on, as `protocol` names it; never repeated. Throws
   * ApiError if the server refuses.
   */
  async upgrade(path: string, protocol: string, options: RequestOptions = {}): Promise<UpgradedConnection> {
    const call = this.#begin('GET', path, options, true);
    try {
      return await this.#renewing(call, { ...options, protocol }, 'stream', async (opened, begin) => {
        const { socket } = opened;
        if (!socket) {
          await this.#whole(call, opened, begin); // throws, if it is a refusal
          throw new TransportError('headers', `Cannot upgrade ${call.request}: the server answered ${opened.code}`);
        }
        this.#report(call, opened, begin, true);
        const cut = () => socket.destroy(call.deadline.signal.reason as Error);
        call.deadline.signal.addEventListener('abort', cut, { once: true });
        socket.on('error', () => {}); // thrown to whoever reads, and nowhere else
        socket.once('close', () => this.#end(call));
        return { headers: opened.headers, socket, errorOf: (error) => call.deadline.errorOf(error, 'body') };
      });
    } catch (error) {
      this.#end(call);
      throw error;
    }
  }

  /** Breaks every connection; what runs fails. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const deadline of this.#running) deadline.cut(closedError());
    if (!this.#isShared) await this.#connections.close();
  }

  /** Another user over the same connections, which end with this one. For credentials that are no certificates. */
  as(credentials: Credentials, options: TransportOptions = {}): Transport {
    return new Transport({ ...this.access, credentials }, { ...this.#options, ...options }, this.#connections);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #begin(method: string, path: string, { query, signal, timeouts }: RequestOptions, isStream: boolean): Call {
    signal?.throwIfAborted();
    if (this.#isClosed) throw closedError();
    const fullPath = this.#basePath + pathWithQuery(path, query);
    const request = `${method} ${fullPath}`;
    const idleMs = timeouts?.idleMs ?? this.#timeouts.idleMs;
    const deadline = new Deadline(this.clock, request, signal);
    this.#running.add(deadline);
    const { tracer } = this.#options;
    const span =
      tracer && new RequestSpan(tracer, { method, path: withoutQuery(path), isStream, server: this.access.server });
    return { method, path: fullPath, request, deadline, idleMs, span, release: () => {} };
  }

  #end(call: Call): void {
    this.#running.delete(call.deadline);
    call.deadline[Symbol.dispose]();
    call.span?.end();
    call.release();
  }

  /** Sends it, and once more with other credentials if the first are refused and there are others. */
  async #renewing<R>(
    call: Call,
    options: SentOptions,
    purpose: Purpose,
    read: (opened: Opened, begin: number) => Promise<R>,
  ): Promise<R> {
    const { credentials = noCredentials } = this.access;
    const { signal } = call.deadline;
    const failed = (error: unknown) => {
      call.span?.failed(error, signal.aborted);
      throw error;
    };
    const onWait = (waitMs: number) => this.#log.limited(call.request, waitMs);
    await this.#limiter?.take({ signal, isUrgent: options.isUrgent, onWait }).catch(failed);
    for (let isSecond = false; ; isSecond = true) {
      const headersMs = options.timeouts?.headersMs ?? this.#timeouts.headersMs;
      const lift = call.deadline.limit('headers', credentials.isInteractive ? 0 : headersMs);
      const identity = await identityOf(credentials, signal).catch(failed).finally(lift);
      const begin = this.clock.now();
      try {
        return await read(await this.#open(call, options, purpose, identity), begin);
      } catch (error) {
        if (!isApiError(error)) this.#reportFailure(call, error, begin, purpose === 'stream');
        if (isSecond || !isApiError(error, 'Unauthorized') || !mayHaveAnother(credentials, identity)) throw error;
      }
    }
  }

  async #open(call: Call, options: SentOptions, purpose: Purpose, identity: Identity): Promise<Opened> {
    const { method, path, request, deadline } = call;
    const { contentType = 'application/json', accept = 'application/json' } = options;
    const body = bodyOf(options.body);
    const asksGzip = purpose === 'short' && method === 'GET' && asksForGzip(this.access, this.#options.compression);
    const headers = {
      accept,
      'user-agent': this.#options.userAgent ?? 'longwatch',
      ...(asksGzip && { 'accept-encoding': 'gzip' }),
      ...(body !== undefined && { 'content-type': contentType }),
      ...(this.access.impersonate && impersonationHeaders(this.access.impersonate)),
      ...(identity.authorization !== undefined && { authorization: identity.authorization }),
      ...call.span?.sent(),
      ...(options.headers as Record<string, string | string[]> | undefined),
    };
    this.#log.sent(request, headers, path, body);
    const lift = deadline.limit('headers', options.timeouts?.headersMs ?? this.#timeouts.headersMs);
    try {
      call.release(); // of the try before
      const { dispatcher, release } = await this.#connections.lease(purpose, identity);
      call.release = release;
      deadline.signal.throwIfAborted();
      if (options.protocol !== undefined) {
        const answer = await openUpgrade(dispatcher, { path, headers }, options.protocol, deadline.signal);
        return { ...answer, code: answer.statusCode };
      }
      const answer = await dispatcher.request({
        path,
        method: method as Dispatcher.HttpMethod,
        headers,
        body: body ?? null,
        signal: deadline.signal,
        ...(purpose === 'stream' && { highWaterMark: STREAM_BUFFER_BYTES }),
      });
      answer.body.on('error', () => {}); // thrown to whoever reads, and nowhere else
      if (this.#options.onWarning) for (const text of warningsIn(answer.headers.warning)) this.#warned(text);
      const decoded = await unpacked(answer.body, answer.headers['content-encoding'], asksGzip, request);
      return { code: answer.statusCode, headers: answer.headers, body: decoded };
    } catch (error) {
      if (error instanceof ConfigError) throw error; // it will not be better the next time
      throw deadline.errorOf(error, 'headers');
    } finally {
      lift();
    }
  }

  async #whole<T>(
    call: Call,
    opened: Opened,
    begin: number,
    makeDecoder?: RequestOptions['decoder'],
  ): Promise<Answer<T>> {
    const { code, headers } = opened;
    const isJson = String(headers['content-type'] ?? '').includes('json');
    if (makeDecoder && code < 300 && isJson && !this.#log.wantsBodies)
      return this.#decoded(call, opened, begin, makeDecoder());
    const parts: Buffer[] = [];
    const bytes = await this.#readAll(call, opened, (chunk) => parts.push(chunk));
    const text = (parts.length === 1 ? parts[0]! : Buffer.concat(parts)).toString('utf8');
    this.#report(call, opened, begin, false, text, bytes);
    if (code >= 300) throw refusalOf(code, headers, text, call.request);
    if (!isJson) return { code, headers, body: text as T };
    try {
      return { code, headers, body: JSON.parse(text) as T };
    } catch (cause) {
      throw new TransportError('body', `Cannot read ${call.request}: ${(cause as Error).message}`, { cause });
    }
  }

  /** As it comes, and in slices: an answer may be as large as all of a cluster's pods. */
  async #decoded<T>(call: Call, opened: Opened, begin: number, decoder: BodyDecoder): Promise<Answer<T>> {
    const { code, headers } = opened;
    const slices = new BusySlices();
    const step = <R>(decode: () => R): R => {
      try {
        slices.begin();
        const decoded = decode();
        slices.end();
        return decoded;
      } catch (cause) {
        throw new TransportError('body', `Cannot read ${call.request}: ${(cause as Error).message}`, { cause });
      }
    };
    const bytes = await this.#readAll(call, opened, (chunk) => {
      step(() => decoder.push(chunk));
      return slices.isOver ? slices.pause() : undefined;
    });
    const body = step(() => decoder.finish() as T);
    this.#report(call, opened, begin, false, undefined, bytes);
    return { code, headers, body };
  }

  /** How many bytes there were. */
  async #readAll(call: Call, { body }: Opened, take: (chunk: Buffer) => unknown): Promise<number> {
    const { maxBodyBytes = MAX_BODY_BYTES } = this.#options;
    call.deadline.limitIdle(call.idleMs);
    let bytes = 0;
    for await (const chunk of this.#chunks(call, body, false)) {
      bytes += chunk.length;
      if (bytes > maxBodyBytes)
        throw new TransportError('body', `Cannot read ${call.request}: over ${maxBodyBytes} bytes`);
      const pause = take(chunk);
      if (pause instanceof Promise) await pause;
    }
    return bytes;
  }

  async *#chunks(call: Call, body: Opened['body'], endsCall = true): AsyncGenerator<Buffer, void, void> {
    const { deadline } = call;
    const reader = (body as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
    try {
      for (;;) {
        deadline.waiting();
        const { done, value } = await reader.next();
        deadline.arrived();
        if (done) return;
        yield value;
      }
    } catch (error) {
      const failure = deadline.errorOf(error, 'body');
      if (endsCall) call.span?.failed(failure, !isTransportError(failure));
      throw failure;
    } finally {
      if (!body.readableEnded) body.destroy();
      if (endsCall) this.#end(call);
    }
  }

  /** A warning is no reason for a request to fail, nor is somebody who cannot hear it. */
  #warned(text: string): void {
    tellSafely(
      () => this.#options.onWarning?.(text),
      (error) => {
        if (this.#hasFailedWarning) return; // once says it
        this.#hasFailedWarning = true;
        const warning = new CallbackError('onWarning', '', 'the client', error);
        process.emitWarning(Object.assign(warning, { name: 'ObserverWarning' }));
      },
    );
  }

  #report(call: Call, opened: Opened, begin: number, isStream: boolean, body?: string, responseBytes?: number): void {
    const { code, headers } = opened;
    const durationMs = this.clock.now() - begin;
    call.span?.answered(code);
    this.#log.answered(call.request, call.path, code, headers, durationMs, body);
    if (this.observers.isEmpty) return;
    const sizes = responseBytes === undefined ? {} : { responseBytes };
    this.observers.tell('onRequest', { ...this.#about(call, isStream), isStream, code, durationMs, ...sizes });
  }

  #reportFailure(call: Call, error: unknown, begin: number, isStream: boolean): void {
    const durationMs = this.clock.now() - begin;
    const failed: TransportPhase | 'aborted' = isTransportError(error) ? error.phase : 'aborted';
    call.span?.failed(error, failed === 'aborted');
    this.#log.failed(call.request, call.path, error, durationMs);
    if (this.observers.isEmpty) return;
    this.observers.tell('onRequest', { ...this.#about(call, isStream), isStream, failed, durationMs });
  }

  #reportRetry(call: Call, error: unknown, delayMs: number): void {
    this.#log.repeated(call.request, call.path, error, delayMs);
    if (this.observers.isEmpty) return;
    const code = isApiError(error) ? { code: error.code } : {};
    this.observers.tell('onRetry', { ...this.#about(call, false), ...code, error, delayMs });
  }

  #about({ method, path }: Call, isStream: boolean): Pick<RequestSample, 'method' | 'path' | 'verb' | 'resource'> {
    const shown = withoutQuery(path);
    const { verb, resource } = requestInfo(method, shown.slice(this.#basePath.length), isStream);
    return { method, path: shown, verb, resource };
  }
}

/** The transport was closed, by us: nothing to try again. */
export function isClosed(err: unknown): boolean {
  return isTransportError(err) && err.code === CLOSED;
}

function closedError(): TransportError {
  return new TransportError('connect', 'Cannot send a request: the transport is closed', { code: CLOSED });
}

function withoutQuery(path: string): string {
  const end = path.indexOf('?');
  return end < 0 ? path : path.slice(0, end);
}

function bodyOf(body: unknown): string | Buffer | undefined {
  if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) return body;
  return JSON.stringify(body);
}

function impersonationHeaders({ user, uid, groups, extra }: Impersonation): Record<string, string | string[]> {
  return {
    'impersonate-user': user,
    ...(uid !== undefined && { 'impersonate-uid': uid }),
    ...(groups && groups.length > 0 && { 'impersonate-group': [...groups] }),
    ...Object.fromEntries(
      Object.entries(extra ?? {}).map(([key, values]) => [`impersonate-extra-${encodeURIComponent(key)}`, [...values]]),
    ),
  };
}

function withoutEndSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end--;
  return path.slice(0, end);
}
