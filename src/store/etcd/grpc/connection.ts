/**
 * One HTTP/2 session to one etcd member.
 *
 * Always true: a connection is handed out only once the member sent its SETTINGS, so one that is frozen, or that
 * refuses our certificate, fails while dialling, when nothing has been asked yet. While calls are open it is pinged
 * every `keepAliveMs`; a ping that is not answered within `keepAliveTimeoutMs` ends the session and every call on it.
 * An idle session is not pinged (etcd takes that for abuse) but at its next call.
 *
 * Dialling fails with a GrpcError that says `wasSent: false`. A session that is gone says so by `isUsable`; calls on
 * it have been told. Windows are set so that a response of tens of MB flows; a stream that nobody reads fills its own
 * window and no other's.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { type ConnectionOptions as ConnectionTlsOptions, connect as connectTls } from 'node:tls';
import type { Endpoint, EtcdTlsOptions } from './endpoint.ts';
import { GrpcError, grpcCode } from './grpc-status.ts';

export type ConnectionOptions = {
  readonly tls: EtcdTlsOptions | undefined;
  readonly dialTimeoutMs: number;
  readonly keepAliveMs: number;
  readonly keepAliveTimeoutMs: number;
  /** How far a stream may run ahead of its reader. */
  readonly streamWindowBytes: number;
};

const sessionWindowBytes = 64 * 1024 * 1024;
/** Ids are never used twice and end at 2^31; a busy session comes there within a day or two, and is replaced before. */
const lastUsableStreamId = 2 ** 30;
/** In MB. Node's 10 would refuse new streams while a large response is under way; streams bound themselves. */
const maxSessionMemory = 4096;

export class Connection {
  readonly endpoint: string;
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #keepAlive: NodeJS.Timeout;
  #openStreams = 0;
  #lastProofMs = performance.now();
  #pingTimer: NodeJS.Timeout | undefined;
  #isUsable = true;
  #lastStreamId = Number.POSITIVE_INFINITY;
  #downReason: string | undefined;
  /** What the member announced as its version, once somebody asked. */
  version: Promise<string> | undefined;

  static dial(endpoint: Endpoint, options: ConnectionOptions): { ready: Promise<Connection>; abandon: () => void } {
    const { session, socket } = openSession(endpoint, options);
    let abandon = () => {};
    const ready = new Promise<Connection>((resolve, reject) => {
      const fail = (found: string, cause?: unknown) => {
        clearTimeout(timer);
        session.destroy();
        socket.destroy();
        const message = `no connection to ${endpoint.authority}: ${found}`;
        reject(new GrpcError(grpcCode.unavailable, message, { wasSent: false, endpoint: endpoint.authority, cause }));
      };
      const onError = (err: Error) => fail(reasonOf(err), err);
      const onClose = () => fail('the connection was closed at once');
      const timer = setTimeout(() => fail(`no answer within ${options.dialTimeoutMs} ms`), options.dialTimeoutMs);
      socket.on('error', onError).on('close', onClose);
      session.on('error', onError);
      session.once('remoteSettings', () => {
        clearTimeout(timer);
        const connection = new Connection(endpoint.authority, session, socket, options);
        session.off('error', onError);
        socket.off('error', onError).off('close', onClose);
        resolve(connection);
      });
      abandon = () => fail('given up');
    });
    return { ready, abandon };
  }

