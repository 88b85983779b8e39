/**
 * The HTTP server: from a socket to the handler chain, and back.
 *
 * A request whose head can be read (400, 414, 431) passes the links of handler-chain.ts. Whatever is thrown on the way
 * becomes a Status; nothing a client does ends the process or leaves a promise unhandled.
 *
 * `close` lets requests under way finish, ends live streams cleanly and leaves no connection behind.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { type Clock, hardwareClock } from '../../api/clock.ts';
import { closeOnce } from '../../api/closing.ts';
import { isStatusError, type StatusError } from '../../api/errors/status-error.ts';
import type { Authenticate } from '../auth/authenticator.ts';
import type { Authorizer } from '../auth/authorizer.ts';
import { ChurningSet } from '../event-loop/churning-set.ts';
import { intakeTurn } from '../event-loop/intake.ts';
import type { FlowGate } from '../flow-control/flow-gate.ts';
import { InFlight } from '../flow-control/in-flight.ts';
import type { AccessObserver } from '../request/access-observer.ts';
import type { EncodedStatus, RequestContext } from '../request/request-context.ts';
import { isLongRunning, parseRequestInfo } from '../request/request-info.ts';
import type { RequestKind } from '../request/request-kind.ts';
import type { RequestObserver } from '../request/request-observer.ts';
import { parseRequestUrl } from '../request/request-url.ts';
import { asStatusError } from '../request/status-body.ts';
import type { PortShare } from '../workers/port/port-share.ts';
import type { SeatCounter } from '../workers/seat-table.ts';
import type { SharedBytes } from '../workers/shared-bytes.ts';
import { ByteBudget } from './body/byte-budget.ts';
import { RequestRejected } from './body/request-body.ts';
import { Connections } from './connection/connections.ts';
import { limitHead } from './connection/head-limits.ts';
import { HeadPieces } from './connection/head-pieces.ts';
import { http1Fault, refuseHttp1 } from './connection/http1-faults.ts';
import { makeInProcessDoor } from './connection/in-process.ts';
import { makeListener, secureContext, type TlsSettings } from './connection/listener.ts';
import { HandlerChain, ServerGoing, type ShownCertificate } from './handler-chain.ts';
import { type HttpLimits, httpLimits } from './http-limits.ts';
import { HttpRequestContext, SHORT_BYTES } from './http-request-context.ts';
import { Http1Wire } from './response/http1-wire.ts';
import { Http2Wire } from './response/http2-wire.ts';
import { HEAD_ROOM, joinHeads } from './response/joined-head.ts';
import { Scratch } from './response/scratch.ts';
import { StreamRoom } from './response/stream-room.ts';
import { TurnFlusher } from './response/turn-flusher.ts';
import type { Wire } from './response/wire.ts';
import type { RequestHead, SharedByRequests } from './shared-by-requests.ts';
import { type ShutdownOptions, shutDown } from './shutdown.ts';

export type HttpServerOptions = {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** A socket that has the port already. */
  readonly socket?: object;
  /** Says when to let others take what comes to that port. */
  readonly share?: PortShare | undefined;
  readonly tls: TlsSettings;
  readonly authenticate: Authenticate;
  readonly authorizer: Authorizer;
  readonly handle: (context: RequestContext) => void | Promise<void>;
  /** What a request really asks for, before anybody looks at it: for those of our own page. */
  readonly readdress?: ((head: RequestHead) => RequestHead) | undefined;
  /** Who decides what may run now; plain counters, as the limits say, without it. */
  readonly flow?: FlowGate | undefined;
  readonly limits?: Partial<HttpLimits>;
  /** Where seats of either kind are counted, if other threads have them too. */
  readonly seatsOf?: ((kind: RequestKind) => SeatCounter | undefined) | undefined;
  /** Where bytes are counted, if other threads hold some under the same limits. */
  readonly bytesOf?: ((name: 'bodies' | 'answers' | 'slow watches') => SharedBytes | undefined) | undefined;
  readonly observer?: RequestObserver;
  readonly accessObserver?: AccessObserver;
  /** A refusal in the form the client asked for; JSON without it. */
  readonly encodeStatus?: (context: RequestContext, error: StatusError) => EncodedStatus;
  /** Names the history that versions belong to. */
  readonly history?: string | undefined;
  readonly shutdown?: ShutdownOptions;
  /** The chance that a request of HTTP/2 is the last one on its connection, so that clients spread over servers: 0. */
  readonly goawayChance?: number;
  readonly random?: () => number;
  /** By which slow clients are found out. */
  readonly clock?: Clock;
  /** Told of errors that are nobody's fault but ours. */
  readonly log?: (message: string, error: unknown) => void;
};