  private constructor(endpoint: string, session: ClientHttp2Session, socket: Socket, options: ConnectionOptions) {
    this.endpoint = endpoint;
    this.#session = session;
    this.#socket = socket;
    this.#options = options;
    this.#keepAlive = setInterval(() => {
      if (this.#openStreams > 0) this.#ping();
    }, options.keepAliveMs).unref();
    session.on('error', (err) => this.#retire(reasonOf(err)));
    session.on('goaway', (code, lastStreamId) => {
      this.#lastStreamId = lastStreamId;
      this.#retire(code === constants.NGHTTP2_NO_ERROR ? 'the member is leaving' : `the member hung up, code ${code}`);
    });
    socket.on('error', (err) => this.#retire(reasonOf(err)));
    socket.on('close', () => {
      this.destroy('the connection was closed');
      clearInterval(this.#keepAlive);
      clearTimeout(this.#pingTimer);
    });
  }

  /** Whether new calls may be started. */
  get isUsable(): boolean {
    return this.#isUsable && !this.#session.closed && !this.#session.destroyed;
  }

  /** Whether the session is over, and not only draining. */
  get isGone(): boolean {
    return this.#session.destroyed;
  }

  /** Why it cannot be used any more; undefined while it can. */
  get downReason(): string | undefined {
    return this.#downReason;
  }

  /** Undefined if the session ended a moment ago: then nothing was sent. */
  request(headers: OutgoingHttpHeaders): ClientHttp2Stream | undefined {
    if (!this.isUsable) return undefined;
    if (performance.now() - this.#lastProofMs > this.#options.keepAliveMs) this.#ping();
    const stream = this.#session.request(headers);
    this.#openStreams++;
    stream.once('close', () => {
      this.#openStreams--;
      if (!this.#isUsable && this.#openStreams === 0) this.#session.close();
    });
    if (stream.id !== undefined && stream.id > lastUsableStreamId) this.#retire('it has served its calls');
    return stream;
  }

  /** Whether the member said that it never looked at this stream. */
  wasRefused(stream: ClientHttp2Stream): boolean {
    if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) return true;
    return stream.id === undefined || stream.id > this.#lastStreamId;
  }

  /** Ends the session and every call on it: in a turn of its own, as Node 20 must not do it while the member resets a call. */
  destroy(reason: string): void {
    this.#retire(reason);
    setImmediate(() => {
      this.#session.destroy();
      this.#socket.destroy();
    });
  }

  /** No new calls; those that run are let finish. */
  #retire(reason: string): void {
    this.#isUsable = false;
    this.#downReason ??= reason;
  }

  #ping(): void {
    if (this.#pingTimer !== undefined || this.#session.destroyed) return;
    const timeoutMs = this.#options.keepAliveTimeoutMs;
    this.#pingTimer = setTimeout(() => this.destroy(`no answer to a ping within ${timeoutMs} ms`), timeoutMs).unref();
    const isSent = this.#session.ping((err) => {
      clearTimeout(this.#pingTimer);
      this.#pingTimer = undefined;
      if (!err) this.#lastProofMs = performance.now();
    });
    if (!isSent) this.destroy('a ping could not be sent');
  }
}

/**
 * The socket is made here and not by http2, which keeps silent when the peer refuses the handshake after it was done
 * on our side, as TLS 1.3 has it for client certificates: the session ends without any event, the socket tells.
 */
function openSession(
  { authority, isTls }: Endpoint,
  options: ConnectionOptions,
): { session: ClientHttp2Session; socket: Socket } {
  const url = new URL(authority);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = Number(url.port) || (isTls ? 443 : 80);
  const socket = isTls ? connectTls({ host, port, ...tlsOptions(options.tls, host) }) : connectTcp({ host, port });
  socket.setNoDelay(true);
  const session = connect(authority, {
    maxSessionMemory,
    settings: { enablePush: false, initialWindowSize: options.streamWindowBytes },
    createConnection: () => socket,
  });
  session.once('connect', () => session.setLocalWindowSize(sessionWindowBytes));
  return { session, socket };
}

function tlsOptions(tls: EtcdTlsOptions | undefined, host: string): ConnectionTlsOptions {
  const name = tls?.serverName ?? (isIP(host) === 0 ? host : undefined);
  return {
    ALPNProtocols: ['h2'],
    ...(tls?.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls?.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls?.key === undefined ? {} : { key: tls.key }),
    ...(name === undefined ? {} : { servername: name }),
  };
}

function reasonOf(err: unknown): string {
  const { code, message } = err as NodeJS.ErrnoException;
  return message || code || String(err);
}