export interface HttpServer extends AsyncDisposable {
  readonly port: number;
  /** Requests and streams whose answers are not finished. */
  readonly openRequests: number;
  /** For connections from now on; those that are open stay as they are. */
  setTls(tls: TlsSettings): void;
  /** Lets others have the port: nobody new is taken, and whoever asks on an open connection comes again on another. */
  yieldPort(): void;
  /** The client's end of a connection from within this process. */
  connectInProcess(): Duplex;
  close(): Promise<void>;
}

export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { observer, clock = hardwareClock, log = () => {}, goawayChance = 0, random = Math.random } = options;
  const limits = httpLimits(options.limits);
  const connections = new Connections();
  const heads = new HeadPieces();
  const open = new ChurningSet<HttpRequestContext>();
  const shared: SharedByRequests = {
    flusher: new TurnFlusher(),
    shortScratch: new Scratch(HEAD_ROOM + SHORT_BYTES, SHORT_KEPT),
    streamRoom: new StreamRoom(limits.stream, options.bytesOf?.('slow watches')),
    streamLimits: limits.stream,
    bodyLimitBytes: limits.maxBodyBytes,
    bodies: new ByteBudget(limits.bodies, options.bytesOf?.('bodies')),
    answers: new ByteBudget(limits.answers, options.bytesOf?.('answers')),
    bodyPace: limits.bodyPace,
    answerPace: limits.answerPace,
    encodeStatus: options.encodeStatus,
    history: options.history,
    onStream: (context) => observer?.streamOpened(context),
    open,
    onEnd: (context) => {
      const { status, sentBytes, startedAtMs, isTerminated, streamEnd } = context;
      const seconds = (performance.now() - startedAtMs) / 1000;
      const outcome = { status, sentBytes, seconds, isTerminated, streamEnd };
      observer?.end(context, outcome, context.wasLetIn);
    },
    isDraining: false,
  };

  const chain = new HandlerChain({
    authenticate: options.authenticate,
    authorizer: options.authorizer,
    gate:
      options.flow ??
      new InFlight(limits, observer && ((kind, change) => observer.seat(kind, change)), options.seatsOf),
    handle: options.handle,
    observer,
    accessObserver: options.accessObserver,
    requestTimeoutMs: limits.requestTimeoutMs,
    isDraining: () => shared.isDraining,
    sendsRetryAfter: options.shutdown?.sendsRetryAfter ?? false,
  });

  let hasYielded = false;
  const onHttp1 = (request: IncomingMessage, response: ServerResponse) => {
    heads.isWhole(request);
    const fault = http1Fault(request);
    if (fault) return refuseHttp1(response, fault);
    const socket = request.socket as TLSSocket;
    connections.inTurn(socket, () => {
      const wire = new Http1Wire(request, response);
      const { method = '', url = '', headers, rawHeaders } = request;
      connections.addWire(socket, wire);
      if (hasYielded && socket instanceof TLSSocket) wire.closeAfter();
      const certificate = () => connections.certificateOf(socket, () => socket);
      const origin = { headers, rawHeaders, remoteAddress: socket.remoteAddress };
      accept(wire, method, url, origin, socket, certificate);
    });
  };

  const listener = makeListener(options.tls, limits, {
    http1: onHttp1,
    http2: (stream, headers, rawHeaders) => {
      const [method, url] = [String(headers[':method']), String(headers[':path'])];
      const { session } = stream;
      const wire = new Http2Wire(stream, method, () => session !== undefined && connections.isBroken(session));
      if (!session) return wire.destroy();
      if (hasYielded || (goawayChance > 0 && random() < goawayChance)) wire.closeAfter();
      const certificate = () => connections.certificateOf(session, () => session.socket as TLSSocket);
      const remoteAddress = session.destroyed ? undefined : session.socket.remoteAddress;
      const origin = { headers: headers as IncomingHttpHeaders, rawHeaders, remoteAddress };
      accept(wire, method, url, origin, session, certificate);
    },
    owesAnswer: (socket) => connections.owesAnswer(socket),
  });
  const inProcess = makeInProcessDoor(onHttp1, limits, (socket) => connections.addSocket(socket));
  listener.on('connection', (socket) => {
    connections.addSocket(socket);
    options.share?.taken(socket);
  });
  listener.on('secureConnection', (socket) => {
    connections.addSocket(socket);
    if (socket.alpnProtocol === 'h2') return;
    heads.watch(socket);
    joinHeads(socket);
  });
  listener.on('session', (session) => connections.addSession(session, limits.idleTimeoutMs));
  listener.on('tlsClientError', () => observer?.handshakeFailed());

  function accept(
    wire: Wire,
    method: string,
    url: string,
    origin: Pick<RequestHead, 'headers' | 'rawHeaders' | 'remoteAddress'>,
    connection: object,
    certificate: ShownCertificate,
  ): void {
    const parsed = limitHead(origin.headers) ? parseRequestUrl(url) : HEAD_TOO_LARGE;
    if ('status' in parsed) {
      refuseHead(wire, parsed.status, parsed.text);
      return;
    }
    const asked: RequestHead = { method, path: parsed.path, queryText: parsed.queryText, ...origin };
    const head = options.readdress?.(asked) ?? asked;
    const { path } = head;
    const account = connections.accountOf(connection);
    const parse = (query: () => URLSearchParams) => parseRequestInfo(method, path, query);
    const context = new HttpRequestContext(shared, wire, head, account, parse);
    if (wire instanceof Http1Wire) wire.isLong = isLongRunning(context.requestInfo);
    const done = () => {
      connections.setAccount(connection, context.account);
      context.handled();
    };
    const refused = (err: unknown) => refuse(context, err);
    const run = () => {
      const running = chain.run(context, head, certificate);
      if (running instanceof Promise) context.waits();
      return running;
    };
    try {
      const running = intakeTurn(account)?.then(run) ?? run();
      if (running) {
        void running.then(done, (err: unknown) => {
          try {
            refused(err);
          } finally {
            done();
          }
        });
        return;
      }
    } catch (err) {
      refused(err);
    }
    done();
  }

  function refuse(context: HttpRequestContext, err: unknown): void {
    if (context.abortReason !== undefined) return; // the client is gone, or the HTTP server has answered
    if (err instanceof RequestRejected) {
      context.reject();
      return;
    }
    if (err instanceof ServerGoing) {
      context.comeAgain();
      return;
    }
    if (!isStatusError(err)) log(`Cannot answer ${context.method} ${context.path}: ${String(err)}`, err);
    context.fail(asStatusError(err));
  }

  const closing = new AbortController();
  void keepPace(clock, closing.signal, open);

  const close = closeOnce(async () => {
    shared.isDraining = true;
    const { shutdown = {}, share } = options;
    const left = share?.close();
    await shutDown({ open, listener, connections, options: shutdown, graceMs: limits.graceMs, clock });
    await left;
    inProcess.close();
    closing.abort();
    shared.bodies.close();
    shared.answers.close();
  });

  const { host, port, socket, share } = options;
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject);
    const listening = () => {
      listener.off('error', reject);
      resolve();
    };
    if (socket) listener.listen(socket, BACKLOG, listening);
    else listener.listen({ host, port, backlog: BACKLOG }, listening);
  });
  // Not `listener.close`, which also lets go of those who are connected.
  const letGo = () => void NetServer.prototype.close.call(listener);
  share?.begin({ listen: (handle) => void listener.listen(handle, BACKLOG), letGo });
  return {
    port: socket ? port : (listener.address() as AddressInfo).port,
    get openRequests() {
      return open.size;
    },
    yieldPort() {
      hasYielded = true;
      letGo();
    },
    connectInProcess: () => inProcess.connect(),
    setTls: (tls) => listener.setSecureContext(secureContext(tls)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Short answers on their way out: a megabyte of them. */
const SHORT_KEPT = 64;
/** Connections that wait to be taken. */
const BACKLOG = 4096;
const PACE_CHECK_MS = 1000;

/** Until the signal fires. */
async function keepPace(clock: Clock, signal: AbortSignal, open: Iterable<HttpRequestContext>): Promise<void> {
  for (;;) {
    await clock.sleep(PACE_CHECK_MS, signal).catch(() => {});
    if (signal.aborted) return;
    const nowMs = clock.now();
    for (const context of open) context.checkPace(nowMs);
  }
}

const HEAD_TOO_LARGE = { status: 431, text: '431 Request Header Fields Too Large' } as const;

function refuseHead(wire: Wire, status: number, text: string): void {
  wire.closeAfter();
  wire.abandonBody();
  const body = Buffer.from(text);
  wire.whole(status, { 'Content-Type': 'text/plain; charset=utf-8' }, body, body.length);
}
